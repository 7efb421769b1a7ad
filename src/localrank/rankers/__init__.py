"""Rankers: fit on labelled queries, predict a score per document."""

from localrank.rankers.base import Ranker
from localrank.rankers.best_feature import BestFeature
from localrank.rankers.boosted_trees.gbrt import GBRT
from localrank.rankers.boosted_trees.lambda_mart import LambdaMART
from localrank.rankers.duh_kirchhoff.duh_kirchhoff import DuhKirchhoff
from localrank.rankers.ensemble import Ensemble
from localrank.rankers.lgmml.lgmml import LGMML
from localrank.rankers.listwise_linear.listwise_linear import ListwiseLinear
from localrank.rankers.multiple_hyperplane import MultipleHyperplaneRanker
from localrank.rankers.quadratic import Quadratic
from localrank.rankers.query_coordinates.query_coordinates import QueryCoordinates
from localrank.rankers.rank_boost.rank_boost import RankBoost
from localrank.rankers.rank_svm.rank_svm import RankSVM
from localrank.rankers.svm_map.svm_map import SVMMap

__all__ = [
    "GBRT",
    "LGMML",
    "BestFeature",
    "DuhKirchhoff",
    "Ensemble",
    "LambdaMART",
    "ListwiseLinear",
    "MultipleHyperplaneRanker",
    "Quadratic",
    "QueryCoordinates",
    "RankBoost",
    "RankSVM",
    "Ranker",
    "SVMMap",
]
