"""The measure of scores on labelled queries, for rankers that maximise a measure directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.data import RankingDataset
from localrank.measures import Measure


@dataclass(frozen=True)
class Judged:
    """Labelled queries with a measure of rankings, where larger values are better.

    If small values of the measure are good, 1 minus the measure is used instead.

    Attributes
    ----------
    dataset : RankingDataset
        The queries that the measure does not skip.
    measure : Measure
    weights : ndarray of shape (n_queries,)
        Weights of the queries, with sum 1.
    """

    dataset: RankingDataset
    measure: Measure
    weights: Floats

    @classmethod
    def of(
        cls,
        dataset: RankingDataset,
        measure: Measure,
        weights: Floats | None = None,
        counted: Flags | None = None,
    ) -> Self:
        """The counted queries that have a positive weight and that the measure does not skip.

        Examples
        --------
        >>> from localrank.measures import NDCG
        >>> lists = RankingDataset.from_arrays(np.zeros((4, 1)), [0, 1, 2, 0], [1, 1, 2, 2])
        >>> judged = Judged.of(lists, NDCG(1), np.array([1.0, 3.0]))
        >>> judged.mean(np.array([0.5, 0.1, 0.2, 0.1]))
        0.75
        """
        weights = np.ones(dataset.n_queries) if weights is None else weights
        # Which queries a measure skips does not depend on the scores.
        known = ~np.isnan(measure.of_rows(dataset, np.zeros(dataset.n_documents)))
        known &= weights > 0
        if counted is not None:
            known &= counted
        if not known.any():
            raise ValueError(f"There is nothing to judge scores by: {measure} skips every query.")
        weights = weights[known]
        return cls(dataset.select(known), measure, weights / weights.sum())

    def by_query(self, scores: Floats) -> Floats:
        """One value per query, for scores in the order of the rows."""
        values = self.measure.of_rows(self.dataset, scores)
        return values if self.measure.higher_is_better else 1.0 - values

    def mean(self, scores: Floats) -> float:
        """The weighted mean over the queries."""
        return float(self.weights @ self.by_query(scores))
