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

# LightGBM's decisions: bit 0 is a split by a set of categories. Of the other splits, bit 1 sends
# missing values left, and bits 2 and 3 say which values are missing.
IN_SET, DEFAULT_LEFT, MISSING = 0b0001, 0b0010, 0b1100
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


class SetColumns(NamedTuple):
    """Columns of splits by sets of categories: the arguments of `rank_sets`.

    They are the last ones of `Columns`, without thresholds. Their rank is 0 for a value in the
    set, and 1 for any other.

    Attributes
    ----------
    first : int
        Number of the first of them.
    features : ndarray of shape (n_sets,)
        Feature number of each.
    starts, ends : ndarray of shape (n_sets,)
        First word of each set, and the one after its last.
    words : ndarray of uint32
        The words of all sets: bit `b` of word `w` of a set is the category `32 * w + b`.
    """

    first: int
    features: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    words: NDArray[np.uint32]


def columns_of(
    trees: Trees, dtype: Any
) -> tuple[Columns, SetColumns | None, NDArray[np.int32], NDArray[np.uint8]]:
    """The columns for features of a dtype, those of sets if there are any; each split's, its cut.

    A value goes right at a split if its rank, the number of its column's thresholds below it,
    is larger than the cut.
    """
    by_set = trees.decisions & IN_SET != 0
    if not by_set.any():
        columns, split_columns, cuts = _columns_of_thresholds(
            trees.split_features, trees.thresholds, trees.decisions, dtype
        )
        return columns, None, split_columns, cuts
    columns, split_columns, cuts = _columns_of_thresholds(
        trees.split_features[~by_set], trees.thresholds[~by_set], trees.decisions[~by_set], dtype
    )
    # A set of one feature is one column, however many splits ask for it.
    numbers = trees.thresholds[by_set].astype(np.int64)
    pairs, places = np.unique(
        np.stack([trees.split_features[by_set], numbers]), axis=1, return_inverse=True
    )
    features, chosen = pairs
    first = len(columns.features)
    all_columns, all_cuts = np.empty(len(by_set), np.int32), np.zeros(len(by_set), np.uint8)
    all_columns[~by_set], all_cuts[~by_set] = split_columns, cuts
    all_columns[by_set] = first + places.ravel()
    nothing = np.zeros(len(chosen))
    columns = Columns(
        read_only(np.append(columns.features, features), np.int64),
        columns.thresholds,
        read_only(np.append(columns.starts, np.full(len(chosen), columns.starts[-1])), np.int64),
        read_only(np.append(columns.at_zero, nothing), dtype),
        read_only(np.append(columns.at_missing, nothing), dtype),
    )
    set_columns = SetColumns(
        first,
        read_only(features, np.int64),
        read_only(trees.set_offsets[chosen], np.int64),
        read_only(trees.set_offsets[chosen + 1], np.int64),
        trees.set_words,
    )
    return columns, set_columns, read_only(all_columns, np.int32), read_only(all_cuts, np.uint8)


def _columns_of_thresholds(
    features: NDArray[np.int32],
    thresholds: NDArray[Any],
    decisions: NDArray[np.uint8],
    dtype: Any,
) -> tuple[Columns, NDArray[np.int32], NDArray[np.uint8]]:
    """The columns of splits by thresholds, and each split's column and cut."""
    thresholds = rounded_down(thresholds, dtype)
    missing = decisions & MISSING
    # If nothing counts as missing, the default direction does not matter.
    kinds = np.where(missing == 0, 0, decisions & (MISSING | DEFAULT_LEFT)).astype(np.int64)
    groups = features.astype(np.int64) * 16 + kinds
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
