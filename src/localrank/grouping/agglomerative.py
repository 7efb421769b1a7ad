"""Agglomerative clustering on a representation's own distances."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from localrank.arrays import Array
from localrank.declaration import declare
from localrank.grouping.base import Grouping, Groups, too_many_groups
from localrank.memory import check_memory
from localrank.parameters import Rules, one_of, whole
from localrank.representations.base import Representation


@declare("agglomerative", "the two nearest groups joined until enough are left")
class Agglomerative(Grouping):
    """Starts with one group per query and joins the two nearest until `n_clusters` are left.

    Parameters
    ----------
    n_clusters : int, default=4
    linkage : {"complete", "ward", "average", "single"}, default="complete"
        What the distance between two groups is: that of their farthest queries, as in
        LocalRank [1]_, the growth of the sum of squares by Ward's formula, the mean over all
        pairs of queries, or that of the nearest.

    References
    ----------
    .. [1] Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0], [13.0]])
    >>> Agglomerative(2).group(Mean(), points).home
    array([0, 0, 1, 1, 1])
    """

    _parameters: ClassVar[Rules] = {
        "n_clusters": whole(1),
        "linkage": one_of("complete", "ward", "average", "single"),
    }

    def __init__(
        self,
        n_clusters: int = 4,
        *,
        linkage: Literal["complete", "ward", "average", "single"] = "complete",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage

    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        # Imported by those who need it: to load a model takes less.
        from scipy.cluster.hierarchy import linkage
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components
        from scipy.spatial.distance import squareform

        n = len(descriptions)
        if self.n_clusters > n:
            raise too_many_groups(self, "n_clusters", n)
        if n == 1:
            return Groups.from_labels(np.zeros(1))
        check_memory(
            16 * n**2,
            f"Agglomerative on {n:,} queries",
            "It holds the distances of all pairs: take k-means, or fewer training queries.",
        )
        distances = representation.distances(descriptions, descriptions)
        # A query that lies off itself, as one with undetermined components does, is no matter here.
        steps = linkage(squareform(distances, checks=False), self.linkage)
        # Each step joins two groups into one numbered n, n + 1, ...; the last steps are left out.
        joined = steps[: n - self.n_clusters, :2].astype(np.int64)
        into = np.repeat(np.arange(n, n + len(joined)), 2)
        tree = coo_array((np.ones(len(into)), (joined.ravel(), into)), shape=(2 * n, 2 * n))
        # Components are numbered in the order in which they first appear.
        return Groups.from_labels(connected_components(tree, directed=False)[1][:n])
