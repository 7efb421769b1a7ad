"""Models that serve every query, and what local methods must beat at equal cost."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

from localrank.declaration import declare
from localrank.rankers import (
    GBRT,
    Distilled,
    Ensemble,
    LambdaMART,
    ListwiseLinear,
    Quadratic,
    Ranker,
    SVMMap,
)
from localrank.rankers.gains import Gain
from localrank.recipes.combining import Combine, combining
from localrank.recipes.two_views import tree_kinds


@declare(
    "global-ensemble",
    "several LambdaMARTs of different seeds, averaged",
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
    """Models of one kind that differ by their seed: what local methods must beat at equal cost.

    Parameters
    ----------
    n_models : int, default=5
    ranker : Ranker, optional
        LambdaMART() by default; one that has no seed gives the same model n_models times.
    combine : {"standardised", "fixed"}, default="standardised"
        Whether scores are standardised within the query before they are averaged, or divided by
        fixed scales learned in training (`FixedScale`), which makes their mean a weighted sum.
    n_jobs : int or None, default=None
    random_state : int or None, default=0
        Of the first model; the others count up from it.

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
    combine: Combine = "standardised",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Ensemble:
    """Models of different kinds on the features as they are: the opponent of mixed local models.

    In turn LambdaMART, CrossEntropyMART with half the trees, GBRT and ListwiseLinear, with other
    seeds in each turn.

    Parameters
    ----------
    n_models : int, default=6
    n_trees : int, default=300
    n_leaves : int, default=7
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to LambdaMART, CrossEntropyMART and ListwiseLinear.
    combine : {"standardised", "fixed"}, default="standardised"
        Whether scores are standardised within the query before they are averaged, or divided by
        fixed scales learned in training (`FixedScale`), which makes their mean a weighted sum.
    n_jobs : int or None, default=None
    random_state : int or None, default=0

    Examples
    --------
    >>> [type(model).__name__ for model in global_mixed(5).rankers]
    ['LambdaMART', 'CrossEntropyMART', 'GBRT', 'ListwiseLinear', 'LambdaMART']
    """

    def kinds(turn: int) -> list[Ranker]:
        seed = None if random_state is None else random_state + turn
        trees = tree_kinds(n_trees, n_leaves, min_leaf_documents, seed, gain)
        return [*trees, ListwiseLinear(gain=gain, random_state=seed)]

    _check_n_models(n_models)
    models = [kinds(i // 4)[i % 4] for i in range(n_models)]
    return Ensemble(models, aggregator=combining(combine), n_jobs=n_jobs)


@declare(
    "global-one",
    "one model that learns the scores of six global ones",
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
def global_one(
    n_trees: int = 300,
    *,
    n_leaves: int = 15,
    min_leaf_documents: int = 50,
    gain: Gain = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Distilled:
    """Boosted trees on the features that learn the scores of `global_mixed`: the opponent of `one`.

    Parameters
    ----------
    n_trees : int, default=300
        Of the model, and of those that it learns from.
    n_leaves : int, default=15
        Of the model; those that it learns from have 7.
    min_leaf_documents : int, default=50
    gain : {"exponential", "linear"}, list of float or None, default=None
        What labels are worth to the models that it learns from.
    n_jobs : int or None, default=None
    random_state : int or None, default=0

    Examples
    --------
    >>> global_one().student.n_leaves
    15
    """
    trees: dict[str, Any] = {"min_leaf_documents": min_leaf_documents}
    trees |= {"random_state": random_state}
    teacher = global_mixed(6, n_trees=n_trees, gain=gain, n_jobs=n_jobs, **trees)
    return Distilled(teacher, GBRT(n_trees, n_leaves=n_leaves, n_jobs=n_jobs, **trees))


@declare(
    "quadratic",
    "SVMMap, or another ranker, on products of features as well",
    grid={"ranker__C": [0.01, 0.1, 1.0]},
    sample={"ranker": "rank-svm"},
)
def quadratic(
    ranker: Ranker | None = None, *, dtype: Literal["float64", "float32"] | None = None
) -> Quadratic:
    """A ranker on all products of two features as well: the global model of LocalRank's paper.

    Parameters
    ----------
    ranker : Ranker, optional
        SVMMap() by default, as LocalRank has it in each cluster.
    dtype : {"float64", "float32"} or None, default=None
        Of the products; None: by the memory that they take.

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
