"""Global models: the opponents that local methods must beat at equal cost."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

from localrank.rankers import (
    GBRT,
    Distilled,
    Ensemble,
    LambdaMART,
    ListwiseLinear,
    Quadratic,
    Ranker,
    SVMMap,
    SymmetricTrees,
)
from localrank.rankers._gains import Gain
from localrank.recipes._arguments import Combine, combining
from localrank.recipes.two_views import tree_kinds
from localrank.registry import declare


@declare(
    "global-ensemble",
    "several LambdaMARTs with different seeds, averaged",
    sample={"n_models": 3, "ranker": "lambdamart"},
)
def global_ensemble(
    n_models: int = 5,
    *,
    ranker: Ranker | None = None,
    combine: Combine = "standardised",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """Global models of one kind with different seeds, averaged.

    It is the opponent of local methods that train several models of one kind: it costs the same
    and ignores how queries differ.

    Parameters
    ----------
    n_models : int, default=5
        Number of models.
    ranker : Ranker, optional
        The ranker to train. None: LambdaMART(). A ranker without a seed gives the same model
        `n_models` times.
    combine : {"standardised", "fixed"}, default="standardised"
        How scores are made comparable before they are averaged. "standardised": within each
        query. "fixed": divided by scales learned in training (`FixedScale`), so that the result
        is a weighted sum of the models' scores.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the first model. The others count up from it.

    Examples
    --------
    >>> [model.random_state for model in global_ensemble(3).rankers]
    [0, 1, 2]
    """
    _check_n_models(n_models)
    single = LambdaMART() if ranker is None else ranker
    seeds = [None if random_state is None else random_state + i for i in range(n_models)]
    parameters = single.get_params(deep=False)
    if "random_state" not in parameters:
        models = [single] * n_models
    else:
        models = [type(single)(**parameters | {"random_state": seed}) for seed in seeds]
    return Ensemble(models, aggregator=combining(combine), n_jobs=n_jobs)


@declare(
    "global-mixed",
    "models of different kinds, averaged",
    sample={"n_models": 4, "n_trees": 15, "min_leaf_documents": 5},
)
def global_mixed(
    n_models: int = 6,
    *,
    n_trees: int = 300,
    n_leaves: int = 7,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    symmetric: bool = False,
    combine: Combine = "standardised",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """Global models of different kinds, averaged: the opponent of `best`.

    The kinds take turns: LambdaMART, CrossEntropyMART with half the trees, GBRT, ListwiseLinear.
    With `symmetric=True`, SymmetricTrees has its turn after LambdaMART. Each round has new seeds.
    All learn on the features as they are.

    Parameters
    ----------
    n_models : int, default=6
        Number of models.
    n_trees : int, default=300
        Number of trees in LambdaMART and GBRT. CrossEntropyMART has half as many.
    n_leaves : int, default=7
        Number of leaves in each tree.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to LambdaMART, CrossEntropyMART and ListwiseLinear.
        None: exponential for labels up to 30, otherwise linear.
    symmetric : bool, default=False
        Whether SymmetricTrees is among the kinds. It has trees of depth 6, five for every three of
        LambdaMART. It needs CatBoost. `compare` sets it for its opponents if CatBoost is installed.
    combine : {"standardised", "fixed"}, default="standardised"
        How scores are made comparable before they are averaged. "standardised": within each
        query. "fixed": divided by scales learned in training (`FixedScale`), so that the result
        is a weighted sum of the models' scores.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the first round. The others count up from it.

    Examples
    --------
    >>> [type(model).__name__ for model in global_mixed(5).rankers]
    ['LambdaMART', 'CrossEntropyMART', 'GBRT', 'ListwiseLinear', 'LambdaMART']
    >>> [type(model).__name__ for model in global_mixed(3, symmetric=True).rankers]
    ['LambdaMART', 'SymmetricTrees', 'CrossEntropyMART']
    """

    def kinds(turn: int) -> list[Ranker]:
        seed = None if random_state is None else random_state + turn
        first, *others = tree_kinds(n_trees, n_leaves, min_leaf_documents, seed, gain)
        n_symmetric = -(-5 * n_trees // 3)
        more = [SymmetricTrees(n_trees=n_symmetric, random_state=seed)] if symmetric else []
        return [first, *more, *others, ListwiseLinear(gain=gain, random_state=seed)]

    _check_n_models(n_models)
    n_kinds = len(kinds(0))
    models = [kinds(i // n_kinds)[i % n_kinds] for i in range(n_models)]
    return Ensemble(models, aggregator=combining(combine), n_jobs=n_jobs)


@declare(
    "global-one",
    "one model that learns the scores of six global models",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def global_one(
    n_trees: int = 300,
    *,
    n_leaves: int = 31,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    symmetric: bool = False,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Distilled:
    """One global model that learns the scores of `global_mixed`: the opponent of `one`.

    `global_mixed` is trained first. Boosted regression trees on the features then learn its
    scores of the training documents. Only these trees are kept.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees in the models that it learns from. The model has twice as many.
    n_leaves : int, default=31
        Number of leaves in each tree of the model. The models that it learns from have 7.
    min_leaf_documents : int, default=50
        Smallest number of training documents in a leaf.
    gain : {"exponential", "linear"}, list of float or None, default=None
        The worth of each label to the models that it learns from.
        None: exponential for labels up to 30, otherwise linear.
    symmetric : bool, default=False
        Whether SymmetricTrees is among the kinds of models that it learns from. It needs CatBoost.
    n_jobs : int or None, default=None
        Models trained at the same time. None: one. -1: one per core.
    random_state : int or None, default=0
        Seed of the models.

    Examples
    --------
    >>> global_one().student
    GBRT(n_leaves=31, n_trees=600)
    """
    trees: dict[str, Any] = {"min_leaf_documents": min_leaf_documents}
    trees |= {"random_state": random_state}
    teacher = global_mixed(
        6, n_trees=n_trees, gain=gain, symmetric=symmetric, n_jobs=n_jobs, **trees
    )
    return Distilled(teacher, GBRT(2 * n_trees, n_leaves=n_leaves, n_jobs=n_jobs, **trees))


@declare(
    "quadratic",
    "SVMMap, or another ranker, on features and their products",
    grid={"ranker__C": [0.01, 0.1, 1.0]},
    sample={"ranker": "rank-svm"},
)
def quadratic(
    ranker: Ranker | None = None, *, dtype: Literal["float64", "float32"] | None = None
) -> Quadratic:
    """A ranker on the features and all products of two: the global model of LocalRank's paper.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker to train. None: SVMMap(), which LocalRank trains in each cluster.
    dtype : {"float64", "float32"} or None, default=None
        Type of the products. None: chosen by the memory that the products need.

    Examples
    --------
    >>> quadratic()
    Quadratic(ranker=SVMMap())
    """
    return Quadratic(SVMMap() if ranker is None else ranker, dtype=dtype)


def _check_n_models(n_models: int) -> None:
    if not isinstance(n_models, Integral) or n_models < 1:
        raise ValueError(
            f"The 'n_models' parameter of a global ensemble must be a whole number, 1 or larger. "
            f"Got {n_models!r} instead."
        )
