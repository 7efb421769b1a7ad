"""Measures from their names."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import fields
from functools import lru_cache
from typing import Any

from localrank._base.names import unknown
from localrank._base.rules import Rule
from localrank.measures.base import Measure


def parse_measure(name: str | Measure, convention: str = "default") -> Measure:
    """The measure with a name such as "ndcg@10", as a published tool computes it.

    Parameters
    ----------
    name : str or Measure
        A name, with parameters in parentheses and a cutoff: "ndcg@10", "nDCG(gain=linear)@10",
        "AP(rel=2)@100". Spellings of other tools work as well, in upper or lower case:
        "ndcg_cut_10", "map", "recip_rank", "P_5", "pre@5", "rbp.95". A parameter in the name takes
        precedence over the convention. A Measure is returned as it is.
    convention : str
        The tool whose definition counts: "default", "letor3", "letor4", "trec_eval", "ranklib",
        "lightgbm", "xgboost", "sklearn", "catboost" or "allrank".

    Examples
    --------
    >>> parse_measure("ndcg@10")
    ndcg@10
    >>> parse_measure("ndcg_cut_10", convention="trec_eval")
    ndcg(gain=linear,ties=document_id)@10
    >>> parse_measure("P@5", convention="sklearn")
    Traceback (most recent call last):
    ...
    ValueError: scikit-learn has no measure 'p'. It has map, ndcg.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise ValueError(f"A measure is given by its name, like 'ndcg@10'. Got {name!r} instead.")
    return _parsed(name, convention)


# Cached: a model made of a thousand models parses the same name a thousand times.
@lru_cache(maxsize=256)
def _parsed(name: str, convention: str) -> Measure:
    if convention not in TOOLS:
        raise unknown("There is no convention", convention, TOOLS)
    match = re.fullmatch(r"([^()]*)(?:\(([^()]*)\))?([^()]*)", name.strip().lower())
    if match is None:
        raise ValueError(f"A measure is written like ndcg(gain=linear)@10. Got {name!r} instead.")
    spelled, cutoff = _split_cutoff(match[1] + match[3])
    given: dict[str, Any] = {}
    if persistence := re.fullmatch(r"(rbp)(\.[0-9]+)(@.*)?", match[1] + match[3]):
        given["p"] = float(persistence[2])  # ranx's own notation, as in "rbp.95"
        spelled, cutoff = persistence[1], persistence[3] and persistence[3][1:].strip()
    if convention == "xgboost" and name.rstrip().endswith("-"):
        given["empty"] = 0.0  # XGBoost's own notation, as in "ndcg@10-"
        spelled, cutoff = spelled.rstrip("-"), cutoff and cutoff.rstrip("-")
    measure = _measure(spelled, convention)
    parameters = {field.name for field in fields(measure)}
    if cutoff is not None:
        if "cutoff" not in parameters:
            raise ValueError(f"{measure.__name__} has no cutoff. Got {name!r} instead.")
        if convention in measure.uncut:
            tool = TOOLS[convention]
            raise ValueError(f"{tool} has {measure.name!r} only without a cutoff. Got {name!r}.")
        if not re.fullmatch("[0-9]+", cutoff) or int(cutoff) == 0:
            raise ValueError(f"The cutoff of a measure must be a positive integer. Got {name!r}.")
        given["cutoff"] = int(cutoff)
    for text in filter(str.strip, (match[2] or "").split(",")):
        given |= _parameter(text, measure, parameters - {"cutoff"})
    return measure(**(measures_of(convention)[measure] | given))


def _is_measure(value: Any) -> bool:
    """Whether a value is a measure. A wrong name raises an error that says what is wrong."""
    return isinstance(value, str | Measure) and isinstance(parse_measure(value), Measure)


a_measure = Rule(lambda value, _: _is_measure(value), "a measure or its name, such as 'ndcg@10'")


def _split_cutoff(text: str) -> tuple[str, str | None]:
    """The name of the measure, and the text of its cutoff."""
    if "@" in text:
        name, _, cutoff = text.partition("@")
        return name, cutoff.strip()
    match = re.fullmatch(r"(.*?)[_. ]?([0-9]+-?)", text)
    if match is None or _spelling(text) in _named():  # the 1 of f1 is no cutoff
        return text, None
    return match[1], match[2]


def _spelling(text: str) -> str:
    return re.sub(r"[\s_.]+", "_", text.strip())


def _named() -> dict[str, type[Measure]]:
    """All measures by their names and other spellings."""
    known = measures_of("default")
    return {alias: measure for measure in known for alias in (measure.name, *measure.aliases)}


def _measure(spelled: str, convention: str) -> type[Measure]:
    name, named = _spelling(spelled), _named()
    if re.fullmatch("(alpha|α)[_-]?ndcg", name):
        raise ValueError(
            "alpha_ndcg needs judgments of subtopics: `localrank evaluate run.trec "
            "diversity.qrels --measures alpha_ndcg@20`, or localrank.measures.alpha_ndcg."
        )
    if name not in named:
        names = [measure.name for measure in measures_of("default")]
        raise unknown("There is no measure", name, named, names)
    if named[name] not in measures_of(convention):
        listed = ", ".join(measure.name for measure in measures_of(convention))
        raise ValueError(f"{TOOLS[convention]} has no measure {name!r}. It has {listed}.")
    return named[name]


def _parameter(text: str, measure: type[Measure], names: Collection[str]) -> dict[str, Any]:
    key, equals, value = (part.strip(" '\"") for part in text.partition("="))
    if not equals:
        raise ValueError(f"A parameter is written like gain=linear. Got {text.strip()!r} instead.")
    shown = {measure.short_names.get(name, name): name for name in names}
    name = shown.get(key, key)
    if name not in names:
        raise unknown(f"{measure.__name__} has no parameter", key, shown)
    if value == "none":
        return {name: None}
    try:
        return {name: float(value)}
    except ValueError:
        return {name: value}


TOOLS = {
    "default": "localrank",
    "letor3": "LETOR 3",
    "letor4": "LETOR 4",
    "trec_eval": "trec_eval",
    "ranklib": "RankLib",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "sklearn": "scikit-learn",
    "catboost": "CatBoost",
    "allrank": "allRank",
}


def measures_of(convention: str) -> dict[type[Measure], dict[str, Any]]:
    """The measures of a tool, with the parameters that make them compute the same values.

    Examples
    --------
    >>> [measure.name for measure in measures_of("sklearn")]
    ['map', 'ndcg']
    """
    package = sys.modules["localrank.measures"]
    exported = [
        value
        for value in [getattr(package, name) for name in dir(package)]
        if isinstance(value, type) and issubclass(value, Measure) and hasattr(value, "name")
    ]
    return {
        measure: measure.conventions.get(convention, {})
        for measure in sorted(exported, key=lambda measure: measure.name)
        if convention == "default" or convention in measure.conventions
    }
