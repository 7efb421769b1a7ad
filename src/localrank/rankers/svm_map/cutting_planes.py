"""Regularised minimum of a convex risk by cutting planes, with a gap that proves it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.svm_map.average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map.query_planes import lowest_between
from localrank.rankers.svm_map.simplex_qp import minimise_over_simplex

# Share of the way down from w = 0 that must be proven to be done, however large `tol`.
DESCENT = 0.9
# A plane that was not needed this often in a row is dropped.
PATIENCE = 50
# The kept planes of the queries are used up when they leave this share of the gap unexplained.
UNEXPLAINED = 0.1
# New planes are taken this share of the way from the best point to the planes' minimum.
AHEAD = 0.1
# Rounding is in the way when so many planes in a row close less than a hundredth of the gap, and
# prevails when so many searches in a row end like that.
STALLED_PLANES, STALLED_SEARCHES = 300, 3


class CuttingPlanes:
    """Planes below a risk R(w), and the minimum of ||w||² / 2 + C max(planes).

    With slopes g_i and intercepts b_i the dual is to maximise, over shares a_i >= 0 that sum to
    1, C a'b - ||C sum a_i g_i||² / 2, and w = -C sum a_i g_i. Any shares bound the minimum of
    ||w||² / 2 + C R(w) from below. Planes serve for every C.

    Parameters
    ----------
    n_features : int
    floor : float
        A lower bound of R: the first plane, which stays.
    """

    def __init__(self, n_features: int, floor: float) -> None:
        self.slopes = np.zeros((1, n_features))
        self.intercepts = np.array([floor])
        self.products = np.zeros((1, 1))
        self.shares = np.ones(1)
        self.idle = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return len(self.shares) - 1

    def add(self, slope: Floats, intercept: float) -> None:
        n = len(self.shares)
        self.slopes = np.vstack([self.slopes, slope])
        self.intercepts = np.append(self.intercepts, intercept)
        products = np.empty((n + 1, n + 1))
        products[:n, :n] = self.products
        products[n] = products[:, n] = self.slopes @ slope
        self.products = products
        self.shares = np.append(self.shares, 0.0)
        self.idle = np.append(self.idle, 0)

    def minimum(self, C: float) -> tuple[Floats, float]:
        """The w at the minimum, and the lower bound."""
        minimise_over_simplex(C * self.products, self.intercepts, self.shares, 1e-9)
        w = -C * (self.shares @ self.slopes)
        bound = float(C * (self.shares @ self.intercepts) - 0.5 * w @ w)
        self._drop_idle_planes()
        return w, bound

    def _drop_idle_planes(self) -> None:
        self.idle = np.where(self.shares > 0, 0, self.idle + 1)
        self.idle[0] = 0
        kept = np.flatnonzero(self.idle <= PATIENCE)
        if len(kept) < len(self.idle):
            self.slopes, self.intercepts = self.slopes[kept], self.intercepts[kept]
            self.products = np.ascontiguousarray(self.products[np.ix_(kept, kept)])
            self.shares, self.idle = self.shares[kept], self.idle[kept]


@dataclass
class Minimum:
    """What the cutting planes found.

    Attributes
    ----------
    w : ndarray of shape (n_features,)
        The best.
    at_zero : float
        The objective at w = 0.
    change : float
        The objective at w less that at 0.
    bound : float
        No w has a lower change.
    n_separations : int
    history : list of (float, float)
        Change and bound after each separation.
    """

    w: Floats
    at_zero: float
    change: float = np.inf
    bound: float = -np.inf
    n_separations: int = 0
    history: list[tuple[float, float]] = field(default_factory=list)

    @property
    def objective(self) -> float:
        return self.at_zero + self.change

    @property
    def gap(self) -> float:
        """Between objective and bound, relative to the objective, with room for rounding."""
        rounding = float(np.finfo(np.float64).eps) * self.at_zero
        return (max(self.change - self.bound, 0.0) + rounding) / max(self.objective, rounding)

    def is_within(self, tol: float) -> bool:
        return self.gap <= tol and self.change <= DESCENT * self.bound


def minimise(
    risk: AveragePrecisionRisk,
    planes: CuttingPlanes,
    C: float,
    *,
    start: Floats,
    tol: float,
    max_iter: int,
) -> Minimum:
    """Minimise ||w||² / 2 + C R(w) until the relative gap is at most `tol`.

    The gap must also be a tenth or less of the decrease from w = 0: where C or the features are
    so small that w hardly lowers the risk, w = 0 would else do, which ranks nothing.

    Separation, the search for every query's most violated ranking, gives R(w), a plane, and
    planes of single queries. Between two separations the sum of the queries' kept planes takes
    the place of R: it is minimised, nearly, by the same cutting planes.
    """
    found = Minimum(start, C * risk.at_zero)
    w, n_stalled = start, 0
    while True:
        value = risk.separate(w)
        planes.add(*risk.highest(risk.heights(w)))
        change = float(0.5 * w @ w + C * value)
        if change < found.change:
            found.w, found.change = w, change
        w, stalled = _recombine(risk, planes, C, found, tol)
        found.n_separations += 1
        found.history.append((found.change, found.bound))
        stalled |= len(found.history) > 1 and found.history[-1] == found.history[-2]
        n_stalled = n_stalled + 1 if stalled else 0
        if found.is_within(tol) or found.n_separations >= max_iter or n_stalled == STALLED_SEARCHES:
            return found


def _recombine(
    risk: AveragePrecisionRisk, planes: CuttingPlanes, C: float, found: Minimum, tol: float
) -> tuple[Floats, bool]:
    """Minimise with the kept planes for the risk; tell whether rounding stalled it.

    From the best point so far the objective is lowered along the line to the minimum of the
    planes, and a new plane taken a little further on: Franc and Sonnenburg's line search, which
    keeps the points from jumping about.
    """
    w, heights = found.w, risk.heights(found.w)
    since = 0
    least = float("inf")
    while since < STALLED_PLANES:
        towards, bound = planes.minimum(C)
        found.bound = max(found.bound, bound)
        lowest = 0.5 * w @ w + C * risk.lower_bound(heights)
        unexplained = lowest - found.bound
        if found.is_within(tol) or unexplained <= UNEXPLAINED * (found.change - found.bound):
            return w, False
        since += 1
        if unexplained < 0.99 * least:
            since, least = 0, float(unexplained)
        step = towards - w
        ends = risk.heights(towards)
        t = lowest_between(heights, ends, C * risk.weights, float(w @ step), float(step @ step), 16)
        w = w + t * step
        heights = (1 - t) * heights + t * ends
        planes.add(*risk.highest((1 - AHEAD) * heights + AHEAD * ends))
    return w, True
