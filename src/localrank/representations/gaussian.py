"""Gaussians fitted to the documents of a query."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.memory import check_memory
from localrank._base.rules import Rules, floats, number, one_of
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._exact_sums import ExactSums, added
from localrank.data._parts import over_parts
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.representations.moments import centred, query_means

# Smallest amount added to a variance, relative to it. It keeps every covariance positive definite
# in float64, also for a new query that varies far more than the training queries.
_LEAST_SHRINKAGE = 1e-12
# Numbers in a block of the arrays that distances are computed with.
_BLOCK = 2**22


@declare("gaussian", "a normal distribution of its documents")
class Gaussian(Representation):
    """Describes a query by a Gaussian fitted to its documents [1].

    The Gaussian has the mean of the documents. The covariance S of the documents is singular if
    they are fewer than the features. So the Gaussian has covariance
    (1 - shrinkage) S + shrinkage T, where T is the diagonal matrix of the variances of the
    average training query.

    Neither distance depends on the units of the features, or on a shift of all queries at once.
    Unlike `PrincipalComponents`, they take into account where a cloud lies and how large it is.
    With many features few clouds overlap, and most Bhattacharyya distances are close to 1.

    Parameters
    ----------
    distance : {"kl", "bhattacharyya"}, default="kl"
        "kl": the mean of both Kullback-Leibler divergences, 0 or larger. "bhattacharyya": one
        minus the Bhattacharyya kernel, from 0 to 1.
    shrinkage : float, default=0.1
        Share of T in the covariance, above 0 and at most 1. With 1 all queries have the
        covariance T.

    Attributes
    ----------
    variances_ : ndarray of shape (n_features,)
        The diagonal of T. A feature that is constant within every training query gets its
        variance between queries, or 1 if it never varies.

    Notes
    -----
    Descriptions have the shape (n_queries, n_features + 1, n_features): row 0 is the mean, the
    others are the lower triangular Cholesky factor of the covariance.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009. Section 2.2.

    Examples
    --------
    >>> X = [[0.0], [2.0], [1.0], [3.0], [0.0], [20.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=[1, 1, 2, 2, 3, 3])
    >>> gaussian = Gaussian().fit(dataset)
    >>> queries = gaussian.transform(dataset)
    >>> gaussian.distances(queries[:1], queries).round(2)
    array([[0.  , 0.12, 9.87]])
    """

    _parameters: ClassVar[Rules] = {
        "distance": one_of("kl", "bhattacharyya"),
        "shrinkage": number(above=0, most=1),
    }

    _fitted: ClassVar[Rules] = {"variances_": floats("n_features")}

    def __init__(
        self,
        distance: Literal["kl", "bhattacharyya"] = "kl",
        *,
        shrinkage: float = 0.1,
    ) -> None:
        self.distance = distance
        self.shrinkage = shrinkage

    def _fit(self, dataset: RankingDataset) -> None:
        parts = over_parts(_moments, dataset, description="Variances")
        n_queries, n_features = dataset.n_queries, dataset.n_features
        moments = added(sums for sums, _, _ in parts).rounded(n_queries)
        within, means = moments[:n_features], moments[n_features:]
        lowest = np.min([low for _, low, _ in parts], axis=0)
        highest = np.max([high for _, _, high in parts], axis=0)
        self.variances_ = np.where(within > 0, within, 1.0)
        apart = (within <= 0) & (highest > lowest)
        if apart.any():
            squares = over_parts(_squares, dataset, shared=(means,), description="Variances")
            between = added(squares).rounded(n_queries)
            self.variances_[apart] = between[apart]

    def _transform(self, dataset: RankingDataset) -> Floats:
        # Three arrays of this size: the covariances, their factors, and the descriptions.
        check_memory(
            3 * 8 * dataset.n_queries * dataset.n_features**2,
            f"Gaussian with {dataset.n_queries:,} covariances of {dataset.n_features:,} features",
            "Choose some of the features first, or use Mean() or PrincipalComponents().",
        )
        means, rest = centred(dataset)
        covariances = scatters(rest, dataset.offsets)
        covariances *= ((1 - self.shrinkage) / dataset.query_sizes)[:, None, None]
        diagonals = np.einsum("qii->qi", covariances)
        diagonals += np.maximum(self.shrinkage * self.variances_, _LEAST_SHRINKAGE * diagonals)
        return np.concatenate([means[:, None], np.linalg.cholesky(covariances)], axis=1)

    def distances(self, A: Array, B: Array) -> Floats:
        a = A[:, 0], A[:, 1:]
        b = a if A is B else (B[:, 0], B[:, 1:])
        if self.distance == "bhattacharyya":
            return -np.expm1(-np.maximum(bhattacharyya_exponents(*a, *b), 0.0))
        # In the sum of both divergences the determinants cancel.
        forth = _divergence_terms(*a, *b)
        back = forth if A is B else _divergence_terms(*b, *a)
        divergences: Floats = np.maximum((forth + back.T) / 4 - A.shape[2] / 2, 0.0)
        return divergences

    def similarities(self, distances: Floats) -> Floats:
        """The Bhattacharyya kernel; for "kl", 1 / (1 + distance)."""
        if self.distance == "bhattacharyya":
            return 1.0 - distances
        return super().similarities(distances)


def _moments(dataset: RankingDataset) -> tuple[ExactSums, Floats, Floats]:
    """Sums of the queries' variances and means, and the bounds of the means."""
    means, rest = centred(dataset)
    variances = query_means(rest**2, dataset.offsets)
    return ExactSums.of(np.hstack([variances, means])), means.min(axis=0), means.max(axis=0)


def _squares(dataset: RankingDataset, centre: Floats) -> ExactSums:
    """The sum, for each feature, of squared differences between the queries' means and a centre."""
    return ExactSums.of((centred(dataset)[0] - centre) ** 2)


def _divergence_terms(
    means_a: Floats, factors_a: Floats, means_b: Floats, factors_b: Floats
) -> Floats:
    """tr(S_b^-1 S_a) + (m_a - m_b)' S_b^-1 (m_a - m_b) for all pairs, of shape (n_a, n_b).

    The trace is a scalar product of the entries of two matrices, so one matrix product gives all
    pairs. Means are subtracted pair by pair, so that no digits cancel if they are large.
    """
    n, d = means_a.shape
    covariances = (factors_a @ factors_a.swapaxes(1, 2)).reshape(n, d * d)
    terms = np.empty((n, len(means_b)))
    step = max(1, _BLOCK // (d * max(n, d)))
    for begin in range(0, len(means_b), step):
        block = slice(begin, begin + step)
        inverses = inverse_factors(factors_b[block])
        precisions = (inverses.swapaxes(1, 2) @ inverses).reshape(-1, d * d)
        whitened = (means_a - means_b[block, None]) @ inverses.swapaxes(1, 2)
        squares = np.einsum("bai,bai->ab", whitened, whitened)
        terms[:, block] = covariances @ precisions.T + squares
    return terms


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
