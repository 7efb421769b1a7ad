"""Gradient-boosted regression trees."""

from __future__ import annotations

from typing import Any

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.rankers.boosted_trees.boosted_trees import BoostedTrees


@declare(
    "gbrt",
    "boosted regression trees",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class GBRT(BoostedTrees):
    """Boosted regression trees on the labels [1]_, document by document, trained by LightGBM.

    Pointwise: a query matters only for choosing the number of trees on validation queries. The
    model is the same for any number of threads and any order of the rows.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees, or the most there may be where `fit` gets validation queries.
    learning_rate : float, default=0.05
    n_leaves : int, default=7
        Small trees suit collections of a thousand queries; raise it for larger ones.
    min_leaf_documents : int, default=50
    feature_fraction : float, default=0.5
        Share of the features each tree may use.
    l2 : float, default=1.0
        Ridge on the values of the leaves.
    patience : int, default=50
        With validation queries: stop when that many trees brought nothing, and keep the best
        number of trees.
    measure : str or Measure, default="ndcg@10"
        What is watched on the validation queries.
    n_jobs : int or None, default=None
        Threads of training; None is 1, -1 all cores. Scoring takes one.
    random_state : int or None, default=0

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept.
    trees_ : Trees
        The model as arrays.
    booster : lightgbm.Booster
        The same as LightGBM's own object, made when asked for.

    References
    ----------
    .. [1] Friedman. Greedy Function Approximation: A Gradient Boosting Machine. Annals of
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
