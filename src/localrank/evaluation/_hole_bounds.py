"""How far documents that nobody judged could move a measure, and the difference of two runs.

An assignment gives each hole (a document that nobody judged) a grade. Queries do not share
documents, so the bounds of a mean are the means of the bounds of each query.

Gains (NDCG, precision, recall, rank-biased precision). Let x be the gains of the holes, d the
difference of the discounts that the two runs give them, and c the difference on the judged
documents. The difference of the runs is (c + d·x) / I(x), where I is the ideal sum; for recall, the
number of relevant documents; for both precisions, 1. For given gains in any order, the largest goes
to the hole with the largest d. So an assignment is given by the numbers m_j of holes with grade j
or better, and both sums separate by grades: with the increments of gains s_j, the judged documents
n_j of grade j or better, the sum D(m) of the m largest d, and the sum W(m) of the first m discounts
(for recall, m itself),

    numerator = c + Σ_j s_j D(m_j),    I = Σ_j s_j W(n_j + m_j).

Dinkelbach's method maximises the ratio: given a value v it maximises numerator - v I, one grade
at a time. If v >= 0, the best m_j fall with j by themselves, because W is concave. If v < 0, the
function to maximise is convex in x, so every hole has grade 0 or the highest one, and all such m
are tried. The bounds are exact. One run is compared with nothing: d is its discount.

Average precision. With ties averaged, too, its numerator is a quadratic form of the relevances:
a sum over pairs. Bounds of one run are exact: moving relevance up never lowers the numerator, so
the m relevant holes are the first m, or the last m. The largest difference of two quadratic forms
is hard to find. Two upper bounds are computed, and the smaller one is used: the first run's
best with m relevant holes minus the second's worst, and half of each positive coefficient of a
pair of holes added to the coefficients of both. No assignment exceeds it; one need not reach it.

Reciprocal rank. If the first relevant document of the first run is a hole, another relevant hole
helps only the second run, unless it is tied with the first. The bounds are exact without ties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import argsort_descending, read_only
from localrank.data import RankingDataset
from localrank.measures import (
    NDCG,
    AveragePrecision,
    Measure,
    Precision,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
)
from localrank.measures._ties import _as_float32, _order_ties, _precedence
from localrank.measures.base import RelevanceMeasure

# Tie rules by which the grades do not change the order.
_TIES = ("averaged", "input", "document_id")


class Places(NamedTuple):
    """Where a run ranks the documents.

    Attributes
    ----------
    order : ndarray of shape (n_documents,)
        Row numbers, by query, from the top of the list.
    blocks : ndarray of shape (n_blocks,)
        Positions in `order` where ties begin. A document that is tied with no other is a block.
    first, last : ndarray of shape (n_blocks,)
        Rank of the block's first document, from 0, and one past its last. Documents that were
        not retrieved have none: both are 0.
    """

    order: Integers
    blocks: Integers
    first: Integers
    last: Integers

    @property
    def sizes(self) -> Integers:
        """Number of documents of each block."""
        return np.diff(self.blocks, append=len(self.order))

    def by_row(self, of_blocks: Floats) -> Floats:
        """The value of each row's block."""
        values = np.empty(len(self.order))
        values[self.order] = np.repeat(of_blocks, self.sizes)
        return values

    def ranks(self) -> Floats:
        """The rank of each row, from 1; the mean rank of a tie. NaN: not retrieved."""
        means = (self.first + self.last + 1) / 2
        return self.by_row(np.where(self.last > self.first, means, np.nan))

    def is_tied(self) -> Flags:
        """Whether each row was retrieved, and is tied with another one."""
        return self.by_row((self.last > self.first + 1).astype(np.float64)) > 0

    def mean_weights(self, weights: Floats) -> Floats:
        """The weight of each row's rank, the mean over its tie. Ranks beyond have none."""
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        within = sums[np.minimum(self.last, len(weights))]
        within -= sums[np.minimum(self.first, len(weights))]
        return self.by_row(within / self.sizes)


