"""Methods with their default parameters, and with those that rank other queries best.

Every method has as many settings; the first is its default. Each fold chooses among them by its
validation queries. Where it has none, a share of its training queries is held out to choose, and
the chosen setting is then trained on all training queries. Test queries are only scored.

A model of a fold with validation queries is trained once: it scores both parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from localrank._base.arrays import Flags
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset, concatenate
from localrank.evaluation import FoldResult, MethodResult
from localrank.evaluation.runner import judged_queries
from localrank.evaluation.tuning import parameters_text
from localrank.experiments import _peers
from localrank.experiments.recipe_members import (
    COMPOSED,
    CROSS_ENTROPY,
    GBRT,
    HAS_CATBOOST,
    LAMBDA_MART,
    LISTWISE,
    NET,
    RANK_SVM,
    SYMMETRIC,
    WITH_CATBOOST,
    composed,
    local,
    members,
    n_trees_of,
    needed,
)
from localrank.experiments.repeated_runs import MEASURES
from localrank.experiments.setting import Setting
from localrank.rankers import Ranker
from localrank.recipes import one

N_SETTINGS = 4
N_TREES = "n_trees"
# The share of training queries that choose where there is no validation part.
HELD_OUT_SHARE = 0.25
TREES: tuple[dict[str, Any], ...] = (
    {},
    {"n_leaves": 15},
    {"n_trees": 150},
    {"min_leaf_documents": 20},
)
NETS: tuple[dict[str, Any], ...] = ({}, {"n_units": 32}, {"dropout": 0.5}, {"decay": 0.1})
OURS: dict[str, Sequence[dict[str, Any]]] = {
    RANK_SVM: ({}, {"C": 0.01}, {"C": 0.1}, {"C": 10.0}),
    LISTWISE: ({}, {"l2": 0.001}, {"l2": 0.01}, {"l2": 0.1}),
    NET: NETS,
    GBRT: TREES,
    LAMBDA_MART: TREES,
    CROSS_ENTROPY: TREES,
    SYMMETRIC: (
        {},
        {"n_trees": 300, "learning_rate": 0.1},
        {"n_trees": 300, "learning_rate": 0.05},
        {"n_trees": 300, "learning_rate": 0.1, "depth": 4},
    ),
    "6 mixed": TREES,
    WITH_CATBOOST: TREES,
    local(NET): NETS,
    "fast": TREES,
    "one": ({}, {"n_leaves": 15}, {"n_trees": 150}, {"min_leaf_documents": 20}),
    "best": TREES,
}
# A model of a method in one of its settings.
Key = tuple[str, int]


def methods() -> list[str]:
    """The methods: other libraries' that are installed, and ours that need no other."""
    without = () if HAS_CATBOOST else (SYMMETRIC, WITH_CATBOOST)
    return [*_peers.installed(), *(name for name in OURS if name not in without)]


def words(method: str, place: int) -> str:
    """A setting of a method in words."""
    if method in _peers.SETTINGS:
        _, n_trees, options = _peers.SETTINGS[method][place]
        return parameters_text({"n_trees": n_trees, **options})
    return parameters_text(OURS[method][place]) or "default"


def rankers(setting: Setting, seed: int, names: Sequence[str]) -> dict[Key, Ranker]:
    """What must be trained for some methods: every setting of single models and of members."""
    most = n_trees_of(setting)
    peers = _peers.peers(seed, most if setting.quick else None)
    default = members(seed, most)
    made: dict[Key, Ranker] = {}

    def chosen(parameters: Mapping[str, Any]) -> dict[str, Any]:
        # All models of a quick run have few trees.
        return {n: value for n, value in parameters.items() if not (setting.quick and n == N_TREES)}

    for place, trees in enumerate(TREES):
        known = members(seed, **{N_TREES: most, **chosen(trees)})
        for member in needed(name for name in names if name in COMPOSED):
            if _place(member, place) == place:
                made[member, place] = known[member]
        for name in names:
            if name in peers:
                made[name, place] = peers[name][place]
            elif name == "one":
                parameters = {N_TREES: most, **chosen(OURS[name][place])}
                made[name, place] = one(random_state=seed, **parameters)
            elif OURS[name] is not TREES:
                made[name, place] = clone(default[name]).set_params(**chosen(OURS[name][place]))
            elif name not in COMPOSED:
                made[name, place] = known[name]
    return made


def _place(member: str, place: int) -> int:
    """The setting of a member in a setting of its recipe, which has trees alone to set."""
    kinds = (LAMBDA_MART, CROSS_ENTROPY, GBRT)
    return place if member.startswith(kinds) else 0


