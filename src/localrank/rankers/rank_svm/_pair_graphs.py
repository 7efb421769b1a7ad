"""The graph of pairs on the quadratic part of a loss, by its Laplacian.

Pairs, slacks and the knee are those of the module `pairs`, and so is the way to sum over
them: documents enter a Fenwick tree over the levels when their slack rises above 0, and leave it
when it passes the knee.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only


class PairGraph(NamedTuple):
    """The documents of groups, and where their pairs lie at given scores.

    Attributes
    ----------
    scores : ndarray of shape (n_documents,)
    offsets : ndarray of shape (n_groups + 1,)
    levels : ndarray of shape (n_documents,)
    n_levels, weights : ndarray of shape (n_groups,)
    knee : float
    order, degrees : ndarray of shape (n_documents,)
        As `pair_losses` fills them.
    """

    scores: Floats
    offsets: Integers
    levels: Integers
    n_levels: Integers
    weights: Floats
    knee: float
    order: Integers
    degrees: Floats

    def between(self, first: int, last: int) -> PairGraph:
        """That of the groups from `first` to `last`, whose documents count from 0."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return PairGraph(
            self.scores[begin:end],
            read_only(self.offsets[first : last + 1] - begin, np.int64),
            self.levels[begin:end],
            self.n_levels[first:last],
            self.weights[first:last],
            self.knee,
            self.order[begin:end] - begin,
            self.degrees[begin:end],
        )


@kernel
def laplacian_factors(
    features: Floats,
    graph: PairGraph,
    first: int,
    last: int,
    scaled: Floats,
    higher: Floats,
    lower: Floats,
) -> tuple[int, int]:
    """Rows P, Q and R with Xᵀ L X = Pᵀ P - Qᵀ R - Rᵀ Q over the groups from `first` to `last`.

    L = D - A - Aᵀ is the weighted Laplacian of the graph of pairs in the quadratic part, with A
    leading from higher documents to lower ones. P = √D X, Q are the rows of X with an entry in
    A, and R those of A X; rows of zeros are left out. Returns the numbers of rows of P and Q.

    Features are centred in each group. Where all pairs of a group count, A + Aᵀ then takes off
    only the products of the levels' sums with themselves, which are rows of P instead.
    """
    scores, offsets, levels, n_levels, weights, knee, order, degrees = graph
    n_features = features.shape[1]
    most = 0
    for query in range(first, last):
        most = max(most, n_levels[query])
    tree = np.empty((most, n_features))
    n_scaled, n_higher = 0, 0
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        top, weight = n_levels[query] - 1, weights[query]
        tree[: top + 1] = 0.0
        entered, passed = begin, begin
        extent = scores[order[begin]] - scores[order[end - 1]]
        # As in `pair_losses`, so that rounding puts the same pairs on the quadratic part.
        middle = scores[order[begin + (end - begin) // 2]]
        if extent < 1.0 and knee > 1.0 + extent:
            for row in range(begin, end):
                root, level = np.sqrt(degrees[row]), levels[row]
                for column in range(n_features):
                    scaled[n_scaled, column] = root * features[row, column]
                    tree[level, column] += features[row, column]
                n_scaled += 1
            root = np.sqrt(weight)
            for level in range(top + 1):
                for column in range(n_features):
                    scaled[n_scaled, column] = root * tree[level, column]
                n_scaled += 1
            continue
        for place in range(begin, end):
            row = order[place]
            if degrees[row] == 0.0:
                continue
            root = np.sqrt(degrees[row])
            for column in range(n_features):
                scaled[n_scaled, column] = root * features[row, column]
            n_scaled += 1
            node = levels[row]
            if node == 0:
                continue
            bound = scores[row] - middle - 1.0
            while entered < end and scores[order[entered]] - middle > bound:
                _add_row(tree, top, levels[order[entered]], 1.0, features, order[entered])
                entered += 1
            while passed < end and scores[order[passed]] - middle > bound + knee:
                _add_row(tree, top, levels[order[passed]], -1.0, features, order[passed])
                passed += 1
            for column in range(n_features):
                higher[n_higher, column] = features[row, column]
                lower[n_higher, column] = weight * tree[node, column]
            node &= node - 1
            while node > 0:
                for column in range(n_features):
                    lower[n_higher, column] += weight * tree[node, column]
                node &= node - 1
            n_higher += 1
    return n_scaled, n_higher


@inner_kernel
def _add_row(tree: Floats, top: int, rank: int, sign: float, features: Floats, row: int) -> None:
    node = rank + 1
    while node <= top:
        for column in range(features.shape[1]):
            tree[node, column] += sign * features[row, column]
        node += node & -node


@kernel
def laplacian_product(vector: Floats, graph: PairGraph, product: Floats) -> None:
    """Fill `product` with L v, the Laplacian of `laplacian_factors` times a vector."""
    scores, offsets, levels, n_levels, weights, knee, order, degrees = graph
    tree = np.empty(n_levels.max())
    for row in range(len(vector)):
        product[row] = degrees[row] * vector[row]
    for query in range(len(offsets) - 1):
        begin, end, weight = offsets[query], offsets[query + 1], weights[query]
        top, n = n_levels[query] - 1, offsets[query + 1] - offsets[query]
        middle = scores[order[begin + n // 2]]
        for sign in (1, -1):
            tree[: top + 1] = 0.0
            entered, passed = 0, 0
            at = begin if sign > 0 else end - 1
            for place in range(n):
                row = order[at + sign * place]
                bound = sign * (scores[row] - middle) - 1.0
                while entered < n and sign * (scores[order[at + sign * entered]] - middle) > bound:
                    _add(tree, top, levels, order[at + sign * entered], sign, 1.0, vector)
                    entered += 1
                while (
                    passed < n
                    and sign * (scores[order[at + sign * passed]] - middle) > bound + knee
                ):
                    _add(tree, top, levels, order[at + sign * passed], sign, -1.0, vector)
                    passed += 1
                node = levels[row] if sign > 0 else top - levels[row]
                while node > 0:
                    product[row] -= weight * tree[node]
                    node &= node - 1


@inner_kernel
def _add(
    tree: Floats, top: int, levels: Integers, row: int, sign: int, factor: float, vector: Floats
) -> None:
    node = (levels[row] if sign > 0 else top - levels[row]) + 1
    while node <= top:
        tree[node] += factor * vector[row]
        node += node & -node
