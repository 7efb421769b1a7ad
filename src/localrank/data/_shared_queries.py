"""Queries that are in two datasets which should have none in common."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Integers
from localrank.data.dataset import RankingDataset

# At most this many queries are compared: their features may have to be read from files.
_MAX_COMPARED = 1_000


def warn_of_training_queries(train: RankingDataset, valid: RankingDataset, stacklevel: int) -> None:
    """Warn of validation queries that are training queries: the same ids and documents.

    Equal ids are no sign by themselves: many files count their queries from 1.
    """
    known = {query: row for row, query in enumerate(train.query_ids.tolist())}
    ids = valid.query_ids.tolist()
    in_valid = [row for row, query in enumerate(ids) if query in known][:_MAX_COMPARED]
    in_train = [known[ids[row]] for row in in_valid]
    if not in_valid or train.n_features != valid.n_features:
        return
    ours, theirs = np.array(in_train), np.array(in_valid)
    same_size = train.query_sizes[ours] == valid.query_sizes[theirs]
    ours, theirs = ours[same_size], theirs[same_size]
    if not len(ours):
        return
    same = _digests(train, ours) == _digests(valid, theirs)
    if same.any():
        told = "queries are" if same.sum() > 1 else "query is"
        warnings.warn(
            f"{same.sum():,} validation {told} also in the training data, with the same documents, "
            f"such as {valid.query_ids[theirs[same][0]]}. Queries that a model was trained "
            f"on cannot validate it: give other queries.",
            stacklevel=stacklevel + 1,
        )


def _digests(dataset: RankingDataset, queries: Integers) -> NDArray[np.uint64]:
    """A number for the documents of each query, whatever their order."""
    order = np.argsort(queries)
    part: Any = dataset.taken(queries[order]).in_memory()
    table = np.column_stack([part.features, part.labels]).astype(np.float64).view(np.uint64)
    factors = np.random.default_rng(0).integers(2**64, size=table.shape[1], dtype=np.uint64) | 1
    rows = (table ^ (table >> np.uint64(31))) @ factors
    rows = (rows ^ (rows >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    digests = np.empty(len(queries), np.uint64)
    digests[order] = np.add.reduceat(rows ^ (rows >> np.uint64(32)), part.offsets[:-1])
    return digests
