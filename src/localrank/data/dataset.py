"""Documents grouped by query: what every other part of the package works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.sorting import argsort_descending
from localrank._kernels.vectors import Singles
from localrank.data._as_arrays import as_columns, as_matrix
from localrank.data._categories import Categories, one_hot, with_codes
from localrank.data._checks import (
    check_index,
    checked_features,
    checked_ids,
    checked_names,
    checked_order,
    checked_relevance,
    first_repeated,
)
from localrank.data._column_names import check_named
from localrank.data._column_record import ColumnRecord
from localrank.data._description import described, described_in_html
from localrank.data._frames import FrameLibrary, dataset_columns, frame_of
from localrank.data._offsets import group_rows, offsets_of, rows_of
from localrank.data._row_vectors import (
    RowVectors,
    check_same_width,
    checked_vectors,
)
from localrank.data._sources import Chosen, InMemory, Source, Step, blocks_of_queries, locked

if TYPE_CHECKING:
    from localrank.data.partition_files import Partition

Value = TypeVar("Value")

# Memory for a block that is scored, with all that is computed from it, unless one query needs more.
SCORED_BYTES = 2**24

# The fields of a dataset beside its features. Document ids in files are not among its attributes.
_FIELDS = (
    "relevance",
    "offsets",
    "query_ids",
    "document_ids",
    "feature_names",
    "input_order",
    "document_weights",
    "frame_library",
    "categories",
    "column_record",
    "_vectors",
    "_query_vectors",
)


class _Read(Generic[Value]):
    """An attribute that a dataset in memory has itself. Other datasets ask their source each time.

    Parameters
    ----------
    method : str
        The method of the source.
    """

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, dataset: RankingDataset | None, owner: type) -> Value:
        if dataset is None:
            raise AttributeError("Only datasets have it.")
        value: Value = getattr(dataset._source, self.method)()
        return value


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RankingDataset:
    """Query-document features with relevance labels, contiguous by query.

    The documents of query `i` are the rows `offsets[i]` to `offsets[i + 1]` of `features`.
    Arrays are checked when the dataset is built, and read-only. An array that needs no conversion
    is shared with the caller: do not write to it afterwards. Most datasets come from
    `from_arrays`, `localrank.data.read_letor` or `localrank.data.read_table`.

    The features are a table in memory, rows of another dataset's table (a view, such as the parts
    of `localrank.data.folds`), or in files (`localrank.data.open_partitions`). `features` is a
    table of all rows for each of them. A view copies its rows each time, and files are read each
    time: `in_memory` gives a dataset with a table to keep. `feature_blocks` gives a few queries at
    a time, and `partitions` the files.

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

    Attributes
    ----------
    categories : mapping or None
        The values of each feature of categories, by its name. `features` holds their places, from
        0, and NaN where a value is missing. None: all features are numbers.

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

    features = _Read[Array]("table")
    document_ids = _Read[Array | None]("document_ids")
    offsets: Integers
    query_ids: Array
    n_queries: int
    n_documents: int
    n_features: int
    # Precision of the features: float64 or float32.
    dtype: np.dtype[Any]
    _source: Source
    relevance: Floats | None = None
    feature_names: tuple[str, ...] | None = None
    input_order: Integers | None = None
    # The weight of each document in training, if documents of a query have different weights.
    document_weights: Floats | None = None
    # The library of the DataFrame that the dataset was built from: frames of it are of that one.
    frame_library: str | None = None
    categories: Categories | None = None
    # What was said of the columns when the data was read from files.
    column_record: ColumnRecord | None = None
    _vectors: RowVectors | None = None
    _query_vectors: RowVectors | None = None

    def __init__(
        self,
        features: Any,
        relevance: Any,
        offsets: Any,
        query_ids: Any,
        document_ids: Any = None,
        feature_names: Sequence[str] | None = None,
        input_order: Any = None,
    ) -> None:
        features = checked_features(features, feature_names)
        n_documents, n_features = features.shape
        offsets = np.asarray(offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n_documents:
            raise ValueError(
                f"offsets must run from 0 to the number of documents ({n_documents}). "
                f"Got {offsets} instead."
            )
        if (empty := np.flatnonzero(np.diff(offsets) < 1)).size:
            raise ValueError(
                f"Every query needs a document. The one at position {empty[0]} has none."
            )
        query_ids = checked_ids(query_ids, len(offsets) - 1, "query_ids", "query")
        if (repeated := first_repeated(query_ids)) is not None:
            raise ValueError(f"query_ids must be unique. {repeated!r} occurs twice.")
        if relevance is not None:
            relevance = checked_relevance(relevance, n_documents)
        if document_ids is not None:
            document_ids = checked_ids(document_ids, n_documents, "document_ids", "document")
        fields = {
            "relevance": relevance,
            "offsets": offsets,
            "query_ids": query_ids,
            "document_ids": document_ids,
            "feature_names": checked_names(feature_names, n_features),
            "input_order": checked_order(input_order, n_documents),
        }
        self._set(features, fields)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        document_ids: Any = None,
        feature_names: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        vectors: Any = None,
        query_vectors: Any = None,
    ) -> Self:
        """Build a dataset from one row per document, in any order.

        Parameters
        ----------
        X : array, scipy sparse matrix, or DataFrame (pandas, polars, pyarrow, ...)
            Of shape (n_documents, n_features). A DataFrame's columns name the features. Its
            columns of texts and categories become features of categories. The Series of pandas
            beside a DataFrame must have its index, in the same order.
        y : array-like of shape (n_documents,), optional
            Relevance labels.
        qid : array-like of shape (n_documents,)
            The query of each document, of any dtype; a query's rows need not be adjacent.
            Queries keep the order in which they first appear.
        document_ids : array-like of shape (n_documents,), optional
        feature_names : sequence of str, optional
            Overrides a DataFrame's column names.
        categories : sequence of str, default=()
            Features of numbers that are categories, such as the number of a shop.
        vectors : array-like of shape (n_documents, n_dimensions), optional
            A vector for each row of X, such as an embedding. Kept beside the features in single
            precision. A vector of zeros is allowed: it is nobody's neighbour.
        query_vectors : array-like of shape (n_queries, n_dimensions), optional
            A vector for each query, in the order in which queries first appear.

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
        values, column_names, texts, library = as_columns(X)
        if column_names is not None:
            check_index(X, y=y, qid=qid, document_ids=document_ids)
        names = column_names if feature_names is None else feature_names
        if names is column_names and names is not None:
            check_named(names, in_frame=True)
        features = checked_features(values, names)
        n_documents, n_features = features.shape
        names = checked_names(names, n_features)
        known = None
        if texts or len(categories):
            features, known = with_codes(features, names, column_names, texts, categories)
        ids = checked_ids(qid, n_documents, "qid", "row of X")
        labels = None if y is None else checked_relevance(y, n_documents)
        documents = None
        if document_ids is not None:
            documents = checked_ids(document_ids, n_documents, "document_ids", "row of X")
        query_ids, offsets, order = group_rows(ids)
        of_rows = of_queries = None
        if vectors is not None:
            of_rows = checked_vectors(vectors, n_documents, "vectors", "row of X", documents)
        if query_vectors is not None:
            n_queries = len(query_ids)
            of_queries = checked_vectors(
                query_vectors, n_queries, "query_vectors", "query", query_ids
            )
        check_same_width(of_rows, of_queries)
        if order is not None:
            of_rows = None if of_rows is None else of_rows[order]
            features = features[order]
            labels = None if labels is None else labels[order]
            documents = None if documents is None else documents[order]
        return cls._checked(
            features=features,
            relevance=labels,
            offsets=offsets,
            query_ids=query_ids,
            document_ids=documents,
            feature_names=names,
            input_order=order,
            frame_library=library,
            categories=known,
            _vectors=of_rows,
            _query_vectors=of_queries,
        )

    @classmethod
    def _checked(cls, *, features: Array | Source, **fields: Any) -> Self:
        """Build from fields that were checked before."""
        dataset = cls.__new__(cls)
        dataset._set(features, fields)
        return dataset

    def _set(self, features: Array | Source, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                fields[name] = locked(value)
        source = InMemory(features) if isinstance(features, np.ndarray) else features
        if type(source) is InMemory:
            fields["features"] = source.array
        if not source.partitions:
            fields.setdefault("document_ids", None)
        fields["n_queries"] = len(fields["query_ids"])
        fields["n_documents"] = int(fields["offsets"][-1])
        fields["n_features"] = source.width
        fields["dtype"] = source.dtype
        fields["_source"] = source
        # The class is frozen: nothing else sets its attributes.
        object.__setattr__(self, "__dict__", fields)

    @cached_property
    def query_sizes(self) -> Integers:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    @cached_property
    def query_index(self) -> Integers:
        """The query number of each document."""
        return np.repeat(np.arange(self.n_queries), self.query_sizes)

    @property
    def has_missing(self) -> bool:
        """Whether a feature of a document is NaN, or one of those that the features are made of.

        The answer for files takes a pass over them.
        """
        return self._source.has_missing

    @property
    def vectors(self) -> Singles | None:
        """The vector of each document, of shape (n_documents, n_dimensions), if there are any.

        `with_vectors` gives a dataset with vectors. Those of a part of a dataset are copied each
        time.
        """
        return None if self._vectors is None else self._vectors.array()

    @property
    def query_vectors(self) -> Singles | None:
        """The vector of each query, of shape (n_queries, n_dimensions), if there are any."""
        return None if self._query_vectors is None else self._query_vectors.array()

    @property
    def has_vectors(self) -> bool:
        """Whether documents have vectors."""
        return self._vectors is not None

    @property
    def partitions(self) -> list[Partition]:
        """The files with the queries of this dataset, in their order. In memory: none."""
        return list(self._source.partitions)

    @property
    def partition_offsets(self) -> Integers:
        """Where the queries of each partition begin among those of the dataset, and the end."""
        return offsets_of(np.array([part.n_queries for part in self._source.partitions]))

    @property
    def default_limit(self) -> int | None:
        """A model learns from at most this many documents by default. None: all."""
        return self._source.default_limit

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
        """The queries at some positions, each once, without checking them.

        Queries in files stay in files if they keep their order. If not, they are in memory.
        """
        rows, offsets = rows_of(self.offsets, positions)
        source = self._source.of_queries(positions, rows, offsets)
        if source is None:
            return self.in_memory().taken(positions)
        return self._shown(source, rows, offsets, positions)

    def reordered(self, rows: Integers, queries: Integers) -> Self:
        """The same documents with rows and queries in another order, without checking it.

        Parameters
        ----------
        rows : ndarray of shape (n_documents,)
            Row `i` of the result is row `rows[i]` of this dataset; query by query, in the order
            of `queries`.
        queries : ndarray of shape (n_queries,)
        """
        order = rows if self.input_order is None else self.input_order[rows]
        return self.with_rows(rows, offsets_of(self.query_sizes[queries]), queries, order)

    def with_rows(
        self,
        rows: Chosen,
        offsets: Integers,
        queries: Chosen,
        input_order: Integers | None = None,
    ) -> Self:
        """Some documents of some queries, query by query, without checking the order."""
        source = self._source.of_rows(rows, offsets, queries)
        if source is None:
            return self.in_memory().with_rows(rows, offsets, queries, input_order)
        return self._shown(source, rows, offsets, queries, input_order)

    def _shown(
        self,
        source: Source,
        rows: Chosen,
        offsets: Integers,
        queries: Chosen,
        input_order: Integers | None = None,
    ) -> Self:
        """A dataset of some rows and queries, whose features are known."""
        known = vars(self)
        of_rows = {
            name: None if known[name] is None else known[name][rows]
            for name in ("relevance", "document_ids", "document_weights", "_vectors")
            if name in known
        }
        of_queries = self._query_vectors
        return self._checked(
            features=source,
            **of_rows,
            offsets=offsets,
            query_ids=self.query_ids[queries],
            feature_names=self.feature_names,
            input_order=input_order,
            frame_library=self.frame_library,
            categories=self.categories,
            column_record=self.column_record,
            _query_vectors=None if of_queries is None else of_queries[queries],
        )

    def replaced(self, *, features: Array | Source | None = None, **changes: Any) -> Self:
        """The dataset with some fields replaced, without checking the new ones."""
        source = self._source if features is None else features
        if self._source.partitions and (isinstance(source, np.ndarray) or not source.partitions):
            changes.setdefault("document_ids", self.document_ids)
        elif self._source.partitions and "document_ids" in changes:
            return self.in_memory().replaced(**changes)
        known = vars(self)
        kept = {name: known[name] for name in _FIELDS if name in known}
        return self._checked(features=source, **kept | changes)

    def in_memory(self, *, views: bool = True, files: bool = True) -> Self:
        """The same dataset with a table of all its rows. One that has it already is returned.

        Parameters
        ----------
        views : bool, default=True
            Whether to copy the rows of a view. False: a view stays a view.
        files : bool, default=True
            Whether to read files. False: what is in files stays there.

        Raises
        ------
        MemoryError
            The rows and the largest file need more memory than is free.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
        >>> dataset.in_memory() is dataset
        True
        """
        wanted = files if self._source.partitions else views
        if not wanted or isinstance(self._source, InMemory):
            return self
        features, document_ids = self._source.read()
        ids = {"document_ids": document_ids} if self._source.partitions else {}
        return self.replaced(features=features, **ids)

    def view(self) -> Self:
        """The same dataset. Parts of it refer to the rows of its table instead of copying them.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "b", "c"])
        >>> table, rows = dataset.view().select([2, 0]).table_and_rows()
        >>> table is dataset.features, rows
        (True, array([2, 0]))
        """
        source = self._source.view()
        return self if source is self._source else self.replaced(features=source)

    def derived(self, step: Step, like: RankingDataset | None = None) -> RankingDataset:
        """The same documents with the features that a function makes of them.

        They are made at once if this dataset has a table, or if they are small and not in files.
        Otherwise they are made when they are read, a few queries at a time.

        Parameters
        ----------
        step : callable
            Gives the same documents with other features, looking at one query at a time. If its
            input has no missing values, neither has its result.
        like : RankingDataset, optional
            A dataset with the number, names and precision of the features that `step` makes. None:
            make those of the first query.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "a", "b"])
        >>> doubled = dataset.view().derived(lambda part: part.with_features(2 * part.features))
        >>> doubled.reordered(np.array([2, 1, 0]), np.array([1, 0])).features.ravel()
        array([6., 4., 2.])
        """
        if isinstance(self._source, InMemory):
            return step(self)
        like = like or step(self.taken(np.zeros(1, np.int64)).in_memory())
        source = self._source.derived(self, step, like)
        if source is None:
            return step(self.in_memory())
        return self.replaced(
            features=source,
            feature_names=like.feature_names,
            column_record=like.column_record,
            categories=like.categories,
        )

    def feature_blocks(self) -> Iterator[tuple[slice, Array]]:
        """The features a few whole queries at a time: which rows, and a table of them.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
        >>> [(rows, block.tolist()) for rows, block in dataset.feature_blocks()]
        [(slice(0, 2, None), [[1.0], [2.0]])]
        """
        return self._source.blocks(self.offsets)

    def is_block(self, row_bytes: int) -> bool:
        """Whether the dataset has a table, and `query_blocks` would give it as it is.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
        >>> dataset.is_block(row_bytes=8), dataset.is_block(SCORED_BYTES)
        (True, False)
        """
        # The last query of a block may reach beyond its end. A ranker inside another one must not
        # cut such a block once more.
        return type(self._source) is InMemory and self.n_documents * row_bytes < 2 * SCORED_BYTES

    def query_blocks(self, row_bytes: int) -> Iterator[RankingDataset]:
        """The dataset a few queries at a time, in memory; all at once if it is small.

        Parameters
        ----------
        row_bytes : int
            Memory for a row, with all that is computed from it.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
        >>> [block.query_ids.tolist() for block in dataset.query_blocks(SCORED_BYTES)]
        [['a'], ['b']]
        """
        if self.n_documents * row_bytes < 2 * SCORED_BYTES:
            yield self.in_memory()
            return
        for begin, end in blocks_of_queries(self.offsets, row_bytes, SCORED_BYTES):
            rows = slice(int(self.offsets[begin]), int(self.offsets[end]))
            offsets = self.offsets[begin : end + 1] - rows.start
            yield self.with_rows(rows, offsets, slice(begin, end)).in_memory()

    @property
    def has_table(self) -> bool:
        """Whether rows can be read one by one, in any order: `table_and_rows` copies none."""
        return self._source.has_table

    def table_and_rows(self) -> tuple[Array, Integers]:
        """A table of features in memory, and the row of each document in it.

        For a view, this is the table of its source. If there is none, a new table is made.
        """
        return self._source.table_and_rows()

    def without_features(self) -> Self:
        """The same queries with their labels and document ids, in memory."""
        nothing = np.empty((self.n_documents, 0))
        return self.replaced(features=nothing, feature_names=None, categories=None)

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
        names = checked_names(names, values.shape[1])
        return self.replaced(
            features=values, feature_names=names, column_record=None, categories=None
        )

    def with_vectors(self, vectors: Any, query_vectors: Any = None) -> Self:
        """The same documents with vectors beside their features, in single precision.

        Vectors stay with their rows and queries: in parts of the dataset, folds, other features
        and other processes. `write_table` writes those of documents and `read_table` reads them.
        `to_frame` and `write_letor` leave them out, and a dataset in partitions cannot have them.

        Parameters
        ----------
        vectors : array-like of shape (n_documents, n_dimensions), or by id, or None
            One for each row. Or a mapping from document ids to vectors, a pair of ids and a table,
            or `Vectors`: documents are looked up by id, and those without a vector are reported. A
            vector of zeros, or none, is allowed: such a document is nobody's neighbour.
        query_vectors : array-like of shape (n_queries, n_dimensions), or by id, optional

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "b", "c"])
        >>> dataset.with_vectors([[1, 0], [0, 1], [3, 4]]).select([2, 0]).vectors
        array([[3., 4.],
               [1., 0.]], dtype=float32)
        """
        of_rows = of_queries = None
        if vectors is not None:
            of_rows = checked_vectors(
                vectors, self.n_documents, "vectors", "document", self.document_ids
            )
        if query_vectors is not None:
            of_queries = checked_vectors(
                query_vectors, self.n_queries, "query_vectors", "query", self.query_ids
            )
        check_same_width(of_rows, of_queries)
        if self._source.partitions and (of_rows is not None or of_queries is not None):
            raise ValueError(
                "A dataset in partitions cannot have vectors. Read it into memory first, with "
                "in_memory(), or use a part of its queries with select."
            )
        return self.replaced(_vectors=of_rows, _query_vectors=of_queries)

    def one_hot(self) -> RankingDataset:
        """The same documents with columns of 0 and 1 in place of each feature of categories.

        There is a column for each value, such as `colour=red`: 1 if the document has that value. A
        document without a value has 0 in all of them.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"bm25": [7.5, 2.0], "colour": ["red", "blue"]})
        >>> dataset = RankingDataset.from_arrays(frame, qid=[7, 7]).one_hot()
        >>> dataset.feature_names, dataset.features.tolist()
        (('bm25', 'colour=blue', 'colour=red'), [[7.5, 0.0, 1.0], [2.0, 1.0, 0.0]])
        """
        return one_hot(self)

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """The dataset as a table with one row per document, in input order.

        The columns are `qid`, `label` and `document_id`, as far as the dataset has them, then one
        for each feature: by its name, or as `feature_1`, `feature_2`, ...
        `read_table(frame)` makes the same dataset of it.

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

    def __repr__(self) -> str:
        return described(self)

    def _repr_html_(self) -> str:
        return described_in_html(self)
