"""The groups of the nearest training queries, blended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, check_together, real
from localrank.grouping.base import Groups
from localrank.parameters import Rules, number, optional, whole
from localrank.rankers import Ranker
from localrank.representations.base import Representation
from localrank.selection.query_search import Index, QuerySearch

# Training queries whose neighbours make the usual bandwidth.
_SAMPLE = 2048


@declare("nearest-queries", "the groups of the most similar training queries, blended")
class NearestQueries(QuerySearch):
    """Blends the groups of the k most similar training queries by their similarity [1]_.

    A query t is ranked by Σ s(t, q) f_q / Σ s(t, q) over its k nearest training queries q, where
    f_q is the model of the group that serves q, and s(t, q) = exp(-d(t, q) / bandwidth) with the
    representation's own distance d. Models differ in the unit of their scores, so the scores of
    a query that several models rank are first standardised within the query. With k = 1 it is
    `NearestQuery`, to the last bit.

    Parameters
    ----------
    k : int, default=10
        Training queries to blend, all where there are fewer. Among queries at the same distance
        the first are taken.
    bandwidth : float, optional
        The distance at which similarity has fallen by the factor e. A large one weighs the k
        queries alike, a small one leaves the nearest. None: the median, over the training
        queries, of the distance to the k-th nearest other one.
    index : {"exact", "lsh"} or LSH, default="exact"
        How near queries are found, as in `NearestQuery`.
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH or None
        Fitted; None for the exact search.
    bandwidth_ : float
        The bandwidth in use.

    Notes
    -----
    The bandwidth by default looks for the neighbours of each training query, or of 2,048 evenly
    spaced ones where there are more. Queries that are all alike have bandwidth 1.

    References
    ----------
    .. [1] Lee, Jiang, Wu, Lee. A Query-Dependent Ranking Approach for Search Engines. WCSE 2009.

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

    _fitted: ClassVar[Kinds] = {"bandwidth_": real}

    def __init__(
        self,
        k: int = 10,
        bandwidth: float | None = None,
        *,
        index: Index = "exact",
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
            self._usual_bandwidth() if self.bandwidth is None else float(self.bandwidth)
        )

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        described = self.representation_.transform_rows(dataset)
        nearest, distances = self.neighbours(described, self.k)
        # Relative to the nearest one, which leaves the shares as they are and one at least at 1.
        beyond = distances - distances.min(axis=1, keepdims=True)
        similarities = np.exp(-beyond / self.bandwidth_)
        cells = np.arange(len(nearest))[:, None] * self.n_groups_ + self.home_[nearest]
        size = len(nearest) * self.n_groups_
        weights = np.bincount(cells.ravel(), similarities.ravel(), size)
        weights = weights.reshape(len(nearest), self.n_groups_)
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def _usual_bandwidth(self) -> float:
        n_queries = len(self.descriptions_)
        order = self._content_order(self.home_)
        some = order[np.linspace(0, n_queries - 1, min(n_queries, _SAMPLE)).astype(np.int64)]
        # One more than k, because a query is the nearest to itself.
        _, distances = self.neighbours(self.descriptions_[some], self.k + 1)
        farthest = distances.max(axis=1)
        apart = farthest[farthest > 0]
        return float(np.median(apart)) if len(apart) else 1.0
