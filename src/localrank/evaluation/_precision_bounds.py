"""Bounds of average precision.

With ties averaged, too, its numerator is a quadratic form of the relevances: a sum over pairs.
Bounds of one run are exact: moving relevance up never lowers the numerator, so the m relevant holes
are the first m, or the last m. The largest difference of two quadratic forms is hard to find. Two
upper bounds are computed, and the smaller one is used: the first run's best with m relevant holes
minus the second's worst, and half of each positive coefficient of a pair of holes added to the
coefficients of both. No assignment exceeds it; one need not reach it.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._places import Places
from localrank.measures import AveragePrecision


class PrecisionBounds(HoleBounds):
    """Average precision."""

    measure: AveragePrecision

    def is_exact(self, a: Places, b: Places) -> bool:
        return False

    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        numerators = self._numerators(places)
        low, high = self._extremes(numerators.low, numerators.high)
        if self.measure.empty == 1.0:
            high[self._n_relevant == 0] = 1.0
        return low, high

    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        first, second = self._numerators(a), self._numerators(b)
        by_pairs = _bounds_by_pairs(
            *self._coefficients(a),
            *self._coefficients(b),
            read_only(first.added - second.added, np.float64),
            read_only((first.low - second.low)[self._starts], np.float64),
            read_only(a.is_tied() | b.is_tied(), np.bool_),
            read_only(self.is_hole, np.bool_),
            read_only(self.dataset.offsets, np.int64),
            read_only(self._starts, np.int64),
            len(first.low),
        )
        return self._extremes(
            np.maximum(first.low - second.high, by_pairs[0]),
            np.minimum(first.high - second.low, by_pairs[1]),
        )

    def if_relevant(self, places: Places) -> Floats:
        numerators, query = self._numerators(places), self.dataset.query_index
        totals = numerators.low[self._starts][query] + numerators.added
        values: Floats = totals / self._divisor(self._n_relevant + 1)[query]
        return values

    @cached_property
    def _relevant(self) -> Flags:
        flags: Flags = self.dataset.labels >= self.measure.threshold
        return flags

    @cached_property
    def _n_relevant(self) -> Integers:
        return self.dataset.count(self._relevant)

    @cached_property
    def _n_holes(self) -> Integers:
        return self.dataset.count(self.is_hole)

    @cached_property
    def _starts(self) -> Integers:
        """Where the values of each query for 0, 1, ... relevant holes begin."""
        return np.cumsum(self._n_holes + 1) - (self._n_holes + 1)

    def _divisor(self, n_relevant: Integers) -> Floats:
        if self.measure.denominator == "reachable":
            n_relevant = np.minimum(n_relevant, self.measure.depth)
        return n_relevant.astype(np.float64)

    def _extremes(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The smallest and the largest quotient of each query, of numerators by relevant holes."""
        n_values = self._n_holes + 1
        n_more = np.arange(len(low)) - np.repeat(self._starts, n_values)
        divisors = self._divisor(np.repeat(self._n_relevant, n_values) + n_more)
        # Without a relevant document, runs are worth 0, and do not differ.
        divisors[divisors == 0] = np.inf
        return (
            np.minimum.reduceat(low / divisors, self._starts),
            np.maximum.reduceat(high / divisors, self._starts),
        )

    def _coefficients(self, places: Places) -> tuple[Integers, Floats, Floats]:
        """Of each row: its block, and the coefficients of its pairs.

        The pair of two relevant documents adds the mean 1 / rank of the lower one; the pair of a
        document with itself, too. Within a tie of n documents, the lower one of two is at place i
        in 2 i of n (n - 1) cases.
        """
        ranks = np.arange(min(int(self.dataset.query_sizes.max()), self.measure.depth))
        single = np.concatenate([[0.0], np.cumsum(1 / (ranks + 1.0))])
        double = np.concatenate([[0.0], np.cumsum(ranks / (ranks + 1.0))])
        first, last = np.minimum(places.first, len(ranks)), np.minimum(places.last, len(ranks))
        sizes = places.sizes
        apart = single[last] - single[first]
        within = double[last] - double[first] - places.first * apart
        within *= 2 / np.maximum(sizes * (sizes - 1), 1)
        blocks = np.empty(len(places.order), np.int64)
        blocks[places.order] = np.repeat(np.arange(len(sizes)), sizes)
        return (
            read_only(blocks, np.int64),
            read_only(places.by_row(apart / sizes), np.float64),
            read_only(places.by_row(within), np.float64),
        )

    def _numerators(self, places: Places) -> _Numerators:
        return _Numerators(
            *_numerators(
                *self._coefficients(places),
                read_only(places.order, np.int64),
                read_only(self._relevant, np.bool_),
                read_only(self.is_hole, np.bool_),
                read_only(self.dataset.offsets, np.int64),
                read_only(self._starts, np.int64),
                int((self._n_holes + 1).sum()),
            )
        )


class _Numerators(NamedTuple):
    """Numerators of average precision.

    Attributes
    ----------
    low, high : ndarray
        The smallest and the largest with 0, 1, ... relevant holes, by query.
    added : ndarray of shape (n_documents,)
        What each hole adds if it alone is relevant.
    """

    low: Floats
    high: Floats
    added: Floats


