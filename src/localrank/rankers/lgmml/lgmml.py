"""Localized geometric mean metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import clone, drawn_seed
from localrank._base.rules import (
    Rule,
    Rules,
    check_parameters,
    check_together,
    floats,
    instance,
    number,
    one_of,
    optional,
    whole,
)
from localrank.data import RankingDataset
from localrank.rankers._query_vectors import QueryVectorRanker, QueryVectors
from localrank.rankers._training import admitted, learn, ordered, teaching
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.lgmml._anchors import local_scores
from localrank.rankers.lgmml._local_metrics import LocalMetrics
from localrank.rankers.lgmml._training import Training
from localrank.registry import declare
from localrank.representations import PrincipalComponents

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Number of documents whose distances to all anchors are in memory at a time.
_BLOCK = 1 << 14
_VECTORS = QueryVectorRanker._parameters["query_vectors"]


@declare(
    "lgmml",
    "distances to anchor documents in local metrics",
    kind="local",
    grid={"n_metrics": [10, 50]},
)
class LGMML(QueryVectorRanker):
    """Ranks by distances to anchor documents, each in its own metric (L-GMML) [1].

    Training repeats `n_metrics` times: draw a query, and learn the metric M_r from its relevant and
    irrelevant documents (`GMML`). The anchor p_r is the relevant document from which sorting the
    query's documents by distance gives the best NDCG. With the distances x_r = c ‖p - p_r‖ in
    metric M_r, the score of a document p is

        f(p) = - sum over r of φ_r x_r exp(-x_r),    φ_r >= 0.

    The weights φ start at 1, and are learned for each training query by stochastic steps on the
    WARP loss: draw a document, then draw documents with lower labels until one scores within the
    margin of it, and step against their difference. The fewer draws, the longer the step.

    Parameters
    ----------
    n_metrics : int, default=50
        Number of metrics and anchors. The number from a training query is proportional to its
        weight. With equal weights and fewer metrics than queries, no query gives two.
    sampling_rate : float, default=0.8
        Share of the relevant documents, and of the irrelevant ones, that a metric is learned from.
    relevance_level : float or None, default=None
        The smallest relevant label. None: any label above 0 is relevant. Irrelevant documents have
        a label of 0 or less, whatever the level; documents in between are in no metric. Anchors
        and weights are learned from all labels.
    t : float, default=0.5
        Position of the metrics on the geodesic of `GMML`, from 0 to 1.
    margin : float, default=0.1
        Required difference between the scores of a document and of one with a lower label, as a
        multiple of `n_metrics`.
    n_iterations : int, default=1000
        Number of steps for each training query.
    step : float, default=0.1
        Length of a step, for weights that start at 1. Starting at w instead has the same effect as
        dividing `margin` and `step` by w; all weights and scores are then w times as large.
    unseen : {"mean", "uniform", "nearest"}, default="mean"
        Weights for a query to rank. "mean": the mean over the training queries. "uniform": all
        equal. "nearest": those of the most similar training query, by `PrincipalComponents` of
        scaled features.
    query_vectors : "origin", list of columns, dict or None, default=None
        Positions of the queries in the space of the documents. They replace all anchors [1], §4.4;
        with one metric this is the paper's global GMML. None: anchors are documents. A list of
        columns, by number or name, holds the query's vector: as many as remain for the document, in
        the same order. A dict maps query ids to vectors. "origin": the features are already a
        document minus its query.
    scale : {"median", "monotone"}, default="median"
        Rule for the factor c, the same for all metrics. x exp(-x) rises up to x = 1 and falls
        beyond. "median": the median distance of training documents becomes 1; beyond it, a farther
        document scores higher. "monotone": the largest distance becomes 1; within the training
        distances, a farther document never scores higher for any metric.
    ridge : float, default=0.01
        Multiple of the identity in the matrices that metrics are learned from, for features of
        mean square 1.
    n_jobs : int or None, default=None
        Number of parallel jobs, over metrics and then over parts of the queries. None: one. -1:
        one per core. The result does not depend on it.
    random_state : int or None, default=0
        Seed of the drawn queries, documents and pairs.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    metrics_ : LocalMetrics
        The anchors and metrics, with the scale of the features and c.
    weights_ : ndarray of shape (n_queries, n_metrics)
        The weights φ of each training query that was learned from, ordered by content.
    mean_weights_ : ndarray of shape (n_metrics,)
        The mean of φ over the training queries.
    representation_, descriptions_
        With `unseen="nearest"`: descriptions of the training queries, to compare queries with.

    Notes
    -----
    Features are divided by the root of their mean square, which for each feature is its 2-norm
    times one constant. A query's weight is its share in the metrics and in the mean of φ.

    A distance has no direction: a document better than the anchor may be as far from it as a worse
    one. Anchors lie among the other documents, so the best documents, beyond them, rank low. If
    larger feature values are simply better, as in web search, this method ranks clearly worse than
    linear models and boosted trees. `scale="median"` reduces the harm: x exp(-x) falls for large
    distances, so documents far beyond the anchors rank higher again, as do those far behind. On
    OHSUMED, the method is almost as good as a linear model if anchors are moved out of the
    documents, along the difference of the relevant and irrelevant means. On MQ2008, where queries
    have few documents, this also needs metrics of several queries (`benchmarks/lgmml.py`).

    "mean" weights did best on the validation parts of OHSUMED and MQ2008. Weights of one query
    suit other queries less well.

    References
    ----------
    1. Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = LGMML(n_metrics=20).fit(train)
    >>> ranker.metrics_.distances(test.features).shape == (test.n_documents, 20)
    True
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    representation_: PrincipalComponents
    descriptions_: Floats
    _together: Sequence[Self]

    _parameters: ClassVar[Rules] = {
        "n_metrics": whole(1, 100_000),
        "sampling_rate": number(above=0, most=1),
        "t": number(least=0, most=1),
        "margin": number(least=0),
        "n_iterations": whole(0, 10_000_000),
        "step": number(above=0),
        "unseen": one_of("mean", "uniform", "nearest"),
        "query_vectors": Rule(
            lambda value, _: (
                value == "origin" if isinstance(value, str) else _VECTORS.holds(value, {})
            ),
            f"'origin', {_VECTORS.words}",
        ),
        "scale": one_of("median", "monotone"),
        "ridge": number(above=0),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "metrics_": instance(LocalMetrics),
        "weights_": floats("n_queries", "n_metrics"),
        "mean_weights_": floats("n_metrics"),
        "representation_": optional(instance(PrincipalComponents)),
        "descriptions_": optional(floats("n_queries", None, "n_features")),
    }

    def __init__(
        self,
        n_metrics: int = 50,
        *,
        sampling_rate: float = 0.8,
        relevance_level: float | None = None,
        t: float = 0.5,
        margin: float = 0.1,
        n_iterations: int = 1000,
        step: float = 0.1,
        unseen: Literal["mean", "uniform", "nearest"] = "mean",
        query_vectors: QueryVectors | Literal["origin"] | None = None,
        scale: Literal["median", "monotone"] = "median",
        ridge: float = 0.01,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        missing: Missing = "impute",
    ) -> None:
        self.n_metrics = n_metrics
        self.sampling_rate = sampling_rate
        self.relevance_level = relevance_level
        self.t = t
        self.margin = margin
        self.n_iterations = n_iterations
        self.step = step
        self.unseen = unseen
        self.query_vectors = query_vectors
        self.scale = scale
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.missing = missing

    path_parameters: ClassVar = ("margin", "step")

    def fit_path(
        self, X: Any, y: Any = None, *, qid: Any = None, margins: ArrayLike, steps: ArrayLike
    ) -> list[Self]:
        """Fit a clone for each margin and step, in little more time than one: metrics are shared.

        Parameters
        ----------
        X, y, qid
            As for `fit`.
        margins, steps : array-like of float
            Margin and step of each clone: two lists of the same length.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> path = LGMML(5).fit_path(dataset, margins=[0.1, 1.0], steps=[0.1, 0.1])
        >>> [ranker.margin for ranker in path]
        [0.1, 1.0]
        """
        pairs = np.array([margins, steps], dtype=np.float64).T.tolist()
        dataset, _ = ordered(self, admitted(self, X, y, qid)[0])
        models: list[Self] = [
            clone(self).set_params(margin=margin, step=step) for margin, step in pairs
        ]
        for model in models:
            check_parameters(model)
        first, *others = models
        first._together = models
        try:
            learn(first, dataset)
        finally:
            del first._together
        for model in others:
            model.__dict__ |= {**vars(first), **vars(model)}
        return models

    def learns_from(self, dataset: RankingDataset) -> Flags:
        n_irrelevant = dataset.count(dataset.labels <= 0)
        return super().learns_from(dataset) & (n_irrelevant > 0)

    def _lesson(self) -> str:
        return f"{super()._lesson()} (a label of 0 or less)"

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # Rows are ordered by documents less their query, as if these had been the features.
        dataset, query_weights = ordered(self, self._displaced(dataset), query_weights)
        used = teaching(self, dataset, query_weights)
        shares = np.ones(int(used.sum())) if query_weights is None else query_weights[used]
        training = Training.prepare(dataset.select(used), shares / shares.sum())
        rng = np.random.default_rng(drawn_seed(self.random_state))
        metrics = training.learn_metrics(
            self.n_metrics,
            relevance_level=self.relevance_level,
            sampling_rate=self.sampling_rate,
            t=self.t,
            ridge=self.ridge,
            at_query=self.query_vectors is not None,
            rng=rng,
            n_jobs=self.n_jobs,
        )
        self.metrics_ = training.scale_distances(metrics, self.scale, self.n_jobs)
        together: Sequence[Self] = vars(self).get("_together", [self])
        weights = training.learn_weights(
            self.metrics_,
            [(model.margin * self.n_metrics, model.step) for model in together],
            n_iterations=self.n_iterations,
            rng=rng,
            n_jobs=self.n_jobs,
        )
        for model, model_weights in zip(together, weights, strict=True):
            model.weights_ = model_weights
            model.mean_weights_ = training.shares @ model_weights
        for name in ("representation_", "descriptions_"):
            self.__dict__.pop(name, None)
        if self.unseen == "nearest":
            scaled = self._scaled(training.dataset)
            self.representation_ = PrincipalComponents().fit_rows(scaled)
            self.descriptions_ = self.representation_.transform_rows(scaled)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        metrics, near = self.metrics_.anchors.shape, self.unseen == "nearest"
        attributes = vars(self).keys()
        check_together(
            self,
            holds=metrics == (len(self.mean_weights_), self._n_displaced)
            and (not near or {"representation_", "descriptions_"} <= attributes),
        )

    def _predict(self, dataset: RankingDataset) -> Array:
        dataset = self._displaced(dataset)
        # The row of `weights` for each document.
        weights_index = np.zeros(dataset.n_documents, np.int64)
        weights = np.ones((1, len(self.mean_weights_)))
        if self.unseen == "mean":
            weights[0] = self.mean_weights_
        elif self.unseen == "nearest":
            descriptions = self.representation_.transform_rows(self._scaled(dataset))
            nearest = self.representation_.nearest(descriptions, self.descriptions_)
            weights, weights_index = self.weights_, nearest[dataset.query_index]
        scores = np.empty(dataset.n_documents)
        for first in range(0, dataset.n_documents, _BLOCK):
            block = slice(first, first + _BLOCK)
            distances = self.metrics_.distances(dataset.features[block])
            scores[block] = local_scores(distances, weights, weights_index[block])
        return scores

    def _scaled(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.replaced(features=dataset.features / self.metrics_.scale)

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "LGMML",
            "its score is a sum of x exp(-x) over the distances x to anchors, and engines take "
            "trees and weighted sums",
            "Use RankSVM or LambdaMART, or distil it: distil(ranker, lists, student=GBRT()).",
        )
