"""Bounds of sums of discounted gains: NDCG, precision, recall, F1, rank-biased precision.

Let x be the gains of the holes, d the difference of the discounts that the two runs give them, and
c the difference on the judged documents. The difference of the runs is (c + d·x) / I(x), where I is
the ideal sum; with R relevant documents it is R for recall, and (k + R) / 2 for F1@k; for both
precisions it is 1. For given gains in any order, the largest goes to the hole with the largest d.
So an assignment is given by the numbers m_j of holes with grade j or better, and both sums separate
by grades: with the increments of gains s_j, the judged documents n_j of grade j or better, the sum
D(m) of the m largest d, and the sum W(m) of the first m discounts (m itself for recall, and
(k + m) / 2 for F1),

    numerator = c + Σ_j s_j D(m_j),    I = Σ_j s_j W(n_j + m_j).

Dinkelbach's method maximises the ratio: given a value v it maximises numerator - v I, one grade
at a time. If v >= 0, the best m_j fall with j by themselves, because W is concave. If v < 0, the
function to maximise is convex in x, so every hole has grade 0 or the highest one, and all such m
are tried. The bounds are exact. One run is compared with nothing: d is its discount.
"""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._places import Places
from localrank.measures import F1, NDCG, Precision, RankBiasedPrecision, Recall
from localrank.measures.base import RelevanceMeasure


class GainBounds(HoleBounds):
    """NDCG, precision, recall, F1 and rank-biased precision."""

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
        return isinstance(self.measure, NDCG | Recall | F1)

    @cached_property
    def _weights(self) -> Floats:
        """Discounts of the ranks that count."""
        measure = self.measure
        assert isinstance(measure, NDCG | Precision | Recall | F1 | RankBiasedPrecision)
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
        if isinstance(self.measure, F1):
            return (self.measure.depth + np.arange(self._longest + 1.0)) / 2
        return np.concatenate([[0.0], np.cumsum(self._weights)])

    @cached_property
    def _n_judged(self) -> Integers:
        """The number of judged documents at each level or above, a row for each query."""
        return np.stack([self.dataset.count(self.dataset.labels >= x) for x in self._levels], 1)

    @cached_property
    def _known_discounts(self) -> WeakKeyDictionary[Places, Floats]:
        return WeakKeyDictionary()

    def _discounts(self, places: Places) -> Floats:
        """What each row adds if its gain is 1, without the ideal sum."""
        if places not in self._known_discounts:
            self._known_discounts[places] = self._new_discounts(places)
        return self._known_discounts[places]

    def _new_discounts(self, places: Places) -> Floats:
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