@kernel
def _numerators(
    blocks: Integers,
    apart: Floats,
    within: Floats,
    order: Integers,
    relevant: Flags,
    is_hole: Flags,
    offsets: Integers,
    starts: Integers,
    n_values: int,
) -> tuple[Floats, Floats, Floats]:
    """Numerators if the last, or the first, m holes are relevant, and what each hole adds."""
    added = np.zeros(len(order), np.float64)
    low, high = np.zeros(n_values, np.float64), np.zeros(n_values, np.float64)
    for query in range(len(starts)):
        begin, end, at = offsets[query], offsets[query + 1], starts[query]
        # The numerator without holes, and what one more relevant document above all adds.
        total, below = 0.0, 0.0
        count, block, in_block = 0, -1, 0
        for i in range(begin, end):
            row = order[i]
            if blocks[row] != block:
                block, in_block = blocks[row], 0
            if relevant[row]:
                total += (1 + count - in_block) * apart[row] + in_block * within[row]
                below += apart[row]
                count += 1
                in_block += 1
        low[at] = high[at] = total
        # From the top: what lies below has no relevant hole yet.
        m, above, above_judged, start = 0, 0, 0, begin
        while start < end:
            row = order[start]
            stop, inside = start, 0
            while stop < end and blocks[order[stop]] == blocks[row]:
                inside += int(relevant[order[stop]])
                stop += 1
            below -= inside * apart[row]
            alone = (1 + above_judged) * apart[row] + inside * within[row] + below
            above_judged += inside
            for i in range(start, stop):
                if is_hole[order[i]]:
                    added[order[i]] = alone
                    more = (1 + above) * apart[row] + inside * within[row] + below
                    m += 1
                    inside += 1
                    high[at + m] = high[at + m - 1] + more
            above += inside
            start = stop
        # From the end: what lies above has no relevant hole yet.
        m, below, stop = 0, 0.0, end
        while stop > begin:
            row = order[stop - 1]
            start, inside = stop, 0
            while start > begin and blocks[order[start - 1]] == blocks[row]:
                start -= 1
                inside += int(relevant[order[start]])
            count -= inside
            for i in range(start, stop):
                if is_hole[order[i]]:
                    more = (1 + count) * apart[row] + inside * within[row] + below
                    m += 1
                    inside += 1
                    low[at + m] = low[at + m - 1] + more
            below += inside * apart[row]
            stop = start
    return low, high, added


@inner_kernel
def _pair(i: int, j: int, blocks: Integers, apart: Floats, within: Floats) -> float:
    """The coefficient of the pair of two rows."""
    if blocks[i] == blocks[j]:
        return float(within[i])
    return float(apart[i] if blocks[i] > blocks[j] else apart[j])


@kernel
def _bounds_by_pairs(
    blocks_a: Integers,
    apart_a: Floats,
    within_a: Floats,
    blocks_b: Integers,
    apart_b: Floats,
    within_b: Floats,
    added: Floats,
    totals: Floats,
    is_tied: Flags,
    is_hole: Flags,
    offsets: Integers,
    starts: Integers,
    n_values: int,
) -> tuple[Floats, Floats]:
    """Bounds of the difference of two numerators with 0, 1, ... relevant holes."""
    low, high = np.zeros(n_values, np.float64), np.zeros(n_values, np.float64)
    for query in range(len(starts)):
        begin, at = offsets[query], starts[query]
        holes = begin + np.flatnonzero(is_hole[begin : offsets[query + 1]])
        # Holes that neither run ranks add nothing.
        ranked = holes[(apart_a[holes] > 0) | (apart_b[holes] > 0)]
        n_ranked = len(ranked)
        down, up = np.zeros(len(holes), np.float64), np.zeros(len(holes), np.float64)
        in_a, in_b = apart_a[ranked], apart_b[ranked]
        # Lower documents have smaller coefficients, so that of a pair is the smaller one: a loop
        # without branches. Ties follow below.
        for j in range(n_ranked):
            of_a, of_b = in_a[j], in_b[j]
            for i in range(n_ranked):
                pair = in_a[i] if in_a[i] < of_a else of_a
                pair -= in_b[i] if in_b[i] < of_b else of_b
                up[i] += pair if pair > 0 else 0.0
                down[i] += pair if pair < 0 else 0.0
        for i in range(n_ranked):
            row = ranked[i]
            # A document is no pair with itself.
            pair = in_a[i] - in_b[i]
            up[i] -= max(pair, 0.0)
            down[i] -= min(pair, 0.0)
            for j in range(n_ranked if is_tied[row] else 0):
                other = ranked[j]
                tied = blocks_a[row] == blocks_a[other] or blocks_b[row] == blocks_b[other]
                if tied and i != j:
                    pair = min(in_a[i], in_a[j]) - min(in_b[i], in_b[j])
                    up[i] -= max(pair, 0.0)
                    down[i] -= min(pair, 0.0)
                    pair = _pair(row, other, blocks_a, apart_a, within_a)
                    pair -= _pair(row, other, blocks_b, apart_b, within_b)
                    up[i] += max(pair, 0.0)
                    down[i] += min(pair, 0.0)
            up[i] = added[row] + up[i] / 2
            down[i] = added[row] + down[i] / 2
        up, down = np.sort(up)[::-1], np.sort(down)
        low[at] = high[at] = totals[query]
        for m in range(len(holes)):
            high[at + m + 1] = high[at + m] + up[m]
            low[at + m + 1] = low[at + m] + down[m]
    return low, high
