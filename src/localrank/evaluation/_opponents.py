"""The rankers of a comparison: methods, baseline, best feature, and opponents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from localrank._base.estimator import clone
from localrank._base.parallel import with_jobs
from localrank.evaluation.fold_results import described
from localrank.local_ranker import LocalRanker
from localrank.rankers import Distilled, Ensemble, Ranker
from localrank.recipes import global_ensemble, global_mixed, global_one
from localrank.registry import METHODS, check_method, make_ranker

# Not among "all". The first trains a model for every query that it ranks. The others rank lists of
# retrievers, and some of them need vectors.
LEFT_OUT = (
    "duh-kirchhoff",
    "fusion",
    "hybrid",
    "reciprocal-rank-fusion",
    "smoothed-fusion",
)
BEST_FEATURE = "best-feature"
# Models of an opponent, at most. Larger ones would take longer than everything else.
MAX_MODELS = 20
TREE_PARAMETERS = ("n_trees", "n_leaves", "min_leaf_documents")

Methods = str | Sequence[str] | Mapping[str, Ranker]
Role = Literal["method", "baseline", "reseeded", "best feature", "opponent", "run"]


@dataclass(frozen=True, eq=False)
class Entrant:
    """What takes part in a comparison.

    Attributes
    ----------
    role : {"method", "baseline", "reseeded", "best feature", "opponent", "run"}
    kind : {"global", "local", "run"}
    summary : str
    """

    role: Role
    kind: str
    summary: str

    @property
    def parameters(self) -> dict[str, str]:
        """What is known of it besides, for the page."""
        return {}


@dataclass(frozen=True, eq=False)
class Entry(Entrant):
    """One ranker of a comparison.

    Attributes
    ----------
    ranker : Ranker
        The ranker, not fitted.
    """

    ranker: Ranker

    @property
    def parameters(self) -> dict[str, str]:
        """The ranker's parameters, but for `n_jobs`."""
        return {
            key: " ".join(repr(value).split())
            for key, value in with_jobs(self.ranker, None).get_params(deep=False).items()
            if key != "n_jobs"
        }


