"""Symmetric trees, trained by CatBoost and scored by localrank.

CatBoost is imported only for training: a model loads and scores without it.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import number_of_jobs
from localrank._base.progress import progress
from localrank._base.rules import Rules, number, one_of, optional, whole
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.rankers._training import remember_curve
from localrank.rankers.base import HeldOut, Needs, Weights
from localrank.rankers.boosted_trees._boosted_trees import SummedTrees
from localrank.registry import declare
from localrank.trees import read_catboost_json

Objective = Literal["query-rmse", "yeti-rank", "pair-logit"]
LOSSES = {"query-rmse": "QueryRMSE", "yeti-rank": "YetiRank", "pair-logit": "PairLogit"}
# CatBoost computes with labels of 32 bits, and warns of those from a million.
HIGHEST_LABEL = 2.0**19
LARGEST = np.finfo(np.float32).max


@declare(
    "symmetric-trees",
    "boosted trees that ask the same question on each level",
    grid={"depth": [4, 6, 8]},
    sample={"n_trees": 15, "depth": 3},
)
class SymmetricTrees(SummedTrees):
    """Boosted symmetric trees [1], trained by CatBoost.

    All splits of a level of a symmetric tree ask the same question. Such a tree has fewer ways to
    fit chance than other trees of its size, and is scored fastest: its leaf is looked up by the
    answers, one bit each.

    The objective "query-rmse" is a regression on the labels, after the mean of each query is
    subtracted from labels and scores. "yeti-rank" learns from the neighbours in randomly disturbed
    rankings [2]. "pair-logit" learns from all pairs of a query's documents with different labels.
    Labels may be any numbers. The model is the same for any number of threads and any order of the
    rows.

    CatBoost takes features in single precision. The scores equal its `RawFormulaVal` to the last
    bit. There are two exceptions: values nearer to zero than 1e-35 count as zero, and so does a
    missing value of a feature that had none in training.

    Parameters
    ----------
    objective : {"query-rmse", "yeti-rank", "pair-logit"}, default="query-rmse"
        What the trees learn. CatBoost's names are QueryRMSE, YetiRank and PairLogit.
    n_trees : int, default=500
        Number of trees. With validation queries: the largest number tried.
    learning_rate : float, default=0.03
        Factor on each tree. A smaller one needs more trees.
    depth : int, default=6
        At most this many levels in a tree. A tree of depth 6 has 64 leaves.
    l2 : float or None, default=None
        L2 penalty on the values of the leaves. None: CatBoost's own, 3, and 0 with "yeti-rank".
    feature_fraction : float, default=1.0
        Share of the features that each level may use.
    patience : int, default=50
        With validation queries: stop after this many trees without an improvement, and keep the
        best number of trees.
    measure : str or Measure, default="ndcg@10"
        Measure on the validation queries that decides when to stop.
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

    Notes
    -----
    Weights of documents are for "query-rmse". The other objectives compare documents, and accept
    only weights of queries. Only the ratios of weights matter.

    References
    ----------
    1. Prokhorenkova, Gusev, Vorobev, Dorogush, Gulin. CatBoost: Unbiased Boosting with Categorical
       Features. NeurIPS 2018.
    2. Gulin, Kuralenok, Pavlov. Winning the Transfer Learning Track of Yahoo!'s Learning to Rank
       Challenge with YetiRank. JMLR Workshop and Conference Proceedings 14, 2011.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = SymmetricTrees(n_trees=50, depth=4).fit(train)
    >>> ranker.trees_
    Trees: 50 trees of 16 to 16 leaves, 20 features
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    needs = Needs(missing=True, blocks=True, order="random", document_weights=True, trial=False)

    _objective_name = "regression"

    _parameters: ClassVar[Rules] = {
        "objective": one_of(*LOSSES),
        "n_trees": whole(1, 100_000),
        "learning_rate": number(above=0, most=1),
        "depth": whole(1, 16),
        "l2": optional(number(least=0)),
        "feature_fraction": number(above=0, most=1),
        "patience": whole(1),
        "measure": a_measure,
    }

    def __init__(
        self,
        objective: Objective = "query-rmse",
        *,
        n_trees: int = 500,
        learning_rate: float = 0.03,
        depth: int = 6,
        l2: float | None = None,
        feature_fraction: float = 1.0,
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.objective = objective
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.depth = depth
        self.l2 = l2
        self.feature_fraction = feature_fraction
        self.patience = patience
        self.measure = measure
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        catboost = import_catboost()
        held_out = None
        if valid is not None:
            held_out = _HeldOut(valid, parse_measure(self.measure), self.patience)
        features = single_precision(dataset)
        text, n_kept = _no_trees(dataset.n_features), 0
        if _varies(features):
            labels = targets(dataset.labels, self.objective)
            weights = self._weights(dataset, query_weights)
            train = _pool(catboost, dataset, features, labels, **weights)
            del features
            with progress(type(self).__name__, self.n_trees) as advance:
                text = _boosted(catboost, self._settings(), train, held_out, advance)
            n_kept = self.n_trees if held_out is None else held_out.n_best
        self.trees_, self.n_trees_ = read_catboost_json(text, n_kept, zero_for_new=True), n_kept
        self.__dict__.pop("booster", None)
        if held_out is not None:
            remember_curve(self, held_out.values)
        if not len(self.trees_.thresholds):
            warnings.warn(
                "SymmetricTrees found nothing to split on: all documents get the same score. In "
                "single precision, all training documents have the same features.",
                stacklevel=4,
            )

    def _weights(self, dataset: RankingDataset, query_weights: Weights) -> dict[str, Floats]:
        """CatBoost's argument for the weights of rows, with mean 1, if there are any."""
        if dataset.document_weights is not None:
            if self.objective != "query-rmse":
                raise ValueError(
                    f"SymmetricTrees weighs queries if its objective is {self.objective!r}, "
                    f"because it compares the documents of a query with each other: sample_weight "
                    f"must be the same for all documents of a query. objective='query-rmse' takes "
                    f"a weight for each document."
                )
            return {"weight": dataset.document_weights / dataset.document_weights.mean()}
        if query_weights is None:
            return {}
        weights = query_weights[dataset.query_index]
        return {"group_weight": weights / weights.mean()}

    def _settings(self) -> dict[str, Any]:
        settings = {
            "loss_function": LOSSES[self.objective],
            "iterations": self.n_trees,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "rsm": self.feature_fraction,
            "random_seed": drawn_seed(self.random_state),
            "thread_count": number_of_jobs(self.n_jobs),
            "nan_mode": "Min",
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
        return settings if self.l2 is None else settings | {"l2_leaf_reg": self.l2}


def single_precision(dataset: RankingDataset) -> Array:
    """The features in CatBoost's form: 32 bits, finite or missing, column by column."""
    features = np.empty((dataset.n_documents, dataset.n_features), np.float32, order="F")
    for rows, block in dataset.feature_blocks():
        features[rows] = np.clip(block, -LARGEST, LARGEST)
    return features


def targets(labels: Floats, objective: Objective) -> Floats:
    """Labels in CatBoost's form: with 32 bits, and below a million.

    Pairs need only the order. For the other objectives, labels are counted from the lowest one,
    and multiplied by a power of two if they are too large or too small.

    Examples
    --------
    >>> targets(np.array([1.0, 2.0, 5.0]), "query-rmse")
    array([0., 1., 4.])
    >>> targets(np.array([5e8, 5e8 + 1]), "pair-logit")
    array([0., 1.])
    """
    if objective == "pair-logit":
        return np.unique(labels, return_inverse=True)[1].astype(np.float64)
    worth: Floats = labels - labels.min()
    highest = worth.max()
    if not 1 / HIGHEST_LABEL <= highest < HIGHEST_LABEL:
        worth = np.ldexp(worth, -np.frexp(highest)[1])
    return worth


class _HeldOut:
    """Validation queries: a measure for CatBoost, and a callback that stops the training.

    Parameters
    ----------
    dataset : RankingDataset
    measure : Measure
    patience : int
    """

    # CatBoost would try to compile the measure.
    no_jit = True

    def __init__(self, dataset: RankingDataset, measure: Measure, patience: int) -> None:
        self.dataset, self.measure, self.patience = dataset, measure, patience
        self.labels = targets(dataset.labels, "query-rmse").astype(np.float32)
        self.values: list[float] = []
        if np.isnan(self._value(np.zeros(dataset.n_documents))):
            raise ValueError(f"No validation query has a value of {measure}.")

    def is_max_optimal(self) -> bool:
        return self.measure.higher_is_better

    def evaluate(self, scores: Any, labels: Any, _: Any) -> tuple[float, float]:
        # CatBoost asks for the training queries, too.
        if not np.array_equal(labels, self.labels):
            return 0.0, 1.0
        return self._value(np.asarray(scores[0])), 1.0

    def get_final_error(self, error: float, _: float) -> float:
        return error

    @property
    def n_best(self) -> int:
        """The number of trees with the best value, the smallest of several."""
        best = np.argmax if self.measure.higher_is_better else np.argmin
        return int(best(self.values)) + 1

    def goes_on(self, value: float) -> bool:
        """Take the value of one more tree, and say whether to go on."""
        self.values.append(value)
        return len(self.values) - self.n_best < self.patience

    def _value(self, scores: Floats) -> float:
        return mean_of_queries(self.measure.of_rows(self.dataset, scores))


def _boosted(
    catboost: Any,
    settings: dict[str, Any],
    train: Any,
    held_out: _HeldOut | None,
    advance: Callable[[], None],
) -> str:
    """CatBoost's model in JSON. With validation queries it may have trees after the best number."""
    more: dict[str, Any] = {}
    if held_out is not None:
        settings = settings | {"eval_metric": held_out}
        dataset = held_out.dataset
        pool = _pool(catboost, dataset, single_precision(dataset), held_out.labels)
        more = {"eval_set": pool, "use_best_model": False}
    model = catboost.CatBoost(settings)
    model.fit(train, callbacks=[_AfterTree(held_out, advance)], **more)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        return path.read_text(encoding="utf-8")


class _AfterTree:
    """CatBoost's callback: advances a progress bar, and stops the training.

    Parameters
    ----------
    held_out : _HeldOut or None
    advance : callable
    """

    def __init__(self, held_out: _HeldOut | None, advance: Callable[[], None]) -> None:
        self.held_out, self.advance = held_out, advance

    def after_iteration(self, info: Any) -> bool:
        self.advance()
        if self.held_out is None:
            return True
        return self.held_out.goes_on(info.metrics["validation"][type(self.held_out).__name__][-1])


def _pool(
    catboost: Any, dataset: RankingDataset, features: Array, labels: Array, **weights: Floats
) -> Any:
    return catboost.Pool(features, labels, group_id=dataset.query_index, **weights)


def _no_trees(n_features: int) -> str:
    """A model in JSON that gives every document the score 0."""
    info: dict[str, Any] = {"float_features": [{}] * n_features}
    return json.dumps({"features_info": info, "oblivious_trees": [], "scale_and_bias": [1, [0]]})


def _varies(features: Array) -> bool:
    """Whether a feature has two values, a missing one among them: otherwise CatBoost refuses."""
    return any(
        bool(((column != column[0]) & ~(np.isnan(column) & np.isnan(column[0]))).any())
        for column in features.T
    )


def import_catboost() -> Any:
    """Import CatBoost, which only training needs."""
    try:
        import catboost
    except ImportError:
        raise ImportError(
            "Training symmetric trees needs CatBoost. Install it with pip install "
            "'localrank[symmetric]'."
        ) from None
    return catboost
