"""Rankers that train the models of all groups of queries together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from localrank._base.arrays import Integers
from localrank.data import RankingDataset
from localrank.rankers.base import Weights


@runtime_checkable
class JointRanker(Protocol):
    """A ranker whose models of several groups learn from each other.

    A `LocalRanker` calls `fit_groups` once for all of its groups. It fits any other ranker to
    each group separately.
    """

    def fit_groups(
        self, dataset: RankingDataset, groups: Sequence[Integers], query_weights: Weights = None
    ) -> list[Self]:
        """Fit one model per group of queries.

        Parameters
        ----------
        dataset : RankingDataset
        groups : sequence of ndarray
            Positions of the queries of each group. Each group has queries to learn from.
        query_weights : ndarray of shape (n_queries,), optional
        """
