"""Groupings: put training queries into groups; scikit-learn's clusterers serve as well."""

from localrank.grouping.agglomerative import Agglomerative as Agglomerative
from localrank.grouping.base import Grouping as Grouping
from localrank.grouping.base import Groups as Groups
from localrank.grouping.neighbourhoods import Neighbourhoods as Neighbourhoods
from localrank.grouping.refined import Refined as Refined
