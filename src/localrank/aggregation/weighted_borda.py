"""Borda's count with weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import check_is_fitted
from localrank._base.progress import progress
from localrank._base.rules import Rule, Rules, floats, optional, real, whole
from localrank.aggregation.base import RankAggregator
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.registry import declare

# Possible weights of a list, relative to the others. Sums of whole numbers are exact, so documents
# with the same count stay tied in any order of the lists.
UNITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
START = 8
# The largest weight after rounding, if given weights are not whole numbers.
FINEST = 2**20
# Rounding error of a mean in another order of the queries.
ROUNDING = 1e-10


def _are_weights(value: Any) -> bool:
    try:
        weights = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    flat = weights.ndim == 1 and np.isfinite(weights).all() and (weights >= 0).all()
    return bool(flat and weights.any())


@declare("weighted-borda", "Borda with a weight for each list, learned from labels or given")
class WeightedBorda(RankAggregator):
    """Borda's count with a weight for each list, given or learned from labelled queries.

    A document's score is Σ_k α_k s_k, where s_k is the number of documents that list k puts below
    it, and the weights α_k ≥ 0 sum to 1 [1]. Learning starts from equal weights and visits the
    lists in random order. Each list gets the weight that ranks the labelled queries best, while
    the others keep their proportions. It stops when no list's weight can be improved alone. So on
    these queries the weights are never worse than equal ones.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        The measure that learned weights maximise.
    weights : sequence of float, optional
        One weight per list, 0 or larger. Only their proportions matter. Weights that are not
        whole numbers are rounded to a millionth of the largest, so that documents with equal
        sums stay tied. `fit` is then not needed. None: learn the weights.
    max_passes : int, default=10
        Largest number of passes over all lists.
    random_state : int or None, default=0
        Seed of the order of the lists.

    Attributes
    ----------
    units_ : ndarray of shape (n_lists,)
        The weights as whole numbers. Only their proportions matter. Learned ones are from 0 to
        64.
    weights_ : ndarray of shape (n_lists,)
        The weights, with sum 1.
    uniform_value_, value_ : float
        Mean measure on the queries that weights were learned from: with equal weights, and with
        the learned ones.

    References
    ----------
    1. Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, n_features=4, n_types=1, random_state=0)
    >>> aggregator = WeightedBorda("map").fit(dataset, dataset.features)
    >>> aggregator.weights_.round(2)
    array([0.25, 0.17, 0.5 , 0.08])
    >>> round(aggregator.uniform_value_, 3), round(aggregator.value_, 3)
    (0.836, 0.9)

    Weights by hand: the first list counts twice as much as the others.

    >>> by_hand = WeightedBorda(weights=[2, 1, 1, 1])
    >>> by_hand.aggregate(dataset, dataset.features)[:3]
    array([19.6, 17.4, 34. ])
    """

    _parameters: ClassVar[Rules] = {
        "measure": a_measure,
        "weights": optional(
            Rule(
                lambda value, _: _are_weights(value),
                "finite numbers, 0 or larger and not all 0, one for each list",
            )
        ),
        "max_passes": whole(1),
    }
    learns: ClassVar[bool] = True

    _fitted: ClassVar[Rules] = {
        "units_": floats("n_lists"),
        "uniform_value_": optional(real),
        "value_": optional(real),
    }

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        weights: Sequence[float] | None = None,
        max_passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.measure = measure
        self.weights = weights
        self.max_passes = max_passes
        self.random_state = random_state

    @property
    def weights_(self) -> Floats:
        units = self._known_units()
        weights: Floats = units / units.sum()
        return weights

    def _known_units(self) -> Floats:
        """The learned or given weights as whole numbers."""
        if self.weights is None:
            check_is_fitted(self, "units_")
            return self.units_
        given: Floats = np.asarray(self.weights, dtype=np.float64)
        if (given == given.round()).all() and given.max() <= FINEST:
            return given
        units: Floats = np.round(given / given.max() * FINEST)
        return units

    def _check_lists(self, n_lists: int) -> None:
        known = len(self._known_units())
        if n_lists != known:
            origin = "was fitted on" if self.weights is None else "has weights for"
            raise ValueError(f"WeightedBorda {origin} {known} lists. Got {n_lists} instead.")

    def _fit(self, dataset: RankingDataset, counts: Floats, query_weights: Floats | None) -> None:
        if self.weights is not None:
            self._check_lists(len(counts))
            self.units_ = self._known_units()
            return
        measure = parse_measure(self.measure)
        sign = 1 if measure.higher_is_better else -1
        counts = np.nan_to_num(counts)

        def value(scores: Floats) -> float:
            values = measure.of_rows(dataset, scores)
            counted = ~np.isnan(values)
            if query_weights is not None:
                counted &= query_weights > 0
            if not counted.any():
                raise ValueError(f"{measure} skips every query: there is nothing to learn.")
            weights = None if query_weights is None else query_weights[counted]
            return sign * float(np.average(values[counted], weights=weights))

        rng = np.random.default_rng(self.random_state)
        units = np.full(len(counts), float(START))
        total = units @ counts
        uniform = best = value(total)
        with progress("Weights of lists", self.max_passes * len(counts)) as advance:
            for _ in range(self.max_passes):
                before = best
                for place in rng.permutation(len(counts)):
                    advance()
                    if units[place] == units.sum():
                        continue  # the only list with a weight: any weight is the same
                    others = total - units[place] * counts[place]
                    for candidate in UNITS:
                        reached = value(others + candidate * counts[place])
                        if reached > best + ROUNDING:
                            best, units[place] = reached, candidate
                    total = others + units[place] * counts[place]
                if best == before:
                    break
        self.units_ = units
        self.uniform_value_, self.value_ = sign * uniform, sign * best

    def _aggregate(self, counts: Floats, offsets: Integers) -> Floats:
        self._check_lists(len(counts))
        units = self._known_units()
        mean: Floats = units @ np.nan_to_num(counts) / units.sum()
        return mean
