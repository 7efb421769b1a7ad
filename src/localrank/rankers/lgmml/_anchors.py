"""Squared distances to anchors from products with the factors of their metrics, and scores."""

from __future__ import annotations

from math import exp

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only

_FAR = 1000.0


def add_squares(products: Floats, origins: Floats, squares: Floats) -> None:
    """Add to squares[i, r] the squares of products[i, j, r] - origins[j, r] over j.

    The products of a row are consecutive: those of j = 0 with all r, then of j = 1.

    Parameters
    ----------
    products : ndarray of shape (at least n_rows, n_products * n_anchors)
    origins : ndarray of shape (n_products, n_anchors)
    squares : ndarray of shape (n_rows, n_anchors)

    Examples
    --------
    >>> squares = np.ones((1, 2))
    >>> add_squares(np.array([[3.0, 0.0, 4.0, 0.0]]), np.array([[1.0, 2.0], [0.0, 5.0]]), squares)
    >>> squares
    array([[21., 30.]])
    """
    _add_squares(products, read_only(origins, np.float64), squares)


def local_scores(distances: Floats, weights: Floats, own: Integers) -> Floats:
    """Scores -sum_r w_r x_r exp(-x_r) of documents at distances x, with the weights w of `own`.

    Parameters
    ----------
    distances : ndarray of shape (n_documents, n_anchors)
    weights : ndarray of shape (n_weights, n_anchors)
    own : ndarray of shape (n_documents,)
        Which weights each document has.

    Examples
    --------
    >>> local_scores(np.array([[0.0, 1.0]]), np.array([[5.0, 2.0]]), np.array([0])).round(3)
    array([-0.736])
    """
    scores: Floats = _local_scores(
        read_only(distances, np.float64), read_only(weights, np.float64), read_only(own, np.int64)
    )
    return scores


@kernel
def _add_squares(products: Floats, origins: Floats, squares: Floats) -> None:
    n_products, n_anchors = origins.shape
    for row in range(len(squares)):
        for j in range(n_products):
            for r in range(n_anchors):
                difference = products[row, j * n_anchors + r] - origins[j, r]
                squares[row, r] += difference * difference


@kernel
def _local_scores(distances: Floats, weights: Floats, own: Integers) -> Floats:
    scores = np.zeros(len(distances))
    for row in range(len(distances)):
        for r in range(distances.shape[1]):
            x = distances[row, r]
            # Farther, x exp(-x) is 0, and no overflow makes it undefined.
            if x < _FAR:
                scores[row] -= weights[own[row], r] * x * exp(-x)
    return scores
