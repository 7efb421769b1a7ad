"""Rows in groups: where each group begins, and the rows of some of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank.data._checks import first_repeated


def offsets_of(sizes: Array) -> Integers:
    """Where groups of these sizes begin, and the end.

    Examples
    --------
    >>> offsets_of(np.array([2, 3]))
    array([0, 2, 5])
    """
    return np.append(0, np.cumsum(sizes))


def rows_of(offsets: Integers, groups: Integers) -> tuple[Integers, Integers]:
    """The rows of some groups, one group after another, and where each begins among them.

    Examples
    --------
    >>> rows_of(np.array([0, 2, 5]), np.array([1, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    sizes = np.diff(offsets)[groups]
    begins = offsets_of(sizes)
    return np.arange(begins[-1]) + np.repeat(offsets[groups] - begins[:-1], sizes), begins


def n_first(sizes: Array, most: int) -> int:
    """How many of the first groups have at most this many rows together: at least one.

    Examples
    --------
    >>> n_first(np.array([2, 3, 4]), 5), n_first(np.array([7]), 5)
    (2, 1)
    """
    return max(int(np.searchsorted(np.cumsum(sizes), most, side="right")), 1)


def group_rows(ids: Array) -> tuple[Array, Integers, Integers | None]:
    """Query ids by first appearance, offsets, and the row order that makes them contiguous.

    The order is None if the rows of each query are contiguous already.

    Examples
    --------
    >>> group_rows(np.array(["b", "a", "b"]))
    (array(['b', 'a'], dtype='<U1'), array([0, 2, 3]), array([0, 2, 1]))
    """
    last_rows = (ids[1:] != ids[:-1]).nonzero()[0]
    if not last_rows.size:
        return ids[:1].copy(), _one_group(len(ids)), None
    offsets = np.concatenate([[0], last_rows + 1, [len(ids)]])
    if first_repeated(ids[offsets[:-1]]) is None:
        return ids[offsets[:-1]], offsets, None
    _, first, inverse, sizes = np.unique(
        ids, return_index=True, return_inverse=True, return_counts=True
    )
    appearance = np.argsort(first)
    position = np.empty_like(appearance)
    position[appearance] = np.arange(len(appearance))
    offsets = offsets_of(sizes[appearance])
    return ids[first[appearance]], offsets, np.argsort(position[inverse], kind="stable")


# Most lists that a model scores are one query of a few sizes.
@lru_cache(1024)
def _one_group(n_rows: int) -> Integers:
    offsets = np.array([0, n_rows])
    offsets.flags.writeable = False
    return offsets
