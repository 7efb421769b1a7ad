"""Ids of any kind as numbers."""

from __future__ import annotations

import os

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._kernels.keys import number_keys
from localrank._kernels.sorting import read_only
from localrank.data._strings import Strings


def numbered(ids: Array) -> tuple[Array, Integers]:
    """The different ids, and the place of each entry among them.

    Examples
    --------
    >>> numbered(np.array([7, 3, 7]))
    (array([7, 3]), array([0, 1, 0]))
    """
    if ids.dtype.kind in "UT":
        numbers, firsts = Strings.of(ids).numbered()
        return ids[firsts], numbers
    if ids.dtype.kind == "i" or (ids.dtype.kind == "u" and ids.dtype.itemsize < 8):
        known, numbers = numbered_keys(ids)
        return known.astype(ids.dtype), numbers
    known, numbers = np.unique(ids, return_inverse=True)
    return known, numbers.astype(np.int64)


def numbered_keys(keys: Integers) -> tuple[Integers, Integers]:
    """The different keys in the order of their first places, and the number of each entry."""
    numbers = np.empty(len(keys), np.int64)
    # Unknown to those who choose the ids. Numbers do not depend on it.
    secret = int.from_bytes(os.urandom(7))
    return number_keys(read_only(keys, np.int64), secret, numbers), numbers
