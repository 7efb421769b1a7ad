"""Documents grouped by query: what every other part of the package works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.sorting import argsort_descending
from localrank.data._checks import (
    as_matrix,
    checked_features,
    checked_ids,
    checked_names,
    checked_order,
    checked_relevance,
    first_repeated,
    sum_is_finite,
)
from localrank.data._description import described, described_in_html, facts_of
from localrank.data._frames import FrameLibrary, dataset_columns, frame_of, library_of
from localrank.data._offsets import group_rows, offsets_of, rows_of


@dataclass(frozen=True, eq=False, repr=False)
class RankingDataset:
    """Query-document features with relevance labels, contiguous by query.

    The documents of query `i` are the rows `offsets[i]` to `offsets[i + 1]` of `features`.
    Arrays are checked when the dataset is built, and read-only. An array that needs no conversion
    is shared with the caller: do not write to it afterwards. Most datasets come from
    `from_arrays`, `localrank.data.read_letor` or `localrank.data.read_table`.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        float64 or float32, C-contiguous. NaN is a missing value. Infinities and values beyond
        ±1e100 are refused.
    relevance : ndarray of shape (n_documents,) or None
        Labels; larger is better. None: the documents have no labels. Documents with labels above
        0 are relevant. Negative labels (spam) are lower than 0 to rankers, and 0 to measures.
    offsets : ndarray of shape (n_queries + 1,)
        The first row of each query, then the number of documents.
    query_ids : ndarray of shape (n_queries,)
        One unique id per query, of any dtype.
    document_ids : ndarray of shape (n_documents,), optional
    feature_names : sequence of str, optional
    input_order : ndarray of shape (n_documents,), optional
        Row `i` was at position `input_order[i]` of the input. None: no row moved. Scores are in
        input order: `predict` returns them so, and measures expect them so.

    Examples
    --------
    >>> X = [[3.0, 0.0], [1.0, 2.0], [0.0, 5.0]]
    >>> dataset = RankingDataset.from_arrays(X, y=[1, 0, 2], qid=["b", "a", "b"])
    >>> dataset.query_ids, dataset.offsets
    (array(['b', 'a'], dtype='<U1'), array([0, 2, 3]))
    >>> dataset
    RankingDataset: 2 queries, 3 documents, 2 features (float64)
      documents per query: 1 to 2, median 1.5
      relevance: 0 × 1 (33.3 %), 1 × 1 (33.3 %), 2 × 1 (33.3 %)
      queries without a relevant document: 1
    """

    features: Array
    relevance: Floats | None
    offsets: Integers
    query_ids: Array
    document_ids: Array | None = None
    feature_names: tuple[str, ...] | None = None
    input_order: Integers | None = None
    # The weight of each document in training, if documents of a query have different weights.
    document_weights: Floats | None = field(default=None, init=False)
    # The library of the DataFrame that the dataset was built from: frames of it are of that one.
    frame_library: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        features = checked_features(self.features, self.feature_names)
        n_documents, n_features = features.shape
        offsets = np.asarray(self.offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n_documents:
            raise ValueError(
                f"offsets must run from 0 to the number of documents ({n_documents}). "
                f"Got {offsets} instead."
            )
        if (empty := np.flatnonzero(np.diff(offsets) < 1)).size:
            raise ValueError(
                f"Every query needs a document. The one at position {empty[0]} has none."
            )
        query_ids = checked_ids(self.query_ids, len(offsets) - 1, "query_ids", "query")
        if (repeated := first_repeated(query_ids)) is not None:
            raise ValueError(f"query_ids must be unique. {repeated!r} occurs twice.")
        relevance = document_ids = None
        if self.relevance is not None:
            relevance = checked_relevance(self.relevance, n_documents)
        if self.document_ids is not None:
            document_ids = checked_ids(self.document_ids, n_documents, "document_ids", "document")
        self._set(
            features=features,
            relevance=relevance,
            offsets=offsets,
            query_ids=query_ids,
            document_ids=document_ids,
            feature_names=checked_names(self.feature_names, n_features),
            input_order=checked_order(self.input_order, n_documents),
        )

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        document_ids: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Build a dataset from one row per document, in any order.

        Parameters
        ----------
        X : array, scipy sparse matrix, or DataFrame (pandas, polars, pyarrow, ...)
            Of shape (n_documents, n_features). A DataFrame's columns name the features.
        y : array-like of shape (n_documents,), optional
            Relevance labels.
        qid : array-like of shape (n_documents,)
            The query of each document, of any dtype; a query's rows need not be adjacent.
            Queries keep the order in which they first appear.
        document_ids : array-like of shape (n_documents,), optional
        feature_names : sequence of str, optional
            Overrides a DataFrame's column names.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[0.1], [0.2], [0.3]], qid=[7, 8, 7])
        >>> dataset.features.ravel()
        array([0.1, 0.3, 0.2])
        >>> dataset.in_input_order(dataset.features.ravel())
        array([0.1, 0.2, 0.3])
        """
        if qid is None:
            raise ValueError("The 'qid' argument is missing: one query id for each row of X.")
        library = library_of(X)
        X, column_names = as_matrix(X)
        names = column_names if feature_names is None else feature_names
        features = checked_features(X, names)
        n_documents, n_features = features.shape
        ids = checked_ids(qid, n_documents, "qid", "row of X")
        labels = None if y is None else checked_relevance(y, n_documents)
        documents = None
        if document_ids is not None:
            documents = checked_ids(document_ids, n_documents, "document_ids", "row of X")
        query_ids, offsets, order = group_rows(ids)
        if order is not None:
            features = features[order]
            labels = None if labels is None else labels[order]
            documents = None if documents is None else documents[order]
        return cls._checked(
            features=features,
            relevance=labels,
            offsets=offsets,
            query_ids=query_ids,
            document_ids=documents,
            feature_names=checked_names(names, n_features),
            input_order=order,
            frame_library=library,
        )

    @classmethod
    def _checked(cls, **fields: Any) -> Self:
        """Build from fields that were checked before."""
        dataset = cls.__new__(cls)
        dataset._set(**fields)
        return dataset

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def n_queries(self) -> int:
        return len(self.query_ids)

    @property
    def n_documents(self) -> int:
        return len(self.features)

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the features: float64 or float32."""
        return self.features.dtype

    @cached_property
    def query_sizes(self) -> Integers:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    @cached_property
    def query_index(self) -> Integers:
        """The query number of each document."""
        return np.repeat(np.arange(self.n_queries), self.query_sizes)

    @cached_property
    def has_missing(self) -> bool:
        """Whether a feature of a document is NaN."""
        return not sum_is_finite(self.features) and bool(np.isnan(self.features).any())

    def count(self, marked: Flags) -> Integers:
        """The number of marked documents of each query.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1], [2], [3]], y=[1, 0, 2], qid=[7, 8, 7])
        >>> dataset.count(dataset.labels > 0)
        array([2, 0])
        """
        return np.add.reduceat(marked, self.offsets[:-1], dtype=np.int64)

    @property
    def label_bounds(self) -> tuple[Floats, Floats]:
        """The lowest and the highest label of each query."""
        begins = self.offsets[:-1]
        return np.minimum.reduceat(self.labels, begins), np.maximum.reduceat(self.labels, begins)

    @cached_property
    def ideal_labels(self) -> Floats:
        """The labels of each query in descending order: its ideal ranking."""
        return self.labels[argsort_descending(self.labels, self.offsets)]

    @property
    def labels(self) -> Floats:
        """The relevance; an error if the dataset has none."""
        if self.relevance is None:
            raise ValueError("The dataset has no relevance labels, and this needs them.")
        return self.relevance

    def feature_label(self, column: int) -> str:
        """The name of a feature for display, or its number from 1 as in LETOR files.

        Examples
        --------
        >>> RankingDataset.from_arrays([[0.1, 0.2]], qid=[1]).feature_label(1)
        'feature 2'
        """
        return self.feature_names[column] if self.feature_names else f"feature {column + 1}"

    def in_input_order(self, values: Array) -> Array:
        """Reorder one value per row into the order the documents came in."""
        if self.input_order is None:
            return values
        result = np.empty_like(values)
        result[self.input_order] = values
        return result

    def in_query_order(self, values: Array) -> Array:
        """Reorder one value per document, in input order, into the order of the rows."""
        return values if self.input_order is None else values[self.input_order]

    def select(self, queries: ArrayLike) -> Self:
        """A dataset of some queries, given by position or by boolean mask.

        The input order of the result is the order of its rows.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "b", "c"])
        >>> dataset.select([2, 0]).query_ids
        array(['c', 'a'], dtype='<U1')
        """
        positions = np.asarray(queries)
        if positions.dtype == bool:
            if positions.shape != (self.n_queries,):
                raise ValueError(
                    f"A mask of queries needs {self.n_queries} entries. "
                    f"Got shape {positions.shape} instead."
                )
            positions = np.flatnonzero(positions)
        if positions.size == 0:
            raise ValueError("The selection holds no query.")
        if positions.dtype.kind not in "iu":
            raise ValueError(
                f"Queries are selected by position or by mask. Got {positions.dtype} instead."
            )
        positions = positions.ravel()
        outside = (positions < -self.n_queries) | (positions >= self.n_queries)
        if outside.any():
            raise ValueError(
                f"Positions of queries lie from {-self.n_queries} to {self.n_queries - 1}. "
                f"Got {positions[outside][0]} instead."
            )
        positions = positions % self.n_queries
        if (repeated := first_repeated(positions)) is not None:
            raise ValueError(f"A query may be selected once. Position {repeated} occurs twice.")
        return self.taken(positions)

    def taken(self, positions: Integers) -> Self:
        """The queries at some positions, each once, without checking them."""
        rows, offsets = rows_of(self.offsets, positions)
        return self.with_rows(rows, offsets, positions)

    def reordered(self, rows: Integers, queries: Integers) -> Self:
        """The same documents with rows and queries in another order, without checking it.

        Parameters
        ----------
        rows : ndarray of shape (n_documents,)
            Row `i` of the result is row `rows[i]` of this dataset; query by query, in the order
            of `queries`.
        queries : ndarray of shape (n_queries,)
        """
        offsets = offsets_of(self.query_sizes[queries])
        order = rows if self.input_order is None else self.input_order[rows]
        return self.with_rows(rows, offsets, queries).replaced(input_order=order)

    def with_rows(self, rows: Integers, offsets: Integers, queries: Integers) -> Self:
        """Some documents of some queries, query by query, without checking the order."""
        return self._checked(
            features=self.features[rows],
            **self._of_rows(rows),
            offsets=offsets,
            query_ids=self.query_ids[queries],
            feature_names=self.feature_names,
            frame_library=self.frame_library,
        )

    def _of_rows(self, rows: Integers | slice) -> dict[str, Any]:
        """The labels, ids and weights of some documents."""
        names = ("relevance", "document_ids", "document_weights")
        values = ((name, getattr(self, name)) for name in names)
        return {name: None if value is None else value[rows] for name, value in values}

    def replaced(self, **changes: Any) -> Self:
        """The dataset with some fields replaced, without checking the new ones."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return self._checked(**kept | changes)

    def with_features(self, features: Any, feature_names: Sequence[str] | None = None) -> Self:
        """The same documents and labels with other features, row for row.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=[1, 1])
        >>> dataset.with_features(-dataset.features, ["negated"]).features.ravel()
        array([-1., -2.])
        """
        values, column_names = as_matrix(features)
        values = checked_features(values, column_names)
        if len(values) != self.n_documents:
            raise ValueError(
                f"The dataset has {self.n_documents} documents. Got {len(values)} rows instead."
            )
        names = column_names if feature_names is None else feature_names
        return self.replaced(features=values, feature_names=checked_names(names, values.shape[1]))

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """The dataset as a table with one row per document, in input order.

        The columns are `qid`, `label` and `document_id`, as far as the dataset has them, then one
        for each feature: by its name, or as `feature_1`, `feature_2`, ...
        `read_table(frame, document_id="document_id")` makes the same dataset of it.

        Parameters
        ----------
        library : "pandas", "polars", "pyarrow", "dict" or None, default=None
            The library of the table; "dict" gives the columns by name, as arrays. None: use the
            library of the DataFrame that the dataset was built from. If it was not built from
            one, use the first of pandas, polars and pyarrow that is installed.

        Examples
        --------
        >>> X = [[3.0], [1.0], [2.5]]
        >>> dataset = RankingDataset.from_arrays(X, [1, 0, 2], [7, 8, 7], feature_names=["bm25"])
        >>> dataset.to_frame("pandas")
           qid  label  bm25
        0    7    1.0   3.0
        1    8    0.0   1.0
        2    7    2.0   2.5
        """
        return frame_of(dataset_columns(self), library, self.frame_library)

    def _facts(self) -> list[str]:
        return facts_of(self)

    def __repr__(self) -> str:
        return described(self, self._facts())

    def _repr_html_(self) -> str:
        return described_in_html(self, self._facts())
