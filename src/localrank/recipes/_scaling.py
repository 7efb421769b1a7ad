"""The `scaling` argument of recipes, and the error for a wrong argument."""

from __future__ import annotations

from typing import Literal

from localrank.representations import Representation, Scaled

Scaling = Literal["standard"] | None


def scaled(representation: Representation, scaling: Scaling) -> Representation:
    """The representation on scaled features; with scaling=None, the representation itself."""
    if scaling not in ("standard", None):
        raise wrong("scaling", scaling, "'standard' or None")
    return representation if scaling is None else Scaled(representation)


def wrong(name: str, value: object, rule: str) -> ValueError:
    """The error for an argument that breaks a rule."""
    return ValueError(f"The {name!r} argument of a recipe must be {rule}. Got {value!r} instead.")
