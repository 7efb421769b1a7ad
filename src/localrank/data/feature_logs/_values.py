"""Ids and feature values as they are in a log."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from localrank.data._checks import is_text

# For each document: its id, the names of its features, and their values as in the log.
Documents = Iterator[tuple[str, tuple[str, ...], list[Any]]]
# How the engines write NaN in JSON.
_NOT_A_NUMBER = "NaN"


def as_id(value: Any, what: str) -> str:
    """An id as text: a string, or a whole number as it is printed.

    Examples
    --------
    >>> as_id(7, "the query id"), as_id("a b", "the query id")
    ('7', 'a b')
    """
    if type(value) is str and value and is_text(value):
        return value
    if type(value) is int:
        return str(value)
    raise ValueError(
        f"{what} must be a string or a whole number, not empty. Got {shortened(value)} instead."
    )


def as_number(value: Any, feature: str) -> float:
    """The value of a feature. NaN: it is missing.

    Examples
    --------
    >>> as_number(3, "bm25"), as_number(None, "bm25")
    (3.0, nan)
    """
    if value is None or value == _NOT_A_NUMBER:
        return math.nan
    if isinstance(value, dict | list):
        raise ValueError(
            f"the feature {feature!r} must be a number. Got a tensor or a list instead. Log a "
            f"number computed from it, or ignore the feature."
        )
    if type(value) not in (int, float):
        raise ValueError(
            f"the feature {feature!r} must be a number. Got {shortened(value)} instead."
        )
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"the feature {feature!r} is too large for a number.") from None


def shortened(value: Any, most: int = 60) -> str:
    """A value as it is shown in an error."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
