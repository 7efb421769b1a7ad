"""LambdaMART."""

from __future__ import annotations

from typing import Any, ClassVar

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules, whole
from localrank.data import RankingDataset
from localrank.measures import Measure
from localrank.rankers._gains import Gain, gains
from localrank.rankers.base import Weights
from localrank.rankers.boosted_trees._boosted_trees import (
    BoostedTrees,
    CategorySplits,
    Gradient,
)
from localrank.rankers.boosted_trees._lambdas import lambda_gradient
from localrank.rankers.boosted_trees._monotone import Monotone
from localrank.registry import declare


@declare(
    "lambdamart",
    "boosted trees for NDCG",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class LambdaMART(BoostedTrees):
    """Boosted trees on LambdaRank's gradients of NDCG [1].

    It is made for graded labels. Trees find thresholds and combinations of features that a
    weighted sum cannot express.

    LightGBM grows the trees. localrank computes the gradients: those of LightGBM's `lambdarank`
    to four digits, in a fraction of the time. Lists may have any length.

    Labels may be any numbers y. The gain of a label is 2^y - 1. If labels are larger than 30, such
    as counts of clicks, the gain is y. If the lowest label is negative, gains are counted from it.
    The parameter `gain` sets other gains. The model is the same for any number of threads and any
    order of the rows.

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
    truncation_level : int, default=30
        Only pairs with at least one document in this many top ranks count.
    gain : {"exponential", "linear"}, list of float or None, default=None
        Gain of a label y in training. "exponential": 2^y - 1. "linear": y. A list: the gains of
        the labels 0, 1, 2 and so on, which must not fall. None: chosen by the size of the labels,
        as above. `measure` keeps its own gains.
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
    1. Burges. From RankNet to LambdaRank to LambdaMART: An Overview. Microsoft Research
       Technical Report MSR-TR-2010-82.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = LambdaMART(n_trees=50).fit(train)
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    _objective_name = "lambdarank"

    _parameters: ClassVar[Rules] = {
        "truncation_level": whole(1),
    }

    def __init__(
        self,
        n_trees: int = 300,
        *,
        learning_rate: float = 0.05,
        n_leaves: int = 7,
        min_leaf_documents: int = 50,
        feature_fraction: float = 0.5,
        l2: float = 1.0,
        truncation_level: int = 30,
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
        self.truncation_level = truncation_level

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        return {}, gains(dataset.labels, self.gain)

    def _gradient(
        self, target: Floats, sizes: Integers, weights: Weights, n_threads: int
    ) -> Gradient:
        return lambda_gradient(target, sizes, weights, self.truncation_level, n_threads)
