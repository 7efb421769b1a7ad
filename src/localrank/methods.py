"""The methods by name, and rankers made of a name and settings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localrank.names import unknown
from localrank.parts import PACKAGES, make_part, parameters, parts
from localrank.rankers import Ranker


class Methods(Mapping[str, Any]):
    """The rankers and recipes that declare themselves and need nothing else to be made.

    By name, global methods first: classes, or functions that make a ranker.
    """

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        found = {
            name: part
            for name, part in parts("ranker").items()
            if inspect.Parameter.empty not in parameters(part).values()
        }
        return dict(sorted(found.items(), key=lambda item: (item[1].declaration.kind, item[0])))


METHODS = Methods()


def make_ranker(
    method: str, settings: Sequence[str], n_jobs: int | None, random_state: int | None
) -> Ranker:
    """A method by name, with `name=value` parameters; threads and seed where it has them.

    Parameters of parts are named as in scikit-learn, `ranker__C=0.1`. A part itself goes by its
    name: `ranker` is another method, `representation`, `grouping`, `selector` and `aggregator`
    are those that `localrank methods` lists. The order of the settings does not matter.

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
    """What `name=value` settings set, by name.

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
    """A parameter as Python or JSON would write it, or the text itself: a part's name always.

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
    """The name of a method as the registry has it; an error that suggests one otherwise."""
    if name.lower() not in METHODS:
        raise unknown("There is no method", name.lower(), METHODS)
    return name.lower()
