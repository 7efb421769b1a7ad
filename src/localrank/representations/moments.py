"""Moments of each feature over the documents of a query."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.sums import order_free_means
from localrank.data import RankingDataset
from localrank.registry import declare
from localrank.representations.base import Points


@declare("mean", "the mean of its documents")
class Mean(Points):
    """Describes a query by the mean of its documents [1].

    It changes when a query's documents are shifted or scaled. Features with large values count
    most; `Scaled` prevents that.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009. Section 2.1, which also defines `Variance` and `Skew`.

    Examples
    --------
    >>> X = [[1.0, 5.0], [3.0, 5.0], [0.0, 2.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=["a", "a", "b"])
    >>> Mean().fit(dataset).transform(dataset)
    array([[2., 5.],
           [0., 2.]])
    """

    def _transform(self, dataset: RankingDataset) -> Floats:
        means, _ = centred(dataset)
        return means


@declare("variance", "the variance of each feature")
class Variance(Points):
    """Describes a query by the variance of each feature over its n documents (divisor n).

    Examples
    --------
    >>> X = [[1.0, 5.0], [3.0, 5.0], [0.0, 2.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=["a", "a", "b"])
    >>> Variance().fit(dataset).transform(dataset)
    array([[1., 0.],
           [0., 0.]])
    """

    def _transform(self, dataset: RankingDataset) -> Floats:
        _, rest = centred(dataset)
        return query_means(rest**2, dataset.offsets)


@declare("skew", "the skew of each feature")
class Skew(Points):
    """Describes a query by the skew of each feature: its third central moment over σ³.

    A feature that is constant within the query has skew 0.

    Examples
    --------
    >>> X = [[0.0, 5.0], [0.0, 5.0], [3.0, 5.0], [0.0, 2.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=["a", "a", "a", "b"])
    >>> Skew().fit(dataset).transform(dataset).round(3)
    array([[0.707, 0.   ],
           [0.   , 0.   ]])
    """

    def _transform(self, dataset: RankingDataset) -> Floats:
        _, rest = centred(dataset)
        # Relative to the largest: cubes of tiny or huge numbers would vanish or overflow.
        largest = np.maximum.reduceat(np.abs(rest), dataset.offsets[:-1])
        rest /= np.repeat(np.where(largest > 0, largest, 1.0), dataset.query_sizes, axis=0)
        squares = rest**2
        second = query_means(squares, dataset.offsets)
        third = query_means(squares * rest, dataset.offsets)
        return np.divide(third, second**1.5, out=np.zeros_like(third), where=largest > 0)


def centred(dataset: RankingDataset) -> tuple[Floats, Floats]:
    """The mean of each query, and each document minus the mean of its query.

    Rounding is relative to the range of a query's values, not to their size. If they are all
    equal, the differences are exactly 0.
    """
    features = dataset.features.astype(np.float64, copy=False)
    least = np.minimum.reduceat(features, dataset.offsets[:-1])
    rest = features - np.repeat(least, dataset.query_sizes, axis=0)
    shift = query_means(rest, dataset.offsets)
    rest -= np.repeat(shift, dataset.query_sizes, axis=0)
    return least + shift, rest


def query_means(values: Array, offsets: Integers, weights: Floats | None = None) -> Floats:
    """The weighted mean of each query's rows, the same in any order; 0 if all weights are 0.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
    offsets : ndarray of shape (n_queries + 1,)
        Start of each query's rows, and the end of the last.
    weights : ndarray of shape (n_rows,), optional
        Weight of each row. None: equal weights.

    Examples
    --------
    >>> query_means(np.array([[1.0], [3.0], [4.0]]), np.array([0, 2, 3]), np.array([3.0, 1.0, 0.0]))
    array([[1.5],
           [0. ]])
    """
    return order_free_means(values, offsets, np.ones(len(values)) if weights is None else weights)
