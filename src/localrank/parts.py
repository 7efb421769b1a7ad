"""Parts made from their names and settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from localrank import aggregation, grouping, rankers, recipes, representations, selection
from localrank.declaration import declared
from localrank.names import unknown

PACKAGES = {
    "aggregator": [aggregation],
    "grouping": [grouping],
    # A recipe overrides a ranker of the same name: it gives a wrapper its default ranker.
    "ranker": [rankers, recipes],
    "representation": [representations],
    "selector": [selection],
}


def parts(kind: str) -> dict[str, Any]:
    """The parts of a kind, by name: classes, or functions that make them.

    Examples
    --------
    >>> list(parts("aggregator"))[:4]
    ['borda', 'fixed-scale', 'markov-chain', 'mean-score']
    """
    return {name: part for package in PACKAGES[kind] for name, part in declared(package).items()}


def parameters(part: Callable[..., Any]) -> dict[str, Any]:
    """The names and defaults of a part's parameters; `empty` if there is no default."""
    return {name: p.default for name, p in inspect.signature(part).parameters.items()}


def make_part(kind: str, name: str, settings: Mapping[str, Any], **shared: Any) -> Any:
    """Make a part from its name and settings.

    Parameters
    ----------
    kind : {"aggregator", "grouping", "ranker", "representation", "selector"}
        The kind of part.
    name : str
        The name of the part.
    settings : mapping
        Parameters of the part and of its inner parts, named as in scikit-learn, in any order. An
        inner part is given by its name.
    **shared
        Parameters that are set if the part has them, such as `random_state`.

    Examples
    --------
    >>> settings = {"representation__n": 3, "representation": "top-documents"}
    >>> make_part("representation", "scaled", settings)
    Scaled(representation=TopDocuments(n=3))
    """
    return _made(_named(kind, name), settings, shared, sample=False)


def make_sample(part: Any) -> Any:
    """A small and quick instance of a part, for contract tests.

    Examples
    --------
    >>> from localrank.rankers import Ensemble
    >>> make_sample(Ensemble)
    Ensemble(rankers=[LambdaMART(min_leaf_documents=5, n_trees=15), RankSVM()])
    """
    return _made(part, {}, {}, sample=True)


def _named(kind: str, name: str) -> Any:
    known = parts(kind)
    if name.lower() not in known:
        raise unknown(f"There is no {kind}", name, known)
    return known[name.lower()]


def _made(part: Any, settings: Mapping[str, Any], shared: Mapping[str, Any], sample: bool) -> Any:
    name, defaults = part.declaration.name, parameters(part)
    values = {**part.declaration.sample, **settings} if sample else dict(settings)

    def inside(kind: str, name: str, settings: Mapping[str, Any]) -> Any:
        passed = {key: shared[key] for key in ("random_state",) if key in shared}
        if kind == "grouping" and "n_clusters" in {**defaults, **shared}:
            # The method's number of groups holds for any grouping.
            passed["n_clusters"] = {**defaults, **shared, **values}["n_clusters"]
        return _made(_named(kind, name), settings, passed, sample)

    for key in sorted(values, key=_depth):
        kind = key.rpartition("__")[2]
        if kind in PACKAGES and isinstance(values.get(key), str):
            deeper = [other for other in values if other.startswith(f"{key}__")]
            of_part = {other.removeprefix(f"{key}__"): values.pop(other) for other in deeper}
            values[key] = inside(kind, values[key], of_part)
        elif kind == "rankers" and isinstance(values.get(key), list):
            values[key] = [inside("ranker", ranker, {}) for ranker in values[key]]

    given = {key: value for key, value in {**shared, **values}.items() if key in defaults}
    for key, default in defaults.items():
        if default is inspect.Parameter.empty and key not in given:
            raise ValueError(f"{name} needs its parameter {key!r}.")
    made = part(**given)
    for key in sorted(values.keys() - defaults.keys(), key=_depth):
        known = made.get_params()
        if key not in known:
            listed = {*defaults, *(PACKAGES.keys() & made.get_params(deep=False).keys())}
            raise unknown(f"{name} has no parameter", key, {**defaults, **known}, listed)
        made.set_params(**{key: values[key]})
    return made


def _depth(key: str) -> tuple[int, str]:
    """Sorts settings from the outside in: a part before its parameters."""
    return key.count("__"), key
