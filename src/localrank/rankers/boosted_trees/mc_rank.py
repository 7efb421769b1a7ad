"""McRank."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.rules import Rules, check_together, floats, instances, whole
from localrank.data import RankingDataset
from localrank.measures import Measure
from localrank.rankers._contribution_tables import no_contributions, shares
from localrank.rankers._gains import (
    HIGHEST_GRADE,
    Gain,
    a_gain,
    check_gains,
    differ_in_gain,
    gains,
    lesson_of_gain,
    levels,
)
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.rankers.boosted_trees._boosted_trees import (
    BOOSTING,
    TREE_NEEDS,
    CategorySplits,
    boosted,
    boosting_parameters,
    import_lightgbm,
    row_weights,
    warn_of_no_split,
)
from localrank.registry import declare
from localrank.trees import Trees, read_lightgbm_classes

if TYPE_CHECKING:
    from localrank.formulas import Formula


@declare(
    "mc-rank",
    "boosted trees that predict the label, scored by the expected gain",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class McRank(Ranker):
    """Boosted trees that predict the probability of each label; score is the expected gain [1].

        score = Σ_k P(y = k) gain(k)        P the softmax of one sum of trees for each label

    Trained by LightGBM as a classifier, document by document. Queries matter only if validation
    queries choose the number of trees. The model is the same for any number of threads and any
    order of the rows.

    Labels may be any numbers y. Up to 31 different gains make one class each. More gains are put
    into at most 16 classes, by the logarithm of the gain above the lowest. The gain of such a class
    is the mean over its training documents.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees for each class. With validation queries: the largest number tried.
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
        Gain of a label, as in LambdaMART.
    patience : int, default=50
        With validation queries: stop after this many trees without an improvement, and keep the
        best number of trees.
    measure : str or Measure, default="ndcg@10"
        Measure on the validation queries that decides when to stop.
    categories : {"sets", "one-hot"}, default="sets"
        How features of categories are used. "sets": a split sends a set of categories left, and
        all others, missing values included, right. "one-hot": a column of 0 and 1 for each
        category, as other rankers see them; more engines take such a model.
    n_jobs : int or None, default=None
        Threads for training. None: one. -1: all cores. Scoring uses one thread.
    random_state : int or None, default=0
        Seed of the order of rows and of random choices. None: a new seed for each fit.

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept for each class.
    class_trees_ : list of Trees
        The trees of each class.
    gains_ : ndarray of shape (n_classes,)
        Gain of each class, ascending.
    curve_ : ndarray of shape (n_rounds, 2)
        With validation queries: numbers of trees, and `measure` with as many trees. It also has
        the trees after the best number.

    References
    ----------
    1. Li, Burges, Wu. McRank: Learning to Rank Using Multiple Classification and Gradient
       Boosting. NIPS 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> ranker = McRank(n_trees=20).fit(dataset)
    >>> ranker.gains_
    array([ 0.,  1.,  3.,  7., 15.])
    >>> len(ranker.class_trees_)
    5
    """

    needs = TREE_NEEDS

    _parameters: ClassVar[Rules] = {**BOOSTING, "gain": a_gain}

    _fitted: ClassVar[Rules] = {
        "n_trees_": whole(0),
        "gains_": floats("n_classes"),
        "class_trees_": instances(Trees, "n_classes"),
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
        gain: Gain = None,
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
        categories: CategorySplits = "sets",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.n_leaves = n_leaves
        self.min_leaf_documents = min_leaf_documents
        self.feature_fraction = feature_fraction
        self.l2 = l2
        self.gain = gain
        self.patience = patience
        self.measure = measure
        self.categories = categories
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return differ_in_gain(dataset, self.gain)

    def _lesson(self) -> str:
        return lesson_of_gain(self.gain)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # First, so that a missing LightGBM is reported before anything else.
        import_lightgbm()
        check_gains(self, dataset, query_weights)
        worth = gains(dataset.labels, self.gain)
        classes = classes_of(worth)
        self.gains_ = np.bincount(classes, worth) / np.bincount(classes)
        parameters = boosting_parameters(self, "multiclass") | {"num_class": len(self.gains_)}
        weights = row_weights(dataset, query_weights)
        target = classes.astype(np.float64)
        text = boosted(self, dataset, weights, parameters, target, valid, scores_of=self._scores_of)
        self.class_trees_ = read_lightgbm_classes(text)
        if not any(len(trees.thresholds) > 0 for trees in self.class_trees_):
            warn_of_no_split(self, dataset)

    def _scores_of(self, predictions: Array) -> Array:
        """The expected gains, from probabilities of the classes."""
        # Not by BLAS, which rounds a row by its position: equal documents must score the same.
        scores: Array = (predictions * self.gains_).sum(axis=1)
        return scores

    def _check_fitted(self) -> None:
        widths = {trees.n_features for trees in self.class_trees_}
        check_together(self, holds=widths == {self.n_features_in_})

    def _probabilities(self, dataset: RankingDataset) -> Floats:
        """Probability of each class for each row, of shape (n_documents, n_classes)."""
        scores = np.stack([trees.score(dataset.features) for trees in self.class_trees_], axis=1)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probabilities

    def _predict(self, dataset: RankingDataset) -> Array:
        return self._scores_of(self._probabilities(dataset))

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "McRank",
            f"its score is a mean of gains by the softmax of {len(self.class_trees_)} sums of "
            f"trees, and engines take one sum",
            "Use LambdaMART, CrossEntropyMART or GBRT, which are one sum of trees.",
        )

    def _contributions(self, dataset: RankingDataset) -> Floats:
        raise no_contributions("McRank", "its score is a mean of gains by probabilities")

    def _importances(self) -> Floats:
        return shares(np.sum([trees.importances("gain") for trees in self.class_trees_], axis=0))


def classes_of(worth: Floats) -> Integers:
    """The class of each document, by its gain. Classes are numbered from 0.

    Examples
    --------
    >>> classes_of(np.array([0.0, 3.0, 1.0, 3.0]))
    array([0, 2, 1, 2])
    >>> len(set(classes_of(np.arange(100.0, 140.0))))
    7
    """
    values, classes = np.unique(worth, return_inverse=True)
    if len(values) > HIGHEST_GRADE + 1:
        whole = levels(worth - values[0], "linear")
        classes = np.unique(whole, return_inverse=True)[1]
    return classes
