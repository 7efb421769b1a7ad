"""Gradient-boosted trees, trained by LightGBM and scored by localrank.

LightGBM is imported only for training: a model loads and scores without it.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.distributed import client_in_scope
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import number_of_jobs
from localrank._base.progress import progress
from localrank._base.rules import Rules, check_together, instance, number, whole
from localrank.data import PartitionedDataset, RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._gains import Gain, GainRanker
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.trees import Trees, read_lightgbm_text, write_lightgbm_text

if TYPE_CHECKING:
    import lightgbm

    from localrank.formulas import Formula

# LightGBM estimates the number of documents in a leaf from its curvature, and fails if that is 0:
# if the queries have no weight, or the documents are in no pair.
LEAST_CURVATURE = 1e-12


class TrainedTrees(Ranker):
    """Base class of rankers that LightGBM trains.

    LightGBM's result depends on the order of rows. It ranks equal scores, such as those before the
    first tree, in file order, which in many collections is the order of a good feature. Rows are
    therefore shuffled by the seed.
    """

    _fitted: ClassVar[Rules] = {"n_trees_": whole(0)}

    _reads_blocks = True
    _sees_missing = True

    n_leaves: int
    min_leaf_documents: int
    feature_fraction: float
    n_jobs: int | None
    random_state: int | None

    @property
    def weighs_documents(self) -> bool:
        return True

    def _order_seed(self) -> int:
        return drawn_seed(self.random_state)

    def _lists(
        self, dataset: RankingDataset, query_weights: Weights
    ) -> tuple[RankingDataset, Integers, Weights]:
        """Training rows in LightGBM's order, sizes of their lists, and a weight for each row."""
        weights: Weights = dataset.document_weights
        if weights is None and query_weights is not None:
            weights = query_weights[dataset.query_index]
        return dataset, dataset.query_sizes, weights

    def _shared_parameters(self) -> dict[str, Any]:
        """LightGBM's parameters that all objectives share."""
        return {
            "num_leaves": self.n_leaves,
            "min_data_in_leaf": self.min_leaf_documents,
            "min_sum_hessian_in_leaf": LEAST_CURVATURE,
            "feature_fraction": self.feature_fraction,
            "num_threads": number_of_jobs(self.n_jobs),
            "seed": self._order_seed(),
            "deterministic": True,
            "force_col_wise": True,
            "metric": "None",
            "verbosity": -1,
        }

    @abstractmethod
    def _keep(self, text: str) -> bool:
        """Store a model that LightGBM wrote. Returns whether any of its trees has a split."""

    def _keep_or_warn(self, text: str, n_documents: int) -> None:
        if not self._keep(text):
            warnings.warn(
                f"{type(self).__name__} found nothing to split on: all documents get the same "
                f"score. With {n_documents:,} training documents, try a min_leaf_documents smaller "
                f"than {self.min_leaf_documents}.",
                stacklevel=4,
            )

    @property
    def _needs_trial(self) -> bool:
        return False


class SummedTrees(TrainedTrees):
    """Base class of rankers whose score is a sum of trees."""

    _fitted: ClassVar[Rules] = {"trees_": instance(Trees)}

    # LightGBM's name of the objective.
    _objective_name: ClassVar[str]

    def _keep(self, text: str) -> bool:
        self.trees_ = read_lightgbm_text(text)
        self.__dict__.pop("booster", None)
        return bool(self.trees_.leaf_offsets[1] > 1)

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


class Boosting(TrainedTrees):
    """Base class that boosts trees for an objective, and stops early on validation queries."""

    _parameters: ClassVar[Rules] = {
        "n_trees": whole(1, 100_000),
        "learning_rate": number(above=0),
        "n_leaves": whole(2, 131_072),
        "min_leaf_documents": whole(1),
        "feature_fraction": number(above=0, most=1),
        "l2": number(least=0),
        "patience": whole(1),
        "measure": a_measure,
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
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # LightGBM's name of the objective.
    _objective_name: ClassVar[str]

    @abstractmethod
    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        """LightGBM's parameters for the objective, and the target of each row."""

    def _boosting_parameters(self) -> dict[str, Any]:
        """LightGBM's parameters that do not depend on the labels."""
        return {
            **self._shared_parameters(),
            "objective": self._objective_name,
            "learning_rate": self.learning_rate,
            "lambda_l2": self.l2,
        }

    def _scores_of(self, predictions: Array) -> Array:
        """Scores from LightGBM's predictions."""
        return predictions

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        # First, so that a missing LightGBM is reported before anything else.
        lightgbm = import_lightgbm()

        from localrank.rankers.boosted_trees._binned import binned, binned_like

        measure = parse_measure(self.measure)
        dataset, sizes, weights = self._lists(dataset, query_weights)
        objective, target = self._objective(dataset)
        parameters = {**self._boosting_parameters(), **objective}
        train = binned(dataset, parameters)
        train.set_label(target).set_group(sizes)
        if weights is not None:
            train.set_weight(weights)
        with progress(type(self).__name__, self.n_trees) as advance:
            callbacks: list[Any] = [lambda _: advance()]
            held_out: dict[str, Any] = {}
            if valid is not None:
                held_out = {
                    "valid_sets": [binned_like(train, valid)],
                    "feval": _evaluation(valid, measure, self._scores_of),
                }
                callbacks.append(lightgbm.early_stopping(self.patience, verbose=False))
            booster = lightgbm.train(
                parameters, train, self.n_trees, callbacks=callbacks, **held_out
            )
        self.n_trees_ = booster.best_iteration if valid is not None else booster.current_iteration()
        text = booster.model_to_string(num_iteration=self.n_trees_)
        self._keep_or_warn(text, dataset.n_documents)


class GainBoosting(GainRanker, Boosting):
    """Base class that boosts trees for an objective with gains of labels."""

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
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.gain = gain


class BoostedTrees(SummedTrees, Boosting):
    """Base class of LambdaMART, CrossEntropyMART and GBRT: everything but the objective."""

    def fit_rows(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        client = client_in_scope()
        if client is not None and isinstance(dataset, PartitionedDataset):
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
    valid: RankingDataset, measure: Measure, scores_of: Callable[[Array], Array]
) -> Callable[..., tuple[str, float, bool]]:
    """A function for LightGBM that evaluates our measure on validation queries after each tree.

    LightGBM's own measure gives queries without relevant documents the perfect score.
    """

    def evaluate(predictions: Array, _: lightgbm.Dataset) -> tuple[str, float, bool]:
        value = mean_of_queries(measure.of_rows(valid, scores_of(predictions)))
        if np.isnan(value):
            raise ValueError(f"No validation query has a value of {measure}.")
        return str(measure), value, measure.higher_is_better

    return evaluate
