"""The methods by name, and rankers made from a name and settings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localrank.names import unknown
from localrank.parts import PACKAGES, make_part, parameters, parts
from localrank.rankers import Ranker


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


METHODS = Methods()


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int | None, random_state: int | None
) -> Ranker:
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
    ranker: Ranker = make_part(
        "ranker",
        check_method(method),
        setting_values(settings),
        n_jobs=n_jobs,
        random_state=random_state,
    )
    return ranker


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
    """The value of a text: a Python or JSON literal, otherwise the text. Parts stay names.

    Examples
    --------
    >>> setting_value("C", "0.1"), setting_value("gain", "linear"), setting_value("ranker", "none")
    (0.1, 'linear', None)
    """
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    if name.rpartition("__")[2] in PACKAGES:
        return text
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def check_method(name: str) -> str:
    """The name of a method in lower case. An unknown name is an error that suggests one."""
    if name.lower() not in METHODS:
        raise unknown("There is no method", name.lower(), METHODS)
    return name.lower()
