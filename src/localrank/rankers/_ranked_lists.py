"""Scores as ranked lists."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.data._checks import as_matrix
from localrank.data._frames import FrameLibrary, frame_of
from localrank.rankers._inputs import as_dataset


class Listed:
    """The door of `Ranker` that gives ranked lists."""

    @abstractmethod
    def predict(self, X: Any, *, qid: Any = None) -> Floats: ...

    def rank(
        self, X: Any, y: Any = None, *, qid: Any = None, library: FrameLibrary | None = None
    ) -> Any:
        """Rank documents: a table, best first within each query, queries in input order.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        y : array-like of shape (n_documents,), optional
            Labels to put beside the documents, if X is not a dataset.
        qid : array-like of shape (n_documents,), optional
            Query ids, if X is not a dataset. None: all rows are documents of one query, 0.
        library : "pandas", "polars", "pyarrow", "dict" or None, default=None
            The library of the result; "dict" gives the columns by name, as arrays. None: the
            library of X, or of the DataFrame that the dataset X was built from; otherwise the
            first of pandas, polars and pyarrow that is installed.

        Returns
        -------
        DataFrame or dict of ndarray
            The columns are `query`, `document` (the dataset's document ids, or positions in the
            input), `rank` from 1, `score`, and `label` if labels are known. Documents with equal
            scores keep the order of the input.

        Examples
        --------
        >>> import pandas as pd
        >>> from localrank.rankers import BestFeature
        >>> X, y = pd.DataFrame({"bm25": [2.0, 7.5, 4.0]}), [0, 1, 0]
        >>> BestFeature().fit(X, y, qid=["a", "a", "a"]).rank(X)
           query  document  rank  score
        0      0         1     1    7.5
        1      0         2     2    4.0
        2      0         0     3    2.0
        """
        if qid is None and not isinstance(X, RankingDataset):
            qid = one_list(X)
        dataset = as_dataset(X, y, qid)
        columns = ranked_lists(dataset, self.predict(dataset))
        return frame_of(columns, library, dataset.frame_library)


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
