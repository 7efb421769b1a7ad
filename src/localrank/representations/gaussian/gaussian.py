"""Gaussians fitted to the documents of a query."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.data.exact_sums import ExactSums, added
from localrank.data.passes import over_parts
from localrank.declaration import declare
from localrank.fitted import Kinds, floats
from localrank.memory import check_memory
from localrank.parameters import Rules, number, one_of
from localrank.representations.base import Representation
from localrank.representations.gaussian.divergences import (
    bhattacharyya_exponents,
    inverse_factors,
    scatters,
)
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

    _fitted: ClassVar[Kinds] = {"variances_": floats("n_features")}

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
            "Choose some of the features first, or take Mean() or PrincipalComponents().",
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
