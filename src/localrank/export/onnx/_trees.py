"""Sums of trees as one step of a graph, and the same step in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.export._node_tables import ZERO, left_if_missing, plain_thresholds
from localrank.export.onnx._steps import ML_DOMAIN, Steps, Value
from localrank.formulas import NotExportable
from localrank.trees import Trees
from localrank.trees._columns import MISSING_ZERO

# Codes of the operator TreeEnsemble: add up leaves; `value <= threshold` takes the true branch.
_SUM, _AT_MOST = 1, 0


def sum_of_trees(steps: Steps, table: Value, trees: Trees) -> Value:
    """The sum of the leaves that each row of a table falls into, in double precision.

    Parameters
    ----------
    steps : Steps
    table : Value of shape (n_documents, n_features)
    trees : Trees
    """
    n_leaves = np.diff(trees.leaf_offsets)
    # The operator does not support trees without a split.
    constant = float(trees.leaf_values[trees.leaf_offsets[:-1][n_leaves == 1]].sum())
    if (n_leaves == 1).all():
        return steps.apply("Expand", constant, table.size(0))
    scores = steps.apply_for(
        1,
        "TreeEnsemble",
        _without_zeros(steps, table, trees),
        domain=ML_DOMAIN,
        **_attributes(trees),
    )[0]
    scores = steps.apply("Squeeze", scores, np.array([1]))
    return scores + constant if constant else scores


def _attributes(trees: Trees) -> dict[str, Any]:
    from onnx import numpy_helper

    starts, n_leaves = trees.split_offsets, np.diff(trees.leaf_offsets)
    tree = np.repeat(np.arange(trees.n_trees), n_leaves - 1)
    in_tree = np.repeat(n_leaves > 1, n_leaves)
    leaf_numbers = np.cumsum(in_tree) - 1
    children = {}
    for side in ("left", "right"):
        child = getattr(trees, f"{side}_children").astype(np.int64)
        is_leaf = child < 0
        leaf = leaf_numbers[trees.leaf_offsets[tree] + np.where(is_leaf, ~child, 0)]
        children[side] = is_leaf, np.where(is_leaf, leaf, starts[tree] + child)
    n_unused = _unused_leaves(*children["left"], *children["right"])
    unused = np.zeros(n_unused)
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "aggregate_function": _SUM,
        "post_transform": 0,
        "tree_roots": starts[:-1][n_leaves > 1].tolist(),
        "nodes_featureids": trees.split_features.tolist(),
        "nodes_splits": numpy_helper.from_array(plain_thresholds(trees)),
        "nodes_modes": numpy_helper.from_array(np.full(len(tree), _AT_MOST, np.uint8)),
        "nodes_missing_value_tracks_true": left_if_missing(trees).astype(int).tolist(),
        "leaf_targetids": [0] * int(n_unused + in_tree.sum()),
        "leaf_weights": numpy_helper.from_array(np.append(unused, trees.leaf_values[in_tree])),
    }
    for side, name in (("left", "true"), ("right", "false")):
        is_leaf, number = children[side]
        attributes[f"nodes_{name}leafs"] = is_leaf.astype(int).tolist()
        attributes[f"nodes_{name}nodeids"] = (number + n_unused * is_leaf).tolist()
    return attributes


def _unused_leaves(
    left_is_leaf: Flags, left: Integers, right_is_leaf: Flags, right: Integers
) -> int:
    """How many unused leaves to put first, so that no leaf has the number of its sibling.

    onnxruntime up to 1.23 mistakes a root for a leaf if a leaf and a split below it have the same
    number.
    """
    mixed = left_is_leaf != right_is_leaf
    taken = set(np.where(left_is_leaf, right - left, left - right)[mixed].tolist())
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _without_zeros(steps: Steps, table: Value, trees: Trees) -> Value:
    """The table with NaN for zeros, in features whose splits treat zero as missing."""
    zero_is_missing = (trees.decisions & MISSING_ZERO) != 0
    columns = np.unique(trees.split_features[zero_is_missing])
    if not columns.size:
        return table
    if np.isin(trees.split_features[~zero_is_missing], columns).any():
        raise NotExportable(
            "A sum of trees",
            "some of its trees treat a feature's zeros as missing, and others do not",
            "Train all of them with the same setting of zero_as_missing.",
        )
    taken = np.isin(np.arange(trees.n_features), columns)
    return steps.where((table.magnitude <= ZERO) & taken, np.nan, table)


def leaf_sums(attributes: dict[str, Any], table: Array) -> Floats:
    """The result of the operator TreeEnsemble, tree by tree in double precision.

    Parameters
    ----------
    attributes : dict
        Attributes of the operator.
    table : ndarray of shape (n_documents, n_features)
    """
    features, missing_left, roots = (
        np.asarray(attributes[name], np.int64)
        for name in ("nodes_featureids", "nodes_missing_value_tracks_true", "tree_roots")
    )
    sides = {
        side: tuple(
            np.asarray(attributes[f"nodes_{side}{name}"], np.int64) for name in ("nodeids", "leafs")
        )
        for side in ("true", "false")
    }
    splits, leaves = attributes["nodes_splits"], attributes["leaf_weights"]
    nodes = np.tile(roots, (len(table), 1))
    done = np.zeros(nodes.shape, bool)
    rows = np.arange(len(table))[:, None]
    while not done.all():
        inside = np.where(done, 0, nodes)
        values = table[rows, features[inside]]
        left = (values <= splits[inside]) | (np.isnan(values) & (missing_left[inside] != 0))
        following = np.where(left, sides["true"][0][inside], sides["false"][0][inside])
        is_leaf = np.where(left, sides["true"][1][inside], sides["false"][1][inside]) != 0
        nodes = np.where(done, nodes, following)
        done |= is_leaf
    total = np.zeros(len(table))
    for column in nodes.T:
        total += leaves[column]
    return total
