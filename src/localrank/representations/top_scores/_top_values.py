"""The largest values of each column in each query."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.offsets import longest_query
from localrank._kernels.sorting import read_only
from localrank.data._offsets import offsets_of


def top_values(features: Array, offsets: Integers, n: int) -> tuple[Floats, Integers]:
    """The n largest values of each feature in each query, each column in descending order.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Without NaN.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.
    n : int
        A query with fewer documents keeps what it has.

    Returns
    -------
    values : ndarray of shape (n_rows, n_features)
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows of values begin, and the end.

    Examples
    --------
    >>> features = np.array([[1.0, 7.0], [3.0, 5.0], [2.0, 9.0], [0.0, 0.0]])
    >>> values, offsets = top_values(features, np.array([0, 3, 4]), 2)
    >>> values
    array([[3., 9.],
           [2., 7.],
           [0., 0.]])
    >>> offsets
    array([0, 2, 3])
    """
    ends = offsets_of(np.minimum(np.diff(offsets), n))
    values = _top_values(
        read_only(features, np.float64), read_only(offsets, np.int64), read_only(ends, np.int64)
    )
    return values, ends


@kernel
def _top_values(features: Floats, offsets: Integers, ends: Integers) -> Floats:
    """Pass over each column with a heap of its largest values so far, the smallest on top."""
    values = np.empty((ends[-1], features.shape[1]))
    heap = np.empty(longest_query(ends))
    for query in range(len(ends) - 1):
        size = ends[query + 1] - ends[query]
        begin, end = offsets[query], offsets[query + 1]
        for column in range(features.shape[1]):
            for place in range(size):
                heap[place] = features[begin + place, column]
            for place in range(size // 2 - 1, -1, -1):
                _sink(heap, place, size)
            for row in range(begin + size, end):
                if features[row, column] > heap[0]:
                    heap[0] = features[row, column]
                    _sink(heap, 0, size)
            for left in range(size - 1, -1, -1):
                values[ends[query] + left, column] = heap[0]
                heap[0] = heap[left]
                _sink(heap, 0, left)
    return values


@kernel
def _sink(heap: Floats, place: int, size: int) -> None:
    """Let a value sink until none below it is smaller."""
    value = heap[place]
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = value
