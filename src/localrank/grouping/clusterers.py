"""Clusterers with the settings of the papers' recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrank.grouping.agglomerative import Agglomerative
from localrank.registry import declare

# Imported in the functions: loading a model does not need it.
if TYPE_CHECKING:
    from sklearn.cluster import BisectingKMeans, KMeans


@declare("kmeans", "clusters of points around their means", sample={"n_clusters": 3})
def kmeans(n_clusters: int = 5, *, random_state: int | None = 0) -> KMeans:
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
    KMeans(n_clusters=3, n_init=10, random_state=0)
    """
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=random_state)


@declare(
    "bisecting-kmeans",
    "clusters of points, split in two until there are enough",
    sample={"n_clusters": 3},
)
def bisecting_kmeans(n_clusters: int = 4, *, random_state: int | None = 0) -> BisectingKMeans:
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
        Number of groups.

    Examples
    --------
    >>> ward(3)
    Agglomerative(linkage='ward', n_clusters=3)
    """
    return Agglomerative(n_clusters, linkage="ward")
