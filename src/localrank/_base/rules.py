"""Rules for parameters and fitted attributes of a part, with one form of error message.

A part declares `_parameters = {"C": number(above=0), "loss": one_of("hinge", "log")}`. Its base
calls `check_parameters` at the beginning of `fit`.

It declares `_fitted = {"coef_": floats("n_features"), "n_iter_": whole(0)}`. A model file may hold
only these attributes, and their values are checked before they are used. A name in a shape, such as
"n_features", means the same number everywhere in the part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from localrank._base.estimator import Estimator, is_estimator

Sizes = dict[str, int]

# At most this many features of a model. A file could claim any number, and each document needs as
# many values.
MAX_FEATURES = 2**24
# At most this many characters of a value in a message.
_MAX_CHARACTERS = 200


@dataclass(frozen=True)
class Rule:
    """What a parameter or a fitted attribute must be.

    Attributes
    ----------
    holds : callable
        A function of a value and the known sizes of the part: whether the value keeps the rule. It
        adds sizes that it is the first to name.
    words : str
        The rule in words, as the message says it after "must be".
    may_lack : bool
        Whether a fitted part may lack the attribute.
    """

    holds: Callable[[Any, Sizes], bool]
    words: str
    may_lack: bool = False


Rules = Mapping[str, Rule]


def whole(
    least: int, most: int | None = None, *, below: str | None = None, name: str | None = None
) -> Rule:
    """A whole number within bounds.

    Parameters
    ----------
    least, most : int
        Smallest and largest allowed value. None: no upper bound.
    below : str, optional
        Name of a size that the number must stay below. None: no such bound.
    name : str, optional
        Name of the size that the number defines. None: it defines none.

    Examples
    --------
    >>> whole(1).words, whole(1, 63).words
    ('a whole number, 1 or larger', 'a whole number from 1 to 63')
    """
    words = f", {least} or larger" if most is None else f" from {least} to {most}"
    words += "" if below is None else f", below {below}"

    def holds(value: Any, sizes: Sizes) -> bool:
        counts = isinstance(value, Integral) and not isinstance(value, bool)
        counts = counts and not _needs_more_bits(value)
        if not counts or value < least or (most is not None and value > most):
            return False
        if below is not None and value >= sizes.get(below, 0):
            return False
        return name is None or sizes.setdefault(name, value) == value

    return Rule(holds, f"a whole number{words}")


# The number of features that a part learns from.
n_features = whole(1, MAX_FEATURES, name="n_features")
# The number of features that a part gets before it adds columns.
n_inputs = whole(1, MAX_FEATURES, name="n_inputs")


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

    def holds(value: Any, _: Sizes) -> bool:
        counts = isinstance(value, Real) and not isinstance(value, bool)
        return (
            counts
            and not _needs_more_bits(value)
            and (low < value < high or value in (least, most))
        )

    return Rule(holds, words)


def one_of(*choices: str | int | None) -> Rule:
    """One of some values.

    Examples
    --------
    >>> one_of("standard", "query", None).words
    "'standard', 'query' or None"
    >>> one_of(1).holds(True, {})
    False
    """
    listed = [repr(choice) for choice in choices]
    words = f"{', '.join(listed[:-1])} or {listed[-1]}" if len(listed) > 1 else listed[0]

    def holds(value: Any, _: Sizes) -> bool:
        # True equals 1, and is another value.
        return isinstance(value, str | int | None) and any(
            value == choice and isinstance(value, bool) == isinstance(choice, bool)
            for choice in choices
        )

    return Rule(holds, words)


flag = Rule(lambda value, _: isinstance(value, bool | np.bool_), "True or False")
text = Rule(lambda value, _: type(value) is str, "a text")
real = Rule(lambda value, _: type(value) is float, "a number")
# Numbers and texts for people to read. Nothing is computed from them.
facts = Rule(lambda value, _: isinstance(value, dict | list | tuple), "facts")


def floats(*shape: int | str | None, above: float | None = None) -> Rule:
    """Finite numbers in an array.

    Parameters
    ----------
    *shape : int, str or None
        Length of each axis: a number, a name, or None for any length. Without lengths, any shape.
    above : float, optional
        Bound that all numbers must exceed. None: no bound.

    Examples
    --------
    >>> floats("n_features").holds(np.ones(3), {"n_features": 2})
    False
    """

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype not in (np.float64, np.float32):
            return False
        fits = _fits(value.shape, shape, sizes) and bool(np.isfinite(value).all())
        return fits and (above is None or bool((value > above).all()))

    return Rule(holds, f"finite numbers{_of_shape(shape)}")


def integers(*shape: int | str | None, below: int | str) -> Rule:
    """Whole numbers in an array, from 0 to below a bound.

    Examples
    --------
    >>> integers(None, below="n_features").holds(np.array([0, 3]), {"n_features": 3})
    False
    """

    def holds(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype != np.int64:
            return False
        bound = sizes.get(below, 0) if isinstance(below, str) else below
        within = not value.size or (value.min() >= 0 and value.max() < bound)
        return bool(within) and _fits(value.shape, shape, sizes)

    return Rule(holds, f"whole numbers below {below}{_of_shape(shape)}")


def texts(length: str) -> Rule:
    """An array of texts or numbers, such as ids and names."""

    def holds(value: Any, sizes: Sizes) -> bool:
        known = isinstance(value, np.ndarray) and value.dtype.kind in "UTiufMb"
        return known and _fits(value.shape, (length,), sizes)

    return Rule(holds, f"ids{_of_shape((length,))}")


def instance(kind: type, words: str | None = None) -> Rule:
    """An object of a class, such as a part of a composed ranker."""
    return Rule(lambda value, _: isinstance(value, kind), words or f"a {kind.__name__}")


def instances(kind: type, length: str | None = None) -> Rule:
    """A list of objects of a class, not empty."""

    def holds(value: Any, sizes: Sizes) -> bool:
        listed = isinstance(value, list) and len(value) > 0
        named = listed and (length is None or sizes.setdefault(length, len(value)) == len(value))
        return named and all(isinstance(item, kind) for item in value)

    return Rule(holds, f"a list of {kind.__name__}s, not empty")


def optional(rule: Rule) -> Rule:
    """None, or a value that keeps a rule. A fitted part may also lack the attribute."""
    return Rule(lambda value, sizes: value is None or rule.holds(value, sizes), rule.words, True)


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


def fitted_parts(component: Any) -> Iterator[Any]:
    """A fitted component, and all components among its fitted attributes, recursively."""
    yield component
    for name, value in vars(component).items():
        if name.endswith("_"):
            for part in value if isinstance(value, list | tuple) else [value]:
                if is_estimator(part):
                    yield from fitted_parts(part)


def rules(kind: type, attribute: str = "_parameters") -> Rules:
    """The rules that a class and its bases declare for parameters, or for `_fitted` attributes."""
    declared: dict[str, Rule] = {}
    for base in reversed(kind.__mro__):
        declared |= vars(base).get(attribute, {})
    return declared


def check_rules(component: Any, declared: Rules) -> None:
    """Refuse the first attribute that breaks its rule."""
    for name, rule in declared.items():
        if not rule.holds(getattr(component, name), {}):
            refuse(component, name, rule.words)


def refuse(component: Any, name: str, words: str) -> NoReturn:
    """Raise the error for a parameter that breaks a rule."""
    value = getattr(component, name)
    if _needs_more_bits(value):
        words, got = f"{words}, within 64 bits", f"a number of {int(value).bit_length()} bits"
    else:
        got = repr(value)
    if len(got) > _MAX_CHARACTERS:
        got = f"{got[:_MAX_CHARACTERS]}…"
    raise ValueError(
        f"The {name!r} parameter of {type(component).__name__} must be {words}. Got {got} instead."
    )


def _needs_more_bits(value: Any) -> bool:
    """Whether a whole number is too large for kernels and arrays."""
    return isinstance(value, Integral) and not -(2**63) <= int(value) < 2**63


def check_fitted(component: Any) -> None:
    """Refuse the first fitted attribute that breaks the part's declaration.

    A part may check more in `_check_fitted`, which raises a ValueError.
    """
    name, sizes = type(component).__name__, Sizes()
    for attribute, rule in rules(type(component), "_fitted").items():
        if attribute not in vars(component) and not rule.may_lack:
            raise ValueError(f"{name} lacks {attribute}.")
        if not rule.holds(vars(component).get(attribute), sizes):
            raise ValueError(f"{attribute} of {name} must be {rule.words}.")
    if hasattr(component, "_check_fitted"):
        component._check_fitted()


def check_together(component: Any, *, holds: bool) -> None:
    """Refuse a part whose attributes do not fit each other."""
    if not holds:
        raise ValueError(f"parts of {type(component).__name__} do not fit each other")


def have_features(n_features: int, *fitted: Any) -> bool:
    """Whether all parts were fitted on this number of features."""
    return all(part.n_features_in_ == n_features for part in fitted)


def _fits(shape: tuple[int, ...], wanted: tuple[int | str | None, ...], sizes: Sizes) -> bool:
    if not wanted:
        return True
    if len(shape) != len(wanted):
        return False
    for length, want in zip(shape, wanted, strict=True):
        expected = sizes.setdefault(want, length) if isinstance(want, str) else want
        if expected is not None and length != expected:
            return False
    return True


def _of_shape(shape: tuple[int | str | None, ...]) -> str:
    named = ", ".join("any" if length is None else str(length) for length in shape)
    return f" of shape ({named})" if shape else ""
