"""The checks of parameters that components share, with one form of message."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def whole_numbers(component: Any, **least: int) -> None:
    """Refuse parameters that are not whole numbers, or below the least value.

    Examples
    --------
    >>> from localrank.rankers import LambdaMART
    >>> whole_numbers(LambdaMART(n_trees=0), n_trees=1)
    Traceback (most recent call last):
    ...
    ValueError: The 'n_trees' parameter of LambdaMART must be a whole number, 1 or larger. Got 0
    instead.
    """
    for name, lowest in least.items():
        value = getattr(component, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
            refuse(component, name, f"a whole number, {lowest} or larger")


def numbers(component: Any, **bounds: tuple[float, float | None]) -> None:
    """Refuse parameters that are not numbers above the first bound, up to the second.

    Examples
    --------
    >>> from localrank.rankers import LambdaMART
    >>> numbers(LambdaMART(feature_fraction=2), feature_fraction=(0, 1))
    Traceback (most recent call last):
    ...
    ValueError: The 'feature_fraction' parameter of LambdaMART must be a finite number above 0, at
    most 1.
    Got 2 instead.
    """
    for name, (low, high) in bounds.items():
        value = getattr(component, name)
        rule = f"a finite number above {low:g}" + ("" if high is None else f", at most {high:g}")
        if not isinstance(value, Real) or isinstance(value, bool):
            refuse(component, name, rule)
        if not low < value <= (float("inf") if high is None else high) or value == float("inf"):
            refuse(component, name, rule)


def refuse(component: Any, name: str, rule: str) -> None:
    """Raise the error of a parameter that breaks a rule."""
    raise ValueError(
        f"The {name!r} parameter of {type(component).__name__} must be {rule}. "
        f"Got {getattr(component, name)!r} instead."
    )
