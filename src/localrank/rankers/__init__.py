"""Rankers: fit on labelled queries, predict a score per document."""

from localrank.rankers.base import Ranker
from localrank.rankers.best_feature import BestFeature
from localrank.rankers.duh_kirchhoff import DuhKirchhoff
from localrank.rankers.ensemble import Ensemble
from localrank.rankers.gbrt import GBRT
from localrank.rankers.lambda_mart import LambdaMART
from localrank.rankers.lgmml import LGMML
from localrank.rankers.listwise_linear import ListwiseLinear
from localrank.rankers.multiple_hyperplane import MultipleHyperplaneRanker
from localrank.rankers.quadratic import Quadratic
from localrank.rankers.query_coordinates import QueryCoordinates
from localrank.rankers.rank_boost import RankBoost
from localrank.rankers.rank_svm import RankSVM
from localrank.rankers.svm_map import SVMMap

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
