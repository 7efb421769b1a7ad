"""RankSVM with one model per group of queries, which share a part of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._base.estimator import clone
from localrank._base.rules import Rules, number
from localrank.data import RankingDataset
from localrank.data._content_order import content_order
from localrank.rankers._linear import LinearRanker, Scaling
from localrank.rankers._training import learn
from localrank.rankers.base import HeldOut, Missing, Needs, Weights
from localrank.rankers.rank_svm._pairwise import FITTED, PARAMETERS, minimized, pairs_of


class SharedRankSVM(LinearRanker):
    """RankSVM that trains the models of all groups together: shared weights plus group weights.

    Use it as the ranker of a `LocalRanker`, if groups are too small for models of their own. Group
    g is ranked by w_g = w_0 + v_g. One convex problem

        ½‖w_0‖² + λ/2 · Σ_g ‖v_g‖² + C/N · Σ loss(1 - w_g·(x_i - x_j))

    over the N pairs of all groups gives the shared part w_0 and the specific parts v_g [1, 2].
    It is RankSVM on the features x plus one block of columns per group, which holds x/√λ for the
    group's documents. A group of few queries stays near w_0; a large group can move away from it.
    With λ → ∞ all groups have the global RankSVM. With λ → 0 and C = cλ each group has the RankSVM
    of its own queries, trained with C = c · (its share of the pairs).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the pairs relative to the size of the weight vectors.
    shrinkage : float, default=1.0
        λ, the penalty on group weights relative to that on shared weights. A large value makes
        the models of the groups alike.
    loss, pair_weight, scaling, tol, max_iter, missing
        As for `RankSVM`. One scaling is learned for all groups.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w_0 + v_g of the model's group.
    scale_, objective_, duality_gap_, n_iter_, n_pairs_
        As for `RankSVM`, for the problem of all groups.

    Notes
    -----
    The columns of the groups are not stored: a step costs one product with the features per
    group. If groups overlap, a query counts once in each. `fit` treats all queries as one group:
    RankSVM with C · (1 + 1/λ). Inside another ranker, such as `Quadratic`, each group is fitted
    separately.

    References
    ----------
    1. Evgeniou, Pontil. Regularized Multi-Task Learning. KDD 2004.
    2. Ni, Huang, Xie. A Query Dependent Approach to Learning to Rank for Information
       Retrieval. WAIM 2008.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, types = make_queries(60, n_types=2)
    >>> groups = [np.flatnonzero(types == group) for group in range(2)]
    >>> first, second = SharedRankSVM(shrinkage=1e6).fit_groups(dataset, groups)
    >>> bool(np.allclose(first.coef_, second.coef_, atol=1e-3))
    True
    """

    # While groups are trained together: the group of each query, and the learned weights.
    _together: dict[str, Array]

    needs = Needs(blocks=True, trial=False)

    _fitted: ClassVar[Rules] = FITTED
    _parameters: ClassVar[Rules] = {**PARAMETERS, "shrinkage": number(above=0)}

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

    def fit_groups(
        self, dataset: RankingDataset, groups: Sequence[Integers], query_weights: Weights = None
    ) -> list[Self]:
        """Fit one model per group of queries, all together.

        Parameters
        ----------
        dataset : RankingDataset
        groups : sequence of ndarray
            Positions of the queries of each group. Each group has queries to learn from.
        query_weights : ndarray of shape (n_queries,), optional
        """
        members = np.concatenate(groups)
        home = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        stacked = dataset.taken(members)
        rows, order = content_order(stacked)
        weights = None if query_weights is None else query_weights[members[order]]
        model: Self = clone(self)
        model._together = {"home": home[order]}
        try:
            learn(model, stacked.reordered(rows, order), weights)
            coefs = model._together["coefs"]
        finally:
            del model._together
        models = [copy(model) for _ in groups]
        for group_model, coef in zip(models, coefs, strict=True):
            group_model.coef_ = coef
        return models

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        together = getattr(self, "_together", {"home": np.zeros(dataset.n_queries, np.int64)})
        home, factor = together["home"], 1 / np.sqrt(self.shrinkage)
        blocks = np.column_stack([np.ones(len(home)), factor * np.eye(home.max() + 1)[home]])
        pairs = pairs_of(self, dataset, query_weights).in_blocks(blocks)
        weights = minimized(self, pairs).reshape(blocks.shape[1], -1)
        together["coefs"] = weights[0] + factor * weights[1:]
        self.coef_ = together["coefs"][0]
