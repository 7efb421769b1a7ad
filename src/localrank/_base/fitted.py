"""Rules for the fitted attributes of a part, checked when a model is loaded.

A part declares `_fitted = {"coef_": floats("n_features"), "n_iter_": count(0)}`. A model file may
hold only these attributes, and their values are checked before they are used. A name in a shape,
such as "n_features", means the same number everywhere in the part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Sizes = dict[str, int]

# Most features of a model. A file could claim any number, and each document needs that many.
MOST_FEATURES = 2**24


@dataclass(frozen=True)
class Kind:
    """What a fitted attribute must be.

    Attributes
    ----------
    holds : callable
        A function of a value and the known sizes: whether the value is right. It adds sizes that
        it is the first to name.
    words : str
        The rule in words, as the message says it after "must be".
    may_lack : bool
        Whether a fitted part may lack the attribute.
    """

    holds: Callable[[Any, Sizes], bool]
    words: str
    may_lack: bool = False


Kinds = Mapping[str, Kind]


def floats(*shape: int | str | None, above: float | None = None) -> Kind:
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

    return Kind(holds, f"finite numbers{_of_shape(shape)}")


def integers(*shape: int | str | None, below: int | str) -> Kind:
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

    return Kind(holds, f"whole numbers below {below}{_of_shape(shape)}")


def count(
    least: int, below: str | None = None, *, name: str | None = None, most: int | None = None
) -> Kind:
    """One whole number.

    Parameters
    ----------
    least : int
        Smallest allowed value.
    below : str, optional
        Name of a size that the number must stay below. None: no such bound.
    name : str, optional
        Name of the size that the number defines. None: it defines none.
    most : int, optional
        Largest allowed value. None: no such bound.
    """

    def holds(value: Any, sizes: Sizes) -> bool:
        counts = type(value) is int and value >= least and (most is None or value <= most)
        if not counts or (below is not None and value >= sizes.get(below, 0)):
            return False
        return name is None or sizes.setdefault(name, value) == value

    bound = "" if below is None else f", below {below}"
    bound += "" if most is None else f", at most {most}"
    return Kind(holds, f"a whole number, {least} or larger{bound}")


# The number of features that a part learns from.
n_features = count(1, name="n_features", most=MOST_FEATURES)
# The number of features that a part gets before it adds columns.
n_inputs = count(1, name="n_inputs", most=MOST_FEATURES)


def texts(length: str) -> Kind:
    """An array of texts or numbers, such as ids and names."""

    def holds(value: Any, sizes: Sizes) -> bool:
        known = isinstance(value, np.ndarray) and value.dtype.kind in "UTiufMb"
        return known and _fits(value.shape, (length,), sizes)

    return Kind(holds, f"ids{_of_shape((length,))}")


def part(kind: type) -> Kind:
    """A part of a class."""
    return Kind(lambda value, _: isinstance(value, kind), f"a {kind.__name__}")


def parts(kind: type, length: str | None = None) -> Kind:
    """A list of parts of a class, not empty."""

    def holds(value: Any, sizes: Sizes) -> bool:
        listed = isinstance(value, list) and len(value) > 0
        named = listed and (length is None or sizes.setdefault(length, len(value)) == len(value))
        return named and all(isinstance(item, kind) for item in value)

    return Kind(holds, f"a list of {kind.__name__}s, not empty")


def choice(*values: Any) -> Kind:
    """One of some values."""
    listed = ", ".join(map(repr, values))
    return Kind(lambda value, _: any(type(value) is type(v) and value == v for v in values), listed)


text = Kind(lambda value, _: type(value) is str, "a text")
real = Kind(lambda value, _: type(value) is float, "a number")
# Numbers and texts for people to read. Nothing is computed from them.
facts = Kind(lambda value, _: isinstance(value, dict | list | tuple), "facts")


def maybe(kind: Kind) -> Kind:
    """An attribute that a fitted part may lack, or have as None."""
    return Kind(lambda value, sizes: value is None or kind.holds(value, sizes), kind.words, True)


def kinds(cls: type) -> Kinds:
    """The fitted attributes that a class and its bases declare."""
    declared: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("_fitted", {})
    return declared


def check_fitted(component: Any) -> None:
    """Refuse the first fitted attribute that breaks the part's declaration.

    A part may check more in `_check_fitted`, which raises a ValueError.
    """
    name, sizes = type(component).__name__, Sizes()
    for attribute, kind in kinds(type(component)).items():
        if attribute not in vars(component) and not kind.may_lack:
            raise ValueError(f"{name} lacks {attribute}.")
        if not kind.holds(vars(component).get(attribute), sizes):
            raise ValueError(f"{attribute} of {name} must be {kind.words}.")
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
