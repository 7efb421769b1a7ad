"""How well each feature ranks alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.data.exact_sums import ExactSums, added
from localrank.data.passes import over_parts
from localrank.measures.base import Measure
from localrank.progress import progress


def measure_features(
    dataset: RankingDataset,
    measure: Measure,
    query_weights: Floats | None = None,
    *,
    directions: Sequence[int] = (1,),
) -> Floats:
    """Mean measure of each feature as a score, of shape (n_directions, n_features).

    Parameters
    ----------
    dataset : RankingDataset
        With relevance labels.
    measure : Measure
    query_weights : ndarray of shape (n_queries,), optional
        What each query counts in the mean; queries that the measure skips count nothing.
    directions : sequence of int
        1 ranks larger values first, -1 smaller ones.

    Examples
    --------
    >>> from localrank.measures import NDCG
    >>> X = [[0.1, 3.0], [0.2, 2.0], [0.3, 1.0]]
    >>> dataset = RankingDataset.from_arrays(X, y=[0, 0, 1], qid=["a", "a", "a"])
    >>> measure_features(dataset, NDCG(5), directions=(1, -1))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    parts = over_parts(
        _sums,
        dataset,
        by_query=(query_weights,),
        shared=(measure, tuple(directions)),
        description="Best feature",
    )
    means = added(part for part, _ in parts).totals
    n_counted = added(part for _, part in parts).totals
    # Both are whole numbers of the same unit.
    values = [mean / n if n else np.nan for mean, n in zip(means, n_counted, strict=True)]
    return np.reshape(values, (len(directions), dataset.n_features))


def lowest_where_missing(dataset: RankingDataset, scores: Array) -> Array:
    """Scores with NaN replaced by a number below all others of the query.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((4, 1)), qid=["a", "a", "a", "b"])
    >>> lowest_where_missing(dataset, np.array([5.0, np.nan, 3.0, np.nan]))
    array([ 5., -1.,  3.,  0.])
    """
    missing = np.isnan(scores)
    if not missing.any():
        return scores
    low = np.minimum.reduceat(np.where(missing, np.inf, scores), dataset.offsets[:-1])
    none = np.isinf(low)
    low[none] = 0.0
    below = np.where(none, 0.0, low - (1 + np.abs(low)))
    return np.where(missing, below[dataset.query_index], scores)


def _sums(
    dataset: RankingDataset, weights: Floats | None, measure: Measure, directions: Sequence[int]
) -> tuple[ExactSums, ExactSums]:
    """For each direction and feature, the sum over the queries and that of what these weigh."""
    totals, counts = [], []
    with progress("Best feature", len(directions) * dataset.n_features) as advance:
        for direction in directions:
            for column in range(dataset.n_features):
                scores = direction * dataset.features[:, column].astype(np.float64)
                scores = lowest_where_missing(dataset, scores)
                reached = measure.of_rows(dataset, scores)
                weighs = ~np.isnan(reached) * (1.0 if weights is None else weights)
                sums = ExactSums.of(np.column_stack([weighs * np.nan_to_num(reached), weighs]))
                totals.append(sums.totals[0])
                counts.append(sums.totals[1])
                advance()
    return ExactSums(totals), ExactSums(counts)
