"""The mean of scores on scales learned in training."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import check_is_fitted
from localrank._base.rules import Rules, floats
from localrank.aggregation.base import FixedSum, LinearForm, ScoreAggregator
from localrank.data import RankingDataset
from localrank.data._exact_sums import ExactSums
from localrank.registry import declare

# Scores are equal if they differ by at most this share of the largest.
_NOISE = 1e-12
# Division by a smaller scale would overflow.
_LEAST = 1e-290


@declare("fixed-scale", "the mean of scores, each divided by its list's spread in training")
class FixedScale(ScoreAggregator):
    """The mean of the lists' scores, each divided by a scale learned on training queries.

    The scale of a list is its mean standard deviation within the training queries in which it
    varies, or 1 if it varies in none. So a list counts more in a query where its scores are far
    apart, and less where they are close. `ZScore` divides by the standard deviation in the query
    itself instead. With fixed scales, a document's score is a weighted sum of its scores in the
    lists and does not depend on the other documents of the query. A search engine can compute it
    for one document at a time.

    Scales do not depend on the order of queries and documents. Labels are not used.

    Attributes
    ----------
    scales_ : ndarray of shape (n_lists,)
        The scale of each list.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0]] * 4, qid=["a", "a", "b", "b"])
    >>> lists = [[1.0, 70.0], [3.0, 70.0], [1.0, 10.0], [5.0, 90.0]]
    >>> aggregator = FixedScale().fit(dataset, lists)
    >>> aggregator.scales_
    array([ 1.5, 40. ])
    >>> aggregator.aggregate(dataset, [[3.0, 0.0], [0.0, 80.0], [1.5, 40.0], [0.0, 0.0]])
    array([1., 1., 1., 0.])
    """

    learns: ClassVar[bool] = True
    relative: ClassVar[bool] = False

    _fitted: ClassVar[Rules] = {"scales_": floats("n_lists", above=0.0)}

    scales_: Floats

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        weights = self.fixed_sum(len(lists)).weights
        return LinearForm(np.repeat(weights[:, None], len(offsets) - 1, axis=1), centred=False)

    def fixed_sum(self, n_lists: int) -> FixedSum:
        return FixedSum(1 / (n_lists * self._scales_of(n_lists)), standardised=False)

    def _fit(self, dataset: RankingDataset, lists: Floats, query_weights: Floats | None) -> None:
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        self.scales_ = np.array([_scale(scores, dataset, weights) for scores in lists])

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        scaled = lists / self._scales_of(len(lists))[:, None]
        mean: Floats = scaled.sum(axis=0) / len(lists)
        return mean

    def _scales_of(self, n_lists: int) -> Floats:
        check_is_fitted(self, "scales_")
        if n_lists != len(self.scales_):
            raise ValueError(
                f"FixedScale was fitted on {len(self.scales_)} lists. Got {n_lists} instead."
            )
        return self.scales_


def _scale(scores: Floats, dataset: RankingDataset, weights: Floats) -> float:
    """The mean standard deviation within the queries in which a list varies."""
    deviations = _deviations(scores, dataset)
    counted = weights * (deviations > 0)
    weighted, total = ExactSums.of(np.column_stack([counted * deviations, counted])).rounded()
    # 1 also if there is no query to learn from.
    return float(weighted / total) if weighted > _LEAST * total else 1.0


def _deviations(scores: Floats, dataset: RankingDataset) -> Floats:
    """The standard deviation of the scores in each query; 0 if they are equal.

    Scores are sorted before they are summed, so the result does not depend on their order.
    """
    begins, sizes = dataset.offsets[:-1], dataset.query_sizes
    ordered = scores[np.lexsort((scores, dataset.query_index))]
    means = np.add.reduceat(ordered, begins) / sizes
    rest = ordered - np.repeat(means, sizes)
    largest = np.maximum.reduceat(np.abs(rest), begins)
    varies = largest > _NOISE * np.maximum.reduceat(np.abs(ordered), begins)
    # Relative to the largest, so that squares neither vanish nor overflow.
    rest /= np.repeat(np.where(varies, largest, 1.0), sizes)
    squares = np.add.reduceat(rest * rest, begins)
    deviations: Floats = np.where(varies, largest * np.sqrt(squares / sizes), 0.0)
    return deviations
