"""The arguments that several recipes share, and the error for a wrong one."""

from __future__ import annotations

from typing import Literal

from localrank.aggregation import Aggregator, FixedScale
from localrank.representations import Representation, Scaled

Combine = Literal["standardised", "fixed"]
Scaling = Literal["standard"] | None


def combining(combine: Combine) -> Aggregator | None:
    """The aggregator for an ensemble. None: the ensemble's default.

    Examples
    --------
    >>> combining("fixed")
    FixedScale()
    """
    if combine not in ("standardised", "fixed"):
        raise wrong("combine", combine, "'standardised' or 'fixed'")
    return FixedScale() if combine == "fixed" else None


def scaled(representation: Representation, scaling: Scaling) -> Representation:
    """The representation on scaled features; with scaling=None, the representation itself."""
    if scaling not in ("standard", None):
        raise wrong("scaling", scaling, "'standard' or None")
    return representation if scaling is None else Scaled(representation)


def wrong(name: str, value: object, rule: str) -> ValueError:
    """The error for an argument that breaks a rule."""
    return ValueError(f"The {name!r} argument of a recipe must be {rule}. Got {value!r} instead.")
