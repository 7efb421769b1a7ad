"""SVMmap."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Flags, Floats
from localrank._base.rules import Rules, number, real, whole
from localrank.data import RankingDataset
from localrank.rankers._linear import LinearRanker, Scaling, carried, fitted_path
from localrank.rankers._relevance import (
    a_relevance_level,
    has_both,
    lesson_of_relevance,
    relevant,
)
from localrank.rankers._training import teaching
from localrank.rankers.base import HeldOut, Missing, Needs, Weights, missing_rule
from localrank.rankers.rank_svm._centred_table import CentredTable, Scaled, is_large
from localrank.rankers.svm_map._average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map._query_planes import lowest_between
from localrank.rankers.svm_map._simplex_qp import minimise_over_simplex
from localrank.registry import declare


@declare("svm-map", "linear, for average precision", grid={"C": [0.01, 0.1, 1.0, 10.0]})
class SVMMap(LinearRanker):
    """Linear support vector machine whose loss is 1 - average precision [1].

    Use it if MAP is the measure that counts. A label only says whether a document is relevant.

    It minimises, over the Q queries with relevant documents (R) and irrelevant ones (I),

        ||w||² / 2 + C / Q * sum over queries of
            max over rankings of 1 - AP(ranking) + w·Psi(ranking) - w·Psi(ideal ranking)

    where Psi(ranking) is the mean over R x I of x_r - x_i if the ranking has r above i, and of
    x_i - x_r otherwise. The maximum is an upper bound on the loss of ranking by w·x. It is found
    exactly. The sum is minimised by cutting planes with one slack variable [2], up to a proven
    gap. The model does not depend on the order of the rows.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. It is divided by the number of queries, as in the paper and in
        svm_struct, so it means the same on every dataset. Powers of ten from 0.01 to 10 are a
        sensible grid; `fit_path` fits them faster than one by one.
    relevance_level : float, optional
        The smallest relevant label. None: any label above 0 is relevant.
    scaling : {"standard", "query", None}, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are.
    tol : float, default=1e-3
        Stop when the objective is proven to be within this share of the minimum, and to have made
        at least nine tenths of the possible decrease from w = 0.
    max_iter : int, default=1000
        Largest number of searches for the most violated rankings of all queries.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features, then of the indicators.
    objective_ : float
        Value of the formula above at `coef_`.
    duality_gap_ : float
        Largest possible distance of the objective from its minimum, as a share of the objective.
        At most `tol`, unless a ConvergenceWarning said otherwise.
    n_iter_ : int
        Number of searches for the most violated rankings of all queries.
    n_constraints_ : int
        Number of cutting planes in the last quadratic program.
    n_skipped_queries_ : int
        Number of queries without a relevant or without an irrelevant document. Nothing can be
        learned from them.

    References
    ----------
    1. Yue, Finley, Radlinski, Joachims. A Support Vector Method for Optimizing Average
       Precision. SIGIR 2007.
    2. Joachims, Finley, Yu. Cutting-Plane Training of Structural SVMs. Machine Learning
       77(1), 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.measures import AveragePrecision
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = SVMMap(C=1).fit(train)
    >>> ranker.duality_gap_ <= 1e-3
    True
    >>> scores = ranker.predict(test)
    >>> AveragePrecision().mean(test, scores) > AveragePrecision().mean(test, 0 * scores) + 0.05
    True
    """

    needs = Needs(blocks=True, trial=False)

    path_parameters: ClassVar = ("C",)

    _parameters: ClassVar[Rules] = {
        "C": number(above=0),
        "relevance_level": a_relevance_level,
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": whole(0),
        "n_constraints_": whole(0),
        "n_skipped_queries_": whole(0),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        relevance_level: float | None = None,
        scaling: Scaling = "standard",
        tol: float = 1e-3,
        max_iter: int = 1000,
        missing: Missing = "impute",
    ) -> None:
        self.C = C
        self.relevance_level = relevance_level
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing

    def fit_path(self, X: Any, y: Any = None, *, qid: Any = None, Cs: ArrayLike) -> list[Self]:
        """Fit a clone for each C, faster than separate fits: each starts from the one before.

        Parameters
        ----------
        X, y, qid
            As for `fit`.
        Cs : array-like of float
            Values of C, in any order.

        Returns
        -------
        list of SVMMap
            One fitted clone per entry of `Cs`, in the same order.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> path = SVMMap().fit_path(dataset, Cs=[1, 0.01])
        >>> [ranker.C for ranker in path]
        [1.0, 0.01]
        """
        return fitted_path(self, X, y, qid, Cs)

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return has_both(dataset, self.relevance_level)

    def _lesson(self) -> str:
        return lesson_of_relevance(self.relevance_level)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # Cutting planes are valid for every C.
        shared = carried(self)
        if "training" not in shared:
            shared["training"] = self._prepare(dataset, query_weights)
        training: _Training = shared["training"]
        minimum = minimise(
            training.risk,
            training.planes,
            self.C,
            start=training.start,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        training.start = minimum.w
        if training.scale is not None:
            self.scale_ = training.scale
        self.coef_ = minimum.w
        self.objective_ = minimum.objective
        self.duality_gap_ = minimum.gap
        self.n_iter_ = minimum.n_separations
        self.n_constraints_ = len(training.planes)
        self.n_skipped_queries_ = training.n_skipped_queries
        if minimum.gap > self.tol:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"SVMMap stopped after {self.n_iter_} iterations with the objective proven to be "
                f"within {minimum.gap:.2g} of its minimum, not {self.tol:g}. Raise 'max_iter' or "
                f"'tol', lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _prepare(self, dataset: RankingDataset, query_weights: Weights) -> _Training:
        is_relevant = relevant(dataset, self.relevance_level)
        used = teaching(self, dataset, query_weights)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        # Used queries come first. In each query, relevant documents come first.
        queries = np.argsort(~used, kind="stable")
        place = np.empty_like(queries)
        place[queries] = np.arange(len(queries))
        rows = np.argsort(2 * place[dataset.query_index] + ~is_relevant, kind="stable")
        if not dataset.has_table:
            # The features are read three times.
            dataset = dataset.in_memory()
        sorted_rows = dataset.view().reordered(rows, queries)
        self._learn_scaling(sorted_rows)
        n_used = int(used.sum())
        offsets = sorted_rows.offsets[: n_used + 1]
        training = sorted_rows.taken(np.arange(n_used))
        features: Floats | CentredTable
        if is_large(training) and self.scaling != "query":
            scaled = Scaled(*training.table_and_rows(), getattr(self, "scale_", None))
            features = CentredTable.of(scaled, np.arange(training.n_documents), offsets)
        else:
            features = self._scaled(training)
        weights = weights[queries[:n_used]]
        risk = AveragePrecisionRisk(
            features,
            offsets,
            dataset.count(is_relevant)[queries[:n_used]],
            weights / weights.sum(),
            overwrite=True,
        )
        return _Training(
            risk,
            CuttingPlanes(dataset.n_features, -risk.at_zero),
            np.zeros(dataset.n_features),
            int(np.sum(~self.learns_from(dataset))),
            self.scale_ if self.scaling == "standard" else None,
        )


@dataclass
class _Training:
    """What fits on the same data with different C share."""

    risk: AveragePrecisionRisk
    planes: CuttingPlanes
    start: Floats
    n_skipped_queries: int
    scale: Floats | None


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
class MarginSolution:
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
) -> MarginSolution:
    """Minimise ||w||² / 2 + C R(w) until the relative gap is at most `tol`.

    The gap must also be at most a tenth of the decrease from w = 0. Otherwise w = 0, which ranks
    nothing, would be good enough if C or the features are so small that w hardly lowers the risk.

    Separation, the search for every query's most violated ranking, gives R(w), a plane, and
    planes of single queries. Between two separations, the sum of the queries' kept planes replaces
    R. The same cutting planes nearly minimise it.
    """
    best = MarginSolution(start, C * risk.at_zero)
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
    risk: AveragePrecisionRisk, planes: CuttingPlanes, C: float, best: MarginSolution, tol: float
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