def places_of(dataset: RankingDataset, scores: Floats, ties: str = "averaged") -> Places:
    """Where a run with these scores, in the order of the rows, ranks the documents."""
    if ties == "document_id":
        scores = _as_float32(scores)
    order = argsort_descending(scores, dataset.offsets)
    ranked = scores[order]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = ranked[1:] == ranked[:-1]
    tied[dataset.offsets[:-1]] = False
    if ties != "averaged":
        _order_ties(order, tied, _precedence(dataset, ties))
        tied &= scores[order] == -np.inf
    blocks = np.flatnonzero(~tied)
    first = blocks - dataset.offsets[dataset.query_index[order[blocks]]]
    last = first + np.diff(blocks, append=len(order))
    retrieved = ranked[blocks] > -np.inf
    return Places(order, blocks, np.where(retrieved, first, 0), np.where(retrieved, last, 0))


@dataclass(frozen=True, eq=False)
class HoleBounds(ABC):
    """Bounds of a measure over all grades that the holes could have.

    Attributes
    ----------
    dataset : RankingDataset
        Labels below 0: holes.
    measure : Measure
    grades : ndarray
        The grades that a hole may have besides 0, ascending.
    """

    dataset: RankingDataset
    measure: Measure
    grades: Floats

    @abstractmethod
    def is_exact(self, a: Places, b: Places) -> bool:
        """Whether assignments reach the bounds of the difference of two runs."""

    @abstractmethod
    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each query."""

    @abstractmethod
    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        """Bounds of the first run's value minus the second's, for each query."""

    @abstractmethod
    def if_relevant(self, places: Places) -> Floats:
        """For the row of each hole, its query's value if that hole alone had the highest grade."""

    @cached_property
    def is_hole(self) -> Flags:
        """Whether nobody judged a row."""
        flags: Flags = self.dataset.labels < 0
        return flags

    def per_query(self, values: Floats) -> Floats:
        """Sums over the rows of each query."""
        return np.add.reduceat(values, self.dataset.offsets[:-1])


def hole_bounds(dataset: RankingDataset, measure: Measure) -> HoleBounds | None:
    """Bounds for a measure. None: they are not known for this measure, or its tie rule."""
    kinds: dict[type[Measure], type[HoleBounds]] = {
        NDCG: _GainBounds,
        Precision: _GainBounds,
        Recall: _GainBounds,
        RankBiasedPrecision: _GainBounds,
        AveragePrecision: _PrecisionBounds,
        ReciprocalRank: _RankBounds,
    }
    if type(measure) not in kinds or measure.ties not in _TIES:
        return None
    grades = np.unique(dataset.labels[dataset.labels > 0])
    relevant = getattr(measure, "relevance_level", None) or 1.0
    # Where nobody has found a relevant document, a hole may still be one.
    if not grades.size or (isinstance(measure, RelevanceMeasure) and grades[-1] < relevant):
        grades = np.append(grades, relevant)
    return kinds[type(measure)](dataset, measure, grades)


