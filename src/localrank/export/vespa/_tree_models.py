"""Sums of trees in the form that Vespa's importer of LightGBM models reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.export._node_tables import largest_single_at_most, plain_thresholds
from localrank.formulas import NotExportable
from localrank.trees import Leaf, Split, Trees, nested
from localrank.trees._columns import DEFAULT_LEFT, MISSING, MISSING_ZERO

# Content nodes compute large sums of trees in single precision: if a tree has more leaves than
# this, and the mean depth of the leaves, summed over the trees, is more than this.
_LEAVES, _DEPTH = 12, 2500


def write_trees(trees: Trees, columns: Sequence[str], single: Container[str] = ()) -> str:
    """Trees as JSON in the shape of `Booster.dump_model()`.

    Vespa's importer writes `x < threshold` for LightGBM's `x <= threshold`, so each threshold here
    is the next larger number. It sends missing values by `default_left`, whatever `missing_type`
    says, so `default_left` is set to where they go.

    Parameters
    ----------
    trees : Trees
    columns : sequence of str
        Rank features or functions that the splits compare, one per feature number. The file names
        those that it uses.
    single : container of str
        Columns with thresholds of single precision, which Vespa's rounding does not change. Their
        values of single precision go where the trees send them. In other columns, all values do.

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
    of_single = [number for number, column in enumerate(columns) if column in single]
    is_single = np.isin(trees.split_features, of_single)
    trees = replace(trees, thresholds=_limits(plain_thresholds(trees), is_single))
    used = np.unique(trees.split_features).tolist()
    numbers = {column: number for number, column in enumerate(used)}
    model = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(used) - 1,
        # An objective for which Vespa does not change the sum.
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


def _limits(thresholds: Floats, is_single: Flags) -> Floats:
    """Limits: a value is less than its limit exactly if it is at most its threshold."""
    with np.errstate(over="ignore"):
        singles = np.nextafter(largest_single_at_most(thresholds).astype(np.float32), np.inf)
    limits: Floats = np.nextafter(thresholds, np.inf)
    # Beyond all numbers of single precision, also after rounding.
    beyond = np.maximum(limits, 2.0**128)
    singles = np.where(np.isfinite(singles), singles.astype(np.float64), beyond)
    return np.where(is_single, singles, limits)


def _node(tree: Split | Leaf, numbers: Mapping[int, int]) -> dict[str, Any]:
    if isinstance(tree, Leaf):
        return {"leaf_value": tree.value}
    return {
        "split_feature": numbers[tree.feature],
        "threshold": tree.threshold,
        "decision_type": "<=",
        "default_left": _missing_left(tree),
        "missing_type": "NaN",
        "left_child": _node(tree.left, numbers),
        "right_child": _node(tree.right, numbers),
    }


def _missing_left(split: Split) -> bool:
    """Whether documents with a missing value go left."""
    kind, zero_left = split.decision & MISSING, split.threshold > 0
    if not kind:
        return zero_left
    left = bool(split.decision & DEFAULT_LEFT)
    if kind == MISSING_ZERO and left != zero_left:
        raise NotExportable(
            "A tree that treats zero as missing",
            "Vespa does not treat zeros as missing values: it compares them with the threshold",
            "Train without zero_as_missing.",
        )
    return left


def in_single_precision(model: str | bytes) -> bool:
    """Whether content nodes round the thresholds and leaves of a file to single precision."""
    roots = [tree["tree_structure"] for tree in json.loads(model)["tree_info"]]
    depths = [_depths(root, 0) for root in roots if "leaf_value" not in root]
    deepness = sum(sum(tree) / len(tree) for tree in depths)
    return deepness > _DEPTH and max(map(len, depths), default=0) > _LEAVES


def _depths(node: Mapping[str, Any], depth: int) -> list[int]:
    """The depth of each leaf."""
    if "leaf_value" in node:
        return [depth]
    children = node["left_child"], node["right_child"]
    return [each for child in children for each in _depths(child, depth + 1)]


def score_trees(
    model: str | bytes,
    column: Callable[[str], Floats],
    n_documents: int,
    *,
    on_content_node: bool = False,
) -> Floats:
    """The scores that Vespa computes from a file of trees: double precision, in the file's order.

    Consecutive trees of one leaf are added up first, as Vespa's compiler does.

    Parameters
    ----------
    model : str or bytes
        Content of a file that `write_trees` wrote.
    column : callable
        A function from the name of a feature to its values, one per document.
    n_documents : int
    on_content_node : bool, default=False
        Whether a content node computes the scores. False: a container does.
    """
    content = json.loads(model)
    used = [column(name) for name in content["feature_names"]]
    rounded = np.float32 if on_content_node and in_single_precision(model) else np.float64
    total = np.zeros(n_documents)
    values = np.empty_like(total)
    roots = [tree["tree_structure"] for tree in content["tree_info"]]
    for is_leaf, group in groupby(roots, key=lambda root: "leaf_value" in root):
        if is_leaf:
            total += sum(root["leaf_value"] for root in group)
            continue
        for root in group:
            with np.errstate(over="ignore"):
                _fill(root, used, np.arange(n_documents), values, rounded)
            total += values
    return total


def _fill(
    node: Mapping[str, Any],
    columns: Sequence[Floats],
    rows: np.ndarray,
    values: Floats,
    rounded: type[np.floating[Any]],
) -> None:
    """Write the leaf values of the documents that reach a node."""
    if not len(rows):
        return
    if "leaf_value" in node:
        values[rows] = rounded(node["leaf_value"])
        return
    value = columns[node["split_feature"]][rows]
    threshold = np.float64(rounded(node["threshold"]))
    left = ~(value >= threshold) if node["default_left"] else value < threshold
    _fill(node["left_child"], columns, rows[left], values, rounded)
    _fill(node["right_child"], columns, rows[~left], values, rounded)
