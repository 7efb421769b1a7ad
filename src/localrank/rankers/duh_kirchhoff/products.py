"""Products of rows with a matrix, and kernels between rows and points.

A row's result is the same to the last bit wherever the row stands and whatever stands beside it,
which matrix products of BLAS do not promise: equal documents stay equal.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from localrank.arrays import Floats
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """The matrix product, row by row.

    Examples
    --------
    >>> row_products(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 5.0]]))
    array([[ 3., 10.]])
    """
    products: Floats = _row_products(read_only(rows, np.float64), read_only(matrix, np.float64))
    return products


def kernel_values(
    rows: Floats, points: Floats, kernel: Literal["poly", "rbf"], degree: int, gamma: float
) -> Floats:
    """The kernel between each row and each point.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    points : ndarray of shape (n_points, n_features)
    kernel : {"poly", "rbf"}
        (gamma x·y + 1)^degree or exp(-gamma ‖x - y‖²).
    degree : int
        Of the polynomial.
    gamma : float

    Examples
    --------
    >>> kernel_values(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]), "poly", 2, 1.0)
    array([[16.]])
    """
    columns = read_only(points.T, np.float64)
    if kernel == "rbf":
        values: Floats = _squared_distances(read_only(rows, np.float64), columns)
        values *= -gamma
        return np.exp(values, out=values)
    base = gamma * row_products(rows, columns) + 1.0
    values = base.copy()
    # Many times faster than a power, for the degrees in use.
    for _ in range(degree - 1):
        values *= base
    return values


@kernel
def _row_products(rows: Floats, matrix: Floats) -> Floats:
    products = np.zeros((len(rows), matrix.shape[1]))
    for row in range(len(rows)):
        for column in range(len(matrix)):
            # Several products at a time, each a sum in the order of the columns.
            for place in range(matrix.shape[1]):
                products[row, place] += rows[row, column] * matrix[column, place]
    return products


@kernel
def _squared_distances(rows: Floats, columns: Floats) -> Floats:
    distances = np.zeros((len(rows), columns.shape[1]))
    for row in range(len(rows)):
        for column in range(len(columns)):
            for place in range(columns.shape[1]):
                difference = rows[row, column] - columns[column, place]
                distances[row, place] += difference * difference
    return distances
