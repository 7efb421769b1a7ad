"""One ranker per group of similar queries, chosen or blended for each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.estimator import check_is_fitted, clone
from localrank._base.parallel import one_blas_thread
from localrank._base.rules import (
    Rules,
    check_together,
    have_features,
    instance,
    instances,
    texts,
    whole,
)
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.data._offsets import rows_of
from localrank.data._parts import passes_with
from localrank.explanation import LocalExplanation
from localrank.grouping._training import TrainingQueries
from localrank.grouping.base import Groups, a_grouping
from localrank.persistence import rank_example
from localrank.rankers import Ranker
from localrank.rankers._contribution_tables import N_MORE, centred_rows
from localrank.rankers._explaining import (
    contribution_rows,
    documents_of,
    facts_of,
    filled_formula,
    near_documents,
)
from localrank.rankers._inputs import checked_same
from localrank.rankers._training import forget, remember, remember_sample
from localrank.rankers.base import HeldOut, Needs, Weights, lists_of
from localrank.representations.base import Representation
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Formula


class LocalRanker(Ranker):
    """Trains one model per group of similar queries, and weighs the models for each new query.

    It works in five steps. It describes each query (`representation`), groups the training
    queries (`grouping`), trains one ranker per group (`ranker`), weighs the groups for a new
    query (`selector`), and adds up the models' scores with these weights. `NearestQueries`
    standardises the scores within the query first. `localrank.recipes` has the papers'
    combinations of parts.

    Splitting is one of two ways to adapt to a query. The other is to re-coordinate: to describe
    each document relative to the others of its query, as `QueryCoordinates` does. On public
    collections the papers' splits do not beat one global model; re-coordinating does.
    `localrank.evaluation.compare` tests which one helps on your data.

    Parameters
    ----------
    representation : Representation
        How a query is described: a part of `localrank.representations`.
    grouping : Grouping or clusterer
        How training queries are grouped: a part of `localrank.grouping`, or a clusterer of
        scikit-learn such as KMeans.
    ranker : Ranker
        The ranker to train. Each group gets a clone of it. `SharedRankSVM` trains the models of
        all groups together.
    selector : Selector
        How groups are weighed for a new query: a part of `localrank.selection`.
    min_queries : int, default=1
        Queries that a group needs, counting those that the ranker can learn from. A smaller
        group is merged into its nearest group.
    n_jobs : int or None, default=None
        Models trained at the same time, with one thread each. None: one. -1: one per core. The
        result does not depend on it.

    Attributes
    ----------
    models_ : list of Ranker
        One model per group.
    groups_ : Groups
        The training queries of each group, after merging.
    selector_ : Selector
        The fitted selector.
    n_groups_ : int
        Number of groups after merging.
    n_merged_groups_ : int
        Number of groups that were merged into others in the last clustering.
    training_query_ids_ : ndarray
        Ids of the training queries.

    Notes
    -----
    Data in files (`open_partitions`) is described one partition at a time. Each group's queries
    are read when its model is trained, and only these must fit into memory.
    `fit(…, max_documents=…)` limits the documents that a model learns from.

    The selector sends each validation query to a group. A group that gets no validation query
    with something to order uses all of them. Query weights count in training the models, not in
    grouping.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.grouping import Agglomerative
    >>> from localrank.representations import PrincipalComponents
    >>> from localrank.rankers import RankSVM
    >>> from localrank.selection import NearestQuery
    >>> dataset, _ = make_queries(60)
    >>> ranker = LocalRanker(PrincipalComponents(), Agglomerative(3), RankSVM(), NearestQuery())
    >>> ranker.fit(dataset).n_groups_
    3
    >>> ranker.predict(dataset).shape == (dataset.n_documents,)
    True
    """

    needs = Needs(missing=True, partitions=True, order="given", trial=False, lists=True)

    _parameters: ClassVar[Rules] = {
        "representation": instance(
            Representation, "one of localrank.representations, such as Mean()"
        ),
        "grouping": a_grouping,
        "ranker": instance(Ranker, "a ranker"),
        "selector": instance(Selector, "one of localrank.selection, such as NearestQuery()"),
        "min_queries": whole(1),
    }

    _fitted: ClassVar[Rules] = {
        "models_": instances(Ranker, "n_groups"),
        "selector_": instance(Selector),
        "groups_": instance(Groups),
        "n_groups_": whole(1, name="n_groups"),
        "n_merged_groups_": whole(0),
        "training_query_ids_": texts("n_queries"),
    }

    def __init__(
        self,
        representation: Representation,
        grouping: Any,
        ranker: Ranker,
        selector: Selector,
        *,
        min_queries: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.representation = representation
        self.grouping = grouping
        self.ranker = ranker
        self.selector = selector
        self.min_queries = min_queries
        self.n_jobs = n_jobs

    @property
    def n_models_(self) -> int:
        return sum(model.n_models_ for model in self.models_)

    def _fit_sampled(
        self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut, limit: int | None
    ) -> None:
        """Describe and group all queries, then train each model on queries drawn from its group."""
        dataset = dataset.in_memory(files=False)
        training = self._fit_groups(dataset, query_weights, valid, limit)
        forget(self)
        remember(self, dataset)
        drawn = np.unique(np.concatenate(training.drawn(self.groups_)))
        if limit is not None and len(drawn) < len(np.unique(self.groups_.members)):
            remember_sample(self, dataset, drawn, limit)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self._fit_groups(dataset, query_weights, valid)

    def _fit_groups(
        self,
        dataset: RankingDataset,
        query_weights: Weights,
        valid: HeldOut,
        limit: int | None = None,
    ) -> TrainingQueries:
        """Describe and group the queries and train the models; return the training queries."""
        training = TrainingQueries(
            dataset, self.ranker, query_weights, self.min_queries, self.n_jobs, limit
        )
        # One thread: sums over several threads round differently from run to run.
        with (
            passes_with(self.n_jobs),
            one_blas_thread(),
            threadpool_limits(1, user_api="openmp"),
        ):
            representation = clone(self.representation).fit_rows(dataset)
            descriptions = representation.transform_rows(dataset)
            groups = training.grouped(self.grouping, representation, descriptions)
            selector = clone(self.selector).fit(dataset, groups, representation, descriptions)
            held_out = None
            if valid is not None:
                held_out = _validation_queries(selector, self.ranker, valid)
            models = training.models(groups, held_out=held_out)
        self.models_ = models
        self.selector_ = selector
        self.groups_ = groups
        self.n_groups_ = len(groups)
        self.n_merged_groups_ = groups.n_merged
        self.training_query_ids_ = dataset.query_ids
        return training

    def _predict(self, dataset: RankingDataset) -> Array:
        scores = np.zeros(dataset.n_documents)
        for share in _shares(self.selector_, self.models_, dataset):
            of_model = share.model.predict_rows(share.queries)
            if share.standardised.any():
                standardised = ZScore().aggregate_rows(share.queries, of_model[None])
                of_model = np.where(share.standardised, standardised, of_model)
            scores[share.rows] += share.weights * of_model
        return scores

    def _formula(self) -> Formula:
        from localrank.formulas import Routed

        router = self.selector_.router()
        # Some groups may have missing values in their training queries and others none.
        fills = any(hasattr(model, "filling_") for model in self.models_)
        groups = tuple(
            filled_formula(model) if fills and not model.needs.missing else model.formula()
            for model in self.models_
        )
        return Routed(router, groups, self.selector_.standardises)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        table = np.zeros((dataset.n_documents, dataset.n_features + N_MORE))
        for share in _shares(self.selector_, self.models_, dataset):
            queries, offsets = share.queries, share.queries.offsets
            of_model = contribution_rows(share.model, queries)
            if share.standardised.any():
                form = ZScore().linear_form(share.model.predict_rows(queries)[None], offsets)
                factors = form.weights[0, queries.query_index, None]
                standardised = factors * centred_rows(of_model, offsets)
                of_model = np.where(share.standardised[:, None], standardised, of_model)
            table[share.rows] += share.weights[:, None] * of_model
        return table

    def _importances(self) -> Floats:
        importances = [model.feature_importances_ for model in self.models_]
        return np.average(importances, axis=0, weights=self.groups_.sizes)

    def with_selector(self, selector: Selector, dataset: RankingDataset) -> Self:
        """A copy with the same groups and models, and another selector.

        Use it to compare selectors without training the models again.

        Parameters
        ----------
        selector : Selector
            The new selector. A clone of it is fitted.
        dataset : RankingDataset
            The training queries that this ranker was fitted on.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> from localrank.recipes import local_rank
        >>> from localrank.representations import Mean
        >>> from localrank.selection import NearestCentroid
        >>> dataset, _ = make_queries(60)
        >>> ranker = local_rank(3).fit(dataset)
        >>> other = ranker.with_selector(NearestCentroid(representation=Mean()), dataset)
        >>> other.models_ is ranker.models_
        True
        """
        check_is_fitted(self, "models_")
        dataset = checked_same(self, dataset)
        if not np.array_equal(self.training_query_ids_, dataset.query_ids):
            raise ValueError(
                "'dataset' must hold the queries that the ranker was fitted on, in the same order. "
                "Its query ids differ."
            )
        twin = copy(self)
        twin.selector = selector
        with (
            passes_with(self.n_jobs),
            one_blas_thread(),
            threadpool_limits(1, user_api="openmp"),
        ):
            representation = clone(self.representation).fit_rows(dataset)
            descriptions = representation.transform_rows(dataset)
            twin.selector_ = clone(selector).fit(
                dataset, self.groups_, representation, descriptions
            )
        return twin

    def save(self, path: str | PathLike[str], *, private_key: bytes | None = None) -> None:
        if self.selector.needs_labels:
            raise ValueError(
                f"A model with {type(self.selector).__name__} cannot be saved: it chooses by "
                f"labels, which new queries do not have."
            )
        super().save(path, private_key=private_key)

    def _check_fitted(self) -> None:
        groups, selector = self.groups_, self.selector_
        n_queries = len(self.training_query_ids_)
        check_together(
            self,
            holds=len(groups) == selector.n_groups_ == self.n_groups_
            and len(groups.home) == len(selector.descriptions_) == n_queries
            and have_features(self.n_features_in_, *self.models_, selector.representation_),
        )
        if not selector.refuses:
            rank_example(self)

    def explain(
        self, X: Any, query: Any, *, qid: Any = None, n_neighbours: int = 5
    ) -> LocalExplanation:
        r"""Explain one query's scores: its groups, its neighbours, and what features contribute.

        Parameters
        ----------
        X, qid
            Data with the query, as for `predict`.
        query : id
            Id of the query. Ids are compared as texts: 7 is "7".
        n_neighbours : int, default=5
            Number of nearest training queries to show.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> from localrank.recipes import local_rank
        >>> dataset, _ = make_queries(60)
        >>> ranker = local_rank(3).fit(dataset.select(range(50)))
        >>> explanation = ranker.explain(dataset, 55, n_neighbours=2)
        >>> print("\n".join(str(explanation).splitlines()[:8]))
        Query 55 is served by group 2 of 3 groups.
        <BLANKLINE>
        Nearest training queries
        <BLANKLINE>
         query  similarity  distance  group  queries in it
         ─────────────────────────────────────────────────
         39         0.3666    0.6334      2             31
         26         0.2731    0.7269      2             31
        >>> explanation.weights
        array([0., 1., 0.])
        """
        documents = documents_of(self, X, query, qid)
        selector = self.selector_
        described = selector.representation_.transform_rows(documents)
        distances = selector.representation_.distances(described, selector.descriptions_)[0]
        nearest = np.argsort(distances, kind="stable")[:n_neighbours]
        weights = selector.weights(documents, self.models_)[0]
        facts = facts_of(self, documents)
        # Neighbours in the list, by the model that counts most.
        facts["near_documents"] = near_documents(self.models_[int(np.argmax(weights))], documents)
        return LocalExplanation(
            **facts,
            weights=weights,
            group_sizes=self.groups_.sizes,
            neighbours=self.training_query_ids_[nearest],
            neighbour_groups=self.groups_.home[nearest],
            distances=distances[nearest],
            similarities=selector.representation_.similarities(distances[nearest]),
            group_scores=lists_of(self.models_, documents).T,
        )


# Weights of groups that are held at a time.
_N_WEIGHTS = 1 << 24


@dataclass(frozen=True, eq=False)
class _Share:
    """The queries that one model ranks, and its weight for each of their documents.

    Parameters
    ----------
    model : Ranker
    queries : RankingDataset
        The queries that the model ranks.
    rows : ndarray of shape (n_rows,)
        Positions of their documents in the whole dataset.
    weights : ndarray of shape (n_rows,)
        The model's weight.
    standardised : ndarray of shape (n_rows,)
        Whether the model's score is standardised within the query before it is weighted. That is
        so for queries that several models rank, if the selector asks for it.
    """

    model: Ranker
    queries: RankingDataset
    rows: Integers
    weights: Floats
    standardised: Flags


def _shares(
    selector: Selector, models: Sequence[Ranker], dataset: RankingDataset
) -> Iterator[_Share]:
    """The share of each model in the scores of a dataset.

    Queries are taken in blocks so that the weights fit into memory. Each block yields its own
    shares.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> ranker = local_rank(3).fit(dataset)
    >>> [share.queries.n_queries for share in _shares(ranker.selector_, ranker.models_, dataset)]
    [11, 24, 25]
    """
    n_queries = max(_N_WEIGHTS // len(models), 1)
    for first in range(0, dataset.n_queries, n_queries):
        positions = np.arange(first, min(first + n_queries, dataset.n_queries))
        block = dataset if len(positions) == dataset.n_queries else dataset.taken(positions)
        weights = selector.weights(block, models)
        several = ((weights != 0).sum(axis=1) > 1) & selector.standardises
        query, group = np.nonzero(weights)
        query = query[np.argsort(group, kind="stable")]
        groups, sizes = np.unique(group, return_counts=True)
        for number, queries in zip(groups, np.split(query, np.cumsum(sizes)[:-1]), strict=True):
            rows, _ = rows_of(dataset.offsets, positions[queries])
            ranked = block.taken(queries)
            yield _Share(
                models[number],
                ranked,
                rows,
                np.repeat(weights[queries, number], ranked.query_sizes),
                np.repeat(several[queries], ranked.query_sizes),
            )


def _validation_queries(
    selector: Selector, ranker: Ranker, valid: RankingDataset
) -> list[RankingDataset]:
    """The validation queries of each group: those that the selector sends to it.

    A group gets all of them if none of those sent to it can be learned from, or if the selector
    needs labels.
    """
    if selector.needs_labels:
        return [valid] * selector.n_groups_
    weights = selector.weights(valid, [])
    decides = ranker.learns_from(valid)
    sent = [np.flatnonzero(weights[:, group]) for group in range(selector.n_groups_)]
    return [valid.select(queries) if decides[queries].any() else valid for queries in sent]