@dataclass(frozen=True)
class Chosen:
    """Results of methods on the test queries of a collection.

    Attributes
    ----------
    default, tuned : dict from method to MethodResult
    places : dict from method to list of int
        The setting that each fold chose.
    """

    default: dict[str, MethodResult]
    tuned: dict[str, MethodResult]
    places: dict[str, list[int]]


def run_tuned(
    setting: Setting, names: Sequence[str], parts: Sequence[Fold], seed: int, kind: str
) -> Chosen:
    """Methods on folds, with their default parameters and with chosen ones.

    `kind` names the folder for finished work.
    """
    setting.say(kind)
    candidates = rankers(setting, seed, names)
    tried = _run(setting, candidates, [_trial(fold, seed) for fold in parts], kind, names)
    places = {
        name: [
            _best_place([tried[name, place].runs[number] for place in range(N_SETTINGS)], judges)
            for number, judges in enumerate(_judges(fold, seed) for fold in parts)
        ]
        for name in names
    }
    if parts[0].valid is not None:
        by_fold = [
            {key: _on_test(result.runs[number], fold) for key, result in tried.items()}
            for number, fold in enumerate(parts)
        ]
    else:
        by_fold = []
        for number, fold in enumerate(parts):
            wanted = {(name, place) for name in names for place in (0, places[name][number])}
            again = {key: candidates[key] for key in candidates if key in _parts(wanted)}
            results = _run(setting, again, [fold], f"{kind}, all training queries", names)
            by_fold.append({key: result.runs[0] for key, result in results.items()})
    test = concatenate([judged_queries(fold.test) for fold in parts])
    fold_names = [fold.name for fold in parts for _ in range(fold.test.n_queries)]

    def result(name: str, chosen: Sequence[int]) -> MethodResult:
        runs = [results[name, place] for results, place in zip(by_fold, chosen, strict=True)]
        return MethodResult(name, runs, test, fold_names)

    return Chosen(
        {name: result(name, [0] * len(parts)) for name in names},
        {name: result(name, places[name]) for name in names},
        places,
    )


def _judges(fold: Fold, seed: int) -> RankingDataset:
    """The queries that choose a setting for a fold."""
    return fold.train.select(_held_out(fold, seed)) if fold.valid is None else fold.valid


def _held_out(fold: Fold, seed: int) -> Flags:
    n_queries = fold.train.n_queries
    order = np.random.default_rng(seed).permutation(n_queries)
    return np.isin(np.arange(n_queries), order[: max(1, round(HELD_OUT_SHARE * n_queries))])


def _trial(fold: Fold, seed: int) -> Fold:
    """The fold that tries every setting: it scores the queries that choose, first of all."""
    train, scored = fold.train, _judges(fold, seed)
    if fold.valid is None:
        train = train.select(~_held_out(fold, seed))
    else:
        scored = concatenate([scored, fold.test])
    # A query can be scored in several folds: it has a name of its own in each.
    names = np.array([f"{fold.name}, {name}" for name in scored.query_ids])
    return Fold(fold.name, train, None, scored.replaced(query_ids=names))


def _best_place(tried: Sequence[FoldResult], judges: RankingDataset) -> int:
    """The setting that ranks best the queries that choose. Of equal ones, the first."""
    means = [np.nanmean(MEASURES[0](judges, run.scores[: judges.n_documents])) for run in tried]
    return int(np.argmax(means))


def _on_test(run: FoldResult, fold: Fold) -> FoldResult:
    """The part of a trial's result that is on the test queries."""
    scores = run.scores[-fold.test.n_documents :]
    share = len(scores) / len(run.scores)
    return replace(run, scores=scores, predict_seconds=share * run.predict_seconds)


def _parts(wanted: set[Key]) -> set[Key]:
    """What must be trained for methods in settings."""
    return {
        (member, _place(member, place)) if name in COMPOSED else (name, place)
        for name, place in wanted
        for member in needed([name])
    }


def _run(
    setting: Setting,
    candidates: Mapping[Key, Ranker],
    parts: Sequence[Fold],
    kind: str,
    names: Sequence[str],
) -> dict[Key, MethodResult]:
    """Train models on folds, and put together the recipes that have all their members."""
    labels = {f"{name}, setting {place + 1}": (name, place) for name, place in candidates}
    store = None if setting.store is None else setting.store / "scoreboard" / kind
    ran = setting.run({label: candidates[key] for label, key in labels.items()}, parts, store=store)
    results = {key: ran[label] for label, key in labels.items()}
    for name, place in product(names, range(N_SETTINGS)):
        if name in COMPOSED:
            keys = {member: (member, _place(member, place)) for member in needed([name])}
            if set(keys.values()) <= set(results):
                known = {member: results[key] for member, key in keys.items()}
                results[name, place] = composed(known, name, COMPOSED[name])
    return results
