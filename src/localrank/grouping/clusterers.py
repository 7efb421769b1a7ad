"""Clusterers with the settings of the papers' recipes."""

from __future__ import annotations

from typing import ClassVar

from localrank._base.arrays import Array
from localrank._base.rules import Rules, flag, optional, whole
from localrank.grouping.agglomerative import Agglomerative
from localrank.grouping.base import Grouping, Groups, group_queries
from localrank.registry import declare
from localrank.representations.base import Representation


class KMeansGroups(Grouping):
    """The clusters of scikit-learn's `KMeans` or `BisectingKMeans`.

    A model that holds these settings, and not a clusterer, is loaded without scikit-learn.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    bisecting : bool, default=False
        True: split one cluster in two at a time. False: form all at once.
    n_init : int, default=10
        Number of runs, of which the best counts.
    random_state : int or None, default=0
        Seed of the runs.
    """

    _parameters: ClassVar[Rules] = {
        "n_clusters": whole(1),
        "bisecting": flag,
        "n_init": whole(1),
        "random_state": optional(whole(0)),
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        bisecting: bool = False,
        n_init: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.bisecting = bisecting
        self.n_init = n_init
        self.random_state = random_state

    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        from sklearn.cluster import BisectingKMeans, KMeans

        clusterer = (BisectingKMeans if self.bisecting else KMeans)(
            self.n_clusters, n_init=self.n_init, random_state=self.random_state
        )
        return group_queries(clusterer, representation, descriptions)


@declare("kmeans", "clusters of points around their means", sample={"n_clusters": 3})
def kmeans(n_clusters: int = 5, *, random_state: int | None = 0) -> KMeansGroups:
    """K-means, the best of ten runs.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of groups.
    random_state : int or None, default=0
        Seed of the runs.

    Examples
    --------
    >>> kmeans(3)
    KMeansGroups(n_clusters=3)
    """
    return KMeansGroups(n_clusters, random_state=random_state)


@declare(
    "bisecting-kmeans",
    "clusters of points, split in two until there are enough",
    sample={"n_clusters": 3},
)
def bisecting_kmeans(n_clusters: int = 4, *, random_state: int | None = 0) -> KMeansGroups:
    """Bisecting k-means: splits one cluster in two at a time, each split the best of ten runs.

    Parameters
    ----------
    n_clusters : int, default=4
        Number of groups.
    random_state : int or None, default=0
        Seed of the splits.

    Examples
    --------
    >>> bisecting_kmeans(3)
    KMeansGroups(bisecting=True, n_clusters=3)
    """
    return KMeansGroups(n_clusters, bisecting=True, random_state=random_state)


@declare("ward", "groups joined so that the sum of squares grows least", sample={"n_clusters": 3})
def ward(n_clusters: int = 5) -> Agglomerative:
    """Agglomerative clustering by Ward's formula.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of groups.

    Examples
    --------
    >>> ward(3)
    Agglomerative(linkage='ward', n_clusters=3)
    """
    return Agglomerative(n_clusters, linkage="ward")
