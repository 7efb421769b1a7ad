"""Kernels that score documents by flattened trees, a block of documents at a time.

First every feature value becomes its rank among the thresholds that the trees compare it with: a
number of 8 bits, and a comparison of two numbers of 8 bits decides what LightGBM decides by
comparing two numbers of 64. Then every split of a tree rules out the leaves on its left for the
documents that go right; the first leaf that remains is the one a document falls into. This is
QuickScorer [1]_ with one lane per document, and with sets of leaves cut into rows of eight.

References
----------
.. [1] Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini. QuickScorer: a Fast Algorithm to
   Rank Documents with Additive Ensembles of Regression Trees. SIGIR 2015.
"""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.instructions import (
    ZERO_THRESHOLD,
    above,
    all_bits,
    count,
    first_leaf,
    load,
    look_up,
    rule_out,
    settle,
    store,
    zeros,
)

# Documents of a block: 64, and at the end 32 or 16 where that is enough.
BLOCK = 64

# Leaves whose sets are computed together.
ROW = 8
# Tables of eight values that are read for a tree, though it may have fewer rows.
MAX_TABLES = 4


def _rank_block(lanes: int) -> Any:
    @inner_kernel
    def rank_block(
        features: NDArray[Any],
        first: int,
        columns: NDArray[np.int64],
        thresholds: NDArray[Any],
        starts: NDArray[np.int64],
        at_zero: NDArray[Any],
        at_missing: NDArray[Any],
        ranks: NDArray[np.uint8],
    ) -> None:
        values = np.zeros(lanes, features.dtype)
        # Numbers without sign: numba would ask of others whether they are negative.
        n, begin = np.uintp(min(lanes, len(features) - first)), np.uintp(first)
        place = first * len(columns)
        for i in range(len(columns)):
            column = np.uintp(columns[i])
            for document in range(n):
                values[document] = features[begin + document, column]
            settled = settle(load(values, 0, lanes), at_zero[i], at_missing[i])
            counts = zeros(ranks, lanes)
            for k in range(np.uintp(starts[i]), np.uintp(starts[i + 1])):
                counts = count(counts, above(settled, thresholds[k]))
            store(ranks, place, counts)
            place += lanes

    return rank_block


def _sum_block(lanes: int) -> Any:
    @inner_kernel
    def sum_block(
        ranks: NDArray[np.uint8],
        first: int,
        n_columns: int,
        columns: NDArray[np.int32],
        cuts: NDArray[np.uint8],
        masks: NDArray[np.uint8],
        starts: NDArray[np.int64],
        bases: NDArray[np.uint8],
        row_starts: NDArray[np.int64],
        leaf_values: NDArray[np.float64],
        n_tables: int,
        scores: NDArray[np.float64],
    ) -> None:
        block = first * n_columns
        numbers, chosen = np.zeros(lanes, np.uint8), np.zeros(lanes)
        totals = zeros(scores, lanes)
        for tree in range(len(row_starts) - 1):
            leaves = zeros(masks, lanes)
            for row in range(np.uintp(row_starts[tree]), np.uintp(row_starts[tree + 1])):
                remaining = all_bits(masks, lanes)
                for k in range(np.uintp(starts[row]), np.uintp(starts[row + np.uintp(1)])):
                    values = load(ranks, block + columns[k] * lanes, lanes)
                    remaining = rule_out(remaining, above(values, cuts[k]), masks[k])
                leaves = first_leaf(leaves, remaining, bases[row])
            n_rows = row_starts[tree + 1] - row_starts[tree]
            start = row_starts[tree] * ROW
            if n_rows > n_tables:
                store(numbers, 0, leaves)
                for document in range(lanes):
                    chosen[document] = leaf_values[start + numbers[document]]
                totals = totals + load(chosen, 0, lanes)
            elif n_rows == 1:
                totals = totals + look_up(leaves, leaf_values, start, 1)
            elif n_rows == 2:
                totals = totals + look_up(leaves, leaf_values, start, 2)
            else:
                totals = totals + look_up(leaves, leaf_values, start, 4)
        store(scores, first, totals)

    return sum_block


_rank_64, _rank_32, _rank_16 = _rank_block(64), _rank_block(32), _rank_block(16)
_sum_64, _sum_32, _sum_16 = _sum_block(64), _sum_block(32), _sum_block(16)


# The size of the last block, by the number of sixteens of documents that are left.
_SIZES = (0, 16, 32, 64, 64)


@inner_kernel
def block_size(n_documents: int) -> int:
    """Size of the next block where so many documents are left."""
    return 64 if n_documents > 32 else 32 if n_documents > 16 else 16


@kernel
def rank_values(
    features: NDArray[Any],
    columns: NDArray[np.int64],
    thresholds: NDArray[Any],
    starts: NDArray[np.int64],
    at_zero: NDArray[Any],
    at_missing: NDArray[Any],
    ranks: NDArray[np.uint8],
) -> None:
    """Count the thresholds below each value: by block, then by column, then by document.

    `ranks` has room for whole blocks: `len(columns)` times `padded(len(features))`.
    """
    compared = (columns, thresholds, starts, at_zero, at_missing)
    first = 0
    while first < len(features):
        size = block_size(len(features) - first)
        if size == 64:
            _rank_64(features, first, *compared, ranks)
        elif size == 32:
            _rank_32(features, first, *compared, ranks)
        else:
            _rank_16(features, first, *compared, ranks)
        first += size


