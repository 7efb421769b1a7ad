"""Training queries, the groups formed from them, and the groups' models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.parallel import one_thread
from localrank.data import RankingDataset
from localrank.data._content_order import query_order
from localrank.data.sampling import sampled_queries
from localrank.grouping.base import Grouping, Groups, Reordered, group_queries
from localrank.persistence.keeping import Lesson, trained_models
from localrank.rankers import Ranker
from localrank.rankers._joint import JointRanker
from localrank.representations.base import Representation

# Bytes of a block of distances.
_BLOCK_BYTES = 2**27
# Largest number of a group's queries that decide which other group is nearest.
_MAX_COMPARED = 2000


@dataclass(frozen=True, eq=False)
class TrainingQueries:
    """Labelled queries, and the ranker that is trained on groups of them.

    Parameters
    ----------
    dataset : RankingDataset
        The queries.
    ranker : Ranker
        The ranker whose clones are trained.
    query_weights : ndarray of shape (n_queries,), optional
        Weight of each query. None: equal weights.
    min_queries : int
        Queries that a group needs, counting those with something to order. A smaller group is
        merged into its nearest group.
    n_jobs : int or None
        Models trained at the same time, with one thread each. None: one.
    max_documents : int or None
        Largest number of documents that each model learns from. Whole queries are drawn by their
        ids. Models that are trained together share the number. None: all documents.
    """

    dataset: RankingDataset
    ranker: Ranker
    query_weights: Floats | None = None
    min_queries: int = 1
    n_jobs: int | None = None
    max_documents: int | None = None

    @cached_property
    def teaches(self) -> Flags:
        """Whether the ranker can learn from each query."""
        teaches = self.ranker.learns_from(self.dataset)
        return teaches if self.query_weights is None else teaches & (self.query_weights > 0)

    @cached_property
    def content_order(self) -> Integers:
        """Positions of the queries, in an order that depends only on their content.

        A draw by position in it is the same for any order of the lines in a file.
        """
        return query_order(self.dataset)

    def grouped(self, grouping: Any, representation: Representation, descriptions: Array) -> Groups:
        """Groups to train models on, by a grouping or by a clusterer of scikit-learn."""
        if isinstance(grouping, Grouping):
            return grouping.group_training(self, representation, descriptions)
        return self.form_groups(grouping, representation, descriptions)

    def form_groups(
        self, grouping: Any, representation: Representation, descriptions: Array
    ) -> Groups:
        """Groups by descriptions alone, without duplicates, each with something to learn."""
        order = self.content_order
        ordered = Reordered(descriptions, order)
        groups = group_queries(grouping, representation, ordered).distinct()
        groups = merge_small(groups, self.teaches[order], self.min_queries, representation, ordered)
        return groups.renumbered(order)

    def models(
        self,
        groups: Groups,
        *,
        kept: Flags | None = None,
        held_out: Sequence[RankingDataset] | None = None,
    ) -> list[Ranker]:
        """One fitted clone of the ranker per group, trained with one thread each or together.

        Parameters
        ----------
        groups : Groups
            The groups.
        kept : ndarray of bool of shape (n_queries,), optional
            Whether each query may be learned from. A group without such a query that teaches
            learns from all its queries. None: all queries.
        held_out : sequence of RankingDataset, optional
            The validation queries of each group. None: no validation.
        """
        single: Ranker = one_thread(self.ranker)
        members = self.drawn(groups, kept)
        if isinstance(single, JointRanker):
            queries = np.unique(np.concatenate(members))
            weights = None if self.query_weights is None else self.query_weights[queries]
            places = [np.searchsorted(queries, of_group) for of_group in members]
            taken = self.dataset.taken(queries).in_memory()
            return list(single.fit_groups(taken, places, weights))
        lessons = [
            Lesson(
                single,
                self.dataset,
                self.query_weights,
                None if held_out is None else held_out[number],
                queries,
            )
            for number, queries in enumerate(members)
        ]
        return trained_models(
            _trained,
            list(enumerate(members)),
            lessons,
            shared=(single, self.dataset, self.query_weights, held_out),
            n_jobs=self.n_jobs,
            description="Group models",
        )

    def drawn(self, groups: Groups, kept: Flags | None = None) -> list[Integers]:
        """The queries that the model of each group learns from."""
        members = list(groups)
        if kept is not None:
            taught = self.teaches & kept
            members = [
                of_group[kept[of_group]] if taught[of_group].any() else of_group
                for of_group in members
            ]
        if self.max_documents is None:
            return members
        most = self.max_documents
        if isinstance(self.ranker, JointRanker):
            most = max(most // len(members), int(self.dataset.query_sizes.max()))
        return [sampled_queries(self.dataset, of_group, most, self.teaches) for of_group in members]


def _trained(
    group: tuple[int, Integers],
    ranker: Ranker,
    dataset: RankingDataset,
    query_weights: Floats | None,
    held_out: Sequence[RankingDataset] | None,
) -> Ranker:
    """The model of one group. Queries in files are read here."""
    number, queries = group
    model: Ranker = clone(ranker)
    return model.fit_rows(
        dataset.view().taken(queries),
        None if query_weights is None else query_weights[queries],
        None if held_out is None else held_out[number],
    )


def merge_small(
    groups: Groups,
    teaches: Flags,
    min_queries: int,
    representation: Representation,
    descriptions: Array | Reordered,
) -> Groups:
    """Merge each group with fewer than `min_queries` queries that teach into its nearest group.

    The smallest group is merged first, until all groups are large enough or one is left. The
    distance between groups is the mean over all pairs of their queries. A group of more than
    2,000 queries is compared by 2,000 of them.

    Parameters
    ----------
    groups : Groups
        The groups to merge.
    teaches : ndarray of shape (n_queries,)
        Whether each query has something to order.
    min_queries : int
        Number of such queries that a group needs.
    representation : Representation
        The representation, for distances.
    descriptions : ndarray
        The descriptions of the queries.
    """
    members, home, n_merged = list(groups), groups.home.copy(), groups.n_merged
    while len(members) > 1:
        counts = [int(teaches[queries].sum()) for queries in members]
        small = int(np.argmin(counts))
        if counts[small] >= min_queries:
            break
        apart = _mean_distances(representation, members[small], descriptions)
        means = np.array([apart[queries].mean() for queries in members])
        means[small] = np.inf
        nearest = int(np.argmin(means))
        members[nearest] = np.union1d(members[nearest], members[small])
        home[home == small] = nearest
        home[home > small] -= 1
        del members[small]
        n_merged += 1
    return Groups.from_lists(members, home, n_merged)


def _mean_distances(
    representation: Representation, group: Integers, descriptions: Array | Reordered
) -> Floats:
    """The mean distance of each description from those of a group, computed in blocks.

    A large group is represented by evenly spaced queries.
    """
    if len(group) > _MAX_COMPARED:
        group = group[np.linspace(0, len(group) - 1, _MAX_COMPARED).astype(np.int64)]
    n_rows = max(_BLOCK_BYTES // (8 * len(descriptions)), 1)
    total, all_descriptions = np.zeros(len(descriptions)), np.asarray(descriptions)
    for begin in range(0, len(group), n_rows):
        some = descriptions[group[begin : begin + n_rows]]
        total += representation.distances(some, all_descriptions).sum(axis=0)
    return total / len(group)
