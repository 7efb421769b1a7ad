"""Rank aggregation: several lists of each query's documents made into one."""

from localrank.aggregation.base import Aggregator
from localrank.aggregation.borda import Borda
from localrank.aggregation.markov_chain import MarkovChain
from localrank.aggregation.median_rank import MedianRank
from localrank.aggregation.weighted_borda import WeightedBorda

__all__ = ["Aggregator", "Borda", "MarkovChain", "MedianRank", "WeightedBorda"]
