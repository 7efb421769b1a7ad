"""SVMmap."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, count, real
from localrank.parameters import Rules, check_parameters, number, optional, whole
from localrank.rankers.linear import LinearRanker, Scaling
from localrank.rankers.svm_map.average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map.cutting_planes import CuttingPlanes, minimise


@declare("svm-map", "linear, for average precision", grid={"C": [0.01, 0.1, 1.0, 10.0]})
class SVMMap(LinearRanker):
    """Linear support vector machine whose loss is 1 - average precision [1]_.

    Minimises, over the Q queries with relevant documents (R) and irrelevant ones (I),

        ||w||² / 2 + C / Q * sum over queries of
            max over rankings of 1 - AP(ranking) + w·Psi(ranking) - w·Psi(ideal ranking)

    where Psi(ranking) is the mean over R x I of x_r - x_i where the ranking has r above i, and
    of x_i - x_r where it has not. The maximum bounds the loss of ranking by w·x from above. It
    is found exactly, and the sum minimised by cutting planes with one slack variable [2]_ up to
    a proven gap. The model does not depend on the order of the rows.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. As in the paper, and in svm_struct, it is divided by the number of
        queries, so that it means the same on every dataset.
    relevance_level : float, optional
        The smallest relevant label; any label above 0 where None.
    scaling : {"standard", "query", None}, default="standard"
        Divide each feature by its standard deviation within queries, bring it to 0 to 1 within
        each query, or leave it as it is.
    tol : float, default=1e-3
        Stop when the objective is proven to be within this share of the minimum, and to have come
        nine tenths of the way from w = 0 to it.
    max_iter : int, default=1000
        Most searches for the most violated rankings of all queries.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features.
    objective_ : float
        What is minimised, at `coef_`.
    duality_gap_ : float
        How far the objective may be from its minimum, relative to it; at most `tol`, save where
        a ConvergenceWarning told otherwise.
    n_iter_ : int
        Searches for the most violated rankings of all queries.
    n_constraints_ : int
        Cutting planes in the last quadratic program.
    n_skipped_queries_ : int
        Queries without a relevant or without an irrelevant document, which say nothing.

    References
    ----------
    .. [1] Yue, Finley, Radlinski, Joachims. A Support Vector Method for Optimizing Average
       Precision. SIGIR 2007.
    .. [2] Joachims, Finley, Yu. Cutting-Plane Training of Structural SVMs. Machine Learning
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
        "C": number(above=0),
        "relevance_level": optional(number(above=0)),
        "tol": number(above=0),
        "max_iter": whole(1),
    }

    _fitted: ClassVar[Kinds] = {
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": count(0),
        "n_constraints_": count(0),
        "n_skipped_queries_": count(0),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        relevance_level: float | None = None,
        scaling: Scaling = "standard",
        tol: float = 1e-3,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.relevance_level = relevance_level
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter

    def fit_path(
        self, X: Any, y: Any = None, *, qid: Any = None, Cs: Iterable[float]
    ) -> list[Self]:
        """Fit one clone for each value of C, in the order given, for less than separate fits.

        Cutting planes hold for every C, so each fit begins with those of the next smaller C.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
            A dataset, or features with one row per document.
        y, qid : array-like of shape (n_documents,)
            Labels and query ids, where X is not a dataset.
        Cs : iterable of float

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> path = SVMMap().fit_path(dataset, Cs=[10.0, 0.1])
        >>> [ranker.C for ranker in path]
        [10.0, 0.1]
        """
        dataset, _ = self._ordered(self._admitted(X, y, qid)[0])
        models: list[Self] = [clone(self).set_params(C=C) for C in Cs]
        for model in models:
            check_parameters(model)
        shared: list[_Training] = []
        for model in sorted(models, key=lambda model: model.C):
            model._shared = shared
            try:
                model._learn(dataset)
            finally:
                del model._shared
        return models

    def learns_from(self, dataset: RankingDataset) -> NDArray[np.bool_]:
        n_relevant = np.add.reduceat(self._relevant(dataset), dataset.offsets[:-1], dtype=np.int64)
        return (n_relevant > 0) & (n_relevant < dataset.query_sizes)

    def _fit(
        self,
        dataset: RankingDataset,
        query_weights: NDArray[np.float64] | None,
        valid: RankingDataset | None,
    ) -> None:
        shared: list[_Training] = getattr(self, "_shared", [])
        if not shared:
            shared.append(self._prepare(dataset, query_weights))
        training = shared[0]
        found = minimise(
            training.risk,
            training.planes,
            self.C,
            start=training.start,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        training.start = found.w
        if training.scale is not None:
            self.scale_ = training.scale
        self.coef_ = found.w
        self.objective_ = found.objective
        self.duality_gap_ = found.gap
        self.n_iter_ = found.n_separations
        self.n_constraints_ = len(training.planes)
        self.n_skipped_queries_ = training.n_skipped_queries
        if found.gap > self.tol:
            warnings.warn(
                f"SVMMap stopped after {self.n_iter_} iterations with the objective proven to be "
                f"within {found.gap:.2g} of its minimum, not {self.tol:g}. Raise 'max_iter' or "
                f"'tol', lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _relevant(self, dataset: RankingDataset) -> NDArray[np.bool_]:
        level = self.relevance_level
        return dataset.labels > 0 if level is None else dataset.labels >= level

    def _prepare(
        self, dataset: RankingDataset, query_weights: NDArray[np.float64] | None
    ) -> _Training:
        relevant = self._relevant(dataset)
        n_relevant = np.add.reduceat(relevant, dataset.offsets[:-1], dtype=np.int64)
        both = self.learns_from(dataset)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        used = both & (weights > 0)
        if not used.any():
            level = self.relevance_level
            least = "above 0" if level is None else f"of {level:g} or more"
            raise ValueError(
                f"There is nothing to learn: no query that weighs anything has both relevant "
                f"documents (a label {least}) and irrelevant ones."
            )
        # Queries in use first, in each the relevant documents first.
        queries = np.argsort(~used, kind="stable")
        place = np.empty_like(queries)
        place[queries] = np.arange(len(queries))
        rows = np.argsort(2 * place[dataset.query_index] + ~relevant, kind="stable")
        sorted_rows = dataset.reordered(rows, queries)
        features = self._scaled_training_features(sorted_rows)
        n_used = int(used.sum())
        offsets = sorted_rows.offsets[: n_used + 1]
        weights = weights[queries[:n_used]]
        risk = AveragePrecisionRisk(
            features[: offsets[-1]], offsets, n_relevant[queries[:n_used]], weights / weights.sum()
        )
        return _Training(
            risk,
            CuttingPlanes(dataset.n_features, -risk.at_zero),
            np.zeros(dataset.n_features),
            int(np.sum(~both)),
            self.scale_ if self.scaling == "standard" else None,
        )


@dataclass
class _Training:
    """What fits with different C on the same data share."""

    risk: AveragePrecisionRisk
    planes: CuttingPlanes
    start: NDArray[np.float64]
    n_skipped_queries: int
    scale: NDArray[np.float64] | None
