"""Kernels that score documents by flattened trees, a block of documents at a time.

First every feature value becomes its rank among the thresholds that the trees compare it with: a
number of 8 bits, and a comparison of two numbers of 8 bits decides what LightGBM decides by
comparing two numbers of 64. Then every split of a tree rules out the leaves on its left for the
documents that go right; the first leaf that is left is the one a document falls into. This is
QuickScorer [1]_ with one lane per document.

References
----------
.. [1] Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini. QuickScorer: a Fast Algorithm to
   Rank Documents with Additive Ensembles of Regression Trees. SIGIR 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from localrank.trees.lanes import (
    above,
    add_leaves,
    all_bits,
    count,
    load,
    rule_out,
    settle,
    store,
    zeros,
)

# Documents of a block. A block of 64 costs less than three of 16, however few documents it has.
WIDE, NARROW = 64, 16
WORTH_WIDE = 2 * NARROW


def _rank_block(lanes: int) -> Any:
    @njit(nogil=True)
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
        n = min(lanes, len(features) - first)
        place = first * len(columns)
        for i in range(len(columns)):
            column = columns[i]
            for document in range(n):
                values[document] = features[first + document, column]
            settled = settle(load(values, 0, lanes), at_zero[i], at_missing[i])
            counts = zeros(ranks, lanes)
            for k in range(np.uintp(starts[i]), np.uintp(starts[i + 1])):
                counts = count(counts, above(settled, thresholds[k]))
            store(ranks, place, counts)
            place += lanes

    return rank_block


def _sum_block(lanes: int) -> Any:
    @njit(nogil=True)
    def sum_block(
        ranks: NDArray[np.uint8],
        first: int,
        n_columns: int,
        columns: NDArray[np.int32],
        cuts: NDArray[np.uint8],
        masks: NDArray[Any],
        starts: NDArray[np.int64],
        leaf_values: NDArray[np.float64],
        scores: NDArray[np.float64],
    ) -> None:
        block = first * n_columns
        n_trees = len(starts) - 1
        n_bits = len(leaf_values) // n_trees
        for tree in range(n_trees):
            leaves = all_bits(masks, lanes)
            for split in range(np.uintp(starts[tree]), np.uintp(starts[tree + 1])):
                values = load(ranks, block + columns[split] * lanes, lanes)
                leaves = rule_out(leaves, above(values, cuts[split]), masks[split])
            add_leaves(scores, first, leaves, leaf_values, tree * n_bits)

    return sum_block


_rank_wide, _rank_narrow = _rank_block(WIDE), _rank_block(NARROW)
_sum_wide, _sum_narrow = _sum_block(WIDE), _sum_block(NARROW)


@njit(cache=True, nogil=True)
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
    first = 0
    while first < len(features):
        if len(features) - first > WORTH_WIDE:
            _rank_wide(features, first, columns, thresholds, starts, at_zero, at_missing, ranks)
            first += WIDE
        else:
            _rank_narrow(features, first, columns, thresholds, starts, at_zero, at_missing, ranks)
            first += NARROW


@njit(cache=True, nogil=True)
def sum_leaves(
    ranks: NDArray[np.uint8],
    n_documents: int,
    n_columns: int,
    columns: NDArray[np.int32],
    cuts: NDArray[np.uint8],
    masks: NDArray[Any],
    starts: NDArray[np.int64],
    leaf_values: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Add the value of each document's leaf, tree by tree; `scores` has room for whole blocks."""
    first = 0
    while first < n_documents:
        if n_documents - first > WORTH_WIDE:
            _sum_wide(ranks, first, n_columns, columns, cuts, masks, starts, leaf_values, scores)
            first += WIDE
        else:
            _sum_narrow(ranks, first, n_columns, columns, cuts, masks, starts, leaf_values, scores)
            first += NARROW


@njit(cache=True, nogil=True)
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
    """The same for trees of more leaves than a machine word has bits: follow the splits."""
    first = 0
    while first < n_documents:
        lanes = WIDE if n_documents - first > WORTH_WIDE else NARROW
        for tree in range(len(starts) - 1):
            for document in range(min(lanes, n_documents - first)):
                block = first * n_columns + document
                node = 0 if starts[tree] < starts[tree + 1] else -1
                while node >= 0:
                    split = starts[tree] + node
                    if ranks[block + columns[split] * lanes] > cuts[split]:
                        node = right_children[split]
                    else:
                        node = left_children[split]
                scores[first + document] += leaf_values[leaf_starts[tree] + ~node]
        first += lanes


def padded(n_documents: int) -> int:
    """Number of documents in whole blocks.

    Examples
    --------
    >>> padded(66), padded(97)
    (80, 128)
    """
    rest = n_documents % WIDE
    block = WIDE if rest > WORTH_WIDE else NARROW
    return n_documents - rest + -(-rest // block) * block
