"""The arrays that the scoring kernels read, derived from trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from localrank.kernels.sorting import read_only

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# Ranks are numbers of 8 bits, so that a column has at most this many thresholds.
MAX_THRESHOLDS = 255
MASKS = (np.uint8, np.uint16, np.uint32, np.uint64)
MAX_MASKED_LEAVES = 64

# LightGBM's decisions: bit 1 sends missing values left, bits 2 and 3 say which are missing.
DEFAULT_LEFT, MISSING = 0b0010, 0b1100
MISSING_ZERO, MISSING_NAN = 0b0100, 0b1000


@dataclass(frozen=True, eq=False)
class Columns:
    """What documents are compared with: columns of feature values, and their thresholds.

    A feature has one column for each way in which its splits treat missing values, and several
    where there are many thresholds.

    Attributes
    ----------
    features : ndarray of shape (n_columns,)
        Feature number of each column.
    thresholds : ndarray of float32 or float64
        Of all columns, ascending within each.
    starts : ndarray of shape (n_columns + 1,)
        Where each column's thresholds begin, and the end.
    at_zero, at_missing : ndarray of shape (n_columns,)
        What stands for a value of zero and for NaN: zero, or an infinity that goes one way at
        every split.
    """

    features: NDArray[np.int64]
    thresholds: NDArray[Any]
    starts: NDArray[np.int64]
    at_zero: NDArray[Any]
    at_missing: NDArray[Any]


def columns_of(trees: Trees, dtype: Any) -> tuple[Columns, NDArray[np.int32], NDArray[np.uint8]]:
    """The columns for features of a dtype, and each split's column and cut.

    A value goes right at a split if its rank, the number of its column's thresholds below it,
    is larger than the cut.
    """
    thresholds = _rounded_down(trees.thresholds, dtype)
    missing = trees.decisions & MISSING
    # Where nothing is missing, the default direction decides nothing.
    kinds = np.where(missing == 0, 0, trees.decisions & (MISSING | DEFAULT_LEFT)).astype(np.int64)
    groups = trees.split_features.astype(np.int64) * 16 + kinds
    order = np.lexsort((thresholds, groups))
    sorted_groups, sorted_thresholds = groups[order], thresholds[order]
    new_group = _differs_from_last(sorted_groups)
    new = new_group | _differs_from_last(sorted_thresholds)
    kept = np.flatnonzero(new)
    # Number of each distinct threshold within its group: a column for each 255 of them.
    number = np.arange(len(kept)) - _last_where(new_group[kept])
    cuts = number % MAX_THRESHOLDS
    firsts = np.flatnonzero(cuts == 0)
    column_of_kept = np.cumsum(cuts == 0) - 1
    of_sorted = np.cumsum(new) - 1
    split_columns = np.empty(len(order), np.int32)
    split_cuts = np.empty(len(order), np.uint8)
    split_columns[order] = column_of_kept[of_sorted]
    split_cuts[order] = cuts[of_sorted]
    column_groups = sorted_groups[kept[firsts]]
    kind = column_groups % 16
    side = np.where(kind & DEFAULT_LEFT, -np.inf, np.inf)
    columns = Columns(
        read_only(column_groups // 16, np.int64),
        read_only(sorted_thresholds[kept], dtype),
        read_only(np.append(firsts, len(kept)), np.int64),
        read_only(np.where(kind & MISSING == MISSING_ZERO, side, 0.0), dtype),
        read_only(np.where(kind & MISSING == 0, 0.0, side), dtype),
    )
    return columns, read_only(split_columns, np.int32), read_only(split_cuts, np.uint8)


def masks_of(trees: Trees) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The leaves that each split leaves to a document that goes right, and the leaves' values.

    Bit `i` of a mask stands for the leaf at place `i` from the left. Each tree has as many
    values as a mask has bits.
    """
    n_leaves = np.diff(trees.leaf_offsets)
    bits = next(mask for mask in MASKS if np.iinfo(mask).bits >= n_leaves.max())
    n_bits = np.iinfo(bits).bits
    places = np.zeros(len(trees.leaf_values), np.int64)
    masks = np.zeros(len(trees.thresholds), np.uint64)
    _place_leaves(
        trees.left_children,
        trees.right_children,
        trees.split_offsets,
        trees.leaf_offsets,
        places,
        masks,
    )
    values = np.zeros(trees.n_trees * n_bits)
    values[np.repeat(np.arange(trees.n_trees) * n_bits, n_leaves) + places] = trees.leaf_values
    return read_only(masks.astype(bits), bits), read_only(values, np.float64)


def _rounded_down(thresholds: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """The largest numbers of a dtype that are not larger.

    A float32 value is at most the threshold if it is at most the threshold rounded down.
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(dtype)
    return np.where(
        nearest > thresholds, np.nextafter(nearest, nearest.dtype.type(-np.inf)), nearest
    )


def _differs_from_last(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.append(np.ones(min(1, len(values)), bool), values[1:] != values[:-1])


def _last_where(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each place the last place up to it that is set."""
    return np.maximum.accumulate(np.where(flags, np.arange(len(flags)), 0))


@njit(cache=True, nogil=True)
def _place_leaves(
    left_children: NDArray[np.int32],
    right_children: NDArray[np.int32],
    split_offsets: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
    places: NDArray[np.int64],
    masks: NDArray[np.uint64],
) -> None:
    """Number each tree's leaves from left to right; children come after their parents."""
    n_below = np.zeros(len(masks), np.int64)
    first_below = np.zeros(len(masks), np.int64)
    for tree in range(len(split_offsets) - 1):
        root, end = split_offsets[tree], split_offsets[tree + 1]
        for split in range(end - 1, root - 1, -1):
            for child in (left_children[split], right_children[split]):
                n_below[split] += n_below[root + child] if child >= 0 else 1
        for split in range(root, end):
            left, right = left_children[split], right_children[split]
            first = first_below[split]
            n_left = n_below[root + left] if left >= 0 else 1
            ones = (
                ~np.uint64(0)
                if n_left == 64
                else (np.uint64(1) << np.uint64(n_left)) - np.uint64(1)
            )
            masks[split] = ~(ones << np.uint64(first))
            for child, place in ((left, first), (right, first + n_left)):
                if child >= 0:
                    first_below[root + child] = place
                else:
                    places[leaf_offsets[tree] + ~child] = place
