"""RankSVM with a weight vector for each topic of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Array, Floats
from localrank._base.estimator import clone
from localrank._base.rules import (
    Rules,
    check_together,
    floats,
    instance,
    optional,
    real,
    refuse,
    whole,
)
from localrank._kernels.rows import projections_by_query
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._inputs import admitted_to, filling_of
from localrank.rankers._linear import Scaling, ScalingRanker
from localrank.rankers.base import HeldOut, Missing, Needs, Weights
from localrank.rankers.rank_svm._pairwise import FITTED, PARAMETERS, minimized, pairs_of
from localrank.registry import declare
from localrank.representations import Representation, TopDocuments

if TYPE_CHECKING:
    from localrank.formulas import Formula


@declare(
    "topical-rank-svm",
    "linear, one weight vector per topic, mixed for each query",
    kind="local",
    grid={"n_topics": [2, 4, 8], "C": [0.01, 0.1, 1.0, 10.0]},
    sample={"n_topics": 3},
)
class TopicalRankSVM(ScalingRanker):
    """RankSVM with one weight vector per topic, mixed by each query's shares P(c|q) [1].

    A document x of query q scores Σ_c P(c|q) w_c·x. All w_c are trained together. They minimise

        ½ Σ_c ‖w_c‖² + C/N · Σ loss(1 - Σ_c P(c|q) w_c·(x_i - x_j))

    over the N pairs of documents of the same query with y_i > y_j. Every query teaches every
    topic, in proportion to its share. It is RankSVM on the columns P(·|q) ⊗ x, which are not
    stored. With one topic it is `RankSVM`, to the last bit.

    Topics are the k-means clusters of the training queries' descriptions. Let d_c be the distance
    of a query to centre c, and σ² the mean squared distance of the training queries to their
    nearest centre. P(c|q) is proportional to exp(-d_c²/2σ²): clusters far apart give shares near
    0 and 1, clusters that overlap give mixtures. This needs no labels.

    Parameters
    ----------
    n_topics : int, default=4
        Number of topics. 1: the same model as RankSVM.
    C : float, default=1.0
        Weight of the pairs relative to the size of the weight vectors.
    representation : Representation, optional
        Description of queries as points. None: TopDocuments(), the mean of a query's top
        documents. Wrap it in `Scaled` if features have different units.
    n_used : int, optional
        Number of topics that rank a query, those of its largest shares. None: all topics.
    loss, pair_weight, scaling, tol, max_iter, missing
        As for `RankSVM`.
    random_state : int or None, default=0
        Seed of k-means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_topics, n_features)
        Weights of the scaled features, then of the indicators, for each topic. There are at most
        as many topics as different training queries.
    centres_ : ndarray of shape (n_topics, n_dimensions)
        Centre of each topic.
    width_ : float
        σ² above; 1 if every training query is a centre.
    representation_ : Representation
        The fitted description of queries.
    scale_, objective_, duality_gap_, n_iter_, n_pairs_
        As for `RankSVM`.

    References
    ----------
    1. Bian, Li, Li, Zheng, Zha. Ranking Specialization for Web Search: A Divide-and-Conquer
       Approach by Using Topical RankSVM. WWW 2010.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60)
    >>> ranker = TopicalRankSVM(3).fit(dataset)
    >>> ranker.coef_.shape
    (3, 20)
    >>> ranker.memberships(dataset).sum(axis=1).round(9).min()
    np.float64(1.0)
    """

    needs = Needs(blocks=True)

    _parameters: ClassVar[Rules] = {
        **PARAMETERS,
        "n_topics": whole(1),
        "representation": optional(
            instance(Representation, "one of localrank.representations, such as TopDocuments()")
        ),
        "n_used": optional(whole(1)),
    }

    _fitted: ClassVar[Rules] = {
        **FITTED,
        "coef_": floats("n_topics", "n_features"),
        "centres_": floats("n_topics", None),
        "width_": real,
        "representation_": instance(Representation),
    }

    def __init__(
        self,
        n_topics: int = 4,
        C: float = 1.0,
        *,
        representation: Representation | None = None,
        n_used: int | None = None,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        pair_weight: Literal["pair", "query"] = "pair",
        scaling: Scaling = "standard",
        tol: float = 1e-6,
        max_iter: int = 200,
        missing: Missing = "impute",
        random_state: int | None = 0,
    ) -> None:
        self.n_topics = n_topics
        self.C = C
        self.representation = representation
        self.n_used = n_used
        self.loss = loss
        self.pair_weight = pair_weight
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing
        self.random_state = random_state

    @property
    def n_models_(self) -> int:
        return len(self.coef_)

    def _check_fitted(self) -> None:
        scaled = (self.scaling == "standard") == (getattr(self, "scale_", None) is not None)
        known = self.representation_.n_features_in_ == self.coef_.shape[1]
        check_together(self, holds=scaled and known and 0 < self.width_ < np.inf)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        if self.n_topics > dataset.n_queries:
            refuse(self, "n_topics", f"at most the number of queries ({dataset.n_queries})")
        dataset = dataset.in_memory()
        self._learn_topics(dataset)
        pairs = pairs_of(self, dataset, query_weights).in_blocks(self._memberships(dataset))
        weights = minimized(self, pairs)
        self.coef_ = weights.reshape(len(self.centres_), -1)

    def _learn_topics(self, dataset: RankingDataset) -> None:
        # Imported here: a model is loaded without scikit-learn.
        from sklearn.cluster import KMeans

        representation = clone(self.representation or TopDocuments())
        if representation.needs_labels or not representation.points:
            refuse(self, "representation", "one that makes points of queries without labels")
        self.representation_ = representation.fit_rows(dataset)
        described = self.representation_.transform_rows(dataset)
        # Sorted, so that k-means starts the same way for any labels and any order of queries.
        centres, counts = np.unique(described, axis=0, return_counts=True)
        if len(centres) > self.n_topics:
            # One thread: sums over several threads are rounded differently from run to run.
            with threadpool_limits(1, user_api="openmp"):
                clusters = KMeans(self.n_topics, n_init=10, random_state=self.random_state)
                centres = clusters.fit(centres, sample_weight=counts).cluster_centers_
        self.centres_ = np.asarray(centres, dtype=np.float64)
        nearest = self.representation_.distances(described, self.centres_).min(axis=1)
        self.width_ = float(np.mean(nearest**2)) or 1.0

    def memberships(self, dataset: RankingDataset) -> Floats:
        """The shares P(c|q) of each query in each topic, of shape (n_queries, n_topics)."""
        dataset = admitted_to(self, dataset, None)
        return self._memberships(filling_of(self).filled(dataset))

    def _memberships(self, dataset: RankingDataset) -> Floats:
        described = np.ascontiguousarray(self.representation_.transform_rows(dataset))
        # One centre at a time: a matrix product would round a query by the queries beside it.
        squares = [((described - centre) ** 2).sum(axis=1) for centre in self.centres_]
        exponents = np.stack(squares, axis=1) / (2 * self.width_)
        likelihoods = np.exp(exponents.min(axis=1, keepdims=True) - exponents)
        memberships: Floats = likelihoods / likelihoods.sum(axis=1, keepdims=True)
        return memberships

    def _used_memberships(self, dataset: RankingDataset) -> Floats:
        """The shares P(c|q), with 0 for topics beyond the largest `n_used`."""
        memberships = self._memberships(dataset)
        if self.n_used is not None:
            order = np.argsort(-memberships, axis=1, kind="stable")
            np.put_along_axis(memberships, order[:, self.n_used :], 0.0, axis=1)
        return memberships

    def _mixtures(self, dataset: RankingDataset) -> Floats:
        """The weight vector of each query, of shape (n_queries, n_features)."""
        memberships = self._used_memberships(dataset)
        mixtures = np.zeros((len(memberships), self.coef_.shape[1]))
        for shares_of_topic, weights in zip(memberships.T, self.coef_, strict=True):
            mixtures += shares_of_topic[:, None] * weights
        return mixtures

    def _predict(self, dataset: RankingDataset) -> Array:
        mixtures = self._mixtures(dataset)
        if self.scaling == "standard":
            mixtures = mixtures / self.scale_
        features = self._scaled(dataset) if self.scaling == "query" else dataset.features
        return projections_by_query(
            read_only(features, np.float64),
            read_only(mixtures, np.float64),
            read_only(dataset.offsets, np.int64),
        )

    def _formula(self) -> Formula:
        from localrank.formulas import CentreRouter, Description, NotExportable, Routed

        description = Description.of(self.representation_)
        if description is None:
            raise NotExportable(
                "TopicalRankSVM",
                f"{type(self.representation_).__name__} has no description in the export format",
                "Use a representation such as TopDocuments or Mean.",
            )
        router = CentreRouter(
            self._used_memberships, description, self.centres_, self.width_, self.n_used
        )
        return Routed(router, tuple(map(self._linear_formula, self.coef_)))

    def _contributions(self, dataset: RankingDataset) -> Floats:
        return table_of(self._scaled(dataset) * self._mixtures(dataset)[dataset.query_index])

    def _importances(self) -> Floats:
        return shares(np.abs(self.coef_).mean(axis=0))