class _GainBounds(HoleBounds):
    """NDCG, precision, recall and rank-biased precision."""

    def is_exact(self, a: Places, b: Places) -> bool:
        return True

    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        return self._bounds(self._discounts(places), of_difference=False)

    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        return self._bounds(self._discounts(a) - self._discounts(b), of_difference=True)

    def if_relevant(self, places: Places) -> Floats:
        discounts = self._discounts(places)
        judged = self.per_query(discounts * self._gains)
        counts = np.minimum(self._n_judged + 1, len(self._sums) - 1)
        ideal = self._sums[counts] @ self._steps if self._is_ratio else np.ones(len(judged))
        query = self.dataset.query_index
        values = (judged[query] + self._steps.sum() * discounts) / ideal[query]
        return np.where(self._short[query], 0.0, values)

    @cached_property
    def _is_ratio(self) -> bool:
        return isinstance(self.measure, NDCG | Recall)

    @cached_property
    def _weights(self) -> Floats:
        """Discounts of the ranks that count."""
        measure = self.measure
        assert isinstance(measure, NDCG | Precision | Recall | RankBiasedPrecision)
        n_ranks = min(self._longest, measure.depth)
        if isinstance(measure, NDCG):
            return measure._weights(n_ranks)
        if isinstance(measure, RankBiasedPrecision):
            weights: Floats = (1 - measure.p) * measure.p ** np.arange(n_ranks, dtype=np.float64)
            return weights
        return np.ones(n_ranks)

    @cached_property
    def _longest(self) -> int:
        return int(self.dataset.query_sizes.max())

    @cached_property
    def _short(self) -> Flags:
        """Queries that count 0 because they have too few documents."""
        measure = self.measure
        if isinstance(measure, NDCG) and measure.short == "zero" and measure.cutoff is not None:
            return self.dataset.query_sizes < measure.cutoff
        return np.zeros(self.dataset.n_queries, np.bool_)

    @cached_property
    def _levels(self) -> Floats:
        """The grades at which a gain grows."""
        if isinstance(self.measure, RelevanceMeasure):
            return np.array([self.measure.threshold])
        return self.grades

    @cached_property
    def _steps(self) -> Floats:
        """How much the gain grows at each level."""
        if isinstance(self.measure, NDCG) and self.measure.gain == "exponential":
            # Relative to the highest gain, which changes no ratio, and keeps it finite.
            highest = self.grades[-1]
            return np.diff(np.exp2(self.grades - highest), prepend=np.exp2(-highest))
        if isinstance(self.measure, RelevanceMeasure):
            return np.ones(1)
        return np.diff(self._levels, prepend=0.0)

    @cached_property
    def _gains(self) -> Floats:
        """The gain of each judged row; 0 for holes."""
        levels = np.searchsorted(self._levels, self.dataset.labels, side="right")
        return np.concatenate([[0.0], np.cumsum(self._steps)])[levels]

    @cached_property
    def _sums(self) -> Floats:
        """The ideal sums of 0, 1, ... relevant documents."""
        if isinstance(self.measure, Recall):
            return np.arange(self._longest + 1.0)
        return np.concatenate([[0.0], np.cumsum(self._weights)])

    @cached_property
    def _n_judged(self) -> Integers:
        """The number of judged documents at each level or above, a row for each query."""
        return np.stack([self.dataset.count(self.dataset.labels >= x) for x in self._levels], 1)

    def _discounts(self, places: Places) -> Floats:
        """What each row adds if its gain is 1, without the ideal sum."""
        weights, measure = places.mean_weights(self._weights), self.measure
        if not isinstance(measure, Precision):
            return weights
        if measure.cutoff is not None and measure.short == "pad":
            return weights / measure.cutoff
        n_retrieved = self.dataset.count(~np.isnan(places.ranks()))
        return weights / np.clip(n_retrieved, 1, measure.depth)[self.dataset.query_index]

    def _bounds(self, d: Floats, *, of_difference: bool) -> tuple[Floats, Floats]:
        judged = self.per_query(d * self._gains)
        d = np.where(self.is_hole, d, 0.0)
        if not self._is_ratio:
            low = judged + self.per_query(np.minimum(d, 0.0))
            high = judged + self.per_query(np.maximum(d, 0.0))
        else:
            n_holes = self.dataset.count(self.is_hole)
            low, high = (
                sign
                * _largest_ratios(
                    read_only(sign * d, np.float64),
                    read_only(self.dataset.offsets, np.int64),
                    read_only(sign * judged, np.float64),
                    read_only(n_holes, np.int64),
                    read_only(self._n_judged, np.int64),
                    read_only(self._steps, np.float64),
                    read_only(self._sums, np.float64),
                )
                for sign in (-1.0, 1.0)
            )
        low[self._short] = high[self._short] = 0.0
        if not of_difference and self.measure.empty == 1.0:
            high[self._n_judged[:, 0] == 0] = 1.0
        return low, high


