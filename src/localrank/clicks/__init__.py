"""From a log of clicks to a model, to what it would do, and to a live test of it."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.clicks.behaviour import Behaviour as Behaviour
    from localrank.clicks.behaviour import CascadeBehaviour as CascadeBehaviour
    from localrank.clicks.behaviour import DynamicBayesianBehaviour as DynamicBayesianBehaviour
    from localrank.clicks.behaviour import PositionBehaviour as PositionBehaviour
    from localrank.clicks.behaviour import TrustBehaviour as TrustBehaviour
    from localrank.clicks.cascade_model import CascadeModel as CascadeModel
    from localrank.clicks.click_model import ClickModel as ClickModel
    from localrank.clicks.click_model_comparison import ClickModelComparison as ClickModelComparison
    from localrank.clicks.click_model_comparison import compare_click_models as compare_click_models
    from localrank.clicks.clicked_lists import click_lists as click_lists
    from localrank.clicks.counterfactual import RankingValue as RankingValue
    from localrank.clicks.counterfactual import UnseenRankingError as UnseenRankingError
    from localrank.clicks.counterfactual import ValueDifference as ValueDifference
    from localrank.clicks.counterfactual import compare_rankings as compare_rankings
    from localrank.clicks.counterfactual import policy_value as policy_value
    from localrank.clicks.counterfactual import ranking_value as ranking_value
    from localrank.clicks.dependent_click_model import DependentClickModel as DependentClickModel
    from localrank.clicks.described_position_bias import (
        DescribedPositionBias as DescribedPositionBias,
    )
    from localrank.clicks.dynamic_bayesian_model import DynamicBayesianModel as DynamicBayesianModel
    from localrank.clicks.grouped_position_bias import GroupedPositionBias as GroupedPositionBias
    from localrank.clicks.interleaving import InterleavedClicks as InterleavedClicks
    from localrank.clicks.interleaving import InterleavingResult as InterleavingResult
    from localrank.clicks.interleaving import interleaving_result as interleaving_result
    from localrank.clicks.interleaving import read_interleaved as read_interleaved
    from localrank.clicks.interleaving import team_draft as team_draft
    from localrank.clicks.naming import fitted_bias as fitted_bias
    from localrank.clicks.position_based_model import PositionBasedModel as PositionBasedModel
    from localrank.clicks.position_bias import PositionBias as PositionBias
    from localrank.clicks.position_model_check import CurveDifference as CurveDifference
    from localrank.clicks.position_model_check import PositionModelCheck as PositionModelCheck
    from localrank.clicks.position_model_check import check_position_model as check_position_model
    from localrank.clicks.ranker_comparison import RankerComparison as RankerComparison
    from localrank.clicks.ranker_comparison import compare_rankers as compare_rankers
    from localrank.clicks.relevance import relevance_dataset as relevance_dataset
    from localrank.clicks.simulation import simulate_clicks as simulate_clicks
    from localrank.clicks.trust_bias_model import TrustBiasModel as TrustBiasModel
    from localrank.clicks.user_browsing_model import UserBrowsingModel as UserBrowsingModel
    from localrank.data.click_log import ClickLog as ClickLog
else:
    __getattr__, __dir__ = on_use(__name__)
