"""The hinge loss of pairs: Newton's method on smoothed losses, with a proven gap."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.rank_svm.newton import (
    Point,
    Solution,
    evaluate,
    newton_step,
    part_of,
    scale,
)
from localrank.rankers.rank_svm.ranking_pairs import RankingPairs

# Below this the smoothed loss is the hinge up to rounding.
_SHARPEST = 1e-12
# Smallest gap, relative to the objective, that sums in float64 can prove.
_ROUNDING = 1e-13


def minimize_hinge(
    pairs: RankingPairs, C: float, start: Floats | None, tol: float, max_iter: int
) -> Solution:
    """Minimise P(w) = ½‖w‖² + C · Σ max(0, z) over weighted pairs with slacks z.

    The hinge is smoothed into z²/2k for 0 < z ≤ k and z - k/2 beyond. At any w, the multipliers
    α = C·min(z/k, 1)₊ are feasible for the dual D(α) = Σ α - ½‖Σ α (x_i - x_j)‖². P - D therefore
    bounds the distance to the minimum. At the minimum of the smoothed problem, the bound is at
    most a quarter of k times C times the weight of the pairs on the quadratic part. The knee k is
    lowered until the bound is small enough. Second derivatives are computed from a part of the
    groups for as long as that makes good steps.
    """
    part = None
    knee = 1.0 if start is None else 0.1
    if start is None:
        start = np.zeros(pairs.features.shape[1])
        part = part_of(pairs)
    if part is not None:
        rough = minimize_hinge(part, C, None, max(tol, 1e-3), max_iter)
        start = rough.weights
        wanted = tol * scale(start, rough.objective, C)
        knee = rough.knee * _fall(wanted, rough.gap, 0.2, 1.0)
    elif not start.any():
        # If no pair reaches its margin, the minimum is one step down the gradient.
        at = evaluate(pairs, 2 * C, 0.5, start)
        down = _certified(C, evaluate(pairs, 2 * C, 0.5, -at.gradient), 1)
        if down.gap <= tol * scale(down.weights, down.objective, C):
            return down
    at = evaluate(pairs, C / knee, knee, start)
    best, settled = _certified(C, at, 0), False
    for step in range(1, max_iter + 1):
        current = _certified(C, at, step - 1)
        best = min(best, current, key=lambda solution: solution.gap)
        wanted = tol * scale(best.weights, best.objective, C)
        if best.gap <= wanted or knee < _SHARPEST:
            return best
        if settled or at.gap <= 0.2 * current.gap:
            knee *= _fall(wanted, current.gap, 0.1, 0.7)
            at = evaluate(pairs, C / knee, knee, at.weights, at.losses.graph.scores)
        further = newton_step(pairs, C / knee, at, part)
        settled = further is None and part is None
        if further is None or further.gap > 0.1 * at.gap:
            part = None
        at = further or at
    return min(best, _certified(C, at, max_iter), key=lambda solution: solution.gap)


def _certified(C: float, at: Point, n_steps: int) -> Solution:
    """The objective at a point, and its gap to the dual at the multipliers the point implies.

    With v = Σ α (x_i - x_j), the gap is ½‖w - v‖² + Σ (C·z₊ - α·z). This avoids differences of
    large numbers. w - v is the gradient of the smoothed problem.
    """
    objective = 0.5 * float(at.weights @ at.weights) + C * at.losses.hinge
    knee, excess = at.losses.graph.knee, max(at.losses.excess, 0.0)
    gap = at.gap + C / knee * excess + _ROUNDING * objective
    return Solution(at.weights, objective, gap, n_steps, knee)


def _fall(wanted: float, gap: float, least: float, most: float) -> float:
    """The factor for the knee. The gap is about quadratic in the knee."""
    return min(max(0.8 * float(np.sqrt(wanted / max(gap, 1e-300))), least), most)
