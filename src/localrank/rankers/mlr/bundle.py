"""The metric with the least penalty plus risk, found by a proximal bundle of cutting planes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.mlr.metric_planes import MetricPlanes
from localrank.rankers.mlr.metric_risk import MetricRisk
from localrank.rankers.mlr.penalties import Penalty

# Share of the promised decrease that makes a new centre, and that weakens the pull.
SERIOUS, FREE = 0.1, 0.5
# Number of new planes without a new centre after which the pull is doubled.
MOST_NULL = 5
# If the planes promise less than this share of the gap, the pull is too strong.
TIGHT = 0.02
# Residual of the planes' minimum as a share of the gap, and its least and largest value.
SHARE, LEAST, MOST = 1e-1, 1e-8, 1e-3
# An eigenvalue below this share of the largest is rounding.
_RESOLUTION = 1e-12


@dataclass
class Minimum:
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


def minimise(risk: MetricRisk, penalty: Penalty, C: float, *, tol: float, max_iter: int) -> Minimum:
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
    best = Minimum(components, C * intercept)
    pull, n_null = 0.1 * n_features / best.objective, 0
    while best.n_separations < max_iter:
        residual = float(np.clip(SHARE * best.gap, LEAST, MOST))
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
        elif n_null == MOST_NULL:
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
