"""How the recipes that train several models make one score of theirs."""

from __future__ import annotations

from typing import Literal

from localrank.aggregation import Aggregator, FixedScale
from localrank.recipes.scaling import wrong

Combine = Literal["standardised", "fixed"]


def combining(combine: Combine) -> Aggregator | None:
    """The aggregator of an ensemble, None for its default.

    Examples
    --------
    >>> combining("fixed")
    FixedScale()
    """
    if combine not in ("standardised", "fixed"):
        raise wrong("combine", combine, "'standardised' or 'fixed'")
    return FixedScale() if combine == "fixed" else None
