"""Boosted trees on the cross entropy of whole lists."""

from __future__ import annotations

from typing import Any

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.measures import Measure
from localrank.rankers._gains import Gain, levels
from localrank.rankers.boosted_trees._boosted_trees import BoostedTrees, CategorySplits
from localrank.rankers.boosted_trees._monotone import Monotone
from localrank.registry import declare


@declare(
    "cross-entropy-mart",
    "boosted trees on whole lists",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class CrossEntropyMART(BoostedTrees):
    """Boosted trees on the cross entropy of whole lists [1], trained by LightGBM.

    LightGBM calls it rank_xendcg. The trees fit the gradient of the cross entropy between the
    softmax of a query's scores and targets proportional to 2^y - g. A number g in [0, 1) is drawn
    for each document and tree. LightGBM adds two terms for the second derivatives between
    documents. The cost is O(n) for a query of n documents; LambdaMART sums over pairs. LambdaMART
    learns nothing from a query with one label; here, such a query draws the scores of its
    documents together. The model is the same for any number of threads and any order of the rows.

    Labels may be any numbers. LightGBM cuts labels down to whole numbers, so targets are powers of
    2, minus g. Whole labels up to 30 are used unchanged. Other labels are put into levels from 0 to
    15: 2^level is proportional to LambdaMART's gain up to a factor of √2 either way. Labels whose
    gains differ by less than a factor of 2 may get the same level. The same holds for `gain`: gains
    of 2^k - 1, with whole k up to 30, are exact; all others are put into levels.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees. With validation queries: the largest number tried. Half as many as for
        LambdaMART are often enough.
    learning_rate : float, default=0.05
        Factor on each tree. A smaller one needs more trees.
    n_leaves : int, default=7
        Leaves per tree. Small trees suit a thousand queries; use more leaves for more queries.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf. Lower it for small collections.
    feature_fraction : float, default=0.5
        Share of the features that each tree may use.
    l2 : float, default=1.0
        L2 penalty on the values of the leaves.
    gain : {"exponential", "linear"}, list of float or None, default=None
        Gain of a label, as in LambdaMART, but rounded to levels.
    patience : int, default=50
        With validation queries: stop after this many trees without an improvement, and keep the
        best number of trees.
    measure : str or Measure, default="ndcg@10"
        Measure on the validation queries that decides when to stop.
    categories : {"sets", "one-hot"}, default="sets"
        How features of categories are used. "sets": a split sends a set of categories left, and
        all others, missing values included, right. "one-hot": a column of 0 and 1 for each
        category, as other rankers see them; more engines take such a model.
    monotone : dict or None, default=None
        Directions of features, by name, or by column from 0: {"bm25": 1, "price": -1}. 1: the
        score never falls when the feature rises and all others stay. -1: it never rises. A missing
        value is neither high nor low. None: no constraints.
    warm_start : bool, default=False
        Whether `fit` adds trees to those of an earlier fit, on the same features, until there are
        `n_trees`. False: each fit starts anew.
    n_jobs : int or None, default=None
        Threads for training. None: one. -1: all cores. Scoring uses one thread.
    random_state : int or None, default=0
        Seed of the order of rows and of random choices. None: a new seed for each fit.

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept.
    trees_ : Trees
        The model as arrays.
    curve_ : ndarray of shape (n_rounds, 2)
        With validation queries: numbers of trees, and `measure` with as many trees. It also has
        the trees after the best number.
    booster : lightgbm.Booster
        The same model as a LightGBM object, made on first use.

    References
    ----------
    1. Bruch. An Alternative Cross Entropy Loss for Learning-to-Rank. WWW 2021.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> CrossEntropyMART(n_trees=20).fit(dataset).n_trees_
    20
    """

    _objective_name = "rank_xendcg"

    def __init__(
        self,
        n_trees: int = 300,
        *,
        learning_rate: float = 0.05,
        n_leaves: int = 7,
        min_leaf_documents: int = 50,
        feature_fraction: float = 0.5,
        l2: float = 1.0,
        gain: Gain = None,
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
        categories: CategorySplits = "sets",
        monotone: Monotone = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            n_trees,
            learning_rate=learning_rate,
            n_leaves=n_leaves,
            min_leaf_documents=min_leaf_documents,
            feature_fraction=feature_fraction,
            l2=l2,
            patience=patience,
            measure=measure,
            categories=categories,
            monotone=monotone,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.gain = gain

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        # LightGBM fails at leaves of less curvature, which occur once a list is almost learned.
        return {"min_sum_hessian_in_leaf": 1e-3}, levels(dataset.labels, self.gain)
