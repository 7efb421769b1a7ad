"""Sums that are the same to the last bit in any order of the numbers.

Adding 1.5 times a large power of two to a number, and taking it away again, rounds the number to a
grid. The numbers on one grid add up without rounding, as long as their sum has at most 52 bits. So
each number is cut in two: its part on a coarse grid, and what is left on a fine one. What is left
below the fine grid is dropped: less than 2 to the minus 70 of the largest number, for a sum of a
thousand numbers.
"""

from __future__ import annotations

import math

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only

# Larger sums could overflow on the way, and are added up as they come.
_LARGEST = 1000


@inner_kernel
def order_free_sum(values: Floats, n: int) -> float:
    """The sum of the first n numbers, which are finite."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(values[i]))
    coarse, fine = _grids(largest, n)
    high = low = 0.0
    for i in range(n):
        part = (values[i] + coarse) - coarse
        rest = values[i] - part
        high += part
        low += (rest + fine) - fine
    return high + low


@inner_kernel
def _grids(largest: float, n: int) -> tuple[float, float]:
    """Numbers that round to the coarse and to the fine grid for n numbers up to the largest."""
    bits = math.frexp(largest)[1]
    more = math.frexp(float(n))[1]
    if bits + more > _LARGEST:
        return 0.0, 0.0
    return math.ldexp(1.5, bits + more), math.ldexp(1.5, bits + 2 * more - 52)


def order_free_means(values: Floats, offsets: Integers, weights: Floats) -> Floats:
    """The weighted mean of each column over the rows of each query; 0 if all weights are 0.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Finite numbers.
    offsets : ndarray of shape (n_queries + 1,)
    weights : ndarray of shape (n_rows,)

    Examples
    --------
    >>> values = np.array([[0.1, 1e100], [0.2, 1e90], [0.3, -1e100]])
    >>> means = order_free_means(values, np.array([0, 3]), np.ones(3))
    >>> means
    array([[2.00000000e-01, 3.33333333e+89]])
    >>> np.array_equal(means, order_free_means(values[::-1], np.array([0, 3]), np.ones(3)))
    True
    """
    means: Floats = _means(
        read_only(values, np.float64), read_only(offsets, np.int64), read_only(weights, np.float64)
    )
    return means


@kernel(error_model="numpy")
def _means(values: Floats, offsets: Integers, weights: Floats) -> Floats:
    n_columns = values.shape[1]
    means = np.zeros((len(offsets) - 1, n_columns))
    largest, coarse, fine = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    high, low = np.empty(n_columns), np.empty(n_columns)
    longest = 0
    for query in range(len(offsets) - 1):
        longest = max(longest, offsets[query + 1] - offsets[query])
    of_query = np.empty(longest)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        for row in range(begin, end):
            of_query[row - begin] = weights[row]
        total = order_free_sum(of_query, end - begin)
        if not total > 0:
            continue
        largest[:] = high[:] = low[:] = 0.0
        for row in range(begin, end):
            for i in range(n_columns):
                largest[i] = max(largest[i], abs(weights[row] * values[row, i]))
        for i in range(n_columns):
            coarse[i], fine[i] = _grids(largest[i], end - begin)
        for row in range(begin, end):
            for i in range(n_columns):
                value = weights[row] * values[row, i]
                part = (value + coarse[i]) - coarse[i]
                high[i] += part
                low[i] += ((value - part) + fine[i]) - fine[i]
        for i in range(n_columns):
            means[query, i] = (high[i] + low[i]) / total
    return means
