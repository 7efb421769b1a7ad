"""Random forests."""

from __future__ import annotations

from typing import ClassVar

from localrank._base.progress import progress
from localrank._base.rules import Rules, number, whole
from localrank.data import RankingDataset
from localrank.rankers.base import HeldOut, Weights
from localrank.rankers.boosted_trees._boosted_trees import (
    CategorySplits,
    SummedTrees,
    category_splits,
    import_lightgbm,
    lightgbm_parameters,
    row_weights,
)
from localrank.rankers.boosted_trees._monotone import (
    Monotone,
    a_direction_for_features,
    monotone_parameters,
)
from localrank.registry import declare


@declare(
    "random-forest",
    "mean of trees, each on a random part of documents and features",
    grid={"n_leaves": [30, 100]},
    sample={"n_trees": 15, "n_leaves": 15},
)
class RandomForest(SummedTrees):
    """Mean of regression trees on the labels, each on random documents and features [1].

    Pointwise: training ignores which query a document belongs to. LightGBM trains it. Each tree
    sees a random part of the training documents, and each split a random part of the features. The
    model is the same for any number of threads and any order of the rows.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees. More trees make the mean steadier.
    n_leaves : int, default=100
        Largest number of leaves of a tree.
    min_leaf_documents : int, default=1
        Smallest number of training documents in a leaf.
    feature_fraction : float, default=0.3
        Share of the features that each split may use.
    document_fraction : float, default=0.632
        Share of the training documents that each tree sees. The default is the share of different
        documents in a sample drawn with replacement.
    categories : {"sets", "one-hot"}, default="sets"
        How features of categories are used. "sets": a split sends a set of categories left, and
        all others, missing values included, right. "one-hot": a column of 0 and 1 for each
        category, as other rankers see them; more engines take such a model.
    monotone : dict or None, default=None
        Directions of features, by name, or by column from 0: {"bm25": 1, "price": -1}. 1: the
        score never falls when the feature rises and all others stay. -1: it never rises. A missing
        value is neither high nor low. None: no constraints.
    n_jobs : int or None, default=None
        Threads for training. None: one. -1: all cores. Scoring uses one thread.
    random_state : int or None, default=0
        Seed of the order of rows and of random choices. None: a new seed for each fit.

    Attributes
    ----------
    n_trees_ : int
    trees_ : Trees
        The model as arrays. Leaves are divided by the number of trees.
    booster : lightgbm.Booster
        The same model as a LightGBM object, made on first use.

    References
    ----------
    1. Breiman. Random Forests. Machine Learning 45, 2001.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> RandomForest(n_trees=20).fit(dataset).n_trees_
    20
    """

    _objective_name = "regression"

    _parameters: ClassVar[Rules] = {
        "n_trees": whole(1, 100_000),
        "n_leaves": whole(2, 131_072),
        "min_leaf_documents": whole(1),
        "feature_fraction": number(above=0, most=1),
        "document_fraction": number(above=0, below=1),
        "categories": category_splits,
        "monotone": a_direction_for_features,
    }

    def __init__(
        self,
        n_trees: int = 300,
        *,
        n_leaves: int = 100,
        min_leaf_documents: int = 1,
        feature_fraction: float = 0.3,
        document_fraction: float = 0.632,
        categories: CategorySplits = "sets",
        monotone: Monotone = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.min_leaf_documents = min_leaf_documents
        self.feature_fraction = feature_fraction
        self.document_fraction = document_fraction
        self.categories = categories
        self.monotone = monotone
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        lightgbm = import_lightgbm()

        from localrank.rankers.boosted_trees._binned import binned

        weights = row_weights(dataset, query_weights)
        parameters = {
            **lightgbm_parameters(self, self._objective_name),
            **monotone_parameters(self, dataset),
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": self.document_fraction,
            "feature_fraction": 1.0,
            "feature_fraction_bynode": self.feature_fraction,
        }
        train = binned(dataset, parameters)
        train.set_label(dataset.labels)
        if weights is not None:
            train.set_weight(weights)
        with progress("RandomForest", self.n_trees) as advance:
            booster = lightgbm.train(
                parameters, train, self.n_trees, callbacks=[lambda _: advance()]
            )
        self.n_trees_ = booster.current_iteration()
        self._keep(booster.model_to_string(), dataset)
