"""Planes below the risk of a metric, and the metric that minimises them."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.mlr.penalties import Penalty
from localrank.rankers.svm_map.simplex_qp import minimise_over_simplex

# A plane is dropped after this many minima in a row that did not need it.
PATIENCE = 50
# Largest number of rounds of one minimum, and rounds between two checks of the step.
MOST_ROUNDS, LOOK = 1000, 10
# The step is doubled or halved if one residual is this many times the other.
UNBALANCED = 5.0


class MetricPlanes:
    """Planes b_k + G_k·W below a risk, and the minimum of Ω(W) + C max_k over W ⪰ 0.

    The alternating direction method of multipliers finds it. W has three copies: V for the planes,
    P for the cone and Y for the penalty. Each has a price U for differing from their mean. A round
    sets

        V = T - C/ρ sum of λ_k G_k,    λ the minimum of a quadratic program over the simplex,
        P = T without its negative eigenvalues,
        Y = T shrunk by Ω / ρ,

    each with its own T = mean - U. Any λ in the simplex and any Z with Z·W <= Ω(W) for all W give
    a lower bound on the minimum, over the planes and so over the risk itself: see `bound`.

    Parameters
    ----------
    penalty : Penalty
    C : float
    n_features : int
    """

    def __init__(self, penalty: Penalty, C: float, n_features: int) -> None:
        self.penalty, self.C = penalty, C
        # The plane of the ideal rankings: no risk is below 0. It is never dropped.
        self.slopes = np.zeros((1, n_features, n_features))
        self.intercepts = np.zeros(1)
        self.products = np.zeros((1, 1))
        self.shares = np.ones(1)
        self.idle = np.zeros(1, np.int64)
        self.mean = np.zeros((n_features, n_features))
        self.prices = np.zeros((3, n_features, n_features))
        self.step = 0.0
        self.below = np.zeros((n_features, n_features))

    def __len__(self) -> int:
        return len(self.shares) - 1

    def add(self, slope: Floats, intercept: float) -> None:
        """Add a plane, and drop those that have long been idle."""
        self.idle = np.where(self.shares > 0, 0, self.idle + 1)
        kept = np.flatnonzero((self.idle <= PATIENCE) | (np.arange(len(self.idle)) == 0))
        n = len(kept)
        products = np.empty((n + 1, n + 1))
        products[:n, :n] = self.products[np.ix_(kept, kept)]
        self.slopes = np.concatenate([self.slopes[kept], slope[None]])
        products[n] = products[:, n] = np.tensordot(self.slopes, slope, 2)
        self.products = products
        self.intercepts = np.append(self.intercepts[kept], intercept)
        self.shares = np.append(self.shares[kept], 0.0)
        self.idle = np.append(self.idle[kept], 0)

    def value(self, W: Floats) -> float:
        """Ω(W) + C times the highest plane."""
        heights = self.intercepts + np.tensordot(self.slopes, W, 2)
        return self.penalty.value(W) + self.C * float(heights.max())

    def minimum(self, centre: Floats, pull: float, size: float, tol: float) -> Floats:
        """The W ⪰ 0 that nearly minimises Ω(W) + C max_k + pull/2 ‖W - centre‖².

        Parameters
        ----------
        centre : ndarray of shape (n_features, n_features)
        pull : float
        size : float
            Rough trace of W, which sets the first step.
        tol : float
            Relative size of the residuals at which to stop.
        """
        step = self.step or len(centre) / size
        for n_rounds in range(1, MOST_ROUNDS + 1):
            V, P, Y = self._copies(step)
            total = step * (V + P + Y + self.prices.sum(axis=0)) + pull * centre
            before, self.mean = self.mean, total / (3 * step + pull)
            # Only rows are shrunk. The mean with the transpose is the nearest symmetric matrix.
            self.mean = (self.mean + self.mean.T) / 2
            off = np.stack([V, P, Y]) - self.mean
            self.prices += off
            apart = _length(off) / max(_length(self.mean), 1e-300)
            moved = step * _length(self.mean - before) / max(step * _length(self.prices), 1e-300)
            if max(apart, moved) <= tol:
                break
            if (
                n_rounds % LOOK == 0
                and not 1 / UNBALANCED <= apart / max(moved, 1e-300) <= UNBALANCED
            ):
                factor = 2.0 if apart > moved else 0.5
                step *= factor
                self.prices /= factor
        self.step = step
        dropped = ~Y.any(axis=1)
        P[dropped], P[:, dropped] = 0.0, 0.0
        return P

    def _copies(self, step: float) -> tuple[Floats, Floats, Floats]:
        for_planes, for_cone, for_penalty = self.mean - self.prices
        heights = self.intercepts + np.tensordot(self.slopes, for_planes, 2)
        minimise_over_simplex(self.C / step * self.products, heights, self.shares, 1e-10)
        V = for_planes - self.C / step * np.tensordot(self.shares, self.slopes, 1)
        Y = self.penalty.shrunk(for_penalty, 1 / step)
        self.below = step * (for_penalty - Y)
        return V, _in_cone(for_cone), Y

    def bound(self, objective: float) -> float:
        """Lower bound on Ω(W) + C R(W) over all W, from the current λ and Z.

        For every W ⪰ 0 the value is at least C λ·b + M·W with M = Z + C sum of λ_k G_k. Let m be
        the smallest eigenvalue of M, or 0 if that is positive. The minimum has tr(W) <= Ω(W) <=
        `objective`, so M·W >= m objective. A second bound mixes λ and Z, with share 1 / (1 - m),
        with the plane 0 and the identity: then M is positive semidefinite.
        """
        M = (self.below + self.below.T) / 2 + self.C * np.tensordot(self.shares, self.slopes, 1)
        m = min(float(np.linalg.eigvalsh(M)[0]), 0.0)
        at_zero = self.C * float(self.shares @ self.intercepts)
        return max(at_zero + m * objective, at_zero / (1.0 - m))


def _in_cone(T: Floats) -> Floats:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(T)
    positive = vectors[:, values > 0]
    nearest: Floats = (positive * values[values > 0]) @ positive.T
    return nearest


def _length(matrices: Floats) -> float:
    return float(np.sqrt(np.vdot(matrices, matrices)))
