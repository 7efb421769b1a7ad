"""The metric with the least penalty plus risk, found by a proximal bundle of cutting planes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank._base.arrays import Floats
from localrank.rankers.mlr._metric_risk import MetricRisk
from localrank.rankers.mlr._penalties import Penalty
from localrank.rankers.svm_map._simplex_qp import minimise_over_simplex

# Share of the promised decrease that makes a new centre, and that weakens the pull.
SERIOUS, FREE = 0.1, 0.5
# Number of new planes without a new centre after which the pull is doubled.
MAX_NULL = 5
# If the planes promise less than this share of the gap, the pull is too strong.
TIGHT = 0.02
# Residual of the planes' minimum as a share of the gap, and its least and largest value.
SHARE, MIN_RESIDUAL, MAX_RESIDUAL = 1e-1, 1e-8, 1e-3
# An eigenvalue below this share of the largest is rounding.
_RESOLUTION = 1e-12


@dataclass
class MetricSolution:
    """The best metric so far, and how far it may be from the minimum.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Components of the metric, which is components' components.
    objective : float
    bound : float
        Lower bound on the objective of any metric.
    n_separations : int
        Number of searches for the most violated rankings of all queries.
    n_planes : int
    history : list of (float, float)
        Objective and bound after each search.
    """

    components: Floats
    objective: float
    bound: float = 0.0
    n_separations: int = 1
    n_planes: int = 1
    history: list[tuple[float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Difference between objective and bound, relative to the objective."""
        return max(self.objective - self.bound, 0.0) / self.objective


def minimise(
    risk: MetricRisk, penalty: Penalty, C: float, *, tol: float, max_iter: int
) -> MetricSolution:
    """Minimise Ω(W) + C R(W) over W ⪰ 0 until the relative gap is at most `tol`.

    The minimum of the planes alone jumps about. A term pull/2 ‖W - centre‖² therefore holds it
    near the best metric so far, the centre. A minimum that achieves a tenth of the decrease that
    the planes promise becomes the new centre. The pull is halved after good steps and doubled
    after several bad ones. It is not part of the objective or the bound.
    """
    n_features = risk.features.shape[1]
    centre, components = np.zeros((n_features, n_features)), np.empty((0, n_features))
    planes = MetricPlanes(penalty, C, n_features)
    slope, intercept = risk.plane(components)
    planes.add(slope, intercept)
    best = MetricSolution(components, C * intercept)
    pull, n_null = 0.1 * n_features / best.objective, 0
    while best.n_separations < max_iter:
        residual = float(np.clip(SHARE * best.gap, MIN_RESIDUAL, MAX_RESIDUAL))
        W = planes.minimum(centre, pull, best.objective, residual)
        best.bound = max(best.bound, planes.bound(best.objective))
        if best.gap <= tol:
            break
        promise = best.objective - planes.value(W)
        components = _factor(W)
        slope, intercept = risk.plane(components)
        objective = penalty.value(W) + C * (intercept + float(np.vdot(slope, W)))
        planes.add(slope, intercept)
        gain = best.objective - objective
        best.n_separations += 1
        n_null += 1
        if gain > SERIOUS * promise and gain > 0:
            centre, n_null = W, 0
            best.components, best.objective = components, objective
        if gain > FREE * promise or promise < TIGHT * (best.objective - best.bound):
            pull /= 2
        elif n_null == MAX_NULL:
            pull, n_null = 2 * pull, 0
        best.history.append((best.objective, best.bound))
    best.n_planes = len(planes)
    return best


def _factor(W: Floats) -> Floats:
    """Components whose squares sum to W, without those that are rounding."""
    values, vectors = np.linalg.eigh(W)
    kept = values > _RESOLUTION * max(values[-1], 0.0)
    components: Floats = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return components


# A plane is dropped after this many minima in a row that did not need it.
PATIENCE = 50
# Largest number of rounds of one minimum, and rounds between two checks of the step.
MAX_ROUNDS, LOOK = 1000, 10
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
        for n_rounds in range(1, MAX_ROUNDS + 1):
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
