"""Features as numbers of bins between thresholds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localrank.arrays import Array, Floats
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only

# Values that are searched for together.
_BLOCK = 64


def bin_features(features: Array, n_thresholds: int | None) -> tuple[list[Floats], Array]:
    """Thresholds for each feature, and for each value the number of them below it.

    Thresholds are values that occur, all distinct ones but the largest, or where these are more
    than `n_thresholds` so many of them, evenly spaced in their order. Increasing transformations
    of a feature and repeated rows leave the bins as they are.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Without NaN.
    n_thresholds : int or None
        The most per feature; None for no limit.

    Returns
    -------
    thresholds : list of n_features ndarrays
        Ascending.
    bins : ndarray of shape (n_features, n_documents)
        uint8 where `n_thresholds` is 255 or less, uint32 otherwise.

    Examples
    --------
    >>> thresholds, bins = bin_features(np.array([[1.0], [7.0], [3.0], [3.0], [5.0]]), 2)
    >>> thresholds
    [array([1., 5.])]
    >>> bins
    array([[0, 2, 1, 1, 1]], dtype=uint8)
    """
    small = n_thresholds is not None and n_thresholds <= 255
    bins = np.empty(features.shape[::-1], dtype=np.uint8 if small else np.uint32)
    thresholds = []
    for column, counts in zip(_columns(features), bins, strict=True):
        values = np.unique(column)[:-1]
        if n_thresholds is not None and len(values) > n_thresholds:
            spaced = (np.arange(n_thresholds) + 0.5) * (len(values) / n_thresholds)
            values = values[spaced.astype(np.int64)]
        # Padded to twice a power of 2, so that a search needs no test for the end.
        longest = 1 << max(len(values).bit_length() - 1, 0)
        edges = np.full(2 * longest, np.inf)
        edges[: len(values)] = values
        _count_below(read_only(column, np.float64), read_only(edges, np.float64), longest, counts)
        thresholds.append(values)
    return thresholds, bins


def _columns(features: Array) -> Iterator[Floats]:
    """Each column, contiguous; neighbours are copied together, in tiles that fit the cache."""
    width, height = 16, 1024
    for left in range(0, features.shape[1], width):
        strip = features[:, left : left + width]
        columns = np.empty(strip.shape[::-1])
        for top in range(0, len(features), height):
            columns[:, top : top + height] = strip[top : top + height].T
        yield from columns


@kernel
def _count_below(values: Floats, edges: Floats, longest: int, counts: Array) -> None:
    """Binary search with strides that are powers of 2, from `longest` down.

    A block of values takes each step together: no branch, and several in one instruction.
    """
    found = np.empty(_BLOCK, np.int64)
    for first in range(0, len(values), _BLOCK):
        block = values[first : first + _BLOCK]
        found[:] = 0
        stride = longest
        while stride > 0:
            for i in range(len(block)):
                ahead = found[i] + stride
                found[i] = ahead if edges[ahead - 1] < block[i] else found[i]
            stride >>= 1
        for i in range(len(block)):
            counts[first + i] = found[i]
