"""The pairs a pairwise linear ranker learns from, and sums of losses over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.memory import check_memory
from localrank._kernels.rows import centred_rows
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._offsets import offsets_of, rows_of
from localrank.rankers.rank_svm._centred_table import CentredTable, Scaled
from localrank.rankers.rank_svm._pair_graphs import PairGraph, laplacian_factors, laplacian_product
from localrank.rankers.rank_svm._pairs import count_pairs, pair_losses

# With more features than this, the matrix of second derivatives is not formed.
EXPLICIT = 500
# Rows of the Laplacian times the features in memory at once: few enough for the cache.
_BLOCK = 1024


@dataclass(frozen=True)
class PairLosses:
    """Sums over weighted pairs at given scores; see `localrank.rankers.rank_svm._pairs`."""

    loss: float
    hinge: float
    excess: float
    gradient: Floats
    graph: PairGraph


@dataclass(frozen=True)
class RankingPairs:
    """Documents in groups. A pair is two documents of a group with different levels.

    Groups are queries, or the documents of a query with one of two labels. Groups without a pair
    are left out. Features are centred in each group: differences stay the same, and are exact.

    Parameters
    ----------
    features : ndarray, CentredTable or BlockTable of shape (n_rows, n_features)
    offsets : ndarray of shape (n_groups + 1,)
    levels : ndarray of shape (n_rows,)
        Levels of the documents: the labels of each group, numbered from 0.
    n_levels : ndarray of shape (n_groups,)
    weights : ndarray of shape (n_groups,)
        Weight of each pair of a group. The weights of all pairs sum to 1.
    n_pairs : ndarray of shape (n_groups,)
    queries : ndarray of shape (n_groups,)
        Query of each group, as its position in the dataset.
    """

    features: Floats | CentredTable | BlockTable
    offsets: Integers
    levels: Integers
    n_levels: Integers
    weights: Floats
    n_pairs: Integers
    queries: Integers

    @classmethod
    def of(
        cls,
        dataset: RankingDataset,
        features: Floats | Iterator[tuple[slice, Floats]] | Scaled,
        query_weights: Floats | None = None,
        *,
        label_pairs: Sequence[tuple[float, float]] | None = None,
        label_weights: Floats | None = None,
        by_query: bool = False,
    ) -> Self:
        """The pairs of a dataset, with other features: a table, or blocks of whole queries.

        Every pair has the weight of its query, times that of its pair of labels if there are
        `label_weights`. With `by_query`, the weight of a query is divided by the number of its
        pairs. There must be at least one pair. Blocks and `Scaled` need groups that are queries.
        """
        rows, offsets, queries, places = _groups(dataset, label_pairs)
        labels = dataset.labels if rows is None else dataset.labels[rows]
        levels = np.empty(len(labels), np.int64)
        n_levels, n_pairs = np.empty(len(queries), np.int64), np.empty(len(queries), np.int64)
        count_pairs(
            read_only(labels, np.float64), read_only(offsets, np.int64), levels, n_levels, n_pairs
        )
        weights = np.ones(len(queries)) if query_weights is None else query_weights[queries]
        if label_weights is not None:
            weights = weights * label_weights[places]
        kept = (n_pairs > 0) & (weights > 0)
        if by_query:
            weights = weights / np.maximum(np.bincount(queries, n_pairs)[queries], 1)
        order = np.flatnonzero(np.repeat(kept, np.diff(offsets)))
        n_pairs, weights, n_levels = n_pairs[kept], weights[kept], n_levels[kept]
        weights = weights / np.max(weights)
        offsets = offsets_of(np.diff(offsets)[kept])
        centred: Floats | CentredTable
        if isinstance(features, Scaled):
            centred = CentredTable.of(features, order, offsets)
        elif isinstance(features, np.ndarray):
            centred = centred_rows(
                read_only(features, np.float64), order if rows is None else rows[order], offsets
            )
        else:
            centred = _centred_blocks(features, order, offsets, dataset.n_features)
        return cls(
            centred,
            offsets,
            levels[order],
            n_levels,
            weights / np.sum(weights * n_pairs),
            n_pairs,
            queries[kept],
        )

    def in_blocks(self, weights: Floats) -> Self:
        """The same pairs with rows a ⊗ x instead of x, for block weights a of each query.

        Parameters
        ----------
        weights : ndarray of shape (n_queries, n_blocks)
            Block weights of all queries of the dataset. One block of weight 1 changes nothing.
        """
        if isinstance(self.features, BlockTable):
            raise TypeError("features are in blocks already")
        if weights.shape[1] == 1 and (weights == 1).all():
            return self
        n_rows, n_blocks = len(self.features), weights.shape[1]
        # Memory for the shares of all rows, and for products with all weight vectors.
        check_memory(
            16 * n_rows * n_blocks,
            f"A model of {n_blocks:,} parts on {n_rows:,} documents",
            "Use fewer groups or topics.",
        )
        rows = np.repeat(weights[self.queries], np.diff(self.offsets), axis=0)
        return replace(self, features=BlockTable(self.features, rows))

    def every(self, step: int) -> Self:
        """Every `step`-th group, with the same total weight."""
        groups = np.arange(0, len(self.n_pairs), step)
        rows, offsets = rows_of(self.offsets, groups)
        weights, n_pairs = self.weights[groups], self.n_pairs[groups]
        return replace(
            self,
            features=self.features[rows]
            if isinstance(self.features, np.ndarray)
            else self.features.taken(rows),
            offsets=offsets,
            levels=self.levels[rows],
            n_levels=self.n_levels[groups],
            weights=weights / np.sum(weights * n_pairs),
            n_pairs=n_pairs,
            queries=self.queries[groups],
        )

    def losses(self, scores: Floats, knee: float) -> PairLosses:
        """The losses of all pairs at given scores."""
        scores = read_only(scores, np.float64)
        order = np.empty(len(scores), np.int64)
        gradient, degrees = np.empty(len(scores)), np.empty(len(scores))
        groups = self.offsets, self.levels, self.n_levels, self.weights
        loss, hinge, excess = pair_losses(scores, *groups, knee, order, gradient, degrees)
        graph = PairGraph(scores, *groups, knee, order, degrees)
        return PairLosses(loss, hinge, excess, gradient, graph)

    @property
    def explicit(self) -> bool:
        """Whether the matrix of second derivatives is formed explicitly."""
        known = isinstance(self.features, np.ndarray | CentredTable)
        return known and self.features.shape[1] <= EXPLICIT

    def hessian(self, at: PairLosses) -> Floats:
        """The matrix Xᵀ L X of second derivatives of the loss by the weight vector."""
        n_features = self.features.shape[1]
        total = np.zeros((n_features, n_features))
        longest = int(np.diff(self.offsets).max())
        higher, lower = np.empty((2, max(_BLOCK, longest), n_features))
        # Room for one row per level and one per document.
        scaled = np.empty((2 * len(higher), n_features))
        room = np.empty((len(higher) if isinstance(self.features, CentredTable) else 0, n_features))
        first = 0
        while first < len(self.n_pairs):
            end = self.offsets[first] + len(higher)
            last = int(np.searchsorted(self.offsets, end, side="right")) - 1
            if isinstance(self.features, CentredTable):
                graph = at.graph.between(first, last)
                features = self.features.filled(int(self.offsets[first]), room[: len(graph.order)])
                groups = 0, last - first
            else:
                # This matrix is never formed for a table of blocks.
                features, graph, groups = cast(Floats, self.features), at.graph, (first, last)
            n_scaled, n_higher = laplacian_factors(features, graph, *groups, scaled, higher, lower)
            crossed = higher[:n_higher].T @ lower[:n_higher]
            total += scaled[:n_scaled].T @ scaled[:n_scaled] - crossed - crossed.T
            first = last
        return total

    def weighted_squares(self, weights: Floats) -> Floats:
        """Weighted sum of the squared features over the rows."""
        if not isinstance(self.features, np.ndarray):
            return self.features.weighted_squares(weights)
        squares: Floats = np.einsum(
            "i,ij,ij->j", weights, self.features, self.features, optimize=False
        )
        return squares

    def hessian_product(self, at: PairLosses, vector: Floats) -> Floats:
        """The product of the matrix of second derivatives with a vector, without forming it."""
        along: Floats = self.features @ vector
        product = np.empty_like(along)
        laplacian_product(along, at.graph, product)
        result: Floats = product @ self.features
        return result


def _centred_blocks(
    blocks: Iterator[tuple[slice, Floats]], order: Integers, offsets: Integers, n_features: int
) -> Floats:
    """The rows in `order`, less the mean of their query. They ascend and are whole queries."""
    centred = np.empty((len(order), n_features))
    for rows, block in blocks:
        first, last = np.searchsorted(order, [rows.start, rows.stop])
        if first < last:
            begin, end = np.searchsorted(offsets, [first, last])
            centred[first:last] = centred_rows(
                read_only(block, np.float64),
                order[first:last] - rows.start,
                offsets[begin : end + 1] - first,
            )
    return centred


def _groups(
    dataset: RankingDataset, label_pairs: Sequence[tuple[float, float]] | None
) -> tuple[Integers | None, Integers, Integers, Integers]:
    """Rows, offsets, query and pair of labels of the groups. Rows None: all rows, in order."""
    if label_pairs is None:
        everything = np.arange(dataset.n_queries)
        return None, dataset.offsets, everything, np.zeros_like(everything)
    rows, sizes, queries = [], [], []
    for pair in label_pairs:
        chosen = np.flatnonzero(np.isin(dataset.labels, pair))
        pair_queries, counts = np.unique(dataset.query_index[chosen], return_counts=True)
        rows.append(chosen)
        sizes.append(counts)
        queries.append(pair_queries)
    offsets = offsets_of(np.concatenate(sizes))
    places = np.repeat(np.arange(len(queries)), [len(part) for part in queries])
    return np.concatenate(rows), offsets, np.concatenate(queries), places


@dataclass(frozen=True)
class BlockTable:
    """Rows a ⊗ x of features x and block weights a. Only x and a are stored.

    The product with stacked weight vectors w_1, …, w_B is Σ_b a_b w_b·x. A linear model on this
    table has one weight vector per block. Each query mixes them with its own shares a.

    Parameters
    ----------
    features : ndarray or CentredTable of shape (n_rows, n_features)
    weights : ndarray of shape (n_rows, n_blocks)
        Weights of the blocks, the same for all rows of a query.

    Examples
    --------
    >>> table = BlockTable(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]))
    >>> table.shape
    (1, 4)
    >>> table @ np.array([10.0, 0.0, 0.0, 100.0])
    array([110.])
    >>> np.array([2.0]) @ table
    array([2., 4., 1., 2.])
    """

    features: Floats | CentredTable
    weights: Floats

    # Makes numpy leave `array @ table` to the table.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.weights), self.weights.shape[1] * self.features.shape[1]

    def __len__(self) -> int:
        return len(self.weights)

    def taken(self, rows: Integers) -> Self:
        """Some of the rows."""
        features = self.features
        chosen = features[rows] if isinstance(features, np.ndarray) else features.taken(rows)
        return replace(self, features=chosen, weights=self.weights[rows])

    def __matmul__(self, vector: Floats) -> Floats:
        products: Floats = self.features @ vector.reshape(self.weights.shape[1], -1).T
        sums: Floats = np.einsum("ib,ib->i", products, self.weights)
        return sums

    def __rmatmul__(self, weights: Floats) -> Floats:
        sums: Floats = (weights * self.weights.T) @ self.features
        return sums.ravel()

    def weighted_squares(self, weights: Floats) -> Floats:
        """Weighted sum of the squares over the rows, for each column."""
        of_blocks = weights * self.weights.T**2
        if isinstance(self.features, np.ndarray):
            sums: Floats = of_blocks @ (self.features * self.features)
        else:
            sums = self.features.weighted_squares(of_blocks)
        return sums.ravel()
