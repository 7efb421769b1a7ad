"""Geometric mean metric learning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Floats
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.rules import Rules, check_parameters, number
from localrank._kernels.linalg import geometric_mean

Matrix = Floats
# With more documents than this share of the features, computing in their span saves no time.
_WORTHWHILE = 0.75


class GMML(Estimator):
    """Mahalanobis metric that puts relevant documents close together and irrelevant ones far away.

    From relevant documents P and irrelevant ones N, with λ the `ridge`,

        S = λ I + sum over (p, p') in P × P of (p - p') (p - p')^T,
        D = λ I + sum over (p, n) in P × N of (p - n) (p - n)^T,

    and the metric M is the point at fraction `t` on the geodesic from S^-1 to D. At t = 1/2 it
    is the only positive definite solution of M S M = D [1], and minimises
    tr(M S) + tr(M^-1 D). The sums have closed forms: no pair is visited.

    Parameters
    ----------
    t : float, default=0.5
        Position on the geodesic, from 0 to 1.
    ridge : float, default=1e-3
        Multiple of the identity added to both sums, so that few documents still give an invertible
        matrix. Its scale is that of squared features, summed over pairs. 0 needs more relevant
        documents than features.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric positive definite.
    factor_ : ndarray of shape (n_features, n_features)
        Upper triangular R with R^T R = M.

    References
    ----------
    1. Zadeh, Hosseini, Sra. Geometric Mean Metric Learning. ICML 2016.

    Examples
    --------
    >>> relevant, irrelevant = [[1.0, 0.0], [-1.0, 0.0]], [[0.0, 3.0], [0.0, -3.0]]
    >>> gmml = GMML(ridge=1.0).fit(relevant, irrelevant)
    >>> (gmml.metric_**2).round(2)  # S is diag(9, 1), D is diag(5, 37)
    array([[ 0.56,  0.  ],
           [ 0.  , 37.  ]])
    >>> gmml.distances([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(2)
    array([[0.86, 2.47]])
    """

    _parameters: ClassVar[Rules] = {
        "t": number(least=0, most=1),
        "ridge": number(least=0),
    }

    def __init__(self, t: float = 0.5, *, ridge: float = 1e-3) -> None:
        self.t = t
        self.ridge = ridge

    def fit(self, relevant: ArrayLike, irrelevant: ArrayLike) -> Self:
        """Learn from documents, one row each."""
        check_parameters(self)
        P, N = np.asarray(relevant, dtype=np.float64), np.asarray(irrelevant, dtype=np.float64)
        if P.ndim != 2 or N.ndim != 2 or P.shape[1] != N.shape[1] or not (len(P) and len(N)):
            raise ValueError(
                f"GMML needs relevant and irrelevant documents, one in each row, with the same "
                f"features. Got shapes {P.shape} and {N.shape} instead."
            )
        try:
            self.metric_ = self._metric(P, N)
            self.factor_ = np.linalg.cholesky(self.metric_).T.copy()
        except np.linalg.LinAlgError:
            raise ValueError(
                f"The 'ridge' parameter of GMML is too small: the {len(P)} relevant documents do "
                f"not spread in all {P.shape[1]} directions. Got {self.ridge!r}."
            ) from None
        return self

    def distances(self, A: ArrayLike, B: ArrayLike) -> Matrix:
        """Distances between rows, sqrt((a - b)^T M (a - b)), of shape (len(A), len(B))."""
        check_is_fitted(self, "metric_")
        # Imported here: loading a model does not need it.
        from scipy.spatial.distance import cdist

        distances: Matrix = cdist(np.asarray(A) @ self.factor_.T, np.asarray(B) @ self.factor_.T)
        return distances

    def _metric(self, P: Matrix, N: Matrix) -> Matrix:
        documents = np.vstack([P, N])
        documents -= documents.mean(axis=0)
        n_relevant, n_features = P.shape
        if self.ridge == 0 or len(documents) > _WORTHWHILE * n_features:
            return self._mean(documents[:n_relevant], documents[n_relevant:])
        # Orthogonal to the span of the documents, S = D = λ I, so M = λ^(2t - 1) I.
        across = self.ridge ** (2 * self.t - 1)
        span, coordinates = np.linalg.qr(documents.T)
        M = self._mean(coordinates.T[:n_relevant], coordinates.T[n_relevant:])
        M.flat[:: len(M) + 1] -= across
        M = span @ M @ span.T
        metric: Matrix = 0.5 * (M + M.T)
        metric.flat[:: n_features + 1] += across
        return metric

    def _mean(self, P: Matrix, N: Matrix) -> Matrix:
        S, D = pair_scatters(P, N)
        for scatter in (S, D):
            scatter.flat[:: len(scatter) + 1] += self.ridge
        return geometric_mean(S, D, self.t)


def pair_scatters(P: Matrix, N: Matrix) -> tuple[Matrix, Matrix]:
    """Sums of (p - p') (p - p')^T over P × P, and of (p - n) (p - n)^T over P × N.

    They are 2 |P| C(P) and |N| C(P) + |P| C(N) + |P| |N| δ δ^T, where C(X) is the sum of squares
    and products around the mean of X, and δ the difference of the means.

    Examples
    --------
    >>> pair_scatters(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    (array([[2.]]), array([[13.]]))
    """
    mean_p, mean_n = P.mean(axis=0), N.mean(axis=0)
    around_p, around_n, apart = P - mean_p, N - mean_n, mean_p - mean_n
    C_p = around_p.T @ around_p
    D = len(N) * C_p + len(P) * (around_n.T @ around_n)
    D += len(P) * len(N) * np.outer(apart, apart)
    return 2 * len(P) * C_p, D
