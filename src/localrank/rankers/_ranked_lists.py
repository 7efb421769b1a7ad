"""Scores as ranked lists, and how good these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Floats
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.data._as_arrays import as_columns
from localrank.data._frames import FrameLibrary, frame_of
from localrank.measures import NDCG
from localrank.rankers._inputs import as_dataset, checked_weights

if TYPE_CHECKING:
    from localrank.rankers.base import Ranker


def ranked_frame(ranker: Ranker, X: Any, y: Any, qid: Any, library: FrameLibrary | None) -> Any:
    """The ranked lists as a table of a DataFrame library."""
    if qid is None and not isinstance(X, RankingDataset):
        qid = one_list(X)
    dataset = as_dataset(X, y, qid)
    columns = ranked_lists(dataset, ranker.predict(dataset))
    return frame_of(columns, library, dataset.frame_library)


def mean_ndcg(ranker: Ranker, dataset: RankingDataset, sample_weight: ArrayLike | None) -> float:
    """Mean NDCG@10 of the ranker's lists of labelled documents."""
    weights, unequal = checked_weights(dataset, sample_weight, None)
    if unequal is not None:
        raise ValueError("sample_weight of score must be the same for all documents of a query.")
    values = NDCG(10)(dataset, ranker.predict(dataset))
    return float(np.average(values, weights=weights))


def one_list(X: Any) -> Array:
    """Query ids for rows that are all of one query, 0."""
    shape = X.shape if hasattr(X, "shape") else as_columns(X)[0].shape
    return np.zeros(shape[:1], np.int64)


def ranked_lists(dataset: RankingDataset, scores: Floats) -> dict[str, Array]:
    """Columns of the documents, best first within each query.

    Parameters
    ----------
    dataset : RankingDataset
    scores : ndarray of shape (n_documents,)
        In input order.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "b", "a"])
    >>> ranked_lists(dataset, np.array([1.0, 2.0, 3.0]))["document"]
    array([2, 0, 1])
    """
    rows = np.asarray(dataset.in_query_order(scores), dtype=np.float64)
    order = argsort_descending(rows, dataset.offsets)
    documents = dataset.document_ids
    if documents is None:
        documents = dataset.in_query_order(np.arange(dataset.n_documents))
    columns = {
        "query": np.repeat(dataset.query_ids, dataset.query_sizes),
        "document": documents[order],
        "rank": np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index] + 1,
        "score": rows[order],
    }
    if dataset.relevance is not None:
        columns["label"] = dataset.relevance[order]
    return columns
