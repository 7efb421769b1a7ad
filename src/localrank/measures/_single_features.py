"""How well each feature ranks alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.progress import progress
from localrank.data import RankingDataset
from localrank.data._content_order import rows_in_content_order
from localrank.data._exact_sums import ExactSums, added
from localrank.data._parts import over_parts
from localrank.measures.base import Measure


def measure_features(
    dataset: RankingDataset,
    measure: Measure,
    query_weights: Floats | None = None,
    *,
    directions: Sequence[int] = (1,),
    in_content_order: bool = False,
) -> Floats:
    """Mean measure of each feature as a score, of shape (n_directions, n_features).

    Parameters
    ----------
    dataset : RankingDataset
        Queries with relevance labels.
    measure : Measure
        The measure to average over queries.
    query_weights : ndarray of shape (n_queries,), optional
        Weight of each query in the mean. Queries that the measure skips have none. None: equal
        weights.
    directions : sequence of int
        1: larger values come first. -1: smaller values come first.
    in_content_order : bool
        Whether only the content of rows decides the order of equal scores, not their place.

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
        shared=(measure, tuple(directions), in_content_order),
        description="Best feature",
    )
    means = added(part for part, _ in parts).totals
    n_counted = added(part for _, part in parts).totals
    # Both are whole numbers of the same unit.
    values = [mean / n if n else np.nan for mean, n in zip(means, n_counted, strict=True)]
    return np.reshape(values, (len(directions), dataset.n_features))


def lowest_where_missing(dataset: RankingDataset, scores: Array) -> Array:
    """Scores with NaN replaced by a number below all others of the query; 0 if all are NaN.

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
    dataset: RankingDataset,
    weights: Floats | None,
    measure: Measure,
    directions: Sequence[int],
    in_content_order: bool,
) -> tuple[ExactSums, ExactSums]:
    """For each direction and feature, the weighted sum over the queries and the sum of weights."""
    if in_content_order:
        dataset = rows_in_content_order(dataset)
    totals, counts = [], []
    with progress("Best feature", len(directions) * dataset.n_features) as advance:
        for direction in directions:
            for column in range(dataset.n_features):
                scores = direction * dataset.features[:, column].astype(np.float64)
                scores = lowest_where_missing(dataset, scores)
                values = measure.of_rows(dataset, scores)
                counts_as = ~np.isnan(values) * (1.0 if weights is None else weights)
                weighted = counts_as * np.nan_to_num(values)
                sums = ExactSums.of(np.column_stack([weighted, counts_as]))
                totals.append(sums.totals[0])
                counts.append(sums.totals[1])
                advance()
    return ExactSums(totals), ExactSums(counts)
