"""Learning from pairs of documents by Newton's method.

RankSVM and its kin minimise ½‖w‖² + C/N · Σ loss over N pairs of documents of the same query. They
share the parameters and fitted attributes declared here, and the scaling of features.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number, one_of, real, whole
from localrank.data import RankingDataset
from localrank.data._offsets import n_first
from localrank.rankers._inputs import MAX_DOCUMENTS
from localrank.rankers._linear import ScalingRanker
from localrank.rankers._training import learns_from_part, teaching
from localrank.rankers.base import Weights, missing_rule
from localrank.rankers.rank_svm._newton import (
    Point,
    Solution,
    evaluate,
    newton_step,
    part_of,
    scale,
)
from localrank.rankers.rank_svm._ranking_pairs import RankingPairs

if TYPE_CHECKING:
    from localrank.rankers.rank_svm._ranking_pairs import RankingPairs


PARAMETERS: Rules = {
    "C": number(above=0),
    "loss": one_of("squared_hinge", "hinge"),
    "pair_weight": one_of("pair", "query"),
    "tol": number(above=0),
    "max_iter": whole(1, 1_000_000),
    "missing": missing_rule,
}
# The objective at its minimum, the largest possible distance from it, and numbers of steps and
# pairs.
FITTED: Rules = {
    "objective_": real,
    "duality_gap_": real,
    "n_iter_": whole(0),
    "n_pairs_": whole(1),
}


def pairs_of(
    ranker: ScalingRanker,
    dataset: RankingDataset,
    query_weights: Weights,
    label_pairs: Sequence[tuple[float, float]] | None = None,
    label_weights: Floats | None = None,
) -> RankingPairs:
    """The pairs of a dataset, with features scaled by a scaling that the ranker learns from it."""
    # Only training needs these kernels: `best` and linear models load without them.
    from localrank.rankers.rank_svm._centred_table import Scaled, is_large
    from localrank.rankers.rank_svm._ranking_pairs import EXPLICIT, RankingPairs

    teaches = teaching(ranker, dataset, query_weights)
    wide = dataset.n_features > EXPLICIT or is_large(dataset)
    in_place = wide and ranker.scaling != "query" and label_pairs is None
    if in_place and not dataset.has_table and dataset.n_documents > MAX_DOCUMENTS:
        # All rows must be in memory. Queries are in an order that is as good as random.
        lessons = np.flatnonzero(teaches)
        queries = lessons[: n_first(dataset.query_sizes[lessons], MAX_DOCUMENTS)]
        learns_from_part(ranker, dataset, lessons, queries)
        dataset = dataset.taken(queries)
        query_weights = None if query_weights is None else query_weights[queries]
    if label_pairs is not None or (in_place and not dataset.has_table):
        # The rows are read many times, or not query by query.
        dataset = dataset.in_memory()
    ranker._learn_scaling(dataset)
    features: Any = ranker._scaled_blocks(dataset)
    if label_pairs is not None:
        features = ranker._scaled(dataset)
    elif in_place:
        features = Scaled(*dataset.table_and_rows(), getattr(ranker, "scale_", None))
    return RankingPairs.of(
        dataset,
        features,
        query_weights,
        label_pairs=label_pairs,
        label_weights=label_weights,
        by_query=ranker.pair_weight != "pair",
    )


def minimized(ranker: ScalingRanker, pairs: RankingPairs, start: Floats | None = None) -> Floats:
    """The weights at the minimum. Sets the fitted attributes that describe it."""
    from localrank.rankers.rank_svm._newton import minimize

    solve = minimize_hinge if ranker.loss == "hinge" else minimize
    solution = solve(pairs, ranker.C, start, ranker.tol, ranker.max_iter)
    ranker.objective_ = solution.objective
    ranker.duality_gap_ = solution.gap
    ranker.n_iter_ = solution.n_steps
    ranker.n_pairs_ = int(pairs.n_pairs.sum())
    if not solution.gap <= ranker.tol * solution.objective:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"{type(ranker).__name__} stopped after {ranker.n_iter_} steps with a relative duality "
            f"gap of {solution.gap / solution.objective:.2g}, above tol={ranker.tol:g}.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return solution.weights


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
