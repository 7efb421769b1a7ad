"""Where a run ranks the documents, with ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import argsort_descending, read_only
from localrank.data import RankingDataset
from localrank.measures._ties import _as_float32, _order_ties, _precedence


@dataclass(frozen=True, eq=False)
class Places:
    """Where a run ranks the documents.

    Attributes
    ----------
    order : ndarray of shape (n_documents,)
        Row numbers, by query, from the top of the list.
    blocks : ndarray of shape (n_blocks,)
        Positions in `order` where ties begin. A document that is tied with no other is a block.
    first, last : ndarray of shape (n_blocks,)
        Rank of the block's first document, from 0, and one past its last. Documents that were
        not retrieved have none: both are 0.
    """

    order: Integers
    blocks: Integers
    first: Integers
    last: Integers

    @cached_property
    def sizes(self) -> Integers:
        """Number of documents of each block."""
        return np.diff(self.blocks, append=len(self.order))

    def by_row(self, of_blocks: Floats) -> Floats:
        """The value of each row's block."""
        values: Floats = _by_row(
            read_only(self.order, np.int64),
            read_only(self.blocks, np.int64),
            read_only(of_blocks, np.float64),
        )
        return values

    def ranks(self) -> Floats:
        """The rank of each row, from 1; the mean rank of a tie. NaN: not retrieved."""
        means = (self.first + self.last + 1) / 2
        return self.by_row(np.where(self.last > self.first, means, np.nan))

    def is_tied(self) -> Flags:
        """Whether each row was retrieved, and is tied with another one."""
        return self.by_row((self.last > self.first + 1).astype(np.float64)) > 0

    def mean_weights(self, weights: Floats) -> Floats:
        """The weight of each row's rank, the mean over its tie. Ranks beyond have none."""
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        within = sums[np.minimum(self.last, len(weights))]
        within -= sums[np.minimum(self.first, len(weights))]
        return self.by_row(within / self.sizes)


@kernel
def _by_row(order: Integers, blocks: Integers, of_blocks: Floats) -> Floats:
    values = np.empty(len(order), np.float64)
    for block in range(len(blocks)):
        end = blocks[block + 1] if block + 1 < len(blocks) else len(order)
        for position in range(blocks[block], end):
            values[order[position]] = of_blocks[block]
    return values


def places_of(dataset: RankingDataset, scores: Floats, ties: str = "averaged") -> Places:
    """Where a run with these scores, in the order of the rows, ranks the documents."""
    if ties == "document_id":
        scores = _as_float32(scores)
    order = argsort_descending(scores, dataset.offsets)
    ranked = scores[order]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = ranked[1:] == ranked[:-1]
    tied[dataset.offsets[:-1]] = False
    if ties != "averaged":
        _order_ties(order, tied, _precedence(dataset, ties))
        tied &= scores[order] == -np.inf
    blocks = np.flatnonzero(~tied)
    first = blocks - dataset.offsets[dataset.query_index[order[blocks]]]
    last = first + np.diff(blocks, append=len(order))
    retrieved = ranked[blocks] > -np.inf
    return Places(order, blocks, np.where(retrieved, first, 0), np.where(retrieved, last, 0))
