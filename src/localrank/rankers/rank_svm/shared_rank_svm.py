"""RankSVMs of several groups of queries that share a part."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Literal, Self

import numpy as np

from localrank.arrays import Array, Integers
from localrank.data import RankingDataset
from localrank.data.content_order import content_order
from localrank.estimator import clone
from localrank.parameters import Rules, number
from localrank.rankers.base import HeldOut, Missing, Weights
from localrank.rankers.linear import LinearRanker, Scaling
from localrank.rankers.rank_svm.pairwise import PairwiseRanker


class SharedRankSVM(PairwiseRanker, LinearRanker):
    """RankSVM that trains the models of all groups together: a shared part, and one of each group.

    As the ranker of a `LocalRanker`, group g is ranked by w_g = w_0 + v_g. One convex problem

        ½‖w_0‖² + λ/2 · Σ_g ‖v_g‖² + C/N · Σ loss(1 - w_g·(x_i - x_j))

    over the N pairs of all groups gives the shared part w_0 and the specific parts v_g [1]_ [2]_.
    It is RankSVM on the features x and, for group g, x/√λ in columns of its own. A group of few
    queries stays near w_0, one of many finds its own way. With λ → ∞ all groups have the global
    RankSVM; with λ → 0 and C = cλ each has the RankSVM of its own queries, trained with
    C = c · (its share of the pairs).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the pairs against the size of the weight vectors.
    shrinkage : float, default=1.0
        λ, the price of what is specific to a group relative to what is shared.
    loss, pair_weight, scaling, tol, max_iter, missing
        As for `RankSVM`. One scaling is learned for all groups.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w_0 + v_g of the model's group.
    scale_, objective_, duality_gap_, n_iter_, n_pairs_
        As for `RankSVM`, of the problem of all groups.

    Notes
    -----
    The columns of the groups are not stored: a step costs the number of groups times a product
    with the features. In groups that overlap, a query counts once in each. Fitted alone, all
    queries are one group: RankSVM with C · (1 + 1/λ). Inside another ranker, such as
    `Quadratic`, it is fitted alone to each group.

    References
    ----------
    .. [1] Evgeniou, Pontil. Regularized Multi-Task Learning. KDD 2004.
    .. [2] Ni, Huang, Xie. A Query Dependent Approach to Learning to Rank for Information
       Retrieval. WAIM 2008.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, types = make_queries(60, n_types=2)
    >>> groups = [np.flatnonzero(types == group) for group in range(2)]
    >>> one, other = SharedRankSVM(shrinkage=1e6).fit_groups(dataset, groups)
    >>> bool(np.allclose(one.coef_, other.coef_, atol=1e-3))
    True
    """

    # While groups are trained together: the group of each query, and what was learned for them.
    _together: dict[str, Array]

    _parameters: ClassVar[Rules] = {"shrinkage": number(above=0)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        shrinkage: float = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        pair_weight: Literal["pair", "query"] = "pair",
        scaling: Scaling = "standard",
        tol: float = 1e-6,
        max_iter: int = 200,
        missing: Missing = "impute",
    ) -> None:
        self.C = C
        self.shrinkage = shrinkage
        self.loss = loss
        self.pair_weight = pair_weight
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing

    trains_groups_together = True

    def fit_groups(
        self, dataset: RankingDataset, groups: Sequence[Integers], query_weights: Weights = None
    ) -> list[Self]:
        members = np.concatenate(groups)
        home = np.repeat(np.arange(len(groups)), [len(own) for own in groups])
        stacked = dataset.taken(members)
        rows, order = content_order(stacked)
        weights = None if query_weights is None else query_weights[members[order]]
        model: Self = clone(self)
        model._together = {"home": home[order]}
        try:
            model._learn(stacked.reordered(rows, order), weights)
            coefs = model._together["coefs"]
        finally:
            del model._together
        models = [copy(model) for _ in groups]
        for own, coef in zip(models, coefs, strict=True):
            own.coef_ = coef
        return models

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        together = getattr(self, "_together", {"home": np.zeros(dataset.n_queries, np.int64)})
        home, own = together["home"], 1 / np.sqrt(self.shrinkage)
        blocks = np.column_stack([np.ones(len(home)), own * np.eye(home.max() + 1)[home]])
        pairs = self._pairs(dataset, query_weights).in_blocks(blocks)
        weights = self._minimized(pairs).reshape(blocks.shape[1], -1)
        together["coefs"] = weights[0] + own * weights[1:]
        self.coef_ = together["coefs"][0]
