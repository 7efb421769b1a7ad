"""What each feature contributes to the scores of trees: exact Shapley values.

The game is that of TreeSHAP [1]_: where a feature is unknown, a document goes both ways at its
splits, with the shares of the training documents that did. Take a leaf of value v with a path
that asks for k features. Let o_j be 1 if the document passes the path's splits on feature j, else
0, and z_j the share of the training documents that pass them. Feature i then contributes

    v (o_i - z_i) ∫ prod_{j ≠ i} ((1 - t) z_j + t o_j) dt,   t from 0 to 1,

because the weights |S|! (k - |S| - 1)! / k! of the Shapley value are integrals of
t^|S| (1 - t)^(k - |S| - 1). The integrand is a polynomial of degree k - 1, for which the rule of
Gauss and Legendre with k / 2 points is exact. With R the whole product over 1 - t, the summand of
a point is R (o_i / ((1 - t) z_i + t) - 1). No factor is negative, so that no digits are lost, and
every step is the same for all documents of a block. A document costs at most leaves × depth².

References
----------
.. [1] Lundberg, Erion, Lee. Consistent Individualized Feature Attribution for Tree Ensembles.
   2018.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.numba_internals import COMPILER_ERRORS
from localrank._kernels.sorting import read_only
from localrank.trees._columns import columns_of
from localrank.trees._scoring import (
    BLOCK,
    padded,
    rank_sets,
    rank_values,
    rank_values_in_loops,
    warn_of_loops,
)

if TYPE_CHECKING:
    from localrank.trees.trees import Trees

# Features on a path. A document costs its square.
MAX_ON_PATH = 256


class TreeContributions:
    """Contributions to the scores of documents whose features have one dtype.

    Parameters
    ----------
    trees : Trees
    dtype : float32 or float64
    """

    def __init__(self, trees: Trees, dtype: Any) -> None:
        columns, self._sets, split_columns, cuts = columns_of(trees, dtype)
        self._rank_values: Any = rank_values
        self._n_features = trees.n_features
        self._n_columns = len(columns.features)
        self._columns: Any = columns
        split_parents, leaf_parents, shares, depth = _parents(
            trees.left_children,
            trees.right_children,
            read_only(trees.split_offsets, np.int64),
            trees.leaf_offsets,
            trees.leaf_counts,
        )
        n_on_path = min(depth, trees.n_features)
        if n_on_path > MAX_ON_PATH:
            raise ValueError(
                f"Contributions are for trees that ask for at most {MAX_ON_PATH} features on the "
                f"way to a leaf. These may ask for {n_on_path:,}."
            )
        points, weights = _rules(max(1, (n_on_path + 1) // 2))
        self._add: Any = _add_contributions
        self._trees: Any = (
            split_columns,
            cuts,
            trees.split_features,
            read_only(split_parents, np.int64),
            read_only(leaf_parents, np.int64),
            read_only(shares, np.float64),
            trees.leaf_values,
            points,
            weights,
        )
        self.base = _expected(trees, leaf_parents, split_parents, shares)

    def of(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """For each row of a contiguous read-only array what each feature adds to the base."""
        result = np.empty((len(rows), self._n_features))
        ranks = np.empty(BLOCK * self._n_columns, np.uint8)
        totals = np.empty((self._n_features, BLOCK))
        for first in range(0, len(rows), BLOCK):
            block = rows[first : first + BLOCK]
            try:
                self._rank_values(block, *self._columns, ranks)
            except COMPILER_ERRORS as error:
                warn_of_loops(error)
                self._rank_values = rank_values_in_loops
                self._rank_values(block, *self._columns, ranks)
            if self._sets is not None:
                rank_sets(block, self._n_columns, *self._sets, ranks)
            totals[:] = 0.0
            self._add(ranks, padded(len(block)), *self._trees, totals)
            result[first : first + BLOCK] = totals[:, : len(block)].T
        return result


@cache
def _rules(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and weights of Gauss and Legendre on 0 to 1; row i holds the rule of i + 1 points."""
    points, weights = np.zeros((2, n, n))
    for i in range(n):
        at, weight = np.polynomial.legendre.leggauss(i + 1)
        points[i, : i + 1], weights[i, : i + 1] = 0.5 * (at + 1), 0.5 * weight
    return read_only(points, np.float64), read_only(weights, np.float64)