@kernel
def _largest_ratios(
    d: Floats,
    offsets: Integers,
    judged: Floats,
    n_holes: Integers,
    n_judged: Integers,
    steps: Floats,
    sums: Floats,
) -> Floats:
    """The largest (judged + Σ_j steps_j D(m_j)) / Σ_j steps_j W(n_judged_j + m_j) of each query.

    Holes with d = 0 need no place in the sums: they follow those with d > 0. Where W has reached
    its end, only D counts, which is largest for all holes with d > 0.
    """
    n_levels, depth = len(steps), len(sums) - 1
    highest = steps.sum()
    ratios = np.zeros(len(judged), np.float64)
    chosen = np.zeros(n_levels, np.int64)
    for query in range(len(judged)):
        moving = d[offsets[query] : offsets[query + 1]]
        moving = np.sort(moving[moving != 0.0])[::-1]
        n_positive = int(np.sum(moving > 0))
        n_zero = n_holes[query] - len(moving)
        most = min(n_holes[query], depth)
        # D(0), ..., D(most), and at the end D(n_positive).
        totals = np.zeros(most + 2, np.float64)
        for m in range(1, most + 1):
            totals[m] = totals[m - 1]
            if m <= n_positive:
                totals[m] += moving[m - 1]
            elif m > n_positive + n_zero:
                totals[m] += moving[m - 1 - n_zero]
        totals[most + 1] = moving[:n_positive].sum()
        best = -np.inf
        for i in range(most + 2):
            m = i if i <= most else n_positive
            ideal = 0.0
            for level in range(n_levels):
                ideal += steps[level] * sums[min(n_judged[query, level] + m, depth)]
            ratio = (judged[query] + highest * totals[i]) / ideal if ideal > 0 else 0.0
            best = max(best, ratio)
        while best >= 0:
            numerator, ideal = judged[query], 0.0
            for level in range(n_levels):
                gain = -np.inf
                for i in range(most + 2):
                    m = i if i <= most else n_positive
                    place = min(n_judged[query, level] + m, depth)
                    if totals[i] - best * sums[place] > gain:
                        gain = totals[i] - best * sums[place]
                        chosen[level] = i
                m = chosen[level] if chosen[level] <= most else n_positive
                numerator += steps[level] * totals[chosen[level]]
                ideal += steps[level] * sums[min(n_judged[query, level] + m, depth)]
            if ideal <= 0 or numerator / ideal <= best + 1e-15:
                break
            best = numerator / ideal
        ratios[query] = best
    return ratios


class _PrecisionBounds(HoleBounds):
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


class _RankBounds(HoleBounds):
    """Reciprocal rank."""

    measure: ReciprocalRank

    def is_exact(self, a: Places, b: Places) -> bool:
        return not (a.is_tied() | b.is_tied()).any()

    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        as_judged, _, tied = self._values(places)
        high = np.maximum(as_judged, self._largest(tied))
        if self.measure.empty == 1.0:
            high[~np.logical_or.reduceat(self._relevant, self.dataset.offsets[:-1])] = 1.0
        return as_judged, high

    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        judged_a, alone_a, tied_a = self._values(a)
        judged_b, alone_b, tied_b = self._values(b)
        low = np.maximum(judged_b - judged_a, self._largest(tied_b - alone_a))
        high = np.maximum(judged_a - judged_b, self._largest(tied_a - alone_b))
        return -low, high

    def if_relevant(self, places: Places) -> Floats:
        return self._values(places)[1]

    @cached_property
    def _relevant(self) -> Flags:
        flags: Flags = self.dataset.labels >= self.measure.threshold
        return flags

    def _largest(self, values: Floats) -> Floats:
        """The largest value of the holes of each query."""
        return np.maximum.reduceat(
            np.where(self.is_hole, values, -np.inf), self.dataset.offsets[:-1]
        )

    def _values(self, places: Places) -> tuple[Floats, Floats, Floats]:
        """The values as judged; of each row, if it alone is relevant, and all holes of its tie."""
        sizes, order = places.sizes, places.order
        n_relevant = np.add.reduceat(self._relevant[order], places.blocks, dtype=np.int64)
        n_holes = np.add.reduceat(self.is_hole[order], places.blocks, dtype=np.int64)
        query = self.dataset.query_index[order[places.blocks]]
        judged, alone, tied = (
            np.asarray(
                _first_of_tie(
                    read_only(places.first, np.int64),
                    read_only(places.last, np.int64),
                    read_only(sizes, np.int64),
                    read_only(count, np.int64),
                    self.measure.depth,
                )
            )
            for count in (n_relevant, n_relevant + (n_holes > 0), n_relevant + n_holes)
        )
        as_judged = np.maximum.reduceat(judged, np.flatnonzero(np.diff(query, prepend=-1)))
        # A hole below the first relevant document changes nothing.
        return (
            as_judged,
            places.by_row(np.maximum(alone, as_judged[query])),
            places.by_row(np.maximum(tied, as_judged[query])),
        )


@kernel
def _first_of_tie(
    first: Integers, last: Integers, sizes: Integers, n_relevant: Integers, depth: int
) -> Floats:
    """The expected 1 / rank of the first relevant document of each tie, 0 without one."""
    values = np.zeros(len(first), np.float64)
    for block in range(len(first)):
        none_yet = 1.0
        if n_relevant[block] > 0:
            for i in range(first[block], min(last[block], depth)):
                chance = min(1.0, n_relevant[block] / (sizes[block] - (i - first[block])))
                values[block] += none_yet * chance / (i + 1)
                none_yet *= 1.0 - chance
    return values
