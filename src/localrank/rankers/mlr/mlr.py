"""Metric learning to rank, and its robust form."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.fitted import Kinds, check_together, count, floats, real
from localrank.kernels.rows import projections
from localrank.kernels.sorting import read_only
from localrank.parameters import Rules, number, one_of, whole
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.mlr.bundle import minimise
from localrank.rankers.mlr.metric_risk import MetricRisk
from localrank.rankers.mlr.penalties import Penalty, RowLengths, Trace
from localrank.rankers.query_vectors import QueryVectorRanker, QueryVectors

if TYPE_CHECKING:
    from localrank.formulas import Formula


class MLR(QueryVectorRanker):
    """Ranks documents by their distance to the query in a learned metric (MLR) [1]_.

    With x a document less its query, the score is -x'Wx. W is the positive semidefinite matrix
    that minimises, over the Q queries with relevant documents (R) and irrelevant ones (I),

        tr(W) + C / Q * sum over queries of
            max over rankings of 1 - AP(ranking) + W·Psi(ranking) - W·Psi(ideal ranking)

    where Psi(ranking) is the mean over R x I of φ(r) - φ(i) where the ranking has r above i, and
    of φ(i) - φ(r) where it has not, and φ(x) = -xx'. The maximum bounds the loss of ranking by W
    from above. It is found exactly, as in `SVMMap`, and the sum minimised by cutting planes with
    one slack variable up to a proven gap. The trace makes W of low rank. The model does not
    depend on the order of the rows, nor, without `scaling`, on the axes of the space.

    For a query and documents that are points of one space, such as images, songs or texts in
    latent coordinates, where a document like the query is a good one. Where features say by
    themselves what is better, as in web search, a distance has no use.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, which is divided by the number of queries. A C so small that no metric
        is worth its trace gives W = 0, and a warning.
    query_vectors : list of columns, dict or None, default=None
        Where the query is. Columns, by number or name, that hold its vector: as many as remain
        for the document, in the same order, with one value for all documents of a query. Or a
        dict from query ids to vectors, new queries among them. None: the features are a document
        less its query already.
    relevance_level : float, optional
        The smallest relevant label; any label above 0 where None.
    scaling : {"standard", None}, default="standard"
        Divide each feature of a document less its query by the root of its mean square, or leave
        it as it is.
    tol : float, default=1e-3
        Stop when the objective is proven to be within this share of the minimum.
    max_iter : int, default=1000
        Most searches for the most violated rankings of all queries.
    missing : {"impute", "refuse"}, default="impute"
        Missing values are filled by the median of the query, with an indicator for each feature
        that has any in training; or refused.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Of the scaled features, then of the indicators. Distances are squared lengths of their
        products with documents; as many as the rank of the metric.
    metric_ : ndarray of shape (n_features, n_features)
        W, the product of the components with themselves.
    scale_ : ndarray of shape (n_features,)
        What features are divided by.
    objective_ : float
        What is minimised, at W.
    duality_gap_ : float
        How far the objective may be from its minimum, relative to it; at most `tol`, save where
        a ConvergenceWarning told otherwise.
    n_iter_ : int
        Searches for the most violated rankings of all queries.
    n_constraints_ : int
        Cutting planes in the last problem.
    n_skipped_queries_ : int
        Queries without a relevant or without an irrelevant document, which say nothing.

    Notes
    -----
    The papers leave open, or solve otherwise: the loss is 1 - AP, one of several in [1]_. The
    planes' minimum is held near the best metric so far (a proximal bundle), because without that
    it jumps about: the original solver needs many more planes. The problem of the planes is
    solved by the alternating direction method of multipliers, as in [2]_, whose multipliers give
    a bound for the whole problem. A search takes O(n log n + n d²) for n documents of d
    features, a round of the planes' problem O(d³).

    References
    ----------
    .. [1] McFee, Lanckriet. Metric Learning to Rank. ICML 2010.
    .. [2] Lim, McFee, Lanckriet. Robust Structural Metric Learning. ICML 2013.

    Examples
    --------
    Of two coordinates the first tells relevant documents, near the query, from others.

    >>> rng = np.random.default_rng(0)
    >>> qid, near = np.repeat(np.arange(20), 10), np.tile(np.arange(10) < 3, 20)
    >>> queries = rng.normal(size=(20, 2))
    >>> X = queries[qid] + rng.normal(size=(200, 2)) * np.where(near[:, None], [0.1, 1], 1)
    >>> ranker = MLR(query_vectors=dict(enumerate(queries))).fit(X, near, qid=qid)
    >>> ranker.duality_gap_ <= 1e-3
    True
    >>> bool(ranker.metric_[0, 0] > 100 * ranker.metric_[1, 1])
    True
    """

    _parameters: ClassVar[Rules] = {
        "C": number(above=0),
        "scaling": one_of("standard", None),
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Kinds] = {
        "components_": floats("n_components", "n_coordinates"),
        "scale_": floats("n_coordinates", above=0),
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": count(0),
        "n_constraints_": count(0),
        "n_skipped_queries_": count(0),
    }

    _penalty: ClassVar[Penalty] = Trace()

    def __init__(
        self,
        C: float = 10.0,
        *,
        query_vectors: QueryVectors | None = None,
        relevance_level: float | None = None,
        scaling: Literal["standard"] | None = "standard",
        tol: float = 1e-3,
        max_iter: int = 1000,
        missing: Missing = "impute",
    ) -> None:
        self.C = C
        self.query_vectors = query_vectors
        self.relevance_level = relevance_level
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing

    @property
    def metric_(self) -> Floats:
        """W."""
        metric: Floats = self.components_.T @ self.components_
        return metric

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        used = self._teaching(dataset, query_weights)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        training = self._displaced(dataset.select(used))
        relevant = self._relevant(training)
        # In each query the relevant documents first.
        rows = np.lexsort((~relevant, training.query_index))
        features = training.features[rows].astype(np.float64)
        scale = np.ones(features.shape[1])
        if self.scaling == "standard":
            spread = np.sqrt(np.mean(features**2, axis=0))
            scale = np.where(spread > 0, spread, 1.0)
        risk = MetricRisk(
            features / scale,
            training.offsets,
            training.count(relevant),
            weights[used] / weights[used].sum(),
        )
        found = minimise(risk, self._penalty, self.C, tol=self.tol, max_iter=self.max_iter)
        self.components_, self.scale_ = found.components, scale
        self.objective_ = found.objective
        self.duality_gap_ = found.gap
        self.n_iter_ = found.n_separations
        self.n_constraints_ = found.n_planes
        self.n_skipped_queries_ = int(np.sum(~self.learns_from(dataset)))
        self._warn()

    def _warn(self) -> None:
        from sklearn.exceptions import ConvergenceWarning

        name, n_iter, gap = type(self).__name__, self.n_iter_, self.duality_gap_
        if gap > self.tol:
            text = (
                f"{name} stopped after {n_iter} iterations with the objective proven to be within "
                f"{gap:.2g} of its minimum, not {self.tol:g}. Raise 'max_iter' or 'tol', lower C, "
                f"or scale the features."
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        elif not len(self.components_):
            text = (
                f"{name} ranks nothing: with C={self.C:g} no metric lowers the loss by more than "
                f"it costs, and W = 0. Raise C."
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=4)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_together(self, holds=len(self.scale_) == self._n_displaced)

    def _predict(self, dataset: RankingDataset) -> Array:
        features = read_only(self._displaced(dataset).features / self.scale_, np.float64)
        distances = np.zeros(dataset.n_documents)
        for component in self.components_:
            # Not by BLAS, which rounds a row by where it stands: equal documents stay equal.
            distances += projections(features, read_only(component, np.float64)) ** 2
        return -distances

    def _formula(self) -> Formula:
        from localrank.formulas import Column, Linear, NotExportable, OnColumns

        name = type(self).__name__
        if self.query_vectors is not None:
            raise NotExportable(
                f"{name} with query_vectors",
                "its score is a distance to the vector of the query, and an engine knows the "
                "features of documents alone",
                "Give it documents less their query as features, with query_vectors=None.",
            )
        one, other = np.triu_indices(len(self.scale_))
        weights = -self.metric_ / np.outer(self.scale_, self.scale_)
        # A product of two features stands for both of their orders.
        weights = np.where(one == other, 1.0, 2.0) * weights[one, other]
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        columns = tuple(Column("product", i, j) for i, j in pairs)
        return OnColumns(columns, Linear(weights), _products)


class RMLR(MLR):
    """Robust metric learning to rank (R-MLR) [1]_: `MLR` that drops features of no use.

    The trace of W is replaced by the sum of the lengths of its rows, ‖W‖_{2,1}. W being
    symmetric, a row that is 0 drops its feature from the metric, so noise does not add up over
    many features. The axes of the space matter: a rotation of the features gives another model.

    Parameters, attributes and the proven gap are those of `MLR`.

    References
    ----------
    .. [1] Lim, McFee, Lanckriet. Robust Structural Metric Learning. ICML 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> qid, near = np.repeat(np.arange(50), 10), np.tile(np.arange(10) < 3, 50)
    >>> X = rng.normal(size=(500, 20))
    >>> X[near, 0] *= 0.1
    >>> np.flatnonzero(RMLR(C=1).fit(X, near, qid=qid).metric_.any(axis=1))
    array([0])
    """

    _penalty: ClassVar[Penalty] = RowLengths()


def _products(dataset: RankingDataset) -> RankingDataset:
    """The products of all pairs of features, squares among them."""
    one, other = np.triu_indices(dataset.n_features)
    features = dataset.features.astype(np.float64)
    return dataset.with_features(features[:, one] * features[:, other])
