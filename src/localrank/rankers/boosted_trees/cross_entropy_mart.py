"""Boosted trees on the cross entropy of whole lists."""

from __future__ import annotations

from typing import Any

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.rankers.boosted_trees.boosted_trees import BoostedTrees, GainBoosting
from localrank.rankers.gains import levels


@declare(
    "cross-entropy-mart",
    "boosted trees on whole lists",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class CrossEntropyMART(GainBoosting, BoostedTrees):
    """Boosted trees on the cross entropy of a query's softmax [1]_, trained by LightGBM.

    LightGBM calls it rank_xendcg. The trees fit the gradient of the cross entropy between the
    softmax of a query's scores and targets in proportion to 2^y - g, with g drawn from [0, 1) for
    each document and tree; LightGBM adds two terms for the second derivatives between documents.
    It costs O(n) in the documents of a query instead of LambdaMART's sum over pairs. A query with
    one label, of which LambdaMART learns nothing, draws the scores of its documents together. The
    model is the same for any number of threads and any order of the rows.

    LightGBM cuts labels down to whole numbers, so that targets are powers of 2, less g. Whole
    labels up to 30 are taken as they are. Any others are put into levels from 0 to 15, so that
    2^level is in proportion to LambdaMART's gain up to a factor between 0.7 and 1.4, the square
    root of 2 either way: labels that differ by less than a factor of 2 in gain may get one level.
    So it is with `gain`: gains of 2^k - 1, with whole k up to 30, are exact, all others are put
    into levels.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees, or the most there may be where `fit` gets validation queries. Half as
        many as LambdaMART has are often enough.
    learning_rate : float, default=0.05
    n_leaves : int, default=7
        Small trees suit collections of a thousand queries; raise it for larger ones.
    min_leaf_documents : int, default=50
    feature_fraction : float, default=0.5
        Share of the features each tree may use.
    l2 : float, default=1.0
        Ridge on the values of the leaves.
    gain : {"exponential", "linear"}, list of float or None, default=None
        As in LambdaMART: 2^y - 1, y, or the gains of the labels 0, 1, 2 and so on; in levels.
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
    .. [1] Bruch. An Alternative Cross Entropy Loss for Learning-to-Rank. WWW 2021.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> CrossEntropyMART(n_trees=20).fit(dataset).n_trees_
    20
    """

    _objective_name = "rank_xendcg"

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        # Leaves of less curvature, where a list is as good as learned, make LightGBM fail.
        return {"min_sum_hessian_in_leaf": 1e-3}, levels(dataset.labels, self.gain)
