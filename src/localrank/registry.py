"""The parts and methods of the package by name: declared where they are defined, found here.

A part or a recipe has `@declare(name, summary)` above it. The command line, model files and the
contract tests find it by that name among the exports of its package.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeVar, cast

from localrank._base.names import explaining, unknown

Part = TypeVar("Part", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declaration:
    """What the command line and the contract tests know about a part.

    It decorates a class, or a function that makes a part. The class or function then has it as
    its attribute `declaration`.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        One line that `localrank methods` shows.
    kind : {"global", "local"}
        For a ranker: "local" if it adapts to the query, "global" if it does not.
    grid : mapping
        For a ranker: parameters to tune, with the values to try.
    sample : mapping
        Parameters that make the part small and quick, for contract tests. Inner parts are given
        by name, as on the command line.

    Examples
    --------
    >>> @declare("shuffle", "documents in random order")
    ... class Shuffle: ...
    >>> Shuffle.declaration.name
    'shuffle'
    """

    name: str
    summary: str
    _: KW_ONLY
    kind: Literal["global", "local"] = "global"
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, part: Part) -> Part:
        if isinstance(part, type):
            made: Any = part
            made.__init__ = explaining(made.__init__, made.__name__)
        else:
            part = explaining(part, part.__name__)
        cast(Any, part).declaration = self
        return part


# The name to use as a decorator.
declare = Declaration


def declared(package: ModuleType) -> dict[str, Any]:
    """The exported parts of a package that have a declaration, by name.

    Examples
    --------
    >>> from localrank import aggregation
    >>> list(declared(aggregation))[:4]
    ['borda', 'fixed-scale', 'markov-chain', 'mean-score']
    """
    parts = {}
    # The exports, and what was added at run time.
    names = dict.fromkeys([*dir(package), *vars(package)])
    for value in [getattr(package, name) for name in names]:
        if is_declared(value):
            name = value.declaration.name
            if name in parts:
                raise ValueError(f"{package.__name__} has two parts named {name!r}.")
            parts[name] = value
    return dict(sorted(parts.items()))


def is_declared(value: Any) -> bool:
    """Whether a part has a declaration itself: a subclass does not inherit one."""
    return isinstance(getattr(value, "__dict__", {}).get("declaration"), Declaration)


# The packages of each kind of part. They are imported when a part is asked for by name.
PACKAGES = {
    "aggregator": ["aggregation"],
    "grouping": ["grouping"],
    # A recipe overrides a ranker of the same name: it gives a wrapper its default ranker.
    "ranker": ["rankers", "fusion", "recipes"],
    "representation": ["representations"],
    "selector": ["selection"],
}


def parts(kind: str) -> dict[str, Any]:
    """The parts of a kind, by name: classes, or functions that make them.

    Examples
    --------
    >>> list(parts("aggregator"))[:4]
    ['borda', 'fixed-scale', 'markov-chain', 'mean-score']
    """
    packages = [import_module(f"localrank.{package}") for package in PACKAGES[kind]]
    return {name: part for package in packages for name, part in declared(package).items()}


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


class Methods(Mapping[str, Any]):
    """The methods of the command line: rankers and recipes that need no further arguments.

    A mapping from names to classes, or to functions that make a ranker. Global methods come first.
    """

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        methods = {
            name: part
            for name, part in parts("ranker").items()
            if inspect.Parameter.empty not in parameters(part).values()
        }
        return dict(sorted(methods.items(), key=lambda item: (item[1].declaration.kind, item[0])))


# All methods of the command line, by name.
METHODS = Methods()


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int | None, random_state: int | None
) -> Any:
    """A ranker by the name of its method, with parameters given as `name=value`.

    Parameters of parts are named as in scikit-learn: `ranker__C=0.1`. A part itself is given by
    its name: `ranker=rank-svm` is a method; `localrank methods` lists the names for
    `representation`, `grouping`, `selector` and `aggregator`. The order of settings does not
    matter. `n_jobs` and `random_state` are set if the method has them.

    Examples
    --------
    >>> make_ranker("local-rank", ["n_clusters=3", "ranker=rank-svm", "ranker__C=0.1"], None, 0)
    LocalRanker(grouping=Agglomerative(n_clusters=3), ranker=RankSVM(C=0.1),
                representation=PrincipalComponents(), selector=NearestQuery())
    """
    return make_part(
        "ranker",
        check_method(method),
        setting_values(settings),
        n_jobs=n_jobs,
        random_state=random_state,
    )


def setting_values(settings: Sequence[str]) -> dict[str, Any]:
    """The values of `name=value` settings, by name.

    Examples
    --------
    >>> setting_values(["n_trees=20", "ranker=rank-svm"])
    {'n_trees': 20, 'ranker': 'rank-svm'}
    """
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"A setting must read name=value. Got {setting!r} instead.")
        values[name] = setting_value(name, text)
    return values


def setting_value(name: str, text: str) -> Any:
    """The value of a setting's text: a Python or JSON literal, or else the text itself.

    Names of parts stay names. Names with whole numbers are a dict: `monotone=bm25:1,price:-1`.

    Examples
    --------
    >>> setting_value("C", "0.1"), setting_value("gain", "linear"), setting_value("ranker", "none")
    (0.1, 'linear', None)
    >>> setting_value("monotone", "bm25:1,price:-1"), setting_value("monotone", "0:1")
    ({'bm25': 1, 'price': -1}, {0: 1})
    """
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    if name.rpartition("__")[2] in PACKAGES:
        return text
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        pass
    pairs = [pair.strip().rpartition(":") for pair in text.split(",")]
    if all(re.fullmatch(r"[-+]?\d+", number) and name for name, _, number in pairs):
        return {int(name) if name.isdecimal() else name: int(number) for name, _, number in pairs}
    return text


def check_method(name: str) -> str:
    """The name of a method in lower case. An unknown name is an error that suggests one."""
    if name.lower() not in METHODS:
        raise unknown("There is no method", name.lower(), METHODS)
    return name.lower()
