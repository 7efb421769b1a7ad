"""Regularised minimum of a convex risk by cutting planes, with a proven gap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank.arrays import Floats
from localrank.rankers.svm_map.average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map.query_planes import lowest_between
from localrank.rankers.svm_map.simplex_qp import minimise_over_simplex

# Share of the decrease from w = 0 that must be proven, even for a large `tol`.
DESCENT = 0.9
# A plane is dropped after this many minima in a row that did not need it.
PATIENCE = 50
# A new search is needed when the kept planes leave at most this share of the gap unexplained.
UNEXPLAINED = 0.1
# New planes are taken this share of the way from the best point to the planes' minimum.
AHEAD = 0.1
# A search stalls if this many planes in a row close less than a hundredth of the gap. After this
# many stalled searches in a row, rounding prevents progress.
STALLED_PLANES, STALLED_SEARCHES = 300, 3


class CuttingPlanes:
    """Planes below a risk R(w), and the minimum of ||w||² / 2 + C max(planes).

    Let g_i be the slopes and b_i the intercepts. The dual problem maximises
    C a'b - ||C sum a_i g_i||² / 2 over shares a_i >= 0 that sum to 1, and w = -C sum a_i g_i. Any
    shares give a lower bound on the minimum of ||w||² / 2 + C R(w). Planes are valid for every C.

    Parameters
    ----------
    n_features : int
    floor : float
        A lower bound of R. It is the first plane, which is never dropped.
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
    """The best w so far, and how far it may be from the minimum.

    Attributes
    ----------
    w : ndarray of shape (n_features,)
        The best w.
    at_zero : float
        The objective at w = 0.
    change : float
        The objective at w less that at 0.
    bound : float
        Lower bound on the change of any w.
    n_separations : int
        Number of searches for the most violated rankings of all queries.
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
        """Difference between objective and bound, relative to the objective, plus rounding."""
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

    The gap must also be at most a tenth of the decrease from w = 0. Otherwise w = 0, which ranks
    nothing, would be good enough if C or the features are so small that w hardly lowers the risk.

    Separation, the search for every query's most violated ranking, gives R(w), a plane, and
    planes of single queries. Between two separations, the sum of the queries' kept planes replaces
    R. The same cutting planes nearly minimise it.
    """
    best = Minimum(start, C * risk.at_zero)
    w, n_stalled = start, 0
    while True:
        value = risk.separate(w)
        planes.add(*risk.highest(risk.heights(w)))
        change = float(0.5 * w @ w + C * value)
        if change < best.change:
            best.w, best.change = w, change
        w, stalled = _recombine(risk, planes, C, best, tol)
        best.n_separations += 1
        best.history.append((best.change, best.bound))
        stalled |= len(best.history) > 1 and best.history[-1] == best.history[-2]
        n_stalled = n_stalled + 1 if stalled else 0
        if best.is_within(tol) or best.n_separations >= max_iter or n_stalled == STALLED_SEARCHES:
            return best


def _recombine(
    risk: AveragePrecisionRisk, planes: CuttingPlanes, C: float, best: Minimum, tol: float
) -> tuple[Floats, bool]:
    """Minimise with the kept planes instead of the risk. Returns w, and whether it stalled.

    The objective is lowered along the line from the best point so far to the minimum of the
    planes, and a new plane is taken a little further on. This is Franc and Sonnenburg's line
    search. It keeps the points from jumping about.
    """
    w, heights = best.w, risk.heights(best.w)
    since = 0
    least = float("inf")
    while since < STALLED_PLANES:
        towards, bound = planes.minimum(C)
        best.bound = max(best.bound, bound)
        lowest = 0.5 * w @ w + C * risk.lower_bound(heights)
        unexplained = lowest - best.bound
        if best.is_within(tol) or unexplained <= UNEXPLAINED * (best.change - best.bound):
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
