"""Scores as ranked lists, in a table of the caller's own library."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.data.checks import as_matrix
from localrank.kernels.sorting import argsort_descending


def one_list(X: Any) -> Array:
    """Query ids for rows that are all of one query, 0."""
    values, _ = as_matrix(X)
    return np.zeros(values.shape[:1], np.int64)


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


def as_table_like(X: Any, columns: dict[str, Array]) -> Any:
    """The columns as a frame of the library that X is of; as they are where it is no frame."""
    # Only needed for frames.
    import narwhals.stable.v1 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return columns
    # Libraries take texts from lists alike, and from arrays each in its way.
    plain = {
        name: values.tolist() if values.dtype.kind in "UTO" else values
        for name, values in columns.items()
    }
    return nw.from_dict(plain, backend=nw.get_native_namespace(frame)).to_native()
