"""Columns of lists: scores made comparable within each list, and ranks.

A dataset of lists has six columns for each list: `bm25.score`, `bm25.z`, `bm25.min_max`,
`bm25.rank`, `bm25.reciprocal_rank` and `bm25.presence`. In any other dataset each feature is a
list: its values are the scores, and a missing value means that the list lacks the document.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import argsort_descending, read_only
from localrank.data import RankingDataset
from localrank.rankers.base import Ranker

# The columns of a list, in their order.
COLUMNS = ("score", "z", "min_max", "rank", "reciprocal_rank", "presence")
_PLACE = {column: place for place, column in enumerate(COLUMNS)}
# Scores that differ by no more than so many roundings of the largest are equal.
_EQUAL = 4 * np.finfo(np.float64).eps


def list_columns(scores: Floats, offsets: Integers) -> Floats:
    """The columns of one list, of shape (n_documents, 6).

    With the n documents of a query that the list has, and t = (s - lowest) / (highest - lowest):

    - score: s. Documents that the list lacks get the lowest.
    - z: (t - mean) / standard deviation. The others get the lowest z.
    - min_max: t. The others get 0.
    - rank: from 1, the mean rank for equal scores. The others get n + 1.
    - reciprocal_rank: 1 / rank. The others get 0.
    - presence: 1. The others get 0.

    If all scores of a list are equal, z is 0 and t is 1. If the list lacks the query, the score,
    z and t are 0, and each rank is the number of candidates + 1.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        NaN: the list lacks the document.
    offsets : ndarray of shape (n_queries + 1,)

    Examples
    --------
    >>> scores = np.array([7.0, np.nan, 3.0, 5.0])
    >>> list_columns(scores, np.array([0, 4])).round(2)
    array([[ 7.  ,  1.22,  1.  ,  1.  ,  1.  ,  1.  ],
           [ 3.  , -1.22,  0.  ,  4.  ,  0.  ,  0.  ],
           [ 3.  , -1.22,  0.  ,  3.  ,  0.33,  1.  ],
           [ 5.  ,  0.  ,  0.5 ,  2.  ,  0.5 ,  1.  ]])
    """
    # Those that the list lacks come last.
    filled = np.where(np.isnan(scores), -np.inf, scores)
    order = argsort_descending(filled, offsets)
    columns = np.empty((len(scores), len(COLUMNS)))
    _fill(
        read_only(filled, np.float64),
        read_only(order, np.int64),
        read_only(offsets, np.int64),
        columns,
    )
    return columns


@kernel(error_model="numpy")
def _fill(scores: Floats, order: Integers, offsets: Integers, columns: Floats) -> None:
    """Sums run over scores in descending order, so that the order of documents changes no bit."""
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        n = 0
        while begin + n < end and scores[order[begin + n]] > -np.inf:
            n += 1
        highest = scores[order[begin]] if n else 0.0
        lowest = scores[order[begin + n - 1]] if n else 0.0
        extent = highest - lowest
        varies = extent > _EQUAL * max(abs(highest), abs(lowest))
        mean = variance = 0.0
        if varies:
            for place in range(begin, begin + n):
                mean += (scores[order[place]] - lowest) / extent
            mean /= n
            for place in range(begin, begin + n):
                variance += ((scores[order[place]] - lowest) / extent - mean) ** 2
            variance /= n
        spread = np.sqrt(variance) if varies else 1.0
        first = begin
        while first < begin + n:
            last = first
            while last + 1 < begin + n and scores[order[last + 1]] == scores[order[first]]:
                last += 1
            rank = 0.5 * (first + last) - begin + 1.0
            for place in range(first, last + 1):
                row = order[place]
                t = (scores[row] - lowest) / extent if varies else 1.0
                columns[row, 0] = scores[row]
                columns[row, 1] = (t - mean) / spread if varies else 0.0
                columns[row, 2] = t
                columns[row, 3] = rank
                columns[row, 4] = 1.0 / rank
                columns[row, 5] = 1.0
            first = last + 1
        for place in range(begin + n, end):
            row = order[place]
            columns[row, 0] = lowest
            columns[row, 1] = (0.0 - mean) / spread
            columns[row, 2] = 0.0
            columns[row, 3] = n + 1.0 if n else end - begin + 1.0
            columns[row, 4] = 0.0
            columns[row, 5] = 0.0


@lru_cache(maxsize=64)
def list_names(feature_names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The names of the lists in a dataset of lists. Any other dataset has ().

    Examples
    --------
    >>> list_names(("bm25.score", "bm25.z", "length"))
    ()
    >>> list_names((*(f"bm25.{column}" for column in COLUMNS), "length"))
    ('bm25',)
    """
    if feature_names is None:
        return ()
    known = set(feature_names)
    names = (name.removesuffix(".score") for name in feature_names if name.endswith(".score"))
    return tuple(name for name in names if all(f"{name}.{column}" in known for column in COLUMNS))


def columns_of_lists(feature_names: tuple[str, ...] | None, column: str) -> list[int]:
    """The position of a column of each list among the features. Empty: each feature is a list."""
    if feature_names is None or not (names := list_names(feature_names)):
        return []
    places = {name: place for place, name in enumerate(feature_names)}
    return [places[f"{name}.{column}"] for name in names]


def values_of_lists(
    dataset: RankingDataset, column: str, feature_names: tuple[str, ...] | None
) -> Floats:
    """A column of each list, of shape (n_documents, n_lists).

    Parameters
    ----------
    dataset : RankingDataset
    column : str
        One of `COLUMNS`.
    feature_names : tuple of str or None
        The names of the features in training. The dataset itself may lack names.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[3.0, 1.0], [5.0, np.nan]], qid=["q", "q"])
    >>> values_of_lists(dataset, "rank", None)
    array([[2., 1.],
           [1., 2.]])
    """
    features: Array = dataset.features
    if places := columns_of_lists(feature_names, column):
        return np.nan_to_num(features[:, places].astype(np.float64))
    values = np.empty((dataset.n_documents, dataset.n_features))
    for feature in range(dataset.n_features):
        scores = features[:, feature].astype(np.float64)
        values[:, feature] = list_columns(scores, dataset.offsets)[:, _PLACE[column]]
    return values


def trained_names(ranker: Ranker) -> tuple[str, ...] | None:
    """The names of the features that a ranker was trained on, if they had any."""
    names = getattr(ranker, "feature_names_in_", None)
    return None if names is None else tuple(names.tolist())


def learn_names(ranker: Ranker, dataset: RankingDataset) -> None:
    """Remember, in `_fit`, the names that say which features are columns of lists."""
    if dataset.feature_names is not None:
        ranker.feature_names_in_ = np.array(dataset.feature_names)


def n_lists(feature_names: tuple[str, ...] | None, n_features: int) -> int:
    """The number of lists in a dataset with these features."""
    return len(list_names(feature_names)) or n_features
