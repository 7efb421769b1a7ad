"""Newton's method for ½‖w‖² + c · Σ loss over pairs of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from localrank._base.arrays import Floats
from localrank.rankers.rank_svm._ranking_pairs import PairLosses, RankingPairs

# Largest number of products with the matrix of second derivatives per step, if it is not formed.
_PRODUCTS = 200
# Up to this many rows are solved at once. More start from a solution for every eighth group.
_SMALL = 4000
_STEP = 8


@dataclass(frozen=True)
class Point:
    """A weight vector with its objective ½‖w‖² + c · loss and the gradient."""

    weights: Floats
    losses: PairLosses
    objective: float
    gradient: Floats
    at_zero: float

    @property
    def gap(self) -> float:
        """Largest possible distance of the objective from its minimum.

        The objective less ½‖w‖² is convex, so a quadratic of curvature 1 that touches it here
        lies below it. (The gap to the dual at multipliers c · loss'(z) is the same number.)
        """
        return 0.5 * float(self.gradient @ self.gradient)


def evaluate(
    pairs: RankingPairs, c: float, knee: float, weights: Floats, scores: Floats | None = None
) -> Point:
    """The objective at a weight vector. `scores`: its scores, if they are known already."""
    losses = pairs.losses(pairs.features @ weights if scores is None else scores, knee)
    objective = 0.5 * float(weights @ weights) + c * losses.loss
    gradient = weights + c * (losses.gradient @ pairs.features)
    at_zero = c * (0.5 if knee >= 1.0 else knee - 0.5 * knee * knee)
    return Point(weights, losses, objective, gradient, at_zero)


def scale(weights: Floats, objective: float, at_zero: float) -> float:
    """The reference of a relative accuracy: the objective, or the gain over w = 0 if smaller.

    Features with tiny values barely lower the objective, but they still rank. At the minimum, the
    gain is at least ½‖w‖², which is computed without loss of digits.
    """
    return min(objective, max(0.5 * float(weights @ weights), at_zero - objective))


@dataclass(frozen=True)
class Solution:
    """Weights, their objective, its largest distance from the minimum, and the steps taken."""

    weights: Floats
    objective: float
    gap: float
    n_steps: int
    knee: float = np.inf


def minimize(
    pairs: RankingPairs, C: float, start: Floats | None, tol: float, max_iter: int
) -> Solution:
    """Minimise ½‖w‖² + C · Σ max(0, z)²/2 over weighted pairs with slacks z.

    The objective is piecewise quadratic, so the last step is a full step to the exact minimum of
    one piece. Without a start, the solution for a part of the groups is used: it costs much less.
    """
    if start is None:
        part = part_of(pairs)
        start = np.zeros(pairs.features.shape[1])
        if part is not None:
            start = minimize(part, C, None, max(tol, 1e-4), max_iter).weights
    at = evaluate(pairs, C, np.inf, start)
    for step in range(max_iter):
        if at.gap <= tol * scale(at.weights, at.objective, at.at_zero):
            return Solution(at.weights, at.objective, at.gap, step)
        further = newton_step(pairs, C, at)
        if further is None:
            return Solution(at.weights, at.objective, at.gap, step)
        at = further
    return Solution(at.weights, at.objective, at.gap, max_iter)


def part_of(pairs: RankingPairs) -> RankingPairs | None:
    """A part of the pairs to start from; None if there are few."""
    if len(pairs.features) <= _SMALL or len(pairs.n_pairs) <= _STEP:
        return None
    return pairs.every(_STEP)


def newton_step(
    pairs: RankingPairs, c: float, at: Point, part: RankingPairs | None = None
) -> Point | None:
    """A point with a lower objective; None if rounding prevents any further decrease.

    With `part`, the second derivatives are computed from this part of the pairs.
    """
    if part is None:
        direction = _newton_direction(pairs, c, at)
    else:
        losses = part.losses(part.features @ at.weights, at.losses.graph.knee)
        direction = _newton_direction(part, c, replace(at, losses=losses))
    if -(at.gradient @ direction) <= 1e-15 * scale(at.weights, at.objective, at.at_zero):
        return None
    return _line_search(pairs, c, at, direction)


def _newton_direction(pairs: RankingPairs, c: float, at: Point) -> Floats:
    if not at.losses.graph.degrees.any():
        return -at.gradient
    if not pairs.explicit:
        return _conjugate_gradients(pairs, c, at)
    # Imported here: loading a model does not need it.
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    hessian = c * pairs.hessian(at.losses)
    diagonal = np.diagonal(hessian).copy()
    # Rounding may make a matrix of huge entries indefinite. A large enough ridge repairs it.
    size = max(1.0, float(np.abs(hessian).sum(axis=0).max()))
    for ridge in (0.0, *(size * 10.0**power for power in range(-15, 2))):
        np.fill_diagonal(hessian, diagonal + 1.0 + ridge)
        try:
            factor = cho_factor(hessian, lower=True, check_finite=False)
        except LinAlgError:
            continue
        direction: Floats = -cho_solve(factor, at.gradient, check_finite=False)
        return direction
    return -at.gradient / (1.0 + np.abs(diagonal))


def _conjugate_gradients(pairs: RankingPairs, c: float, at: Point) -> Floats:
    """An approximate Newton direction. It always descends."""
    diagonal = 1.0 + c * pairs.weighted_squares(at.losses.graph.degrees)
    direction = np.zeros_like(at.gradient)
    residual = -at.gradient
    search = residual / diagonal
    product = float(residual @ search)
    # The tolerance falls with the gradient: the steps converge faster than linearly.
    size = float(np.linalg.norm(at.gradient))
    bound = min(0.1, np.sqrt(size / (1.0 + np.linalg.norm(at.weights)))) * size
    for _ in range(_PRODUCTS):
        image = search + c * pairs.hessian_product(at.losses, search)
        length = product / float(search @ image)
        direction += length * search
        residual -= length * image
        if np.linalg.norm(residual) <= bound:
            break
        scaled = residual / diagonal
        before, product = product, float(residual @ scaled)
        search = scaled + product / before * search
    return direction


def _line_search(pairs: RankingPairs, c: float, at: Point, direction: Floats) -> Point | None:
    """A lower point near the minimum along a direction; None if there is none.

    The objective is convex: it falls for as long as its slope is negative. The root of the slope
    is bracketed, and found by interpolation and bisection in turn. Near a sharp hinge the slope is
    almost a step function, and interpolation alone converges slowly.
    """
    initial = float(at.gradient @ direction)
    scores = pairs.features @ (at.weights + direction)
    low, low_slope, high, high_slope = 0.0, initial, np.inf, np.inf
    length, highest = 1.0, at.objective * (1 + 1e-14)
    lowest: Point | None = None
    for attempt in range(100):
        weights = at.weights + length * direction
        if length != 1.0:
            scores = pairs.features @ weights
        point = evaluate(pairs, c, at.losses.graph.knee, weights, scores)
        slope = float(point.gradient @ direction)
        if abs(slope) <= -0.25 * initial and (slope <= 0 or point.objective <= highest):
            return point
        if slope < 0:
            low, low_slope, lowest = length, slope, point
            length = 4 * length if high == np.inf else length
        else:
            high, high_slope = length, slope
        if high < np.inf:
            share = 0.5 if attempt % 2 else low_slope / (low_slope - high_slope)
            length = low + min(max(share, 0.1), 0.9) * (high - low)
        if length in (low, high):
            break
    return lowest if lowest is not None and lowest.objective < at.objective else None
