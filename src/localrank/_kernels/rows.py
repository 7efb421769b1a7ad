"""Rows of features: projected, gathered, centred."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel


@kernel
def projections(features: Floats, direction: Floats) -> Floats:
    """The product of each row with a vector, to the last bit the same wherever the row stands."""
    products = np.empty(len(features))
    even = len(direction) // 4 * 4
    for row in range(len(features)):
        # Four sums, because each addition waits for the one before it.
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for column in range(0, even, 4):
            a += features[row, column] * direction[column]
            b += features[row, column + 1] * direction[column + 1]
            c += features[row, column + 2] * direction[column + 2]
            d += features[row, column + 3] * direction[column + 3]
        for column in range(even, len(direction)):
            a += features[row, column] * direction[column]
        products[row] = (a + b) + (c + d)
    return products


@kernel
def projections_by_query(features: Floats, directions: Floats, offsets: Integers) -> Floats:
    """The product of each row with the vector of its query, as `projections` rounds it."""
    products = np.empty(len(features))
    for query in range(len(directions)):
        begin, end = offsets[query], offsets[query + 1]
        products[begin:end] = projections(features[begin:end], directions[query])
    return products


@kernel
def centred_rows(features: Floats, rows: Integers, offsets: Integers) -> Floats:
    """The given rows, in groups, less the mean of their group."""
    n_features = features.shape[1]
    centred = np.empty((len(rows), n_features))
    mean = np.empty(n_features)
    for group in range(len(offsets) - 1):
        begin, end = offsets[group], offsets[group + 1]
        mean[:] = 0.0
        for place in range(begin, end):
            row = rows[place]
            for column in range(n_features):
                mean[column] += features[row, column]
        mean /= end - begin
        for place in range(begin, end):
            row = rows[place]
            for column in range(n_features):
                centred[place, column] = features[row, column] - mean[column]
    return centred


@kernel
def distances(rows: Floats, others: Floats) -> Floats:
    """The Euclidean distance of each row to each of the others, of any two the same to the bit."""
    n, width = others.shape
    result = np.empty((len(rows), n))
    even = n // 4 * 4
    for i in range(len(rows)):
        for j in range(0, even, 4):
            # Four sums, because each addition waits for the one before it.
            a = b = c = d = 0.0
            for column in range(width):
                value = rows[i, column]
                a += (value - others[j, column]) ** 2
                b += (value - others[j + 1, column]) ** 2
                c += (value - others[j + 2, column]) ** 2
                d += (value - others[j + 3, column]) ** 2
            result[i, j], result[i, j + 1] = np.sqrt(a), np.sqrt(b)
            result[i, j + 2], result[i, j + 3] = np.sqrt(c), np.sqrt(d)
        for j in range(even, n):
            a = 0.0
            for column in range(width):
                a += (rows[i, column] - others[j, column]) ** 2
            result[i, j] = np.sqrt(a)
    return result


@inner_kernel
def longest_query(offsets: Integers) -> int:
    """The most documents of a query.

    `np.diff(offsets).max()` is the same, and takes two seconds to compile.

    Examples
    --------
    >>> import numpy as np
    >>> int(longest_query(np.array([0, 3, 5])))
    3
    """
    longest = 0
    for query in range(len(offsets) - 1):
        longest = max(longest, offsets[query + 1] - offsets[query])
    return longest
