"""One ranker per group of queries, chosen or blended for each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset
from localrank.grouping.base import Groups, group_queries, merge_small
from localrank.parallel import in_parallel, one_thread
from localrank.parameters import refuse, whole_numbers
from localrank.rankers import Ranker
from localrank.rankers.content_order import content_order
from localrank.refinement import Refinement
from localrank.representations.base import Representation
from localrank.selection.base import Selector


class LocalRanker(Ranker):
    """Groups the training queries, trains a ranker on each group, and weighs them for a query.

    Five steps: describe each query (`representation`), group the training queries (`grouping`),
    train one ranker per group (`ranker`), weigh the groups for a new query (`selector`), and add
    up their scores with these weights. `localrank.recipes` has the papers' combinations.

    Parameters
    ----------
    representation : Representation
        Of `localrank.representations`.
    grouping : Grouping or clusterer
        Of `localrank.grouping`, or scikit-learn's, such as KMeans.
    ranker : Ranker
    selector : Selector
        Of `localrank.selection`.
    refinement : Refinement, optional
        Groups the queries again by how well each group's model ranks them.
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
    n_changed_ : list of int
        With a refinement: how many queries changed their group in each round.
    training_query_ids_ : ndarray

    Notes
    -----
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

    def __init__(
        self,
        representation: Representation,
        grouping: Any,
        ranker: Ranker,
        selector: Selector,
        *,
        refinement: Refinement | None = None,
        min_queries: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.representation = representation
        self.grouping = grouping
        self.ranker = ranker
        self.selector = selector
        self.refinement = refinement
        self.min_queries = min_queries
        self.n_jobs = n_jobs

    def _fit(
        self,
        dataset: RankingDataset,
        query_weights: NDArray[np.float64] | None,
        valid: RankingDataset | None,
    ) -> None:
        self._check_parameters()
        teaches = teaching_queries(self.ranker, dataset, query_weights)
        # Clusterers draw by position: by content, the same queries are drawn in any order.
        _, order = content_order(dataset, seed=0)

        def group(representation: Representation, descriptions: NDArray[Any]) -> Groups:
            found = group_queries(self.grouping, representation, descriptions[order])
            found = found.renumbered(order).distinct()
            return merge_small(found, teaches, self.min_queries, representation, descriptions)

        def train(groups: Groups, kept: NDArray[np.bool_]) -> list[Ranker]:
            # A group that teaches nothing without the queries left out learns from all it has.
            lists = [own[kept[own]] if (teaches & kept)[own].any() else own for own in groups]
            left = Groups.from_lists(lists, groups.home)
            return train_models(self.ranker, dataset, left, query_weights, None, self.n_jobs)

        n_changed = None
        # One thread in each step, because sums over several round differently from run to run.
        with threadpool_limits(1):
            representation = clone(self.representation).fit(dataset)
            descriptions = representation.transform(dataset)
            groups = group(representation, descriptions)
            if self.refinement is not None:
                groups, n_changed = self.refinement.refine(
                    dataset, groups, train, group, self.n_jobs
                )
            selector = clone(self.selector).fit(dataset, groups, representation, descriptions)
            held_out = None if valid is None else _held_out(valid, selector, self.ranker)
            models = train_models(
                self.ranker, dataset, groups, query_weights, held_out, self.n_jobs
            )
        self.models_ = models
        self.selector_ = selector
        self.groups_ = groups
        self.n_groups_ = len(groups)
        self.n_merged_groups_ = groups.n_merged
        self.training_query_ids_ = dataset.query_ids
        self.__dict__.pop("n_changed_", None)
        if n_changed is not None:
            self.n_changed_ = n_changed

    def _predict(self, dataset: RankingDataset) -> NDArray[Any]:
        weights = self.selector_.weights(dataset, self.models_)
        scores = np.zeros(dataset.n_documents)
        for group in np.flatnonzero(weights.any(axis=0)):
            queries = np.flatnonzero(weights[:, group])
            rows = np.repeat(weights[:, group] != 0, dataset.query_sizes)
            part = dataset.select(queries)
            own = np.repeat(weights[queries, group], part.query_sizes)
            scores[rows] += own * self.models_[group].predict(part)
        return scores

    def save(self, path: str | PathLike[str]) -> None:
        if self.selector.needs_labels:
            raise ValueError(
                f"A model with {type(self.selector).__name__} chooses by labels, and cannot serve "
                f"queries without: it is not saved."
            )
        super().save(path)

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
        >>> explanation = ranker.explain(dataset, 55)
        >>> explanation.weights.sum(), explanation.neighbours.shape
        (np.float64(1.0), (5,))
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
        selector = self.selector_
        described = selector.representation_.transform(one)
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
            scores=self.predict(one),
            group_scores=np.column_stack([model.predict(one) for model in self.models_]),
        )

    def _check_parameters(self) -> None:
        whole_numbers(self, min_queries=1)
        if not isinstance(self.representation, Representation):
            refuse(self, "representation", "one of localrank.representations, such as Mean()")
        if not isinstance(self.ranker, Ranker):
            refuse(self, "ranker", "a ranker")
        if not isinstance(self.selector, Selector):
            refuse(self, "selector", "one of localrank.selection, such as NearestQuery()")
        if not isinstance(self.refinement, Refinement | None):
            refuse(self, "refinement", "None or a Refinement")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why the documents of one query get their scores.

    Attributes
    ----------
    query : id
    weights : ndarray of shape (n_groups,)
        Of each group's model.
    group_sizes : ndarray of shape (n_groups,)
        Number of training queries.
    neighbours : ndarray
        Ids of the nearest training queries, nearest first, as the selector sees queries.
    neighbour_groups : ndarray
        The group that serves each of them.
    distances, similarities : ndarray
        Between the query and each of them.
    document_ids, labels : ndarray of shape (n_documents,) or None
    scores : ndarray of shape (n_documents,)
        What `predict` gives.
    group_scores : ndarray of shape (n_documents, n_groups)
        What each group's model alone would give.
    """

    query: Any
    weights: NDArray[np.float64]
    group_sizes: NDArray[np.int64]
    neighbours: NDArray[Any]
    neighbour_groups: NDArray[np.int64]
    distances: NDArray[np.float64]
    similarities: NDArray[np.float64]
    document_ids: NDArray[Any] | None
    labels: NDArray[np.float64] | None
    scores: NDArray[np.float64]
    group_scores: NDArray[np.float64]


def teaching_queries(
    ranker: Ranker, dataset: RankingDataset, query_weights: NDArray[np.float64] | None
) -> NDArray[np.bool_]:
    """Whether each query is one that the ranker can learn from."""
    teaches = ranker.learns_from(dataset)
    return teaches if query_weights is None else teaches & (query_weights > 0)


def train_models(
    ranker: Ranker,
    dataset: RankingDataset,
    groups: Groups,
    query_weights: NDArray[np.float64] | None,
    held_out: Sequence[RankingDataset] | None,
    n_jobs: int | None,
) -> list[Ranker]:
    """A clone of the ranker fitted to each group, with one thread each."""
    single = one_thread(ranker)

    def train(group: int) -> Ranker:
        queries = groups[group]
        model: Ranker = clone(single)
        return model.fit(
            dataset.select(queries),
            query_weight=None if query_weights is None else query_weights[queries],
            valid=None if held_out is None else held_out[group],
        )

    return in_parallel(train, range(len(groups)), n_jobs=n_jobs, description="Group models")


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
