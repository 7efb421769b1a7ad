"""The columns of feature values that the splits of trees compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._kernels.sorting import read_only

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# Ranks have 8 bits, so a column has at most this many thresholds.
MAX_THRESHOLDS = 255

# LightGBM's decisions: bit 1 sends missing values left, bits 2 and 3 say which values are missing.
DEFAULT_LEFT, MISSING = 0b0010, 0b1100
MISSING_ZERO = 0b0100


class Columns(NamedTuple):
    """Columns of feature values with their thresholds: the arguments of `rank_values`.

    A feature has one column for each way in which its splits treat missing values, and several if
    there are many thresholds.

    Attributes
    ----------
    features : ndarray of shape (n_columns,)
        Feature number of each column.
    thresholds : ndarray of float32 or float64
        Thresholds of all columns, ascending within each.
    starts : ndarray of shape (n_columns + 1,)
        First threshold of each column, and the number of thresholds at the end.
    at_zero, at_missing : ndarray of shape (n_columns,)
        Replacements for zero and for NaN: zero, or an infinity that goes the same way at every
        split.
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
    thresholds = rounded_down(trees.thresholds, dtype)
    missing = trees.decisions & MISSING
    # If nothing counts as missing, the default direction does not matter.
    kinds = np.where(missing == 0, 0, trees.decisions & (MISSING | DEFAULT_LEFT)).astype(np.int64)
    groups = trees.split_features.astype(np.int64) * 16 + kinds
    order = np.lexsort((thresholds, groups))
    sorted_groups, sorted_thresholds = groups[order], thresholds[order]
    new_group = _differs_from_last(sorted_groups)
    new = new_group | _differs_from_last(sorted_thresholds)
    kept = np.flatnonzero(new)
    # Number of each distinct threshold within its group. Every 255 of them make a column.
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


def rounded_down(thresholds: NDArray[np.float64], dtype: Any) -> NDArray[Any]:
    """The thresholds rounded down to numbers of a dtype.

    A float32 value is at most the threshold if and only if it is at most the rounded threshold.
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(dtype)
        below = np.nextafter(nearest, nearest.dtype.type(-np.inf))
    return np.where(nearest > thresholds, below, nearest)


def _differs_from_last(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.append(np.ones(min(1, len(values)), bool), values[1:] != values[:-1])


def _last_where(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each position, the last set position up to it."""
    return np.maximum.accumulate(np.where(flags, np.arange(len(flags)), 0))
