"""Sorting within each query, all queries at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel

# Lists up to this length are ranked by counting, longer ones merged from such blocks.
_BLOCK = 128


def argsort_descending(values: Floats, offsets: Integers) -> Integers:
    """Row numbers with each query's rows by descending value; equal values keep their order.

    Parameters
    ----------
    values : ndarray of shape (n_documents,)
        Without NaN: with one, each row is still there once, but not in its place.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.

    Examples
    --------
    >>> argsort_descending(np.array([1.0, 3.0, 2.0, 5.0, 5.0]), np.array([0, 3, 5]))
    array([1, 2, 0, 3, 4])
    """
    order: Integers = _argsort_descending(
        read_only(values, np.float64), read_only(offsets, np.int64), int(np.diff(offsets).max())
    )
    return order


def read_only(values: Any, dtype: Any) -> Array:
    """A contiguous read-only array, so that a kernel is compiled for one type of argument."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


@kernel
def _argsort_descending(values: Floats, offsets: Integers, longest: int) -> Integers:
    order = np.empty(len(values), np.int64)
    spare = np.empty(longest, np.int64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        sort_rows(values, begin, end, order[begin:end], spare)
    return order


@inner_kernel
def sort_rows(values: Floats, begin: int, end: int, order: Integers, spare: Integers) -> None:
    """Fill `order` with the rows from `begin` to `end` by descending value, stably.

    For kernels that need the order of one query at a time; both arrays have room for it. Whatever
    the values are, each row is there once: NaN has no place among numbers, but it has one.
    """
    for first in range(begin, end, _BLOCK):
        _place(values[first : min(first + _BLOCK, end)], first, order[first - begin :], spare)
    if end - begin > _BLOCK:
        _merge(values, order[: end - begin], spare)


@inner_kernel
def _place(block: Floats, first: int, order: Integers, places: Integers) -> None:
    """Put each row of a block at its rank, the number of larger values.

    Counting takes n² comparisons without a branch, several in one instruction: for short lists
    faster than any sort. A place already taken shows that the value has occurred before.
    """
    n = len(block)
    for i in range(n):
        order[i] = -1
        places[i] = 0
    # Four at a time, because reading and writing the places takes longer than comparing.
    j = 0
    while j + 4 <= n:
        a, b, c, d = block[j], block[j + 1], block[j + 2], block[j + 3]
        for i in range(n):
            value = block[i]
            places[i] += (a > value) + (b > value) + (c > value) + (d > value)
        j += 4
    while j < n:
        a = block[j]
        for i in range(n):
            places[i] += a > block[i]
        j += 1
    n_numbers = 0
    for i in range(n):
        value, place = block[i], places[i]
        if value != value:
            continue
        n_numbers += 1
        if order[place] >= 0:
            for j in range(i):
                place += block[j] == value
        order[place] = first + i
    # What is not a number comes after the numbers, so that every place is taken.
    if n_numbers < n:
        for i in range(n):
            if block[i] != block[i]:
                order[n_numbers] = first + i
                n_numbers += 1


@inner_kernel
def _merge(values: Floats, order: Integers, spare: Integers) -> None:
    """Merge neighbouring sorted blocks until one is left, the earlier row first among equals."""
    n, width = len(order), _BLOCK
    while width < n:
        for first in range(0, n - width, 2 * width):
            middle, last = first + width, min(first + 2 * width, n)
            left = middle - first
            for i in range(left):
                spare[i] = order[first + i]
            i, j, to = 0, middle, first
            while i < left and j < last:
                if values[order[j]] > values[spare[i]]:
                    order[to] = order[j]
                    j += 1
                else:
                    order[to] = spare[i]
                    i += 1
                to += 1
            while i < left:
                order[to] = spare[i]
                i += 1
                to += 1
        width *= 2
