"""Selectors: weigh the groups of training queries for a new query."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.selection.all_groups import AllGroups as AllGroups
    from localrank.selection.base import Selector as Selector
    from localrank.selection.cells import Cells as Cells
    from localrank.selection.clairvoyant import Clairvoyant as Clairvoyant
    from localrank.selection.classifier import Classifier as Classifier
    from localrank.selection.lsh import LSH as LSH
    from localrank.selection.nearest_centroid import NearestCentroid as NearestCentroid
    from localrank.selection.nearest_queries import NearestQueries as NearestQueries
    from localrank.selection.nearest_query import NearestQuery as NearestQuery
    from localrank.selection.same_category import SameCategory as SameCategory
else:
    __getattr__, __dir__ = on_use(__name__)
