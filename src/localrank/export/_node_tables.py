"""Trees as tables of nodes, the form that engines read, and thresholds in single precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.trees import Trees
from localrank.trees._columns import DEFAULT_LEFT, MISSING, rounded_down

# A function from values and thresholds to whether the values go left.
GoesLeft = Callable[[Array, Array], Flags]
LARGEST = float(np.finfo(np.float32).max)
# LightGBM treats values up to this size, of either sign, as zero.
ZERO = float(np.float32(1e-35))


@dataclass(frozen=True, eq=False)
class NodeTable:
    """One tree, with a row for each node. The root is row 0.

    Parameters
    ----------
    features : ndarray of shape (n_nodes,)
        Number of the feature that a node compares; -1 at a leaf.
    thresholds : ndarray of shape (n_nodes,)
        Threshold that the feature is compared with; 0 at a leaf.
    lefts, rights : ndarray of shape (n_nodes,)
        Rows of the children; -1 at a leaf.
    default_lefts : ndarray of bool, shape (n_nodes,)
        Whether a missing value goes left.
    values : ndarray of shape (n_nodes,)
        Values of the leaves; 0 at a split.

    Examples
    --------
    >>> stump = NodeTable(
    ...     features=np.array([1, -1, -1]),
    ...     thresholds=np.array([0.5, 0.0, 0.0]),
    ...     lefts=np.array([1, -1, -1]),
    ...     rights=np.array([2, -1, -1]),
    ...     default_lefts=np.array([True, False, False]),
    ...     values=np.array([0.0, 10.0, 20.0]),
    ... )
    >>> stump.outputs(np.array([[9.0, 0.5], [0.0, 0.6], [9.0, np.nan]]), np.less)
    array([20., 20., 10.])
    """

    features: Integers
    thresholds: Floats
    lefts: Integers
    rights: Integers
    default_lefts: Flags
    values: Floats

    @property
    def depths(self) -> Integers:
        """How many splits are above each node."""
        depths = np.zeros(len(self.features), np.int64)
        rows = [0]
        while rows:
            row = rows.pop()
            if self.features[row] >= 0:
                children = [int(self.lefts[row]), int(self.rights[row])]
                depths[children] = depths[row] + 1
                rows += children
        return depths

    def outputs(self, features: Array, goes_left: GoesLeft) -> Floats:
        """The value of the leaf that each row of features falls into.

        Parameters
        ----------
        features : ndarray of shape (n_documents, n_features)
            NaN: a missing value.
        goes_left : callable
            A function from values and thresholds to whether they go left, such as `numpy.less`.
        """
        nodes = np.zeros(len(features), np.int64)
        rows = np.arange(len(features))
        while len(rows := rows[self.features[nodes[rows]] >= 0]):
            at = nodes[rows]
            values = features[rows, self.features[at]]
            missing = np.isnan(values)
            left = np.where(missing, self.default_lefts[at], goes_left(values, self.thresholds[at]))
            nodes[rows] = np.where(left, self.lefts[at], self.rights[at])
        return self.values[nodes]


def plain_thresholds(trees: Trees) -> Floats:
    """Thresholds with which a plain `value <= threshold` decides as LightGBM does.

    LightGBM treats values up to 1e-35 as zero before it compares.

    Parameters
    ----------
    trees : Trees
    """
    near_zero = np.abs(trees.thresholds) <= ZERO
    # Such a threshold moves to the edge of the range that counts as zero.
    beside = np.where(trees.thresholds >= 0, ZERO, np.nextafter(-ZERO, -np.inf))
    return np.where(near_zero, beside, trees.thresholds)


def left_if_missing(trees: Trees) -> Flags:
    """Whether a missing value goes left at each split.

    If a split does not know missing values, they go where zero goes.

    Parameters
    ----------
    trees : Trees
    """
    knows_missing = (trees.decisions & MISSING) > 0
    flags: Flags = np.where(
        knows_missing, (trees.decisions & DEFAULT_LEFT) > 0, trees.thresholds >= 0
    )
    return flags


def node_tables(trees: Trees) -> list[NodeTable]:
    """Each tree as a table: its splits in their order, then its leaves.

    If a split does not know missing values, they go where zero goes, as in LightGBM.

    Parameters
    ----------
    trees : Trees
        Trees without splits that treat zero as missing.
    """
    tables = []
    bounds = zip(pairwise(trees.split_offsets), pairwise(trees.leaf_offsets), strict=True)
    thresholds = plain_thresholds(trees)
    default_lefts = left_if_missing(trees)
    for splits, leaves in bounds:
        at, ends = slice(*splits), slice(*leaves)
        n_splits, n_leaves = at.stop - at.start, ends.stop - ends.start

        def column(of_splits: Array, of_leaves: Any, *, n_leaves: int = n_leaves) -> Array:
            return np.concatenate([of_splits, np.full(n_leaves, of_leaves, of_splits.dtype)])

        def children(of_splits: Array, *, n_splits: int = n_splits) -> Array:
            numbers = of_splits.astype(np.int64)
            return np.where(numbers >= 0, numbers, n_splits + ~numbers)

        tables.append(
            NodeTable(
                features=column(trees.split_features[at].astype(np.int64), -1),
                thresholds=column(thresholds[at], 0.0),
                lefts=column(children(trees.left_children[at]), -1),
                rights=column(children(trees.right_children[at]), -1),
                default_lefts=column(default_lefts[at], False),
                values=np.concatenate([np.zeros(n_splits), trees.leaf_values[ends]]),
            )
        )
    return tables


def siblings_together(table: NodeTable) -> NodeTable:
    """The same tree, level by level, with each right child in the row after its left sibling.

    XGBoost expects the right child there, at least in deep trees.

    Parameters
    ----------
    table : NodeTable

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> table = siblings_together(node_tables(LambdaMART(1).fit(dataset).trees_)[0])
    >>> splits = table.features >= 0
    >>> bool((table.rights[splits] == table.lefts[splits] + 1).all())
    True
    """
    order = [0]
    # The list grows during the loop.
    for row in order:
        if table.features[row] >= 0:
            order += [int(table.lefts[row]), int(table.rights[row])]
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    is_split = table.features[order] >= 0
    return NodeTable(
        features=table.features[order],
        thresholds=table.thresholds[order],
        lefts=np.where(is_split, places[table.lefts[order]], -1),
        rights=np.where(is_split, places[table.rights[order]], -1),
        default_lefts=table.default_lefts[order],
        values=table.values[order],
    )


def in_single_precision(table: NodeTable, comparison: str) -> NodeTable:
    """The tree in single precision, for an engine that compares with `<` or `<=`.

    Every finite value of single precision goes to the leaf where `value <= threshold` in double
    precision sends it. Leaves are rounded.

    Parameters
    ----------
    table : NodeTable
        Tree with thresholds for `<=`.
    comparison : {"<", "<="}
        Comparison by which the engine sends values left.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> table = node_tables(LambdaMART(1).fit(dataset).trees_)[0]
    >>> documents = dataset.features.astype(np.float32)
    >>> moved = in_single_precision(table, "<")
    >>> leaves = moved.outputs(documents, np.less)
    >>> bool(np.allclose(leaves, table.outputs(documents, np.less_equal)))
    True
    """
    below = largest_single_at_most(table.thresholds)
    if comparison == "<":
        # The smallest threshold sends nothing left; beyond the largest, everything goes left.
        turned = below == LARGEST
        thresholds = np.where(np.isneginf(below), -LARGEST, _next_single(below))
    else:
        turned = np.isneginf(below)
        thresholds = below
    # No finite threshold sends all left with `<`, or none with `<=`: the branches are swapped.
    turned &= table.features >= 0
    return replace(
        table,
        thresholds=np.where(turned, -LARGEST if comparison == "<" else LARGEST, thresholds)
        * (table.features >= 0),
        lefts=np.where(turned, table.rights, table.lefts),
        rights=np.where(turned, table.lefts, table.rights),
        default_lefts=table.default_lefts ^ turned,
        values=singles(table.values),
    )


def largest_single_at_most(values: Array) -> Floats:
    """The largest number of single precision that is at most the value. -inf: none is.

    Examples
    --------
    >>> largest_single_at_most(np.array([0.5, 0.1, -1e-300, 1e300, -1e300]))
    array([ 5.00000000e-01,  9.99999940e-02, -1.40129846e-45,  3.40282347e+38,
                      -inf])
    """
    return rounded_down(values, np.float32).astype(np.float64)


def singles(values: Array) -> Floats:
    """Values rounded to single precision. Values beyond its range become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def single_sum(terms: list[Array]) -> Floats:
    """The sum of terms from first to last, rounded to single precision after each."""
    total = np.zeros(len(terms[0]), np.float32)
    for term in terms:
        total += term.astype(np.float32)
    return total.astype(np.float64)


def knows_missing(trees: Trees) -> bool:
    """Whether the trees learned where missing values go."""
    return bool((trees.decisions & MISSING).any())


def zero_for_missing(features: Array) -> Array:
    """Features in single precision, with 0 for missing values."""
    with np.errstate(over="ignore"):
        rounded = features.astype(np.float32)
    return np.nan_to_num(rounded, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _next_single(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        following = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    return following.astype(np.float64)
