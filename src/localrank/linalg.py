"""Principal axes of all queries at once, and the geometric mean of two matrices."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.kernels.clouds import spread_of_clouds
from localrank.kernels.sorting import read_only

# A variance below this share of the largest cannot be told from rounding. A spread of a millionth
# of the widest still counts.
_RESOLUTION = 1e-12


def principal_axes(features: Array, offsets: Integers, n_axes: int) -> tuple[Floats, Floats]:
    """Principal components of the documents of each query.

    An axis that the documents of a query do not determine is a zero vector with a share of 0. A
    query has as many axes as its documents have independent directions: none if it has one
    document, or only equal ones. The sign of an axis makes its largest entry positive.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
    offsets : ndarray of shape (n_queries + 1,)
        First row of each query, and the number of rows at the end.
    n_axes : int
        Number of axes to return. 0: only the shares.

    Returns
    -------
    shares : ndarray of shape (n_queries, n_features)
        Share of each axis in the query's variance, descending.
    axes : ndarray of shape (n_queries, n_axes, n_features)
        The first axes, of length 1 or 0.

    Examples
    --------
    >>> features = np.array([[0.0, 1.0], [3.0, 5.0], [6.0, 9.0], [7.0, 7.0]])
    >>> shares, axes = principal_axes(features, np.array([0, 3, 4]), 1)
    >>> shares
    array([[1., 0.],
           [0., 0.]])
    >>> axes.round(3)
    array([[[0.6, 0.8]],
           [[0. , 0. ]]])
    """
    shares, axes = spread_of_clouds(
        read_only(features, features.dtype), read_only(offsets, np.int64), n_axes, _RESOLUTION
    )
    return shares, axes


def geometric_mean(S: Floats, D: Floats, t: float = 0.5) -> Floats:
    """The matrix at fraction `t` of the geodesic from S^-1 to D.

    It is S^-1 at t = 0 and D at t = 1. At t = 1/2 it is the geometric mean of S^-1 and D: the
    only positive definite solution of M S M = D. With S = L L^T, D = K K^T and the singular
    value decomposition K^T L = U s V^T, it equals L^-T V s^2t V^T L^-1. Singular values are more
    precise than the eigenvalues of L^T D L if S and D are nearly singular.

    Parameters
    ----------
    S, D : ndarray of shape (n, n)
        Symmetric positive definite matrices.
    t : float, default=0.5
        Position on the geodesic, from 0 to 1.

    Examples
    --------
    >>> geometric_mean(np.diag([1.0, 4.0]), np.diag([9.0, 1.0]))
    array([[3. , 0. ],
           [0. , 0.5]])
    """
    # Imported here: loading a model does not need it.
    from scipy.linalg import solve_triangular

    L, K = np.linalg.cholesky(S), np.linalg.cholesky(D)
    _, spreads, axes = np.linalg.svd(K.T @ L)
    root = solve_triangular(L, axes.T * spreads**t, trans="T", lower=True, check_finite=False)
    mean: Floats = root @ root.T
    return mean
