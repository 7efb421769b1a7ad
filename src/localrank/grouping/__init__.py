"""Groupings: put training queries into groups; scikit-learn's clusterers work as well."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.grouping.agglomerative import Agglomerative as Agglomerative
    from localrank.grouping.base import Grouping as Grouping
    from localrank.grouping.base import Groups as Groups
    from localrank.grouping.clusterers import bisecting_kmeans as bisecting_kmeans
    from localrank.grouping.clusterers import kmeans as kmeans
    from localrank.grouping.clusterers import ward as ward
    from localrank.grouping.known_groups import KnownGroups as KnownGroups
    from localrank.grouping.neighbourhoods import Neighbourhoods as Neighbourhoods
    from localrank.grouping.refined import Refined as Refined
else:
    __getattr__, __dir__ = on_use(__name__)
