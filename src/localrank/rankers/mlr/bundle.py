"""The metric of least penalty and risk, by a proximal bundle of cutting planes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.mlr.metric_planes import MetricPlanes
from localrank.rankers.mlr.metric_risk import MetricRisk
from localrank.rankers.mlr.penalties import Penalty

# Share of the decrease promised by the planes that makes a new centre, and that frees it.
SERIOUS, FREE = 0.1, 0.5
# New planes without a new centre before it pulls harder.
MOST_NULL = 5
# A promise below this share of the gap means that the centre pulls too hard.
TIGHT = 0.02
# Residuals of the planes' minimum, as a share of the gap, and their bounds.
SHARE, LEAST, MOST = 1e-1, 1e-8, 1e-3
# An eigenvalue below this share of the largest is rounding.
_RESOLUTION = 1e-12


@dataclass
class Minimum:
    """What was found.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Of the best metric, components' components.
    objective : float
    bound : float
        No metric has a lower objective.
    n_separations : int
        Searches for the most violated rankings of all queries.
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
        """Between objective and bound, relative to the objective."""
        return max(self.objective - self.bound, 0.0) / self.objective


def minimise(risk: MetricRisk, penalty: Penalty, C: float, *, tol: float, max_iter: int) -> Minimum:
    """Minimise Ω(W) + C R(W) over W ⪰ 0 until the relative gap is at most `tol`.

    The planes alone do not say how far they can be trusted, and their minimum jumps about. So a
    term pull/2 ‖W - centre‖² holds it near the best metric so far, the centre; a minimum that
    keeps a tenth of what the planes promise becomes the new centre. The pull is halved after
    good steps and doubled after several bad ones. It is no part of the objective or the bound.
    """
    n_features = risk.features.shape[1]
    centre, components = np.zeros((n_features, n_features)), np.empty((0, n_features))
    planes = MetricPlanes(penalty, C, n_features)
    slope, intercept = risk.plane(components)
    planes.add(slope, intercept)
    found = Minimum(components, C * intercept)
    pull, n_null = 0.1 * n_features / found.objective, 0
    while found.n_separations < max_iter:
        residual = float(np.clip(SHARE * found.gap, LEAST, MOST))
        W = planes.minimum(centre, pull, found.objective, residual)
        found.bound = max(found.bound, planes.bound(found.objective))
        if found.gap <= tol:
            break
        promise = found.objective - planes.value(W)
        components = _factor(W)
        slope, intercept = risk.plane(components)
        objective = penalty.value(W) + C * (intercept + float(np.vdot(slope, W)))
        planes.add(slope, intercept)
        gain = found.objective - objective
        found.n_separations += 1
        n_null += 1
        if gain > SERIOUS * promise and gain > 0:
            centre, n_null = W, 0
            found.components, found.objective = components, objective
        if gain > FREE * promise or promise < TIGHT * (found.objective - found.bound):
            pull /= 2
        elif n_null == MOST_NULL:
            pull, n_null = 2 * pull, 0
        found.history.append((found.objective, found.bound))
    found.n_planes = len(planes)
    return found


def _factor(W: Floats) -> Floats:
    """Components whose squares sum to W, without those that are rounding."""
    values, vectors = np.linalg.eigh(W)
    own = values > _RESOLUTION * max(values[-1], 0.0)
    components: Floats = np.sqrt(values[own])[:, None] * vectors[:, own].T
    return components
