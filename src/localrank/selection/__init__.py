"""Selectors: weigh the groups of training queries for a new query."""

from localrank.selection.base import Selector
from localrank.selection.clairvoyant import Clairvoyant
from localrank.selection.classifier import Classifier
from localrank.selection.lsh.lsh import LSH
from localrank.selection.nearest_centroid import NearestCentroid
from localrank.selection.nearest_query import NearestQuery

__all__ = ["LSH", "Clairvoyant", "Classifier", "NearestCentroid", "NearestQuery", "Selector"]
