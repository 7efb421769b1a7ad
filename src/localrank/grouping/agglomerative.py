"""Agglomerative clustering by a representation's distances."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.memory import check_memory
from localrank._base.rules import Rules, one_of, optional, refuse, whole
from localrank.data._offsets import offsets_of
from localrank.grouping.base import (
    Grouping,
    Groups,
    Reordered,
    drawn_positions,
    too_many_groups,
)
from localrank.registry import declare
from localrank.representations.base import Representation

# Distances that are held at a time.
_BLOCK = 1 << 22
# Descriptions that are compared at a time.
_COPIED = 512
# The distances of this many queries take 80 GB, and some minutes.
_MAX_CLUSTERED = 100_000


@declare("agglomerative", "the two nearest groups joined until few enough are left")
class Agglomerative(Grouping):
    """Starts with one group per query and joins the two nearest until `n_clusters` are left.

    This needs the distances of all pairs of queries. So if there are more than `max_queries`
    queries, a sample of that many is clustered, and every other query joins a group: that of its
    nearest sampled query, or with complete link the group whose sampled queries are nearest on
    average, which agrees better with the clusters of all queries.

    Parameters
    ----------
    n_clusters : int, default=4
        Number of groups.
    linkage : {"complete", "ward", "average", "single"}, default="complete"
        Distance between two groups. "complete": between their farthest queries, as in
        LocalRank [1]. "ward": the growth of the sum of squares by Ward's formula. "average":
        the mean over all pairs of queries. "single": between their nearest queries.
    max_queries : int or None, default=5000
        Largest number of queries that are clustered directly. None: all, up to 100,000. Time and
        memory grow with the square of the number, at 16 bytes per pair.
    random_state : int or None, default=0
        Seed of the sample.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0], [13.0]])
    >>> Agglomerative(2).group(Mean(), points).home
    array([0, 0, 1, 1, 1])
    >>> Agglomerative(2, max_queries=4).group(Mean(), points).home
    array([0, 0, 1, 1, 1])
    """

    _copies_few: ClassVar[bool] = True

    _parameters: ClassVar[Rules] = {
        "n_clusters": whole(1),
        "linkage": one_of("complete", "ward", "average", "single"),
        "max_queries": optional(whole(1)),
    }

    def __init__(
        self,
        n_clusters: int = 4,
        *,
        linkage: Literal["complete", "ward", "average", "single"] = "complete",
        max_queries: int | None = 5000,
        random_state: int | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.max_queries = max_queries
        self.random_state = random_state

    def _group(self, representation: Representation, descriptions: Array | Reordered) -> Groups:
        n = len(descriptions)
        if self.n_clusters > n:
            raise too_many_groups(self, "n_clusters", n)
        if self.max_queries is None or n <= self.max_queries:
            return Groups.from_labels(self._clusters(representation, descriptions))
        if self.max_queries < self.n_clusters:
            refuse(self, "max_queries", f"None or at least n_clusters ({self.n_clusters})")
        sample = drawn_positions(n, self.max_queries, self.random_state)
        if not isinstance(descriptions, Reordered):
            descriptions = Reordered(descriptions, np.arange(n))
        known = descriptions.chosen(sample)
        clusters = self._clusters(representation, known)
        if self.linkage == "complete":
            labels = _nearest_on_average(representation, descriptions, known, clusters)
        else:
            rows: Any = descriptions
            labels = clusters[representation.nearest(rows, np.asarray(known))]
        labels[sample] = clusters
        return Groups.from_labels(labels)

    def _clusters(
        self, representation: Representation, descriptions: Array | Reordered
    ) -> Integers:
        """The cluster of each query, by the distances of all pairs."""
        # Imported here: loading a model does not need it.
        from scipy.cluster.hierarchy import linkage
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(descriptions)
        if n == 1:
            return np.zeros(1, np.int64)
        if n > _MAX_CLUSTERED:
            raise ValueError(
                f"Agglomerative clusters at most {_MAX_CLUSTERED:,} queries by the distances of "
                f"all pairs. Got {n:,} queries with {n * (n - 1) // 2:,} pairs. Set 'max_queries' "
                f"to cluster a sample of them, or use k-means."
            )
        check_memory(
            8 * n**2,
            f"Agglomerative on {n:,} queries",
            "It holds the distances of all pairs: set a smaller 'max_queries', or use k-means.",
        )
        steps = linkage(_pair_distances(representation, descriptions), self.linkage)
        # Each step joins two groups into one, numbered n, n + 1, ... The last steps are left out.
        joined = steps[: n - self.n_clusters, :2].astype(np.int64)
        into = np.repeat(np.arange(n, n + len(joined)), 2)
        tree = coo_array((np.ones(len(into)), (joined.ravel(), into)), shape=(2 * n, 2 * n))
        # Components are numbered in the order in which they first appear.
        clusters: Integers = connected_components(tree, directed=False)[1][:n]
        return clusters


def _pair_distances(representation: Representation, descriptions: Array | Reordered) -> Floats:
    """The distances of each query to all after it, as scipy's `linkage` takes them.

    The distance of a query to itself is left out: it need not be 0.
    """
    n = len(descriptions)
    pairs = np.empty(n * (n - 1) // 2)
    end = 0
    for row in range(0, n, _COPIED):
        some = descriptions[row : row + _COPIED]
        distances = np.hstack(
            [representation.distances(some, some)]
            + [
                representation.distances(some, descriptions[column : column + _COPIED])
                for column in range(row + _COPIED, n, _COPIED)
            ]
        )
        later = distances[np.arange(distances.shape[1]) > np.arange(len(distances))[:, None]]
        begin, end = end, end + len(later)
        pairs[begin:end] = later
    return pairs


def _nearest_on_average(
    representation: Representation, descriptions: Reordered, known: Reordered, clusters: Integers
) -> Integers:
    """For each query, the cluster whose known queries have the smallest mean distance from it."""
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    offsets, known = offsets_of(sizes), known.chosen(order)
    labels = np.empty(len(descriptions), np.int64)
    n_rows = max(_BLOCK // len(known), 1)
    for row in range(0, len(descriptions), n_rows):
        block = slice(row, row + n_rows)
        some = descriptions[block]
        distances = np.hstack(
            [
                representation.distances(some, known[column : column + _COPIED])
                for column in range(0, len(known), _COPIED)
            ]
        )
        means = np.add.reduceat(distances, offsets[:-1], axis=1) / sizes
        labels[block] = np.argmin(means, axis=1)
    return labels
