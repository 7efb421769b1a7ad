"""Metric learning to rank, and its sparse forms."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, floats, number, one_of, real, whole
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.rankers._query_vectors import QueryVectorRanker, QueryVectors
from localrank.rankers._relevance import relevant
from localrank.rankers._training import teaching
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.mlr._bundle import minimise
from localrank.rankers.mlr._metric_risk import MetricRisk
from localrank.rankers.mlr._penalties import EntrySizes, Penalty, RowLengths, Trace

if TYPE_CHECKING:
    from localrank.formulas import Formula


class MLR(QueryVectorRanker):
    """Ranks documents by their distance to the query in a learned metric (MLR) [1].

    It is meant for queries and documents that are points of the same space, such as images, songs
    or texts in latent coordinates, where a document similar to the query is good. If larger feature
    values are simply better, as in web search, a distance is of no use.

    Let x be a document minus its query. The score is -x'Wx. W is the positive semidefinite matrix
    that minimises, over the Q queries with relevant documents (R) and irrelevant ones (I),

        tr(W) + C / Q * sum over queries of
            max over rankings of 1 - AP(ranking) + W·Psi(ranking) - W·Psi(ideal ranking)

    where Psi(ranking) is the mean over R x I of φ(r) - φ(i) if the ranking has r above i, and of
    φ(i) - φ(r) otherwise, with φ(x) = -xx'. The maximum is an upper bound on the loss of ranking
    by W. It is found exactly, as in `SVMMap`. The sum is minimised by cutting planes with one slack
    variable, up to a proven gap. The trace gives W a low rank. The model does not depend on the
    order of the rows, nor, without `scaling`, on the axes of the space.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, which is divided by the number of queries. If C is so small that no
        metric is worth its trace, W is 0, with a warning.
    query_vectors : list of columns, dict or None, default=None
        Vector of each query. A list: the columns, by number or name, that hold the vector, as many
        as remain for the document, in the same order, with the same values for all documents of a
        query. A dict: vectors by query id, also for new queries. None: the features are already a
        document minus its query.
    relevance_level : float, optional
        The smallest relevant label. None: any label above 0 is relevant.
    scaling : {"standard", None}, default="standard"
        "standard": divide each feature of a document minus its query by the root of its mean
        square. None: leave features as they are.
    tol : float, default=1e-3
        Stop when the objective is proven to be within this share of the minimum.
    max_iter : int, default=1000
        Largest number of searches for the most violated rankings of all queries.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the scaled features, then of the indicators. A distance is the squared length of
        a document's products with the components. Their number is the rank of the metric.
    metric_ : ndarray of shape (n_features, n_features)
        W, the product of the components with themselves.
    scale_ : ndarray of shape (n_features,)
        Divisor of each feature.
    objective_ : float
        Value of the formula above at W.
    duality_gap_ : float
        Largest possible distance of the objective from its minimum, as a share of the objective.
        At most `tol`, unless a ConvergenceWarning said otherwise.
    n_iter_ : int
        Number of searches for the most violated rankings of all queries.
    n_constraints_ : int
        Number of cutting planes in the last problem.
    n_skipped_queries_ : int
        Number of queries without a relevant or without an irrelevant document. Nothing can be
        learned from them.

    Notes
    -----
    Some details are choices of this implementation. The loss is 1 - AP, one of several in [1].
    The minimum of the planes is held near the best metric so far (a proximal bundle); without
    this it jumps about, and the original solver needs many more planes. The problem of the planes
    is solved by the alternating direction method of multipliers, as in [2]. Its multipliers give
    a bound for the whole problem. A search takes O(n log n + n d²) for n documents of d features,
    a round of the planes' problem O(d³).

    References
    ----------
    1. McFee, Lanckriet. Metric Learning to Rank. ICML 2010.
    2. Lim, McFee, Lanckriet. Robust Structural Metric Learning. ICML 2013.

    Examples
    --------
    Relevant documents are near the query in the first of two coordinates.

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

    _fitted: ClassVar[Rules] = {
        "components_": floats("n_components", "n_coordinates"),
        "scale_": floats("n_coordinates", above=0),
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": whole(0),
        "n_constraints_": whole(0),
        "n_skipped_queries_": whole(0),
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
        """The metric W."""
        metric: Floats = self.components_.T @ self.components_
        return metric

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        used = teaching(self, dataset, query_weights)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        training = self._displaced(dataset.select(used))
        is_relevant = relevant(training, self.relevance_level)
        # Relevant documents come first in each query.
        rows = np.lexsort((~is_relevant, training.query_index))
        features = training.features[rows].astype(np.float64)
        scale = np.ones(features.shape[1])
        if self.scaling == "standard":
            spread = np.sqrt(np.mean(features**2, axis=0))
            scale = np.where(spread > 0, spread, 1.0)
        risk = MetricRisk(
            features / scale,
            training.offsets,
            training.count(is_relevant),
            weights[used] / weights[used].sum(),
        )
        minimum = minimise(risk, self._penalty, self.C, tol=self.tol, max_iter=self.max_iter)
        self.components_, self.scale_ = minimum.components, scale
        self.objective_ = minimum.objective
        self.duality_gap_ = minimum.gap
        self.n_iter_ = minimum.n_separations
        self.n_constraints_ = minimum.n_planes
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
            # Not by BLAS, which rounds a row by its position: equal documents must score the same.
            distances += projections(features, read_only(component, np.float64)) ** 2
        return -distances

    def _formula(self) -> Formula:
        from localrank.formulas import Column, Linear, NotExportable, OnColumns

        name = type(self).__name__
        if self.query_vectors is not None:
            raise NotExportable(
                f"{name} with query_vectors",
                "its score is a distance to the vector of the query, and an engine knows only the "
                "features of documents",
                "Give it documents minus their query as features, with query_vectors=None.",
            )
        first, second = np.triu_indices(len(self.scale_))
        weights = -self.metric_ / np.outer(self.scale_, self.scale_)
        # A product of two different features counts for both of their orders.
        weights = np.where(first == second, 1.0, 2.0) * weights[first, second]
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        columns = tuple(Column("product", i, j) for i, j in pairs)
        return OnColumns(columns, Linear(weights), _products)


class RMLR(MLR):
    """Robust metric learning to rank (R-MLR) [1]: `MLR` that drops useless features.

    The trace of W is replaced by the sum of the lengths of its rows, ‖W‖_{2,1}. W is symmetric, so
    a row of zeros drops its feature from the metric, and noise does not add up over many features.
    The axes of the space matter: a rotation of the features gives another model.

    Parameters and attributes are the same as for `MLR`.

    References
    ----------
    1. Lim, McFee, Lanckriet. Robust Structural Metric Learning. ICML 2013.

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


class L1MLR(MLR):
    """Metric learning to rank with a sparse metric (L1-MLR): `MLR` with few products of features.

    The trace of W is replaced by the sum of the absolute values of its entries, ‖W‖_1, the penalty
    of Rosales and Fung [1]. R-MLR's paper compares with it [2]. The sum counts the diagonal and
    each product of two features: products of no use are dropped first, then whole features. The
    axes of the space matter. The returned W is positive semidefinite, which leaves entries near 0
    where the minimum has 0; a feature that is dropped has exactly 0.

    Parameters and attributes are the same as for `MLR`.

    References
    ----------
    1. Rosales, Fung. Learning Sparse Metrics via Linear Programming. KDD 2006.
    2. Lim, McFee, Lanckriet. Robust Structural Metric Learning. ICML 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> qid, near = np.repeat(np.arange(50), 10), np.tile(np.arange(10) < 3, 50)
    >>> X = rng.normal(size=(500, 20))
    >>> X[near, 0] *= 0.1
    >>> np.flatnonzero(L1MLR(C=1).fit(X, near, qid=qid).metric_.any(axis=1))
    array([0])
    """

    _penalty: ClassVar[Penalty] = EntrySizes()


def _products(dataset: RankingDataset) -> RankingDataset:
    """The products of all pairs of features, including squares."""
    first, second = np.triu_indices(dataset.n_features)
    features = dataset.features.astype(np.float64)
    return dataset.with_features(features[:, first] * features[:, second])
