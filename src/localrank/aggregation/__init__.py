"""Rank aggregation: combine several rankings of each query's documents into one."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.aggregation.base import Aggregator as Aggregator
    from localrank.aggregation.borda import Borda as Borda
    from localrank.aggregation.fixed_scale import FixedScale as FixedScale
    from localrank.aggregation.markov_chain import MarkovChain as MarkovChain
    from localrank.aggregation.mean_score import MeanScore as MeanScore
    from localrank.aggregation.median_rank import MedianRank as MedianRank
    from localrank.aggregation.weighted_borda import WeightedBorda as WeightedBorda
    from localrank.aggregation.z_score import ZScore as ZScore
else:
    __getattr__, __dir__ = on_use(__name__)
