"""Sums of trees as Vespa's importer of LightGBM's models reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.export.node_tables import plain_thresholds
from localrank.formulas import NotExportable
from localrank.trees import Leaf, Split, Trees, nested
from localrank.trees.columns import DEFAULT_LEFT, MISSING, MISSING_ZERO


def write_trees(trees: Trees, columns: Sequence[str]) -> str:
    """Trees as JSON in the shape of `Booster.dump_model()`.

    Vespa's importer writes `x < threshold` where LightGBM means `x <= threshold`, so that each
    threshold is the next larger double here. It takes `default_left` as the way of missing
    values, whatever `missing_type` says: it is set to the way that they go.

    Parameters
    ----------
    trees : Trees
    columns : sequence of str
        The rank features or functions that the splits compare, by their number. The file names
        those that it uses.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(1, n_leaves=2).fit(dataset)
    >>> split = json.loads(write_trees(ranker.trees_, ["a"] * dataset.n_features))
    >>> threshold = split["tree_info"][0]["tree_structure"]["threshold"]
    >>> bool(threshold == np.nextafter(ranker.trees_.thresholds[0], np.inf))
    True
    """
    # Vespa compares values as they are, also those that LightGBM takes for zero.
    trees = replace(trees, thresholds=plain_thresholds(trees))
    used = np.unique(trees.split_features).tolist()
    numbers = {column: number for number, column in enumerate(used)}
    model = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(used) - 1,
        # Any objective after which Vespa leaves the sum as it is.
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": [columns[column] for column in used],
        "tree_info": [
            {
                "tree_index": number,
                "num_cat": 0,
                "shrinkage": 1,
                "tree_structure": _node(tree, numbers),
            }
            for number, tree in enumerate(nested(trees))
        ],
        "pandas_categorical": [],
    }
    return json.dumps(model, indent=1) + "\n"


def _node(tree: Split | Leaf, numbers: Mapping[int, int]) -> dict[str, Any]:
    if isinstance(tree, Leaf):
        return {"leaf_value": tree.value}
    return {
        "split_feature": numbers[tree.feature],
        "threshold": math.nextafter(tree.threshold, math.inf),
        "decision_type": "<=",
        "default_left": _missing_left(tree),
        "missing_type": "NaN",
        "left_child": _node(tree.left, numbers),
        "right_child": _node(tree.right, numbers),
    }


def _missing_left(split: Split) -> bool:
    """Whether documents without a value go left."""
    kind, zero_left = split.decision & MISSING, split.threshold >= 0
    if not kind:
        return zero_left
    left = bool(split.decision & DEFAULT_LEFT)
    if kind == MISSING_ZERO and left != zero_left:
        raise NotExportable(
            "A tree that takes zero for missing",
            "Vespa tells zero from missing values, and sends zeros where they belong by the "
            "threshold",
            "Train without zero_as_missing.",
        )
    return left


def score_trees(model: str | bytes, column: Callable[[str], Floats], n_documents: int) -> Floats:
    """What Vespa computes from a file of trees: sums in double precision, in the file's order.

    Trees of one leaf that follow each other are added up first, as Vespa's compiler does.

    Parameters
    ----------
    model : str or bytes
        As `write_trees` writes it.
    column : callable
        The values of a feature that the file names, one per document.
    n_documents : int
    """
    content = json.loads(model)
    used = [column(name) for name in content["feature_names"]]
    total = np.zeros(n_documents)
    values = np.empty_like(total)
    roots = [tree["tree_structure"] for tree in content["tree_info"]]
    for is_leaf, group in groupby(roots, key=lambda root: "leaf_value" in root):
        if is_leaf:
            total += sum(root["leaf_value"] for root in group)
            continue
        for root in group:
            _fill(root, used, np.arange(n_documents), values)
            total += values
    return total


def _fill(
    node: Mapping[str, Any], columns: Sequence[Floats], rows: np.ndarray, values: Floats
) -> None:
    """The leaves of documents that come to a node."""
    if not len(rows):
        return
    if "leaf_value" in node:
        values[rows] = node["leaf_value"]
        return
    value = columns[node["split_feature"]][rows]
    threshold = node["threshold"]
    left = ~(value >= threshold) if node["default_left"] else value < threshold
    _fill(node["left_child"], columns, rows[left], values)
    _fill(node["right_child"], columns, rows[~left], values)
