"""Rules for the parameters of a component, with one form of error message.

A component declares `_parameters = {"C": number(above=0), "loss": one_of("hinge", "log")}`. Its
base calls `check_parameters` at the beginning of `fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from localrank._base.estimator import Estimator, is_estimator


@dataclass(frozen=True)
class Rule:
    """What a parameter must be.

    Attributes
    ----------
    holds : callable
        A function of a value: whether it keeps the rule.
    words : str
        The rule in words, as the message says it after "must be".
    """

    holds: Callable[[Any], bool]
    words: str


Rules = Mapping[str, Rule]

# Most characters of a value in a message.
_LONGEST = 200


def whole(least: int, most: int | None = None) -> Rule:
    """A whole number within bounds.

    Examples
    --------
    >>> whole(1).words, whole(1, 63).words
    ('a whole number, 1 or larger', 'a whole number from 1 to 63')
    """
    words = f", {least} or larger" if most is None else f" from {least} to {most}"

    def holds(value: Any) -> bool:
        counts = isinstance(value, Integral) and not isinstance(value, bool)
        return counts and least <= value and (most is None or value <= most)

    return Rule(holds, f"a whole number{words}")


def number(
    *,
    above: float = -inf,
    least: float | None = None,
    most: float | None = None,
    below: float = inf,
) -> Rule:
    """A finite number within bounds.

    Examples
    --------
    >>> number(above=0).words, number(least=0).words, number(least=0, most=1).words
    ('a finite number above 0', 'a finite number, 0 or larger', 'a number from 0 to 1')
    >>> number(above=0, most=1).words, number(above=0, below=1).words
    ('a finite number above 0, at most 1', 'a finite number above 0 and below 1')
    """
    low, high = above if least is None else least, below if most is None else most
    if least is not None and most is not None:
        words = f"a number from {least:g} to {most:g}"
    else:
        words = "a finite number" + (f" above {low:g}" if least is None else f", {low:g} or larger")
        if high < inf:
            words += f" and below {high:g}" if most is None else f", at most {high:g}"

    def holds(value: Any) -> bool:
        counts = isinstance(value, Real) and not isinstance(value, bool)
        return counts and (low < value < high or value in (least, most))

    return Rule(holds, words)


def one_of(*choices: str | None) -> Rule:
    """One of some words.

    Examples
    --------
    >>> one_of("standard", "query", None).words
    "'standard', 'query' or None"
    """
    listed = [repr(choice) for choice in choices]
    words = f"{', '.join(listed[:-1])} or {listed[-1]}"
    return Rule(lambda value: isinstance(value, str | None) and value in choices, words)


flag = Rule(lambda value: isinstance(value, bool | np.bool_), "True or False")


def instance(kind: type, words: str) -> Rule:
    """An object of a class, such as a part of a composed ranker."""
    return Rule(lambda value: isinstance(value, kind), words)


def optional(rule: Rule) -> Rule:
    """None, or a value that keeps a rule."""
    return Rule(lambda value: value is None or rule.holds(value), rule.words)


def check_parameters(component: Estimator) -> None:
    """Refuse the first parameter that breaks its rule, in a component or in its parts.

    Examples
    --------
    >>> from localrank.rankers import LambdaMART
    >>> check_parameters(LambdaMART(n_trees=0))
    Traceback (most recent call last):
    ...
    ValueError: The 'n_trees' parameter of LambdaMART must be a whole number from 1 to 100000.
    Got 0 instead.
    """
    for part in parts_of(component):
        check_rules(part, rules(type(part)))


def parts_of(component: Any) -> Iterator[Any]:
    """A component and all parts among its parameters, each before its inner parts.

    Examples
    --------
    >>> from localrank.rankers import Quadratic, RankSVM
    >>> list(parts_of(Quadratic(RankSVM(C=3))))
    [Quadratic(ranker=RankSVM(C=3)), RankSVM(C=3)]
    """
    yield component
    for value in component.get_params(deep=False).values():
        for part in value if isinstance(value, list | tuple) else [value]:
            if is_estimator(part):
                yield from parts_of(part)


def rules(kind: type) -> Rules:
    """The rules that a class and its bases declare."""
    declared: dict[str, Rule] = {}
    for base in reversed(kind.__mro__):
        declared |= vars(base).get("_parameters", {})
    return declared


def check_rules(component: Any, declared: Rules) -> None:
    """Refuse the first attribute that breaks its rule."""
    for name, rule in declared.items():
        if not rule.holds(getattr(component, name)):
            refuse(component, name, rule.words)


def refuse(component: Any, name: str, words: str) -> NoReturn:
    """Raise the error for a parameter that breaks a rule."""
    got = repr(getattr(component, name))
    if len(got) > _LONGEST:
        got = f"{got[:_LONGEST]}…"
    raise ValueError(
        f"The {name!r} parameter of {type(component).__name__} must be {words}. Got {got} instead."
    )
