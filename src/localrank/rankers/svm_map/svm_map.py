"""SVMmap."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.data.deferred import gathered, is_made, table_and_rows, view
from localrank.declaration import declare
from localrank.fitted import Kinds, count, real
from localrank.parameters import Rules, number, whole
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.linear import PathRanker, Scaling
from localrank.rankers.rank_svm.centred_table import CentredTable, Scaled, is_large
from localrank.rankers.relevance import RelevanceRanker
from localrank.rankers.svm_map.average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map.cutting_planes import CuttingPlanes, minimise


@declare("svm-map", "linear, for average precision", grid={"C": [0.01, 0.1, 1.0, 10.0]})
class SVMMap(PathRanker, RelevanceRanker):
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

    _parameters: ClassVar[Rules] = {
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Kinds] = {
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": count(0),
        "n_constraints_": count(0),
        "n_skipped_queries_": count(0),
    }

    _reads_blocks = True

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

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # Cutting planes are valid for every C.
        carried = self._carried
        if "training" not in carried:
            carried["training"] = self._prepare(dataset, query_weights)
        training: _Training = carried["training"]
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
        relevant = self._relevant(dataset)
        used = self._teaching(dataset, query_weights)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        # Used queries come first. In each query, relevant documents come first.
        queries = np.argsort(~used, kind="stable")
        place = np.empty_like(queries)
        place[queries] = np.arange(len(queries))
        rows = np.argsort(2 * place[dataset.query_index] + ~relevant, kind="stable")
        if is_made(dataset):
            # The features are read three times.
            dataset = gathered(dataset)
        sorted_rows = view(dataset).reordered(rows, queries)
        self._learn_scaling(sorted_rows)
        n_used = int(used.sum())
        offsets = sorted_rows.offsets[: n_used + 1]
        training = sorted_rows.taken(np.arange(n_used))
        features: Floats | CentredTable
        if is_large(training) and self.scaling != "query":
            scaled = Scaled(*table_and_rows(training), getattr(self, "scale_", None))
            features = CentredTable.of(scaled, np.arange(training.n_documents), offsets)
        else:
            features = self._scaled(training)
        weights = weights[queries[:n_used]]
        risk = AveragePrecisionRisk(
            features,
            offsets,
            dataset.count(relevant)[queries[:n_used]],
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
