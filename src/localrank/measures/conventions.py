"""The published tools, and the measures that each of them has."""

from __future__ import annotations

import sys
from typing import Any

from localrank.measures.base import Measure

TOOLS = {
    "default": "localrank",
    "letor3": "LETOR 3",
    "letor4": "LETOR 4",
    "trec_eval": "trec_eval",
    "ranklib": "RankLib",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "sklearn": "scikit-learn",
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
