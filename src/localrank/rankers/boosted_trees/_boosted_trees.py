"""Gradient-boosted trees, trained by LightGBM and scored by localrank.

LightGBM is imported only for training: a model loads and scores without it.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.distributed import client_in_scope
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import number_of_jobs
from localrank._base.progress import progress
from localrank._base.rules import (
    Rules,
    check_together,
    flag,
    instance,
    number,
    one_of,
    refuse,
    whole,
)
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._gains import Gain, a_gain, check_gains, differ_in_gain, lesson_of_gain
from localrank.rankers._inputs import check_same_base, same_features
from localrank.rankers._training import remember_curve
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights
from localrank.rankers.boosted_trees._monotone import (
    Monotone,
    a_direction_for_features,
    check_keeps,
    monotone_parameters,
)
from localrank.trees import Trees, joined, read_lightgbm_text, write_lightgbm_text

if TYPE_CHECKING:
    import lightgbm

    from localrank.formulas import Formula

# LightGBM estimates the number of documents in a leaf from its curvature, and fails if that is 0:
# if the queries have no weight, or the documents are in no pair.
LEAST_CURVATURE = 1e-12


# The gradient and the second derivative of each document, as floats of 32 bits, by the scores.
Gradient = Callable[[Floats], tuple[Array, Array]]

# What all rankers need that LightGBM trains.
TREE_NEEDS = Needs(
    missing=True,
    blocks=True,
    order="random",
    document_weights=True,
    categories=True,
    trial=False,
)

# How splits use features of categories.
CategorySplits = Literal["sets", "one-hot"]
category_splits = one_of("sets", "one-hot")

# Parameters of boosting.
BOOSTING: Rules = {
    "n_trees": whole(1, 100_000),
    "learning_rate": number(above=0),
    "n_leaves": whole(2, 131_072),
    "min_leaf_documents": whole(1),
    "feature_fraction": number(above=0, most=1),
    "l2": number(least=0),
    "patience": whole(1),
    "measure": a_measure,
    "categories": category_splits,
}


class SummedTrees(Ranker):
    """Base class of rankers whose score is a sum of trees that LightGBM trains.

    LightGBM's result depends on the order of rows. It ranks equal scores, such as those before the
    first tree, in file order, which in many collections is the order of a good feature. Rows are
    therefore shuffled by the seed.
    """

    needs = TREE_NEEDS

    _fitted: ClassVar[Rules] = {"n_trees_": whole(0), "trees_": instance(Trees)}

    # LightGBM's name of the objective.
    _objective_name: ClassVar[str]

    def _keep(self, text: str, dataset: RankingDataset, start: Trees | None = None) -> None:
        """Store a model that LightGBM wrote, after the trees that it adds to."""
        trees = read_lightgbm_text(text)
        self.trees_ = trees if start is None else joined([(start, 1.0), (trees, 1.0)])
        self.__dict__.pop("booster", None)
        if self.trees_.leaf_offsets[1] == 1:
            warn_of_no_split(self, dataset)

    def _check_fitted(self) -> None:
        check_together(self, holds=self.trees_.n_features == self.n_features_in_)

    def _predict(self, dataset: RankingDataset) -> Array:
        return self.trees_.score(dataset.features)

    def _formula(self) -> Formula:
        from localrank.formulas import TreeSum

        return TreeSum(self.trees_)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        return table_of(*self.trees_.contributions(dataset.features))

    def _importances(self) -> Floats:
        return shares(self.trees_.importances("gain"))

    @cached_property
    def booster(self) -> lightgbm.Booster:
        """The same model as a LightGBM object, for its plots, explanations and exports."""
        text = write_lightgbm_text(self.trees_, self._objective_name)
        booster: lightgbm.Booster = import_lightgbm().Booster(model_str=text)
        return booster

    def __getstate__(self) -> dict[str, Any]:
        # The trees are the whole model. The booster is made from them when needed.
        return {name: value for name, value in vars(self).items() if name != "booster"}


class BoostedTrees(SummedTrees):
    """Base class of LambdaMART, CrossEntropyMART and GBRT: everything but the objective."""

    _parameters: ClassVar[Rules] = {
        **BOOSTING,
        "gain": a_gain,
        "monotone": a_direction_for_features,
        "warm_start": flag,
    }

    # The gain of a label: a parameter of objectives that weigh documents by it.
    gain: Gain = None

    def __init__(
        self,
        n_trees: int = 300,
        *,
        learning_rate: float = 0.05,
        n_leaves: int = 7,
        min_leaf_documents: int = 50,
        feature_fraction: float = 0.5,
        l2: float = 1.0,
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
        categories: CategorySplits = "sets",
        monotone: Monotone = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.n_leaves = n_leaves
        self.min_leaf_documents = min_leaf_documents
        self.feature_fraction = feature_fraction
        self.l2 = l2
        self.patience = patience
        self.measure = measure
        self.categories = categories
        self.monotone = monotone
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        """LightGBM's parameters for the objective, and the target of each row."""

    def _gradient(
        self, target: Floats, sizes: Integers, weights: Weights, n_threads: int
    ) -> Gradient | None:
        """The gradient of the objective. None: LightGBM computes its own.

        Parameters
        ----------
        target : ndarray of shape (n_documents,)
            As `_objective` returns it.
        sizes : ndarray of shape (n_queries,)
            Numbers of documents of each query.
        weights : ndarray of shape (n_documents,) or None
        n_threads : int
        """
        return None

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return differ_in_gain(dataset, self.gain)

    def _lesson(self) -> str:
        return lesson_of_gain(self.gain)

    def fit_rows(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        if self._continues:
            self._check_continues(dataset)
            dataset = self._as_before(dataset)
            valid = None if valid is None else self._as_before(valid)
        client = client_in_scope()
        if client is not None and dataset.partitions:
            from localrank.rankers.boosted_trees._distributed_trees import (
                exceeds_worker,
                fit_on_cluster,
            )

            if exceeds_worker(dataset, client):
                fit_on_cluster(self, dataset, client, query_weights, valid)
                warnings.warn(
                    f"{type(self).__name__} was trained by several workers together, because the "
                    f"data exceeds the memory of one: another number of workers gives another "
                    f"model. To train on one worker, set max_documents to draw fewer queries.",
                    stacklevel=2,
                )
                return self
        return super().fit_rows(dataset, query_weights, valid)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # First, so that a missing LightGBM is reported before anything else.
        import_lightgbm()
        check_gains(self, dataset, query_weights)
        weights = row_weights(dataset, query_weights)
        objective, target = self._objective(dataset)
        parameters = {
            **boosting_parameters(self, self._objective_name),
            **monotone_parameters(self, dataset),
            **objective,
        }
        gradient = self._gradient(target, dataset.query_sizes, weights, number_of_jobs(self.n_jobs))
        start = self.trees_ if self._continues else None
        text = boosted(
            self, dataset, weights, parameters, target, valid, gradient=gradient, start=start
        )
        self._keep(text, dataset, start)

    @property
    def _continues(self) -> bool:
        """Whether `fit` adds trees to those of an earlier fit."""
        return self.warm_start and hasattr(self, "trees_")

    def _check_continues(self, dataset: RankingDataset) -> None:
        """Refuse data and parameters with which no trees can be added."""
        dataset = self._as_before(dataset)
        check_same_base(type(self).__name__, getattr(self, "column_record_", None), dataset)
        if self.n_trees <= self.n_trees_:
            refuse(
                self,
                "n_trees",
                f"larger than {self.n_trees_}, the number of trees it has, if warm_start is True",
            )
        check_keeps(self, self.trees_, dataset)

    def _as_before(self, dataset: RankingDataset) -> RankingDataset:
        """The dataset with its features in the order in which the first trees learned them."""
        name = type(self).__name__
        return same_features(name, self.n_features_in_, self._door.feature_names, dataset)


def row_weights(dataset: RankingDataset, query_weights: Weights) -> Weights:
    """The weight of each row: its own, or that of its query."""
    weights: Weights = dataset.document_weights
    if weights is None and query_weights is not None:
        weights = query_weights[dataset.query_index]
    return weights


def lightgbm_parameters(ranker: Ranker, objective: str) -> dict[str, Any]:
    """LightGBM's parameters that all rankers share."""
    return {
        "objective": objective,
        "num_leaves": ranker.n_leaves,
        "min_data_in_leaf": ranker.min_leaf_documents,
        # LightGBM's 100 documents in a group of categories suit its default leaves of 20 and more.
        "min_data_per_group": min(2 * ranker.min_leaf_documents, 100),
        "min_sum_hessian_in_leaf": LEAST_CURVATURE,
        "feature_fraction": ranker.feature_fraction,
        "num_threads": number_of_jobs(ranker.n_jobs),
        "seed": drawn_seed(ranker.random_state),
        "deterministic": True,
        "force_col_wise": True,
        "metric": "None",
        "verbosity": -1,
    }


def boosting_parameters(ranker: Ranker, objective: str) -> dict[str, Any]:
    """LightGBM's parameters of boosting that do not depend on the labels."""
    return {
        **lightgbm_parameters(ranker, objective),
        "learning_rate": ranker.learning_rate,
        "lambda_l2": ranker.l2,
    }


def boosted(
    ranker: Ranker,
    dataset: RankingDataset,
    weights: Weights,
    parameters: dict[str, Any],
    target: Floats,
    valid: HeldOut,
    *,
    gradient: Gradient | None = None,
    scores_of: Callable[[Array], Array] | None = None,
    start: Trees | None = None,
) -> str:
    """Boost trees, stop early on validation queries, and set `n_trees_`.

    Returns LightGBM's text of the trees.

    Parameters
    ----------
    ranker : Ranker
        With the parameters of `BOOSTING`.
    dataset : RankingDataset
        Training rows.
    weights : ndarray of shape (n_documents,) or None
    parameters : dict
        LightGBM's parameters.
    target : ndarray of shape (n_documents,)
    valid : RankingDataset or None
    gradient : callable, optional
        Gradient and second derivative of each row by its score, weights included. None: those of
        LightGBM's objective.
    scores_of : callable, optional
        Makes scores from LightGBM's predictions. None: they are the scores.
    start : Trees, optional
        Trees to add to. They count in `n_trees` and `n_trees_`, and are not in the text.
    """
    lightgbm = import_lightgbm()

    from localrank.rankers.boosted_trees._binned import binned, binned_like, keep_as_made

    measure = parse_measure(ranker.measure)
    train = binned(dataset, parameters)
    if gradient is None:
        train.set_label(target).set_group(dataset.query_sizes)
        if weights is not None:
            train.set_weight(weights)
    else:
        parameters = parameters | {"objective": as_objective(gradient)}
        # LightGBM asks for labels, and does not use them.
        train.set_label(np.zeros(dataset.n_documents))
    n_before = 0
    if start is not None:
        n_before = start.n_trees
        train.set_init_score(_scores(start, dataset))
    n_new = ranker.n_trees - n_before
    with progress(type(ranker).__name__, n_new) as advance:
        callbacks: list[Any] = [lambda _: advance(), keep_as_made]
        held_out: dict[str, Any] = {}
        values: list[float] = []
        if valid is not None:
            held_out = {
                "valid_sets": [binned_like(train, valid)],
                "feval": _evaluation(valid, measure, scores_of, values),
            }
            if start is not None:
                held_out["valid_sets"][0].set_init_score(_scores(start, valid))
            callbacks.append(lightgbm.early_stopping(ranker.patience, verbose=False))
        booster = lightgbm.train(
            parameters, train, n_new, callbacks=callbacks, keep_training_booster=True, **held_out
        )
    n_kept = booster.best_iteration if valid is not None else booster.current_iteration()
    ranker.n_trees_ = n_before + n_kept
    remember_curve(ranker, values, n_before)
    text: str = booster.model_to_string(num_iteration=n_kept)
    return text


def as_objective(gradient: Gradient) -> Callable[[Floats, Any], tuple[Array, Array]]:
    """A gradient in the form in which LightGBM takes an objective."""
    return lambda scores, _: gradient(scores)


def _scores(trees: Trees, dataset: RankingDataset) -> Floats:
    return np.concatenate([trees.score(block) for _, block in dataset.feature_blocks()])


def warn_of_no_split(ranker: Ranker, dataset: RankingDataset) -> None:
    """Warn that no tree has a split."""
    if any(_varies(dataset, rows, block) for rows, block in dataset.feature_blocks()):
        advice = (
            f"With {dataset.n_documents:,} training documents, try a min_leaf_documents smaller "
            f"than {ranker.min_leaf_documents}."
        )
    else:
        advice = "In every training query, all documents have the same features."
    warnings.warn(
        f"{type(ranker).__name__} found nothing to split on: all documents get the same "
        f"score. {advice}",
        stacklevel=5,
    )


def _varies(dataset: RankingDataset, rows: slice, block: Array) -> bool:
    """Whether two documents of a query in a block have different features."""
    queries = dataset.query_index[rows]
    differ = (block[1:] != block[:-1]) & ~(np.isnan(block[1:]) & np.isnan(block[:-1]))
    return bool((differ.any(axis=1) & (queries[1:] == queries[:-1])).any())


def import_lightgbm() -> Any:
    """Import LightGBM, which only training needs."""
    try:
        import lightgbm
    except ImportError:
        raise ImportError(
            "Training boosted trees needs LightGBM. Install it with pip install 'localrank[train]'."
        ) from None
    return lightgbm


def _evaluation(
    valid: RankingDataset,
    measure: Measure,
    scores_of: Callable[[Array], Array] | None,
    values: list[float],
) -> Callable[..., tuple[str, float, bool]]:
    """A function for LightGBM that evaluates our measure on validation queries after each tree.

    LightGBM's own measure gives queries without relevant documents the perfect score. The
    function adds each value to `values`.
    """

    def evaluate(predictions: Array, _: lightgbm.Dataset) -> tuple[str, float, bool]:
        scores = predictions if scores_of is None else scores_of(predictions)
        value = mean_of_queries(measure.of_rows(valid, scores))
        if np.isnan(value):
            raise ValueError(f"No validation query has a value of {measure}.")
        values.append(value)
        return str(measure), value, measure.higher_is_better

    return evaluate
