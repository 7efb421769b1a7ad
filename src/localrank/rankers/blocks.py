"""Scoring documents that a wrapper gives more features, a few queries at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset
from localrank.rankers.base import Ranker


def predict_in_blocks(
    ranker: Ranker,
    dataset: RankingDataset,
    expand: Callable[[RankingDataset], RankingDataset],
    row_bytes: int,
    block_bytes: int,
) -> NDArray[np.float64]:
    """Score every row by its expansion, in blocks of whole queries.

    Parameters
    ----------
    ranker : Ranker
        Fitted on expanded documents.
    dataset : RankingDataset
    expand : callable
        Gives the same documents with more features, each query by itself.
    row_bytes : int
        What the expansion of a document takes.
    block_bytes : int
        What that of a block should take, unless one query takes more.
    """
    # A block is the queries that begin within one stretch of so many rows.
    block = dataset.offsets[:-1] // max(block_bytes // row_bytes, 1)
    cuts = np.flatnonzero(np.diff(block)) + 1
    scores = np.empty(dataset.n_documents)
    for queries in np.split(np.arange(dataset.n_queries), cuts):
        rows = slice(dataset.offsets[queries[0]], dataset.offsets[queries[-1] + 1])
        # Not named, so that one block is gone before the next is made.
        scores[rows] = ranker.predict(expand(dataset.select(queries)))
    return scores
