"""Clusterers of scikit-learn by name, with the settings of the papers' recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrank.declaration import declare
from localrank.grouping.agglomerative import Agglomerative

# Imported by those who need it: to load a model takes less.
if TYPE_CHECKING:
    from sklearn.cluster import BisectingKMeans, KMeans


@declare("kmeans", "clusters of points around their means", sample={"n_clusters": 3})
def kmeans(n_clusters: int = 5, *, random_state: int | None = 0) -> KMeans:
    """The best of ten runs of k-means.

    Parameters
    ----------
    n_clusters : int, default=5
    random_state : int or None, default=0

    Examples
    --------
    >>> kmeans(3)
    KMeans(n_clusters=3, n_init=10, random_state=0)
    """
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=random_state)


@declare("bisecting-kmeans", "points cut in two again and again", sample={"n_clusters": 3})
def bisecting_kmeans(n_clusters: int = 4, *, random_state: int | None = 0) -> BisectingKMeans:
    """Bisecting k-means, each cut the best of ten.

    Parameters
    ----------
    n_clusters : int, default=4
    random_state : int or None, default=0

    Examples
    --------
    >>> bisecting_kmeans(3)
    BisectingKMeans(n_clusters=3, n_init=10, random_state=0)
    """
    from sklearn.cluster import BisectingKMeans

    return BisectingKMeans(n_clusters, n_init=10, random_state=random_state)


@declare("ward", "groups joined so that the sum of squares grows least", sample={"n_clusters": 3})
def ward(n_clusters: int = 5) -> Agglomerative:
    """Agglomerative clustering by Ward's formula.

    Parameters
    ----------
    n_clusters : int, default=5

    Examples
    --------
    >>> ward(3)
    Agglomerative(linkage='ward', n_clusters=3)
    """
    return Agglomerative(n_clusters, linkage="ward")
