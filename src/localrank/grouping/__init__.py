"""Groupings: put training queries into groups; scikit-learn's clusterers serve as well."""

from localrank.grouping.agglomerative import Agglomerative
from localrank.grouping.base import Grouping, Groups
from localrank.grouping.neighbourhoods import Neighbourhoods

__all__ = ["Agglomerative", "Grouping", "Groups", "Neighbourhoods"]
