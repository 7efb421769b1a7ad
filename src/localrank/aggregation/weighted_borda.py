"""Borda's count with weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank.aggregation.base import RankAggregator
from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.estimator import check_is_fitted
from localrank.fitted import Kinds, floats, real
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.parameters import Rules, whole
from localrank.progress import progress

# What a list may weigh, relative to the others. Sums of whole numbers are exact, so that
# documents with the same count stay tied whatever the order of the lists.
UNITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
START = 8
# The mean of a measure is the same up to this in another order of the queries.
ROUNDING = 1e-10


@declare("weighted-borda", "Borda with a weight for each list, learned from labels")
class WeightedBorda(RankAggregator):
    """Borda's count with a weight for each list, learned on whole lists of labelled queries.

    A document's score is Σ_k α_k s_k, with s_k the number of documents that list k puts below it
    and weights α_k ≥ 0 that sum to 1 [1]_. From equal weights, one list after another, in random
    order, gets the weight that ranks the training queries best, the others keeping their
    proportions, until no list's weight can be improved alone. So on the training queries the
    weights are never worse than equal ones.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
    max_passes : int, default=10
        How often to go over all lists at most.
    random_state : int or None, default=0
        Seed of the order of the lists.

    Attributes
    ----------
    units_ : ndarray of shape (n_lists,)
        The weights as whole numbers from 0 to 64, of which only the proportions matter.
    weights_ : ndarray of shape (n_lists,)
        The same with sum 1.
    uniform_value_, value_ : float
        Mean measure on the training queries, with equal weights and with these.

    References
    ----------
    .. [1] Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, n_features=4, n_types=1, random_state=0)
    >>> aggregator = WeightedBorda("map").fit(dataset, dataset.features)
    >>> aggregator.weights_.round(2)
    array([0.25, 0.17, 0.5 , 0.08])
    >>> round(aggregator.uniform_value_, 3), round(aggregator.value_, 3)
    (0.836, 0.9)
    """

    _parameters: ClassVar[Rules] = {"measure": a_measure, "max_passes": whole(1)}
    learns: ClassVar[bool] = True

    _fitted: ClassVar[Kinds] = {
        "units_": floats("n_lists"),
        "uniform_value_": real,
        "value_": real,
    }

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        max_passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.measure = measure
        self.max_passes = max_passes
        self.random_state = random_state

    @property
    def weights_(self) -> Floats:
        check_is_fitted(self, "units_")
        weights: Floats = self.units_ / self.units_.sum()
        return weights

    def _fit(self, dataset: RankingDataset, counts: Floats, query_weights: Floats | None) -> None:
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
            own = None if query_weights is None else query_weights[counted]
            return sign * float(np.average(values[counted], weights=own))

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
                        continue  # alone, any weight is the same
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
        check_is_fitted(self, "units_")
        if len(counts) != len(self.units_):
            raise ValueError(
                f"WeightedBorda was fitted on {len(self.units_)} lists. Got {len(counts)} instead."
            )
        mean: Floats = self.units_ @ np.nan_to_num(counts) / self.units_.sum()
        return mean
