"""The groups of the nearest training queries, blended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, check_together, number, optional, real, whole
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection._query_search import Index, QuerySearch
from localrank.selection.cells import some_by_content

# Largest number of training queries that decide the default bandwidth.
_SAMPLE = 2048


@declare("nearest-queries", "the groups of the most similar training queries, blended")
class NearestQueries(QuerySearch):
    """Blends the groups of the k most similar training queries, weighted by similarity [1].

    A query t gets the scores Σ s(t, q) f_q / Σ s(t, q) over its k nearest training queries q.
    Here f_q is the model of the group that serves q, and s(t, q) = exp(-d(t, q) / bandwidth) with
    the representation's distance d. Models differ in the scale of their scores, so these are
    standardised within a query that several models rank. With k = 1 the result is exactly that of
    `NearestQuery`.

    Parameters
    ----------
    k : int, default=10
        Number of training queries to blend; all if there are fewer. Ties go to the first.
    bandwidth : float, optional
        Distance at which similarity has fallen by the factor e. A large bandwidth gives the k
        queries equal weights; a small one leaves only the nearest. None: the median distance of a
        training query to its k-th nearest other query.
    index : {"auto", "exact", "lsh", "cells"}, LSH or Cells, default="auto"
        How to find near queries, as in `NearestQuery`.
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH, Cells or None
        The fitted index. None: exact search.
    bandwidth_ : float
        The bandwidth in use.

    Notes
    -----
    The default bandwidth is computed from at most 2,048 training queries, chosen by a hash of
    their descriptions. If all queries are alike, it is 1.

    References
    ----------
    1. Lee, Jiang, Wu, Lee. A Query-Dependent Ranking Approach for Search Engines. WCSE 2009.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> dataset = RankingDataset.from_arrays([[0.0], [1.0], [5.0]], qid=["a", "b", "c"])
    >>> mean = Mean().fit(dataset)
    >>> selector = NearestQueries(2, bandwidth=1.0)
    >>> groups = Groups.from_labels(np.arange(3))
    >>> selector = selector.fit(dataset, groups, mean, mean.transform(dataset))
    >>> selector.weights(dataset.select([0]), []).round(3)
    array([[0.731, 0.269, 0.   ]])
    """

    standardises = True

    _parameters: ClassVar[Rules] = {
        "k": whole(1),
        "bandwidth": optional(number(above=0)),
    }

    _fitted: ClassVar[Rules] = {"bandwidth_": real}

    def __init__(
        self,
        k: int = 10,
        bandwidth: float | None = None,
        *,
        index: Index = "auto",
        representation: Representation | None = None,
    ) -> None:
        self.k = k
        self.bandwidth = bandwidth
        self.index = index
        self.representation = representation

    def _check_fitted(self) -> None:
        super()._check_fitted()
        check_together(self, holds=0 < self.bandwidth_ < np.inf)

    def _fit(self, groups: Groups) -> None:
        super()._fit(groups)
        self.bandwidth_ = (
            self._default_bandwidth() if self.bandwidth is None else float(self.bandwidth)
        )

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        described = self.representation_.transform_rows(dataset)
        nearest, distances = self.neighbours(described, self.k)
        # Relative to the nearest query: the weights stay the same, and at least one term is 1.
        beyond = distances - distances.min(axis=1, keepdims=True)
        similarities = np.exp(-beyond / self.bandwidth_)
        cells = np.arange(len(nearest))[:, None] * self.n_groups_ + self.home_[nearest]
        size = len(nearest) * self.n_groups_
        weights = np.bincount(cells.ravel(), similarities.ravel(), size)
        weights = weights.reshape(len(nearest), self.n_groups_)
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def _default_bandwidth(self) -> float:
        sample = self.descriptions_
        if len(sample) > _SAMPLE:
            sample = sample[some_by_content(sample, _SAMPLE)]
        # One more than k, because each query is its own nearest.
        _, distances = self.neighbours(sample, self.k + 1)
        farthest = distances.max(axis=1)
        apart = farthest[farthest > 0]
        return float(np.median(apart)) if len(apart) else 1.0
