"""The members of the recipes, each trained once, and the recipes composed from them.

A recipe is a mean of scores standardised within the query. The scores of `best`, `fast` and the
global models of equal cost follow from the scores of their members, so no member is trained twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

from localrank.aggregation import Aggregator, MeanScore, ZScore
from localrank.data import Fold
from localrank.evaluation import FoldResult, MethodResult
from localrank.experiments.setting import Setting
from localrank.rankers import (
    ListwiseLinear,
    ListwiseNet,
    QueryCoordinates,
    Ranker,
    RankSVM,
    SymmetricTrees,
)
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION
from localrank.recipes.two_views import tree_kinds

Results = Mapping[str, MethodResult]
# The folds of a collection, by its name, for a seed that shuffles their documents.
Sources = Mapping[str, Callable[[int], Iterable[Fold]]]

N_TREES, FEW_TREES = 300, 10
# So far apart that models of two runs never share a seed.
SEEDS = (0, 1000, 2000)
LAMBDA_MART, CROSS_ENTROPY, GBRT, RANK_SVM = "LambdaMART", "CrossEntropyMART", "GBRT", "RankSVM"
LISTWISE, NET = "ListwiseLinear", "ListwiseNet"
WITHOUT_NETS = "best without nets"
SYMMETRIC, WITH_CATBOOST = "SymmetricTrees", "6 mixed with CatBoost"
# The extra that trains symmetric trees. Without it, recipes that need them are left out.
HAS_CATBOOST = find_spec("catboost") is not None
# The costs of a recipe are the sums of its members' costs.
COSTS = ("train_seconds", "train_cpu_seconds", "predict_seconds", "n_models", "model_bytes")


def local(kind: str) -> str:
    """The name of a model in coordinates."""
    return f"{kind}, in coordinates"


def again(kind: str, turn: int) -> str:
    """The name of a model with another seed."""
    return f"{kind}, seed {turn}" if turn else kind


# Views by the names of their models. A recipe is the mean of its views, and a view the mean of
# its models' standardised scores.
_MIXED = [
    LAMBDA_MART,
    CROSS_ENTROPY,
    GBRT,
    LISTWISE,
    again(LAMBDA_MART, 1),
    again(CROSS_ENTROPY, 1),
]
_SIX = [again(LAMBDA_MART, turn) for turn in range(6)]
_IN_COORDINATES = [local(LAMBDA_MART), local(CROSS_ENTROPY), local(RANK_SVM)]
COMPOSED: dict[str, list[list[str]]] = {
    "2 LambdaMARTs": [_SIX[:2]],
    "6 LambdaMARTs": [_SIX],
    "2 mixed": [[LAMBDA_MART, CROSS_ENTROPY]],
    "6 mixed": [_MIXED],
    WITH_CATBOOST: [[LAMBDA_MART, SYMMETRIC, CROSS_ENTROPY, GBRT, LISTWISE, again(LAMBDA_MART, 1)]],
    "the kinds of best": [[LAMBDA_MART, GBRT, NET, CROSS_ENTROPY, RANK_SVM, again(LAMBDA_MART, 1)]],
    "6 LambdaMARTs, in coordinates": [[local(name) for name in _SIX]],
    "6 mixed, in coordinates": [[local(name) for name in _MIXED]],
    "fast": [[LAMBDA_MART], [local(CROSS_ENTROPY)]],
    WITHOUT_NETS: [[LAMBDA_MART, CROSS_ENTROPY, GBRT], _IN_COORDINATES],
    "best": [[LAMBDA_MART, GBRT, local(NET)], _IN_COORDINATES],
}
if not HAS_CATBOOST:
    del COMPOSED[WITH_CATBOOST]


def kinds(seed: int, n_trees: int, **options: Any) -> dict[str, Ranker]:
    """One model of each kind.

    Parameters
    ----------
    seed, n_trees : int
    **options
        Options of the trees.
    """
    lambda_mart, cross_entropy, gbrt = tree_kinds(n_trees, random_state=seed, **options)
    return {
        LAMBDA_MART: lambda_mart,
        CROSS_ENTROPY: cross_entropy,
        GBRT: gbrt,
        RANK_SVM: RankSVM(),
        LISTWISE: ListwiseLinear(random_state=seed),
        NET: ListwiseNet(coordinates=False, random_state=seed),
    }


def for_coordinates(seed: int, n_trees: int, **options: Any) -> dict[str, Ranker]:
    """One model of each kind, for features together with coordinates."""
    return kinds(seed, n_trees, feature_fraction=COORDINATES_FRACTION, **options)


def members(seed: int, n_trees: int = N_TREES, **options: Any) -> dict[str, Ranker]:
    """All models by their names, with the seeds that the recipes give them.

    Parameters
    ----------
    seed, n_trees : int
    **options
        Options of the trees.

    Examples
    --------
    >>> members(1000)["LambdaMART, seed 2"].random_state
    1002
    """
    result: dict[str, Ranker] = {}
    for turn in range(6):
        for kind, ranker in kinds(seed + turn, n_trees, **options).items():
            result[again(kind, turn)] = ranker
        for kind, ranker in for_coordinates(seed + turn, n_trees, **options).items():
            result[local(again(kind, turn))] = QueryCoordinates(ranker)
    if HAS_CATBOOST:
        # As many trees as `global_mixed` gives them: 500 beside 300 of LambdaMART.
        result[SYMMETRIC] = SymmetricTrees(n_trees=-(-5 * n_trees // 3), random_state=seed)
    # Nets compute coordinates themselves.
    return result | {local(NET): ListwiseNet(random_state=seed)}


def needed(methods: Iterable[str]) -> list[str]:
    """The members of some methods, each once. A method may be a member itself."""
    views = chain.from_iterable(COMPOSED.get(method, [[method]]) for method in methods)
    return list(dict.fromkeys(chain.from_iterable(views)))


def composed(
    results: Results,
    name: str,
    views: Sequence[Sequence[str]],
    aggregator: Aggregator | None = None,
) -> MethodResult:
    """The recipe that consists of these members.

    Parameters
    ----------
    results : dict from member to MethodResult
    name : str
    views : list of list of member
        Each view's scores become one list. The recipe is the mean of these lists.
    aggregator : Aggregator, optional
        Makes one list of a view's scores. None: the mean of standardised scores.
    """
    within = aggregator or ZScore()
    first = results[views[0][0]]
    test = first.test
    lists = [
        within.aggregate_rows(test, np.stack([results[member].scores for member in view]))
        for view in views
    ]
    scores = MeanScore().aggregate_rows(test, np.stack(lists))
    ends = np.cumsum([len(run.scores) for run in first.runs])[:-1]
    runs = []
    for place, fold_scores in enumerate(np.split(scores, ends)):
        parts = [results[member].runs[place] for view in views for member in view]
        costs = {cost: sum(getattr(part, cost) for part in parts) for cost in COSTS}
        runs.append(FoldResult(parts[0].fold, fold_scores, np.empty(0, dtype=np.int64), **costs))
    return MethodResult(name, runs, test, first.fold_names)


def with_recipes(results: Results) -> dict[str, MethodResult]:
    """The members and every recipe that can be put together from them."""
    recipes = {
        name: composed(results, name, views)
        for name, views in COMPOSED.items()
        if set(chain.from_iterable(views)) <= set(results)
    }
    return {**results, **recipes}


def train(
    setting: Setting,
    rankers: Mapping[str, Ranker],
    parts: Iterable[Fold],
    kind: str,
    **options: Any,
) -> dict[str, MethodResult]:
    """Train models on folds (quick: on two). `kind` names the folder for finished work.

    Experiments that share the store share the models: the folder and the data decide.
    """
    setting.say(kind)
    store = None if setting.store is None else setting.store / "members" / kind
    return setting.run(rankers, list(parts)[: setting.n_folds], store=store, **options)


def train_members(
    setting: Setting,
    seed: int,
    methods: Iterable[str],
    parts: Iterable[Fold],
    kind: str,
    more: Mapping[str, Ranker] | None = None,
) -> dict[str, MethodResult]:
    """Train the members that some methods need, and more models."""
    known = members(seed, n_trees_of(setting))
    rankers = {name: known[name] for name in needed(methods)} | dict(more or {})
    return train(setting, rankers, parts, kind)


def n_trees_of(setting: Setting) -> int:
    """The number of trees of a model: few if `quick`."""
    return FEW_TREES if setting.quick else N_TREES


def available(sources: Sources, names: Sequence[str]) -> list[str]:
    """The named collections that exist. If none does, all that exist."""
    return [name for name in names if name in sources] or list(sources)