def entries(
    methods: Methods,
    baseline: str,
    settings: Sequence[str] = (),
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> dict[str, Entry]:
    """The methods asked for, the best feature, the baseline, and the baseline with another seed.

    Parameters
    ----------
    methods : str, list of str, or dict from name to Ranker
        Names from `localrank methods`, or "all". A text may have several names, separated by
        commas.
    baseline : str
    settings : list of str
        Parameters of methods given by name, such as "local-rank.n_clusters=4".
    n_jobs, random_state : int or None
        Parameters of the methods given by name.

    Examples
    --------
    >>> list(entries("local-rank,rank-svm", "lambdamart"))
    ['best-feature', 'lambdamart', 'local-rank', 'rank-svm', 'lambdamart reseeded']
    """
    given = dict(methods) if isinstance(methods, Mapping) else {}
    asked = list(methods) if isinstance(methods, Mapping) else _names(methods)
    if given and baseline not in given and baseline not in METHODS:
        raise ValueError(f"{baseline!r} is not among the methods: {', '.join(given)}.")
    baseline = baseline if baseline in given else check_method(baseline)
    asked = [name if name in given else check_method(name) for name in asked]
    names = list(dict.fromkeys([BEST_FEATURE, baseline, *asked]))
    given_settings = _settings(settings, names)
    result = {}
    for name in names:
        role: Role = "method"
        if name == baseline:
            role = "baseline"
        elif name == BEST_FEATURE:
            role = "best feature"
        if name in given:
            if given_settings[name]:
                raise ValueError(f"{name} is given as a ranker. Set its parameters on that ranker.")
            kind = "local" if isinstance(given[name], LocalRanker) else "global"
            result[name] = Entry(role, kind, type(given[name]).__name__, given[name])
        else:
            ranker = make_ranker(name, given_settings[name], n_jobs, random_state)
            declaration = METHODS[name].declaration
            result[name] = Entry(role, declaration.kind, declaration.summary, ranker)
    single = result[baseline]
    if _is_seeded(single.ranker):
        seed = single.ranker.get_params()["random_state"]
        other = clone(single.ranker).set_params(random_state=None if seed is None else seed + 1)
        summary = f"{baseline} with another seed: what chance alone changes"
        result[f"{baseline} reseeded"] = Entry("reseeded", single.kind, summary, other)
    return result


def equal_cost_opponents(
    taking_part: Mapping[str, Entry],
    n_models: Mapping[str, int],
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> tuple[dict[str, Entry], dict[str, list[str]]]:
    """The opponents that every method must beat at equal cost.

    A method of one model has the baseline as its opponent. A method that learned the scores of
    other models has one more: a model of the same trees that learned the scores of six global
    models. A method of k models has two opponents: the baseline with k seeds, if it has a seed,
    and k models of different kinds. These have the trees of the method. If the method has no
    trees, or a set for each group, they have the trees of the baseline. SymmetricTrees is among
    the kinds if CatBoost is installed. Summaries of opponents name the kinds.

    Parameters
    ----------
    taking_part : dict from name to Entry
    n_models : dict from name to int
        The number of models of each trained method.
    n_jobs, random_state : int or None

    Returns
    -------
    added : dict from name to Entry
        Opponents that do not take part yet.
    opponents : dict from name to list of str
        The opponents of each method. A method of more than 20 models has none.

    Examples
    --------
    >>> taking_part = entries("local-rank", "lambdamart")
    >>> added, opponents = equal_cost_opponents(taking_part, {"best-feature": 1, "local-rank": 4})
    >>> opponents
    {'best-feature': ['lambdamart'], 'local-rank': ['global-ensemble-4', 'global-mixed-4']}
    >>> [model.random_state for model in added["global-ensemble-4"].ranker.rankers]
    [0, 1, 2, 3]
    """
    symmetric = find_spec("catboost") is not None
    baseline = next(name for name, entry in taking_part.items() if entry.role == "baseline")
    single = taking_part[baseline].ranker
    names = {repr(described(entry.ranker)): name for name, entry in taking_part.items()}
    added: dict[str, Entry] = {}
    opponents: dict[str, list[str]] = {}
    for name, k in n_models.items():
        opponents[name] = [baseline] if k == 1 else []
        method = taking_part[name].ranker
        rivals: dict[str, Ranker] = {}
        if k == 1 and isinstance(method, Distilled):
            student = _trees(method.student_in_use)
            if student:
                # It has twice as many trees as the models that it learns from.
                student["n_trees"] = max(student["n_trees"] // 2, 1)
            trees = (student or _trees(single)) | _gain(method)
            rivals["global-one"] = global_one(
                **trees, symmetric=symmetric, n_jobs=n_jobs, random_state=random_state
            )
        elif 1 < k <= MAX_MODELS:
            trees = (_trees(method) or _trees(single)) | _gain(method)
            if _is_seeded(single):
                seed = single.get_params()["random_state"]
                rivals[f"global-ensemble-{k}"] = global_ensemble(
                    k, ranker=with_jobs(single, None), n_jobs=n_jobs, random_state=seed
                )
            rivals[f"global-mixed-{k}"] = global_mixed(
                k, **trees, symmetric=symmetric, n_jobs=n_jobs, random_state=random_state
            )
        for free, rival in rivals.items():
            description = repr(described(rival))
            if description == repr(described(method)):
                continue
            if description not in names:
                kind = free.removesuffix(f"-{k}")
                if free in added:
                    free += "".join(f" {key}={value}" for key, value in trees.items())
                names[description] = free
                summary = METHODS[kind].declaration.summary + _kinds(rival, symmetric)
                added[free] = Entry("opponent", "global", summary, rival)
            opponents[name].append(names[description])
    return dict(sorted(added.items(), key=lambda item: _n_rankers(item[1].ranker))), opponents


def _kinds(rival: Ranker, symmetric: bool) -> str:
    """What an opponent of different kinds is made of, for its summary. Empty: one kind."""
    ensemble = rival.ranker if isinstance(rival, Distilled) else rival
    names = list(dict.fromkeys(type(model).__name__ for model in ensemble.rankers))
    if len(names) == 1:
        return ""
    note = "" if symmetric else "; no SymmetricTrees, because CatBoost is not installed"
    return f" ({', '.join(names)}{note})"


def _n_rankers(ranker: Ranker) -> int:
    return len(ranker.rankers) if isinstance(ranker, Ensemble) else 1


def _names(methods: str | Sequence[str]) -> list[str]:
    listed = methods.split(",") if isinstance(methods, str) else methods
    asked = [name.strip() for name in listed if name.strip()]
    if "all" in asked:
        asked.remove("all")
        asked = [*(name for name in METHODS if name not in LEFT_OUT), *asked]
    return asked


def _settings(settings: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    by_method: dict[str, list[str]] = {name: [] for name in names}
    for setting in settings:
        method, dot, rest = setting.partition(".")
        if not dot or "=" in method:
            raise ValueError(f"A setting must read method.name=value. Got {setting!r} instead.")
        if method not in by_method:
            raise ValueError(f"{setting}: {method} is not among {', '.join(names)}.")
        by_method[method].append(rest)
    return by_method


def _is_seeded(ranker: Ranker) -> bool:
    return "random_state" in ranker.get_params(deep=False)


def _trees(ranker: Ranker) -> dict[str, Any]:
    """Number and size of the trees of the largest model. Empty: no trees for all queries."""
    parameters = [model.get_params(deep=False) for model in _models(ranker)]
    trees = [given for given in parameters if set(TREE_PARAMETERS) <= set(given)]
    if not trees:
        return {}
    largest = max(trees, key=lambda given: given["n_trees"])
    return {name: largest[name] for name in TREE_PARAMETERS}


def _gain(ranker: Ranker) -> dict[str, Any]:
    """The gain of labels, if the models have one as a parameter."""
    told = (getattr(model, "gain", None) for model in _models(ranker))
    gain = next((gain for gain in told if gain is not None), None)
    return {} if gain is None else {"gain": gain}


def _models(ranker: Ranker) -> Iterator[Ranker]:
    """The rankers that a ranker is made of and that are trained on all queries."""
    if isinstance(ranker, LocalRanker):
        return
    yield ranker
    for value in ranker.get_params(deep=False).values():
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, Ranker):
                yield from _models(part)
