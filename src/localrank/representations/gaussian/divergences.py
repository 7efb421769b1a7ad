"""Gaussians fitted to queries: covariances, inverse factors, and comparisons of pairs."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only


def scatters(rows: Floats, offsets: Integers) -> Floats:
    """The sum of outer products of each query's rows, of shape (n_queries, n_features, n_features).

    Examples
    --------
    >>> scatters(np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 2, 3]))
    array([[[1., 2.],
            [2., 5.]],
    <BLANKLINE>
           [[9., 0.],
            [0., 0.]]])
    """
    sums: Floats = _scatters(read_only(rows, np.float64), read_only(offsets, np.int64))
    return sums


@kernel
def _scatters(rows: Floats, offsets: Integers) -> Floats:
    n_features = rows.shape[1]
    sums = np.empty((len(offsets) - 1, n_features, n_features))
    for query in range(len(offsets) - 1):
        own = rows[offsets[query] : offsets[query + 1]]
        np.dot(own.T, own, sums[query])
    return sums


def inverse_factors(factors: Floats) -> Floats:
    """The inverses of lower triangular matrices, of shape (n_matrices, d, d).

    Examples
    --------
    >>> inverse_factors(np.array([[[2.0, 0.0], [3.0, 0.5]]]))
    array([[[ 0.5,  0. ],
            [-3. ,  2. ]]])
    """
    inverses: Floats = _inverse_factors(read_only(factors, np.float64))
    return inverses


@kernel
def _inverse_factors(factors: Floats) -> Floats:
    """Row by row: of L W = I, row i of W is (e_i - sum over k < i of L_ik W_k) / L_ii."""
    inverses = np.zeros(factors.shape)
    for matrix in range(len(factors)):
        L, W = factors[matrix], inverses[matrix]
        for i in range(len(L)):
            W[i, i] = 1.0
            for k in range(i):
                for j in range(k + 1):
                    W[i, j] -= L[i, k] * W[k, j]
            for j in range(i + 1):
                W[i, j] /= L[i, i]
    return inverses


def bhattacharyya_exponents(
    means_a: Floats, factors_a: Floats, means_b: Floats, factors_b: Floats
) -> Floats:
    """Bhattacharyya's distance of each Gaussian of one set from each of another.

    With S the mean of the two covariances and m the difference of the means it is

        1/8 m' S^-1 m + 1/2 ln |S| - 1/4 ln |S_a| - 1/4 ln |S_b|,

    and the kernel between the two densities is exp(-distance).

    Parameters
    ----------
    means_a, means_b : ndarray of shape (n_gaussians, d)
    factors_a, factors_b : ndarray of shape (n_gaussians, d, d)
        Lower Cholesky factors of the covariances.

    Examples
    --------
    Equal variances, means two standard deviations apart: 4 / 8.

    >>> factor = np.ones((1, 1, 1))
    >>> bhattacharyya_exponents(np.array([[0.0]]), factor, np.array([[2.0]]), factor)
    array([[0.5]])
    """
    exponents: Floats = _half_way(
        read_only(means_a, np.float64),
        read_only(factors_a @ factors_a.swapaxes(1, 2), np.float64),
        read_only(means_b, np.float64),
        read_only(factors_b @ factors_b.swapaxes(1, 2), np.float64),
        means_a is means_b and factors_a is factors_b,
    )
    exponents -= (_log_determinants(factors_a)[:, None] + _log_determinants(factors_b)) / 4
    return exponents


def _log_determinants(factors: Floats) -> Floats:
    determinants: Floats = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return determinants


@kernel(fastmath={"contract"})
def _half_way(
    means_a: Floats, covariances_a: Floats, means_b: Floats, covariances_b: Floats, same: bool
) -> Floats:
    """The terms of each pair, which are symmetric: where both sets are the same, for half of them.

    Rows of S are reduced by the rows above, as in S = U' D U, with the difference of the means
    as one more column: then m' S^-1 m is the sum of its squares over the pivots D.
    """
    d = means_a.shape[1]
    rows, inverse_pivots = np.empty((d, d + 1)), np.empty(d)
    terms = np.empty((len(means_a), len(means_b)))
    for a in range(len(means_a)):
        for b in range(a + 1 if same else len(means_b)):
            determinant, square = 0.0, 0.0
            for i in range(d):
                row = rows[i]
                for j in range(i, d):
                    row[j] = 0.5 * (covariances_a[a, i, j] + covariances_b[b, i, j])
                row[d] = means_a[a, i] - means_b[b, i]
                _reduce(rows, inverse_pivots, i)
                inverse_pivots[i] = 1.0 / row[i]
                determinant += np.log(row[i])
                square += row[d] * row[d] * inverse_pivots[i]
            terms[a, b] = determinant / 2 + square / 8
            if same:
                terms[b, a] = terms[a, b]
    return terms


@kernel(fastmath={"contract"})
def _reduce(rows: Floats, inverse_pivots: Floats, i: int) -> None:
    """Subtract from row i its share of each row above, four at a time."""
    row, width = rows[i], rows.shape[1]
    even = i // 4 * 4
    for k in range(0, even, 4):
        p, q, r, s = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        in_p, in_q = p[i] * inverse_pivots[k], q[i] * inverse_pivots[k + 1]
        in_r, in_s = r[i] * inverse_pivots[k + 2], s[i] * inverse_pivots[k + 3]
        for j in range(i, width):
            row[j] -= in_p * p[j] + in_q * q[j] + in_r * r[j] + in_s * s[j]
    for k in range(even, i):
        share = rows[k, i] * inverse_pivots[k]
        for j in range(i, width):
            row[j] -= share * rows[k, j]
