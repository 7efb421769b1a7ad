"""The leaves of trees in rows, and what rules them out, derived from the trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only
from localrank.trees.scoring import MAX_TABLES, ROW

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# Leaves have numbers of 8 bits where documents find them by masks.
MAX_LEAVES = 256


@dataclass(frozen=True, eq=False)
class Rows:
    """The leaves of trees in rows of eight, from left to right, and what rules them out.

    A split rules out the leaves on its left. It has an entry in every row with such leaves; the
    entries of a row are together. Each tree's last row comes first.

    Attributes
    ----------
    columns : ndarray of shape (n_entries,)
    cuts : ndarray of shape (n_entries,)
        An entry counts for documents whose rank in the column is larger than the cut.
    masks : ndarray of shape (n_entries,)
        Bits of the leaves that such a document may still fall into.
    starts : ndarray of shape (n_rows + 1,)
        Where each row's entries begin, and the end.
    bases : ndarray of shape (n_rows,)
        Place of the row's first leaf in its tree.
    row_starts : ndarray of shape (n_trees + 1,)
        Where each tree's rows begin, and the end.
    leaf_values : ndarray
        Eight for each row, a tree's from left to right, and some more that may be read.
    """

    columns: NDArray[np.int32]
    cuts: NDArray[np.uint8]
    masks: NDArray[np.uint8]
    starts: NDArray[np.int64]
    bases: NDArray[np.uint8]
    row_starts: NDArray[np.int64]
    leaf_values: NDArray[np.float64]


def rows_of(trees: Trees, columns: NDArray[np.int32], cuts: NDArray[np.uint8]) -> Rows:
    """The rows of trees with at most 256 leaves, given each split's column and cut."""
    n_leaves = np.diff(trees.leaf_offsets)
    places, firsts, n_left = _place_leaves(
        trees.left_children, trees.right_children, trees.split_offsets, trees.leaf_offsets
    )
    n_rows = -(-n_leaves // ROW)
    row_starts = np.append(0, np.cumsum(n_rows))
    tree_of_split = np.repeat(np.arange(trees.n_trees), n_leaves - 1)
    ends = firsts + n_left
    n_entries = (ends - 1) // ROW - firsts // ROW + 1
    split = np.repeat(np.arange(len(firsts)), n_entries)
    number = np.arange(len(split)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
    base = (firsts[split] // ROW + number) * ROW
    low, high = np.maximum(firsts[split], base) - base, np.minimum(ends[split] - base, ROW)
    row = row_starts[tree_of_split[split] + 1] - 1 - base // ROW
    order = np.argsort(row, kind="stable")
    values = np.zeros(row_starts[-1] * ROW + MAX_TABLES * ROW)
    values[np.repeat(row_starts[:-1] * ROW, n_leaves) + places] = trees.leaf_values
    within = np.arange(row_starts[-1]) - np.repeat(row_starts[:-1], n_rows)
    return Rows(
        read_only(columns[split[order]], np.int32),
        read_only(cuts[split[order]], np.uint8),
        read_only((~((1 << high) - (1 << low)) & 0xFF)[order], np.uint8),
        read_only(np.append(0, np.cumsum(np.bincount(row, minlength=row_starts[-1]))), np.int64),
        read_only((np.repeat(n_rows, n_rows) - 1 - within) * ROW, np.uint8),
        read_only(row_starts, np.int64),
        read_only(values, np.float64),
    )


@kernel
def _place_leaves(
    left_children: NDArray[np.int32],
    right_children: NDArray[np.int32],
    split_offsets: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Each leaf's place in its tree from left to right; each split's first, and number on its left.

    Children come after their parents.
    """
    places = np.zeros(leaf_offsets[-1], np.int64)
    firsts = np.zeros(len(left_children), np.int64)
    n_left = np.zeros(len(left_children), np.int64)
    n_below = np.zeros(len(left_children), np.int64)
    for tree in range(len(split_offsets) - 1):
        root, end = split_offsets[tree], split_offsets[tree + 1]
        for split in range(end - 1, root - 1, -1):
            left, right = left_children[split], right_children[split]
            n_left[split] = n_below[root + left] if left >= 0 else 1
            n_below[split] = n_left[split] + (n_below[root + right] if right >= 0 else 1)
        for split in range(root, end):
            left, right = left_children[split], right_children[split]
            for child, place in ((left, firsts[split]), (right, firsts[split] + n_left[split])):
                if child >= 0:
                    firsts[root + child] = place
                else:
                    places[leaf_offsets[tree] + ~child] = place
    return places, firsts, n_left
