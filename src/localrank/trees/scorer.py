"""Trees in the memory layout of the kernels."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import codegen
from numpy.typing import NDArray

from localrank.kernels.sorting import read_only
from localrank.trees.columns import columns_of
from localrank.trees.rows import MAX_LEAVES, rows_of
from localrank.trees.scoring import BLOCK, MAX_TABLES, padded, rank_values, sum_leaves, walk_trees

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# Number of documents whose ranks are in memory at a time.
SLAB = 16 * BLOCK


class Scorer:
    """Scores documents whose features have one dtype.

    Parameters
    ----------
    trees : Trees
    dtype : float32 or float64
    """

    def __init__(self, trees: Trees, dtype: Any) -> None:
        columns, split_columns, cuts = columns_of(trees, dtype)
        self._rank_values: Any = rank_values
        self._n_columns = len(columns.features)
        self._columns: Any = columns.arrays
        self._add_scores: Any
        self._trees: Any
        if np.diff(trees.leaf_offsets).max() <= MAX_LEAVES:
            rows = rows_of(trees, split_columns, cuts)
            self._add_scores = sum_leaves
            self._trees = (
                rows.columns,
                rows.cuts,
                rows.masks,
                rows.starts,
                rows.bases,
                rows.row_starts,
                rows.leaf_values,
                _n_tables(),
            )
        else:
            self._add_scores = walk_trees
            self._trees = (
                split_columns,
                cuts,
                trees.left_children,
                trees.right_children,
                read_only(trees.split_offsets, np.int64),
                trees.leaf_offsets,
                trees.leaf_values,
            )

    def score(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """One score per row of a contiguous array."""
        rows = read_only(features, features.dtype)
        scores = np.zeros(padded(len(rows)))
        ranks = np.empty(padded(min(len(rows), SLAB)) * self._n_columns, np.uint8)
        for first in range(0, len(rows), SLAB):
            slab = rows[first : first + SLAB]
            self._rank_values(slab, *self._columns, ranks)
            self._add_scores(ranks, len(slab), self._n_columns, *self._trees, scores[first:])
        return scores[: len(rows)]


@cache
def _n_tables() -> int:
    """Rows of leaf values to keep in registers: useful if one instruction can look up eight."""
    features: Any = codegen.get_host_cpu_features
    return MAX_TABLES if "+avx512f" in features() else 0
