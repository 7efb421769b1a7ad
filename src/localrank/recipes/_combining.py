"""How recipes that train several models combine their scores."""

from __future__ import annotations

from typing import Literal

from localrank.aggregation import Aggregator, FixedScale
from localrank.recipes._scaling import wrong

Combine = Literal["standardised", "fixed"]


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
