"""Monotone constraints: features whose rise never lowers, or never raises, the score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from localrank._base.arrays import Integers
from localrank._base.names import unknown
from localrank._base.rules import Rule, Sizes, refuse
from localrank.data import RankingDataset
from localrank.data._feature_columns import column_of, known_columns
from localrank.rankers.base import Ranker
from localrank.trees import Leaf, Split, Trees, nested

# The direction of each constrained feature, by name or column.
Monotone = Mapping[str | int, int] | None


def _is_monotone(value: Any, _: Sizes) -> bool:
    return value is None or (
        isinstance(value, Mapping)
        and all(type(feature) in (str, int) for feature in value)
        and all(type(direction) is int and direction in (-1, 1) for direction in value.values())
    )


a_direction_for_features = Rule(
    _is_monotone,
    "a dict from features (names, or columns from 0) to 1 (the score never falls when the feature "
    "rises) or -1 (it never rises), or None",
)


def directions(ranker: Ranker, dataset: RankingDataset) -> Integers:
    """The direction of each column: 1, -1, or 0 for columns without a constraint."""
    result = np.zeros(dataset.n_features, np.int64)
    for feature, direction in (ranker.monotone or {}).items():
        column = column_of(dataset, feature)
        if column < 0 and isinstance(feature, str) and dataset.feature_names:
            raise unknown(
                f"The 'monotone' parameter of {type(ranker).__name__} names an unknown feature",
                feature,
                dataset.feature_names,
            )
        if column < 0:
            refuse(ranker, "monotone", f"a dict whose keys are each {known_columns(dataset)}")
        if dataset.feature_label(column) in (dataset.categories or {}):
            refuse(ranker, "monotone", "for features of numbers: categories do not rise or fall")
        if result[column] not in (0, direction):
            refuse(ranker, "monotone", f"one direction for {dataset.feature_label(column)}")
        result[column] = direction
    return result


def monotone_parameters(ranker: Ranker, dataset: RankingDataset) -> dict[str, Any]:
    """LightGBM's parameters for the constraints of a ranker."""
    columns = directions(ranker, dataset)
    return {"monotone_constraints": columns.tolist()} if columns.any() else {}


def check_keeps(ranker: Ranker, trees: Trees, dataset: RankingDataset) -> None:
    """Refuse trees that break the constraints of the ranker that adds to them."""
    columns = directions(ranker, dataset)
    for tree in nested(trees) if columns.any() else []:
        if (broken := _bounds(tree, columns)[2]) is not None:
            refuse(
                ranker,
                "monotone",
                f"one that the earlier trees keep, if warm_start is True: they break it for "
                f"{dataset.feature_label(broken)}",
            )


def _bounds(tree: Split | Leaf, columns: Integers) -> tuple[float, float, int | None]:
    """The lowest and highest leaf of a tree, and a column whose constraint it breaks, if any.

    LightGBM keeps all leaves on one side of a split on a constrained column at or above all leaves
    on the other.
    """
    if isinstance(tree, Leaf):
        return tree.value, tree.value, None
    low, high, broken = _bounds(tree.left, columns)
    right_low, right_high, right_broken = _bounds(tree.right, columns)
    direction = columns[tree.feature]
    if (direction > 0 and high > right_low) or (direction < 0 and low < right_high):
        broken = tree.feature
    broken = right_broken if broken is None else broken
    return min(low, right_low), max(high, right_high), broken
