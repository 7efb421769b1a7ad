"""Gradient-boosted regression trees."""

from __future__ import annotations

from typing import Any

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.rankers.boosted_trees._boosted_trees import BoostedTrees
from localrank.registry import declare


@declare(
    "gbrt",
    "boosted regression trees",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class GBRT(BoostedTrees):
    """Boosted regression trees on the labels [1], document by document, trained by LightGBM.

    Pointwise: training ignores which query a document belongs to. Queries matter only if
    validation queries choose the number of trees. Labels may be any numbers. The model is the same
    for any number of threads and any order of the rows.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees. With validation queries: the largest number tried.
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
    1. Friedman. Greedy Function Approximation: A Gradient Boosting Machine. Annals of
       Statistics, 2001.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> GBRT(n_trees=20).fit(dataset).n_trees_
    20
    """

    _objective_name = "regression"

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        return {}, dataset.labels