def _expected(
    trees: Trees,
    leaf_parents: NDArray[np.int64],
    split_parents: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> float:
    """The mean score over the shares of training documents."""
    reached = _leaf_shares(leaf_parents, split_parents, shares)
    return float(reached @ trees.leaf_values)


@kernel
def _leaf_shares(
    leaf_parents: NDArray[np.int64],
    split_parents: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The share of the training documents in each leaf. Splits come after their parents."""
    reached = np.ones(len(split_parents))
    for split in range(len(split_parents)):
        parent = split_parents[split]
        if parent >= 0:
            reached[split] = reached[parent >> 1] * shares[parent]
    result = np.ones(len(leaf_parents))
    for leaf in range(len(leaf_parents)):
        parent = leaf_parents[leaf]
        if parent >= 0:
            result[leaf] = reached[parent >> 1] * shares[parent]
    return result


@kernel
def _parents(
    left_children: NDArray[np.int32],
    right_children: NDArray[np.int32],
    split_offsets: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
    leaf_counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """Of splits and leaves where they hang, the share that takes each branch, and the depth.

    A branch is 2 × split, and one more on the right. The root hangs at -1. A split that no
    document met sends half to either side.
    """
    n_splits = len(left_children)
    split_parents, leaf_parents = np.full(n_splits, -1), np.full(len(leaf_counts), -1)
    counts, depths = np.zeros(n_splits), np.ones(n_splits, np.int64)
    shares = np.empty(2 * n_splits)
    depth = 0
    for tree in range(len(split_offsets) - 1):
        root, end = split_offsets[tree], split_offsets[tree + 1]
        for split in range(end - 1, root - 1, -1):
            for side in range(2):
                child = left_children[split] if side == 0 else right_children[split]
                if child >= 0:
                    split_parents[root + child] = 2 * split + side
                    shares[2 * split + side] = counts[root + child]
                else:
                    leaf = leaf_offsets[tree] + ~child
                    leaf_parents[leaf] = 2 * split + side
                    shares[2 * split + side] = leaf_counts[leaf]
            counts[split] = shares[2 * split] + shares[2 * split + 1]
            for branch in range(2 * split, 2 * split + 2):
                shares[branch] = shares[branch] / counts[split] if counts[split] > 0 else 0.5
        for split in range(root, end):
            if split_parents[split] >= 0:
                depths[split] = depths[split_parents[split] >> 1] + 1
            depth = max(depth, depths[split])
    return split_parents, leaf_parents, shares, depth


@kernel
def _add_contributions(
    ranks: NDArray[np.uint8],
    n: int,
    columns: NDArray[np.int32],
    cuts: NDArray[np.uint8],
    split_features: NDArray[np.int32],
    split_parents: NDArray[np.int64],
    leaf_parents: NDArray[np.int64],
    shares: NDArray[np.float64],
    leaf_values: NDArray[np.float64],
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    """Add what all leaves contribute for a block of `n` documents, by feature and document."""
    most = 2 * len(points)
    passing = np.empty((most, BLOCK), np.uint8)
    passed, sums = np.empty((most, BLOCK)), np.empty((most, BLOCK))
    product, sum_of_all = np.empty(BLOCK), np.empty(BLOCK)
    path, shared = np.empty(most, np.int64), np.empty(most)
    slots = np.full(len(totals), -1)
    for leaf in range(len(leaf_values)):
        k = 0
        branch = leaf_parents[leaf]
        while branch >= 0:
            split = branch >> 1
            feature = split_features[split]
            slot = slots[feature]
            is_new = slot < 0
            if is_new:
                slot = k
                slots[feature], path[slot], shared[slot] = slot, feature, 1.0
                k += 1
            shared[slot] *= shares[branch]
            begin = columns[split] * n
            _pass(ranks[begin : begin + n], cuts[split], branch & 1, is_new, passing[slot])
            branch = split_parents[split]
        for j in range(k):
            slots[path[j]] = -1
            for i in range(n):
                passed[j, i] = passing[j, i]
        n_points = (k + 1) // 2
        for point in range(n_points):
            t, rest = points[n_points - 1, point], 1.0 - points[n_points - 1, point]
            start = leaf_values[leaf] * weights[n_points - 1, point] / rest
            for i in range(n):
                product[i] = start
            for j in range(k):
                least = rest * shared[j]
                row = passed[j]
                for i in range(n):
                    product[i] *= least + t * row[i]
            if point == 0:
                for i in range(n):
                    sum_of_all[i] = product[i]
            else:
                for i in range(n):
                    sum_of_all[i] += product[i]
            for j in range(k):
                inverse = 1.0 / (rest * shared[j] + t)
                row = sums[j]
                if point == 0:
                    for i in range(n):
                        row[i] = inverse * product[i]
                else:
                    for i in range(n):
                        row[i] += inverse * product[i]
        for j in range(k):
            total, row, own = totals[path[j]], sums[j], passed[j]
            for i in range(n):
                total[i] += own[i] * row[i] - sum_of_all[i]


@inner_kernel
def _pass(
    ranks: NDArray[np.uint8], cut: int, side: int, is_new: bool, passing: NDArray[np.uint8]
) -> None:
    """Which documents take a branch; of a feature met before, those that also took the others."""
    if is_new:
        for i in range(len(ranks)):
            passing[i] = (ranks[i] > cut) == side
    else:
        for i in range(len(ranks)):
            passing[i] &= (ranks[i] > cut) == side
