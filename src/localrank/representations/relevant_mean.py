"""The mean of a query's relevant documents."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number, optional
from localrank.data import RankingDataset
from localrank.registry import declare
from localrank.representations.base import Points
from localrank.representations.moments import query_means


@declare("relevant-mean", "the mean of its relevant documents; training queries only")
class RelevantMean(Points):
    """Describes a query by the mean of its relevant documents [1].

    It needs labels, so it can group training queries only. The selector needs another
    representation for new queries. A query without relevant documents is the zero vector.

    Parameters
    ----------
    relevance_level : float, optional
        The lowest label of a relevant document. None: every label above 0 is relevant.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.

    Examples
    --------
    >>> X = [[1.0, 4.0], [3.0, 0.0], [9.0, 9.0], [5.0, 5.0]]
    >>> dataset = RankingDataset.from_arrays(X, y=[1, 2, 0, 0], qid=["a", "a", "a", "b"])
    >>> RelevantMean().fit(dataset).transform(dataset)
    array([[2., 2.],
           [0., 0.]])
    """

    _parameters: ClassVar[Rules] = {"relevance_level": optional(number(above=0))}

    def __init__(self, relevance_level: float | None = None) -> None:
        self.relevance_level = relevance_level

    @property
    def needs_labels(self) -> bool:
        return True

    def _transform(self, dataset: RankingDataset) -> Floats:
        level = self.relevance_level
        relevant = dataset.labels > 0 if level is None else dataset.labels >= level
        return query_means(dataset.features, dataset.offsets, relevant.astype(np.float64))