@kernel
def rank_values_in_loops(
    features: NDArray[Any],
    columns: NDArray[np.int64],
    thresholds: NDArray[Any],
    starts: NDArray[np.int64],
    at_zero: NDArray[Any],
    at_missing: NDArray[Any],
    ranks: NDArray[np.uint8],
) -> None:
    """The same without instructions written by hand."""
    first = 0
    while first < len(features):
        size = block_size(len(features) - first)
        for i in range(len(columns)):
            place = first * len(columns) + i * size
            for document in range(min(size, len(features) - first)):
                value = features[first + document, columns[i]]
                if value != value:
                    value = at_missing[i]
                elif abs(value) <= ZERO_THRESHOLD:
                    value = at_zero[i]
                n_below = 0
                for k in range(starts[i], starts[i + 1]):
                    n_below += thresholds[k] < value
                ranks[place + document] = n_below
        first += size


@kernel
def rank_sets(
    features: NDArray[Any],
    n_columns: int,
    first_column: int,
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: NDArray[np.uint32],
    ranks: NDArray[np.uint8],
) -> None:
    """Rank values by sets of categories: 0 for a value in its column's set, 1 for any other.

    A category is a number from 0, cut to a whole one as in LightGBM. A missing value, one below
    zero and one beyond the set's last word are in no set.
    """
    first = 0
    while first < len(features):
        size = block_size(len(features) - first)
        for i in range(len(columns)):
            place = first * n_columns + (first_column + i) * size
            # Compared as a number: a huge one has no whole number, and NaN passes no comparison.
            end = 32.0 * (ends[i] - starts[i])
            for document in range(min(size, len(features) - first)):
                value = features[first + document, columns[i]]
                outside = np.uint8(1)
                if value > -1.0 and value < end:
                    category = np.int64(value)
                    word = words[starts[i] + (category >> 5)]
                    outside = np.uint8(1 - ((np.int64(word) >> (category & 31)) & 1))
                ranks[place + document] = outside
        first += size


@kernel
def sum_leaves(
    ranks: NDArray[np.uint8],
    n_documents: int,
    n_columns: int,
    columns: NDArray[np.int32],
    cuts: NDArray[np.uint8],
    masks: NDArray[np.uint8],
    starts: NDArray[np.int64],
    bases: NDArray[np.uint8],
    row_starts: NDArray[np.int64],
    leaf_values: NDArray[np.float64],
    n_tables: int,
    scores: NDArray[np.float64],
) -> None:
    """Add the value of each document's leaf, tree by tree; `scores` has room for whole blocks.

    Trees of at most `n_tables` rows, and `MAX_TABLES` at most, have their values in registers.
    """
    rows = (columns, cuts, masks, starts, bases, row_starts, leaf_values, n_tables)
    first = 0
    while first < n_documents:
        size = block_size(n_documents - first)
        if size == 64:
            _sum_64(ranks, first, n_columns, *rows, scores)
        elif size == 32:
            _sum_32(ranks, first, n_columns, *rows, scores)
        else:
            _sum_16(ranks, first, n_columns, *rows, scores)
        first += size


@kernel
def walk_trees(
    ranks: NDArray[np.uint8],
    n_documents: int,
    n_columns: int,
    columns: NDArray[np.int32],
    cuts: NDArray[np.uint8],
    left_children: NDArray[np.int32],
    right_children: NDArray[np.int32],
    starts: NDArray[np.int64],
    leaf_starts: NDArray[np.int64],
    leaf_values: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """The same for trees of more than 256 leaves, without instructions by hand: follow splits."""
    first = 0
    while first < n_documents:
        size = block_size(n_documents - first)
        for tree in range(len(starts) - 1):
            for document in range(min(size, n_documents - first)):
                block = first * n_columns + document
                node = 0 if starts[tree] < starts[tree + 1] else -1
                while node >= 0:
                    split = starts[tree] + node
                    if ranks[block + columns[split] * size] > cuts[split]:
                        node = right_children[split]
                    else:
                        node = left_children[split]
                scores[first + document] += leaf_values[leaf_starts[tree] + ~node]
        first += size


def padded(n_documents: int) -> int:
    """Number of documents in whole blocks.

    Examples
    --------
    >>> padded(66), padded(97)
    (80, 128)
    """
    rest = n_documents % BLOCK
    return n_documents - rest + _SIZES[-(-rest // 16)]


def warn_of_loops(error: Exception) -> None:
    """Say that trees are scored without instructions written by hand."""
    warnings.warn(
        f"numba {numba.__version__} cannot compile the instructions that localrank scores trees "
        f"with ({type(error).__name__}). Loops score them, several times slower. Scores do not "
        f"change.",
        RuntimeWarning,
        stacklevel=3,
    )
