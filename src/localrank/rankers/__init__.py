"""Rankers: fit on labelled queries, predict a score per document."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.rankers.ada_rank import AdaRank as AdaRank
    from localrank.rankers.base import Ranker as Ranker
    from localrank.rankers.best_feature import BestFeature as BestFeature
    from localrank.rankers.boosted_trees.cross_entropy_mart import (
        CrossEntropyMART as CrossEntropyMART,
    )
    from localrank.rankers.boosted_trees.gbrt import GBRT as GBRT
    from localrank.rankers.boosted_trees.lambda_mart import LambdaMART as LambdaMART
    from localrank.rankers.boosted_trees.mc_rank import McRank as McRank
    from localrank.rankers.boosted_trees.random_forest import RandomForest as RandomForest
    from localrank.rankers.boosted_trees.symmetric_trees import SymmetricTrees as SymmetricTrees
    from localrank.rankers.coordinate_ascent import CoordinateAscent as CoordinateAscent
    from localrank.rankers.distilled import Distilled as Distilled
    from localrank.rankers.distilled import distil as distil
    from localrank.rankers.duh_kirchhoff import DuhKirchhoff as DuhKirchhoff
    from localrank.rankers.ensemble import Ensemble as Ensemble
    from localrank.rankers.feature_nets.list_net import ListNet as ListNet
    from localrank.rankers.feature_nets.rank_net import RankNet as RankNet
    from localrank.rankers.lgmml.lgmml import LGMML as LGMML
    from localrank.rankers.listwise_linear import ListwiseLinear as ListwiseLinear
    from localrank.rankers.listwise_net.listwise_net import ListwiseNet as ListwiseNet
    from localrank.rankers.mlr.mlr import L1MLR as L1MLR
    from localrank.rankers.mlr.mlr import MLR as MLR
    from localrank.rankers.mlr.mlr import RMLR as RMLR
    from localrank.rankers.multiple_hyperplane import (
        MultipleHyperplaneRanker as MultipleHyperplaneRanker,
    )
    from localrank.rankers.nested import NestedRanker as NestedRanker
    from localrank.rankers.quadratic import Quadratic as Quadratic
    from localrank.rankers.query_coordinates.query_coordinates import (
        QueryCoordinates as QueryCoordinates,
    )
    from localrank.rankers.rank_boost.rank_boost import RankBoost as RankBoost
    from localrank.rankers.rank_svm.rank_svm import RankSVM as RankSVM
    from localrank.rankers.rank_svm.shared_rank_svm import SharedRankSVM as SharedRankSVM
    from localrank.rankers.rank_svm.topical_rank_svm import TopicalRankSVM as TopicalRankSVM
    from localrank.rankers.svm_map.svm_map import SVMMap as SVMMap
else:
    __getattr__, __dir__ = on_use(__name__)
