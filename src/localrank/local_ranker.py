"""One ranker per group of queries, chosen or blended for each query."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from localrank.aggregation import ZScore
from localrank.arrays import Array, Flags, Floats, Integers
from localrank.data import RankingDataset
from localrank.data.deferred import gathered
from localrank.data.offsets import rows_of
from localrank.data.passes import in_partitions, passes_with
from localrank.estimator import check_is_fitted, clone
from localrank.explanation import Explanation
from localrank.fitted import (
    Kinds,
    check_together,
    count,
    have_features,
    part,
    parts,
    texts,
)
from localrank.grouping.base import Groups, a_grouping
from localrank.grouping.training import TrainingQueries
from localrank.parallel import one_blas_thread
from localrank.parameters import Rules, instance, whole
from localrank.rankers import Ranker
from localrank.rankers.base import HeldOut, Weights, lists_of
from localrank.rankers.contribution_tables import N_MORE, centred_rows
from localrank.representations.base import Representation
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Weights of groups that are held at a time.
_N_WEIGHTS = 1 << 24


class LocalRanker(Ranker):
    """Groups the training queries, trains a ranker on each group, and weighs them for a query.

    Five steps: describe each query (`representation`), group the training queries (`grouping`),
    train one ranker per group (`ranker`), weigh the groups for a new query (`selector`), and add
    up their scores with these weights; with `NearestQueries`, scores that are standardised within
    the query first. `localrank.recipes` has the papers' combinations.

    Parameters
    ----------
    representation : Representation
        Of `localrank.representations`.
    grouping : Grouping or clusterer
        Of `localrank.grouping`, or scikit-learn's, such as KMeans.
    ranker : Ranker
        A clone is trained on each group; a `SharedRankSVM` trains those of all groups together.
    selector : Selector
        Of `localrank.selection`.
    min_queries : int, default=1
        A group with fewer queries that the ranker can learn from is merged into its nearest
        group.
    n_jobs : int or None, default=None
        Models trained at the same time, with one thread each; -1 for all cores. The result does
        not depend on it.

    Attributes
    ----------
    models_ : list of Ranker
        One for each group.
    groups_ : Groups
        The training queries of each group, after merging.
    selector_ : Selector
    n_groups_ : int
    n_merged_groups_ : int
        Groups that had too little to learn from, in the last clustering.
    training_query_ids_ : ndarray

    Notes
    -----
    A `PartitionedDataset` is described a partition at a time, and each group's queries are read
    where its model is trained: only these must fit into memory, and `max_documents` of `fit` says
    how many documents a model learns from at most.

    Validation queries go to the group that the selector sends them to; a group without
    validation queries that decide anything uses all of them. Query weights count in training
    the models, not in grouping.

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

    _parameters: ClassVar[Rules] = {
        "representation": instance(
            Representation, "one of localrank.representations, such as Mean()"
        ),
        "grouping": a_grouping,
        "ranker": instance(Ranker, "a ranker"),
        "selector": instance(Selector, "one of localrank.selection, such as NearestQuery()"),
        "min_queries": whole(1),
    }

    _fitted: ClassVar[Kinds] = {
        "models_": parts(Ranker, "n_groups"),
        "selector_": part(Selector),
        "groups_": part(Groups),
        "n_groups_": count(1, name="n_groups"),
        "n_merged_groups_": count(0),
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

    _sees_missing = True
    _reads_partitions = True

    def _order_seed(self) -> None:
        return None

    def _fit_drawn(
        self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut, limit: int | None
    ) -> Self:
        """Describe and group all queries, and draw those that each group's model learns from."""
        dataset = dataset if in_partitions(dataset) else gathered(dataset)
        training = self._fit_groups(dataset, query_weights, valid, limit)
        self._remember(dataset)
        drawn = np.unique(np.concatenate(training.drawn(self.groups_)))
        if limit is not None and len(drawn) < len(np.unique(self.groups_.members)):
            self._remember_sample(dataset, drawn, limit)
        return self

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self._fit_groups(dataset, query_weights, valid)

    def _fit_groups(
        self,
        dataset: RankingDataset,
        query_weights: Weights,
        valid: HeldOut,
        limit: int | None = None,
    ) -> TrainingQueries:
        """Describe and group the queries, and train the models; what was trained on."""
        training = TrainingQueries(
            dataset, self.ranker, query_weights, self.min_queries, self.n_jobs, limit
        )
        # One thread in each step, because sums over several round differently from run to run.
        with (
            passes_with(self.n_jobs),
            one_blas_thread(),
            threadpool_limits(1, user_api="openmp"),
        ):
            representation = clone(self.representation).fit_rows(dataset)
            descriptions = representation.transform_rows(dataset)
            groups = training.grouped(self.grouping, representation, descriptions)
            selector = clone(self.selector).fit(dataset, groups, representation, descriptions)
            held_out = None if valid is None else _held_out(valid, selector, self.ranker)
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
        for model, rows, served, weights, blended in self._shares(dataset):
            own = model.predict_rows(served)
            if blended.any():
                own = np.where(blended, ZScore().aggregate_rows(served, own[None]), own)
            scores[rows] += weights * own
        return scores

    def _formula(self) -> Formula:
        from localrank.formulas import Routed

        router = self.selector_.router()
        # Values may be missing in the training queries of some groups alone.
        fills = any(hasattr(model, "filling_") for model in self.models_)
        groups = tuple(
            model.filled_formula() if fills and not model._sees_missing else model.formula()
            for model in self.models_
        )
        return Routed(router, groups, self.selector_.standardises)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        table = np.zeros((dataset.n_documents, dataset.n_features + N_MORE))
        for model, rows, served, weights, blended in self._shares(dataset):
            own = model.contribution_rows(served)
            if blended.any():
                form = ZScore().linear_form(model.predict_rows(served)[None], served.offsets)
                factors = form.weights[0, served.query_index, None]
                own = np.where(blended[:, None], factors * centred_rows(own, served.offsets), own)
            table[rows] += weights[:, None] * own
        return table

    def _importances(self) -> Floats:
        importances = [model.feature_importances_ for model in self.models_]
        return np.average(importances, axis=0, weights=self.groups_.sizes)

    def _shares(
        self, dataset: RankingDataset
    ) -> Iterator[tuple[Ranker, Integers, RankingDataset, Floats, Flags]]:
        """Each model with the rows of the queries it serves, these queries, and its weights.

        The last says which of their documents have standardised scores: those of queries that
        several models rank, where the selector asks for it. Where weights of all queries would
        be many, a part of the queries comes after another, each with its models.
        """
        n_queries = max(_N_WEIGHTS // self.n_groups_, 1)
        for first in range(0, dataset.n_queries, n_queries):
            asked = np.arange(first, min(first + n_queries, dataset.n_queries))
            some = dataset if len(asked) == dataset.n_queries else dataset.taken(asked)
            weights = self.selector_.weights(some, self.models_)
            blended = (weights != 0).sum(axis=1) > 1
            blended &= self.selector_.standardises
            query, group = np.nonzero(weights)
            query = query[np.argsort(group, kind="stable")]
            groups, sizes = np.unique(group, return_counts=True)
            for number, queries in zip(groups, np.split(query, np.cumsum(sizes)[:-1]), strict=True):
                rows, _ = rows_of(dataset.offsets, asked[queries])
                served = some.taken(queries)
                n_documents = served.query_sizes
                own = np.repeat(weights[queries, number], n_documents)
                several = np.repeat(blended[queries], n_documents)
                yield self.models_[number], rows, served, own, several

    def with_selector(self, selector: Selector, dataset: RankingDataset) -> Self:
        """The same groups and models with another way to weigh them.

        Parameters
        ----------
        selector : Selector
            Stays as it is: a clone is fitted.
        dataset : RankingDataset
            The training queries.

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
        self._check_same(dataset)
        if not np.array_equal(self.training_query_ids_, dataset.query_ids):
            raise ValueError("The ranker was fitted to other queries than those in 'dataset'.")
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
                f"A model with {type(self.selector).__name__} chooses by labels, and cannot serve "
                f"queries without: it is not saved."
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

    @property
    def _needs_trial(self) -> bool:
        return not self.selector_.refuses

    def explain(self, dataset: RankingDataset, query: Any, *, n_neighbours: int = 5) -> Explanation:
        """Why a query's documents get their scores.

        Parameters
        ----------
        dataset : RankingDataset
            Holds the query.
        query : id
            As in `dataset.query_ids`.
        n_neighbours : int, default=5
            How many of the nearest training queries to name.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> from localrank.recipes import local_rank
        >>> dataset, _ = make_queries(60)
        >>> ranker = local_rank(3).fit(dataset.select(range(50)))
        >>> explanation = ranker.explain(dataset, 55, n_neighbours=2)
        >>> explanation
        Query 55 is served by group 2 of 3 groups.
        <BLANKLINE>
        Nearest training queries
        <BLANKLINE>
         query  similarity  distance  group  queries in it
         ─────────────────────────────────────────────────
         39         0.3666    0.6334      2             31
         26         0.2731    0.7269      2             31
        <BLANKLINE>
        First 10 of 58 documents, with their rank by each group's model
        <BLANKLINE>
         document  label   score  group 2  group 1  group 3
         ──────────────────────────────────────────────────
         45            1   0.469        1        2       19
         23            2  0.4179        2        3       13
         40            2  0.3975        3        8        6
         43            2  0.2929        4        4       12
         51            0  0.2332        5       18       21
         29            1  0.2073        6        9        3
         2             1  0.2069        7       14        1
         18            3  0.2039        8       29        9
         32            0  0.1843        9        6        4
         50            0  0.1809       10        7       10
        >>> explanation.weights
        array([0., 1., 0.])
        """
        check_is_fitted(self, "models_")
        found = np.flatnonzero(dataset.query_ids == query)
        if not found.size:
            first = ", ".join(map(str, dataset.query_ids[:3]))
            raise ValueError(
                f"There is no query {query!r}. The {dataset.n_queries:,} queries of the data "
                f"are {first}{', ...' if dataset.n_queries > 3 else ''}"
            )
        one = dataset.select(found)
        self._check_same(one)
        selector = self.selector_
        described = selector.representation_.transform_rows(one)
        distances = selector.representation_.distances(described, selector.descriptions_)[0]
        nearest = np.argsort(distances, kind="stable")[:n_neighbours]
        return Explanation(
            query=query,
            weights=selector.weights(one, self.models_)[0],
            group_sizes=self.groups_.sizes,
            neighbours=self.training_query_ids_[nearest],
            neighbour_groups=self.groups_.home[nearest],
            distances=distances[nearest],
            similarities=selector.representation_.similarities(distances[nearest]),
            document_ids=one.document_ids,
            labels=one.relevance,
            scores=self.predict_rows(one),
            group_scores=lists_of(self.models_, one).T,
        )


def _held_out(valid: RankingDataset, selector: Selector, ranker: Ranker) -> list[RankingDataset]:
    """The validation queries of each group."""
    everyone = [valid] * selector.n_groups_
    if selector.needs_labels:
        return everyone
    weights = selector.weights(valid, [])
    decides = ranker.learns_from(valid)
    return [
        valid.select(own) if decides[own].any() else valid
        for own in (np.flatnonzero(weights[:, group]) for group in range(selector.n_groups_))
    ]
