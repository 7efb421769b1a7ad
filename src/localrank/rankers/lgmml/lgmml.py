"""Localized geometric mean metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank.arrays import Array, Flags, Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.estimator import clone, drawn_seed
from localrank.fitted import Kinds, check_together, floats, maybe, part
from localrank.parameters import Rule, Rules, check_parameters, number, one_of, optional, whole
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.lgmml.anchors import local_scores
from localrank.rankers.lgmml.local_metrics import LocalMetrics
from localrank.rankers.lgmml.training import Training
from localrank.rankers.query_vectors import QueryVectorRanker, QueryVectors
from localrank.representations import PrincipalComponents

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Documents whose distances to all anchors are held at a time.
_BLOCK = 1 << 14
_VECTORS = QueryVectorRanker._parameters["query_vectors"]


@declare(
    "lgmml",
    "distances to anchors by local metrics",
    kind="local",
    grid={"n_metrics": [10, 50]},
)
class LGMML(QueryVectorRanker):
    """Ranks by distances to anchor documents, each in a metric of its own (L-GMML) [1]_.

    Training repeats `n_metrics` times: take a query, learn the metric M_r from its relevant and
    irrelevant documents (`GMML`), and take as anchor p_r the relevant document from which
    sorting the query's documents by distance gives the best NDCG. With the distances
    x_r = c ‖p - p_r‖ in metric M_r, the score of a document p is

        f(p) = - sum over r of φ_r x_r exp(-x_r),    φ_r >= 0.

    The weights φ are learned for each training query by stochastic steps on the WARP loss,
    beginning at 1: draw a document with lower ones in the query, draw lower documents until one
    scores within the margin of it, and step against their difference, further the fewer draws
    it took.

    Parameters
    ----------
    n_metrics : int, default=50
        Number of metrics and anchors. Each training query gives as many as its weight has a
        share in; while there are fewer metrics than queries, none gives two.
    sampling_rate : float, default=0.8
        Share of the relevant, and of the irrelevant documents that a metric is learned from.
    relevance_level : float or None, default=None
        Documents with at least this label are relevant; None is any label above 0. Irrelevant are
        those of label 0 or less, whatever the level: documents between take part in no metric.
        The anchors are chosen, and the weights learned, from all labels.
    t : float, default=0.5
        Position of the metrics on the geodesic, from 0 to 1, as `GMML` has it.
    margin : float, default=0.1
        By how much a document should score above those with lower labels, as a multiple of
        `n_metrics`.
    n_iterations : int, default=1000
        Steps for each training query.
    step : float, default=0.1
        Length of a step. Weights begin at 1. To begin at w is the same as to divide `margin` and
        `step` by w: all weights and scores are w times as large then.
    unseen : {"mean", "uniform", "nearest"}, default="mean"
        The weights for a query to rank: the mean of those of the training queries, all alike, or
        those of the most similar training query (by `PrincipalComponents` of scaled features).
    query_vectors : "origin", list of columns, dict or None, default=None
        Where the queries are points in the space of the documents, which then take the place of
        all anchors [1]_, §4.4. None: nowhere, anchors are documents. A list of columns, by number
        or name, that hold the query's vector, as many as remain for the document, in the same
        order; or a dict from query ids to vectors. "origin": the features are a document less
        its query already. With one metric this is the paper's global GMML.
    scale : {"median", "monotone"}, default="median"
        The factor c, the same for all metrics. x exp(-x) rises up to x = 1 and falls beyond.
        "median": the median distance of training documents is 1, so that half of them lie where
        a farther document scores higher. "monotone": the largest is 1, so that within the
        training distances a farther document never scores higher for any metric.
    ridge : float, default=0.01
        Multiple of the identity in the matrices that metrics are learned from; features have
        mean square 1 there.
    n_jobs : int or None, default=None
        Metrics, and parts of the queries, learned at the same time; -1 for all cores. The
        result does not depend on it.
    random_state : int or None, default=0
    missing : {"impute", "refuse"}, default="impute"
        Missing values are filled by the median of the query, with an indicator for each feature
        that has any in training; or refused.

    Attributes
    ----------
    metrics_ : LocalMetrics
        The anchors and metrics, with the scale of the features and c.
    weights_ : ndarray of shape (n_queries, n_metrics)
        The weights φ of each training query that was learned from, in an order of their content.
    mean_weights_ : ndarray of shape (n_metrics,)
    representation_, descriptions_
        Under `unseen="nearest"`: what similarity to the training queries is worked out from.

    Notes
    -----
    Features are divided by the root of their mean square, which for each feature is its 2-norm
    times one constant. A query's weight is its share in the metrics and in the mean of φ.

    A distance has no direction: a document that is better than the anchor is as far from it as
    one that is as much worse. Anchors are documents among others, and the best documents, beyond
    them, rank low. So this method ranks clearly worse than linear models and boosted trees where
    features say by themselves what is better, as they do in web search. `scale="median"` lessens
    the harm: where x exp(-x) falls, documents far beyond the anchors come up again, and so do
    those far behind. Anchors moved out from among the documents, along the difference of the
    relevant and irrelevant means, make it almost as good as a linear model on OHSUMED; on MQ2008,
    where queries have few documents, that takes metrics of several queries as well
    (`benchmarks/lgmml.py`).

    "mean" weights did best on the validation parts of OHSUMED and MQ2008; weights of one query
    serve other queries less well.

    References
    ----------
    .. [1] Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017.

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
        "relevance_level": optional(number(above=0)),
        "t": number(least=0, most=1),
        "margin": number(least=0),
        "n_iterations": whole(0, 10_000_000),
        "step": number(above=0),
        "unseen": one_of("mean", "uniform", "nearest"),
        "query_vectors": Rule(
            lambda value: value == "origin" if isinstance(value, str) else _VECTORS.holds(value),
            f"'origin', {_VECTORS.words}",
        ),
        "scale": one_of("median", "monotone"),
        "ridge": number(above=0),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Kinds] = {
        "metrics_": part(LocalMetrics),
        "weights_": floats("n_queries", "n_metrics"),
        "mean_weights_": floats("n_metrics"),
        "representation_": maybe(part(PrincipalComponents)),
        "descriptions_": maybe(floats("n_queries", None, "n_features")),
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
        """Fit a clone for each margin and step, for little more than one: metrics are shared.

        Parameters
        ----------
        X, y, qid
            As for `fit`.
        margins, steps : array-like of float
            As many of one as of the other.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> path = LGMML(5).fit_path(dataset, margins=[0.1, 1.0], steps=[0.1, 0.1])
        >>> [ranker.margin for ranker in path]
        [0.1, 1.0]
        """
        pairs = np.array([margins, steps], dtype=np.float64).T.tolist()
        dataset, _ = self._ordered(self._admitted(X, y, qid)[0])
        models: list[Self] = [
            clone(self).set_params(margin=margin, step=step) for margin, step in pairs
        ]
        for model in models:
            check_parameters(model)
        first, *others = models
        first._together = models
        try:
            first._learn(dataset)
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
        # The order of rows is that of documents less their query, as if these had been given.
        dataset, query_weights = self._ordered(self._displaced(dataset), query_weights)
        used = self._teaching(dataset, query_weights)
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
        for model, own in zip(together, weights, strict=True):
            model.weights_, model.mean_weights_ = own, training.shares @ own
        for name in ("representation_", "descriptions_"):
            self.__dict__.pop(name, None)
        if self.unseen == "nearest":
            scaled = self._scaled(training.dataset)
            self.representation_ = PrincipalComponents().fit_rows(scaled)
            self.descriptions_ = self.representation_.transform_rows(scaled)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        metrics, near = self.metrics_.anchors.shape, self.unseen == "nearest"
        own = vars(self)
        check_together(
            self,
            holds=metrics == (len(self.mean_weights_), self._n_displaced)
            and (not near or {"representation_", "descriptions_"} <= own.keys()),
        )

    def _predict(self, dataset: RankingDataset) -> Array:
        dataset = self._displaced(dataset)
        own = np.zeros(dataset.n_documents, np.int64)
        weights = np.ones((1, len(self.mean_weights_)))
        if self.unseen == "mean":
            weights[0] = self.mean_weights_
        elif self.unseen == "nearest":
            asked = self.representation_.transform_rows(self._scaled(dataset))
            nearest = self.representation_.nearest(asked, self.descriptions_)
            weights, own = self.weights_, nearest[dataset.query_index]
        scores = np.empty(dataset.n_documents)
        for first in range(0, dataset.n_documents, _BLOCK):
            block = slice(first, first + _BLOCK)
            distances = self.metrics_.distances(dataset.features[block])
            scores[block] = local_scores(distances, weights, own[block])
        return scores

    def _scaled(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.replaced(features=dataset.features / self.metrics_.scale)

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "LGMML",
            "its score is a sum of x exp(-x) over the distances x to anchors, and engines take "
            "trees and weighted sums",
            "Take RankSVM or LambdaMART, or distil it: distil(ranker, lists, student=GBRT()).",
        )
