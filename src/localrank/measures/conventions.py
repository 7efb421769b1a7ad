"""The tools whose measures are understood, and which measures each of them has."""

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
    """The measures of a convention, with the parameters by which they are the tool's.

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
