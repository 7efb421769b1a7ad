"""The groups of the nearest training queries, blended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, check_together, integers, real
from localrank.grouping.base import Groups
from localrank.parameters import Rules, number, optional, whole
from localrank.rankers import Ranker
from localrank.representations.base import Representation
from localrank.selection.base import Selector


@declare("nearest-queries", "the groups of the most similar training queries, blended")
class NearestQueries(Selector):
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
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    bandwidth_ : float
        The bandwidth in use.

    Notes
    -----
    The bandwidth by default looks at the distances of all pairs of training queries, once and in
    blocks. Queries that are all alike have bandwidth 1.

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

    _fitted: ClassVar[Kinds] = {
        "home_": integers("n_queries", below="n_groups"),
        "bandwidth_": real,
    }

    def __init__(
        self,
        k: int = 10,
        bandwidth: float | None = None,
        *,
        representation: Representation | None = None,
    ) -> None:
        self.k = k
        self.bandwidth = bandwidth
        self.representation = representation

    def _check_fitted(self) -> None:
        known = len(self.home_) == len(self.descriptions_)
        check_together(self, holds=known and 0 < self.bandwidth_ < np.inf)

    def _fit(self, groups: Groups) -> None:
        self.home_ = groups.home
        self.bandwidth_ = (
            self._usual_bandwidth() if self.bandwidth is None else float(self.bandwidth)
        )

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        described = self.representation_.transform_rows(dataset)
        nearest, distances = self.representation_.neighbours(described, self.descriptions_, self.k)
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
        # One more than k, because a query is the nearest to itself.
        _, distances = self.representation_.neighbours(
            self.descriptions_, self.descriptions_, self.k + 1
        )
        farthest = distances.max(axis=1)
        apart = farthest[farthest > 0]
        return float(np.median(apart)) if len(apart) else 1.0
