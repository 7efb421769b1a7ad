"""Kernels that score documents by symmetric trees: a leaf is looked up by the bits of its number.

All splits of a level compare the same rank (`_scoring`) with the same cut. A level's answer is one
bit of the leaf's number, the first level's the highest, so a tree of depth 6 takes six comparisons
where a search for the first leaf that remains takes more than sixty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.instructions import (
    TABLE,
    above,
    load,
    look_up,
    rule_out,
    spread,
    store,
    zeros,
)
from localrank._kernels.sorting import read_only
from localrank.trees._scoring import block_size

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# A leaf's number has 8 bits.
MAX_DEPTH = 8
# Tables of eight values that are read for a tree at most.
MAX_TABLES = 8


class Levels(NamedTuple):
    """Symmetric trees, level by level: the arguments of `look_up_leaves`.

    Attributes
    ----------
    columns : ndarray of shape (n_levels,)
    cuts : ndarray of shape (n_levels,)
        A document has the level's bit if its rank in the column is larger than the cut.
    starts : ndarray of shape (n_trees + 1,)
        First level of each tree, and the number of levels at the end.
    leaf_starts : ndarray of shape (n_trees,)
        First value of each tree.
    leaf_values : ndarray of float64
        The values of each tree, the last leaf first, eight at least.
    """

    columns: NDArray[np.int32]
    cuts: NDArray[np.uint8]
    starts: NDArray[np.int64]
    leaf_starts: NDArray[np.int64]
    leaf_values: NDArray[np.float64]


def levels_of(trees: Trees, columns: NDArray[np.int32], cuts: NDArray[np.uint8]) -> Levels | None:
    """The levels of symmetric trees, given each split's column and cut. None: there are others.

    A tree counts as symmetric if its splits and leaves are numbered level by level.
    """
    n_leaves = np.diff(trees.leaf_offsets)
    depths = np.log2(n_leaves).astype(np.int64)
    if (n_leaves != 2**depths).any() or depths.max() > MAX_DEPTH:
        return None
    starts = np.append(0, np.cumsum(depths))
    level_columns, level_cuts = np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.uint8)
    sizes = np.maximum(n_leaves, TABLE)
    leaf_starts = np.cumsum(sizes) - sizes
    values = np.zeros(int(sizes.sum()))
    for depth in np.unique(depths).tolist():
        (chosen,) = np.nonzero(depths == depth)
        n_splits = 2**depth - 1
        of_leaves = trees.leaf_offsets[chosen, None] + np.arange(n_splits + 1)
        places = leaf_starts[chosen, None] + np.arange(n_splits, -1, -1)
        values[places] = trees.leaf_values[of_leaves]
        if depth == 0:
            continue
        of_splits = trees.split_offsets[chosen, None] + np.arange(n_splits)
        left = 2 * np.arange(n_splits) + 1
        for children, child in ((trees.left_children, left), (trees.right_children, left + 1)):
            if (children[of_splits] != np.where(child < n_splits, child, n_splits + ~child)).any():
                return None
        # The first split of each level, and the level of each split.
        firsts = 2 ** np.arange(depth) - 1
        level = np.repeat(np.arange(depth), firsts + 1)
        of_levels = starts[chosen, None] + np.arange(depth)
        for known, of_level in ((columns, level_columns), (cuts, level_cuts)):
            asked = known[of_splits]
            if (asked != asked[:, firsts][:, level]).any():
                return None
            of_level[of_levels] = asked[:, firsts]
    return Levels(
        read_only(level_columns, np.int32),
        read_only(level_cuts, np.uint8),
        read_only(starts, np.int64),
        read_only(leaf_starts, np.int64),
        read_only(values, np.float64),
    )


def _look_up_block(lanes: int) -> Any:
    @inner_kernel
    def look_up_block(
        ranks: NDArray[np.uint8],
        first: int,
        n_columns: int,
        columns: NDArray[np.int32],
        cuts: NDArray[np.uint8],
        starts: NDArray[np.int64],
        leaf_starts: NDArray[np.int64],
        leaf_values: NDArray[np.float64],
        n_tables: int,
        scores: NDArray[np.float64],
    ) -> None:
        block = first * n_columns
        numbers, chosen = np.zeros(lanes, np.uint8), np.zeros(lanes)
        totals = zeros(scores, lanes)
        for tree in range(len(leaf_starts)):
            begin, end = np.uintp(starts[tree]), np.uintp(starts[tree + 1])
            n_leaves = 1 << (end - begin)
            # Bits are taken away, which numbers the leaves from the last.
            leaves = spread(np.uint8(n_leaves - 1), lanes)
            bit = n_leaves
            for k in range(begin, end):
                bit >>= 1
                values = load(ranks, block + columns[k] * lanes, lanes)
                leaves = rule_out(leaves, above(values, cuts[k]), np.uint8(~bit))
            start = leaf_starts[tree]
            if n_leaves > TABLE * n_tables:
                store(numbers, 0, leaves)
                for document in range(lanes):
                    chosen[document] = leaf_values[start + numbers[document]]
                totals = totals + load(chosen, 0, lanes)
            elif n_leaves <= TABLE:
                totals = totals + look_up(leaves, leaf_values, start, 1)
            elif n_leaves == 2 * TABLE:
                totals = totals + look_up(leaves, leaf_values, start, 2)
            elif n_leaves == 4 * TABLE:
                totals = totals + look_up(leaves, leaf_values, start, 4)
            else:
                totals = totals + look_up(leaves, leaf_values, start, 8)
        store(scores, first, totals)

    return look_up_block


_look_up_64, _look_up_32, _look_up_16 = _look_up_block(64), _look_up_block(32), _look_up_block(16)


@kernel
def look_up_leaves(
    ranks: NDArray[np.uint8],
    n_documents: int,
    n_columns: int,
    columns: NDArray[np.int32],
    cuts: NDArray[np.uint8],
    starts: NDArray[np.int64],
    leaf_starts: NDArray[np.int64],
    leaf_values: NDArray[np.float64],
    n_tables: int,
    scores: NDArray[np.float64],
) -> None:
    """Store the sum of each document's leaves; `scores` has room for whole blocks.

    Trees of at most `n_tables` times eight leaves, and `MAX_TABLES` at most, have their values in
    registers.
    """
    levels = (columns, cuts, starts, leaf_starts, leaf_values, n_tables)
    first = 0
    while first < n_documents:
        size = block_size(n_documents - first)
        if size == 64:
            _look_up_64(ranks, first, n_columns, *levels, scores)
        elif size == 32:
            _look_up_32(ranks, first, n_columns, *levels, scores)
        else:
            _look_up_16(ranks, first, n_columns, *levels, scores)
        first += size
