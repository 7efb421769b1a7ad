"""Documents grouped by query: what every other part of the package works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class RankingDataset:
    """Query-document features with relevance labels, contiguous by query.

    The documents of query `i` are the rows `offsets[i]` to `offsets[i + 1]` of `features`.
    Arrays are read-only and checked when the dataset is built. Most datasets come from
    `from_arrays`, `localrank.data.read_letor` or `localrank.data.read_table`.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        float64 or float32, C-contiguous. NaN stands for a missing value; infinities are refused.
    relevance : ndarray of shape (n_documents,) or None
        Labels, 0 or larger, larger is better; None for documents without labels.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.
    query_ids : ndarray of shape (n_queries,)
        Unique, of any dtype.
    document_ids : ndarray of shape (n_documents,), optional
    feature_names : sequence of str, optional
    input_order : ndarray of shape (n_documents,), optional
        Row `i` stood at position `input_order[i]` of the input; None where nothing moved.
        Scores that `predict` returns and measures take are in input order.

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

    features: NDArray[Any]
    relevance: NDArray[np.float64] | None
    offsets: NDArray[np.int64]
    query_ids: NDArray[Any]
    document_ids: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    input_order: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        features = _checked_features(self.features)
        n_documents, n_features = features.shape
        offsets = np.asarray(self.offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n_documents:
            raise ValueError(
                f"offsets must run from 0 to the number of documents ({n_documents}). "
                f"Got {offsets} instead."
            )
        if (empty := np.flatnonzero(np.diff(offsets) < 1)).size:
            raise ValueError(f"Every query needs a document. Query number {empty[0]} has none.")
        query_ids = _vector(self.query_ids, len(offsets) - 1, "query_ids", "query")
        if (repeated := _first_repeated(query_ids)) is not None:
            raise ValueError(f"query_ids must be unique. {repeated!r} is there twice.")
        relevance = document_ids = None
        if self.relevance is not None:
            relevance = _checked_relevance(self.relevance, n_documents)
        if self.document_ids is not None:
            document_ids = _vector(self.document_ids, n_documents, "document_ids", "document")
        self._set(
            features=features,
            relevance=relevance,
            offsets=offsets,
            query_ids=query_ids,
            document_ids=document_ids,
            feature_names=_checked_names(self.feature_names, n_features),
            input_order=_checked_order(self.input_order, n_documents),
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
        X, column_names = _matrix(X)
        names = column_names if feature_names is None else feature_names
        features = _checked_features(X)
        n_documents, n_features = features.shape
        ids = _vector(_plain(qid), n_documents, "qid", "row of X")
        labels = None if y is None else _checked_relevance(_plain(y), n_documents)
        documents = None
        if document_ids is not None:
            documents = _vector(_plain(document_ids), n_documents, "document_ids", "row of X")
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
            feature_names=_checked_names(names, n_features),
            input_order=order,
        )

    @classmethod
    def _checked(cls, **fields: Any) -> Self:
        """Build from parts that are known to be right, without checking them again."""
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

    @cached_property
    def query_sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    @cached_property
    def query_index(self) -> NDArray[np.int64]:
        """The query number of each document."""
        return np.repeat(np.arange(self.n_queries), self.query_sizes)

    @property
    def labels(self) -> NDArray[np.float64]:
        """The relevance, for callers that cannot do without: an error where there is none."""
        if self.relevance is None:
            raise ValueError("The dataset has no relevance labels, and this needs them.")
        return self.relevance

    def feature_label(self, column: int) -> str:
        """How to call a feature in print: its name, or its number counted from 1 as in LETOR.

        Examples
        --------
        >>> RankingDataset.from_arrays([[0.1, 0.2]], qid=[1]).feature_label(1)
        'feature 2'
        """
        return self.feature_names[column] if self.feature_names else f"feature {column + 1}"

    def in_input_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder one value per row into the order the documents came in."""
        if self.input_order is None:
            return values
        result = np.empty_like(values)
        result[self.input_order] = values
        return result

    def in_query_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder one value per document, in input order, into the order of the rows."""
        return values if self.input_order is None else values[self.input_order]

    def select(self, queries: ArrayLike) -> Self:
        """The given queries, by position or by boolean mask, as a dataset of its own.

        Rows of the result are its input order.

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
        positions = np.arange(self.n_queries)[positions.ravel()]
        if (repeated := _first_repeated(positions)) is not None:
            raise ValueError(f"A query may be selected once. Position {repeated} is there twice.")
        sizes = self.query_sizes[positions]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[positions] - offsets[:-1], sizes)
        return self._checked(
            features=self.features[rows],
            relevance=None if self.relevance is None else self.relevance[rows],
            offsets=offsets,
            query_ids=self.query_ids[positions],
            document_ids=None if self.document_ids is None else self.document_ids[rows],
            feature_names=self.feature_names,
            input_order=None,
        )

    def with_features(self, features: Any, feature_names: Sequence[str] | None = None) -> Self:
        """The same documents and labels with other features, row for row.

        Examples
        --------
        >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=[1, 1])
        >>> dataset.with_features(-dataset.features, ["negated"]).features.ravel()
        array([-1., -2.])
        """
        values, column_names = _matrix(features)
        values = _checked_features(values)
        if len(values) != self.n_documents:
            raise ValueError(
                f"The dataset has {self.n_documents} documents. Got {len(values)} rows instead."
            )
        names = column_names if feature_names is None else feature_names
        return self._checked(
            features=values,
            relevance=self.relevance,
            offsets=self.offsets,
            query_ids=self.query_ids,
            document_ids=self.document_ids,
            feature_names=_checked_names(names, values.shape[1]),
            input_order=self.input_order,
        )

    def __repr__(self) -> str:
        sizes = self.query_sizes
        lines = [
            f"RankingDataset: {_count(self.n_queries, 'query', 'queries')}, "
            f"{_count(self.n_documents, 'document')}, {_count(self.n_features, 'feature')} "
            f"({self.features.dtype})",
            f"documents per query: {sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}",
        ]
        if self.relevance is None:
            lines.append("relevance: none")
        else:
            grades, counts = np.unique(self.relevance, return_counts=True)
            if len(grades) <= 8:
                shares = (
                    f"{grade:g} × {count:,} ({100 * count / self.n_documents:.1f} %)"
                    for grade, count in zip(grades, counts, strict=True)
                )
                lines.append("relevance: " + ", ".join(shares))
            else:
                lines.append(
                    f"relevance: {len(grades):,} values from {grades[0]:g} to {grades[-1]:g}"
                )
            best = np.maximum.reduceat(self.relevance, self.offsets[:-1])
            lines.append(f"queries without a relevant document: {np.sum(best <= 0):,}")
        return "\n  ".join(lines)


def concatenate(datasets: Sequence[RankingDataset]) -> RankingDataset:
    """Put datasets with different queries one after another.

    Rows of the result are its input order. Features need the same names; labels and document
    ids are kept where every part has them.

    Examples
    --------
    >>> parts = [RankingDataset.from_arrays([[i]], y=[i], qid=[i]) for i in range(3)]
    >>> concatenate(parts).query_ids
    array([0, 1, 2])
    """
    if not datasets:
        raise ValueError("There is nothing to concatenate: the list of datasets is empty.")
    first = datasets[0]
    for other in datasets[1:]:
        if other.n_features != first.n_features:
            raise ValueError(
                f"Datasets to concatenate need the same features. "
                f"Got {first.n_features} and {other.n_features} of them."
            )
        if other.feature_names != first.feature_names:
            raise ValueError("Datasets to concatenate need the same feature names.")
    query_ids = np.concatenate([part.query_ids for part in datasets])
    if query_ids.dtype == object or len({part.query_ids.dtype.kind for part in datasets}) > 1:
        raise ValueError("Datasets to concatenate need query ids of the same kind.")
    if (repeated := _first_repeated(query_ids)) is not None:
        raise ValueError(f"Query {repeated!r} is in two of the datasets to concatenate.")

    def joined(values: list[NDArray[Any] | None]) -> NDArray[Any] | None:
        present = [value for value in values if value is not None]
        return np.concatenate(present) if len(present) == len(values) else None

    sizes = np.concatenate([part.query_sizes for part in datasets])
    return RankingDataset._checked(
        features=np.concatenate([part.features for part in datasets]),
        relevance=joined([part.relevance for part in datasets]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        query_ids=query_ids,
        document_ids=joined([part.document_ids for part in datasets]),
        feature_names=first.feature_names,
        input_order=None,
    )


def group_rows(
    ids: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64] | None]:
    """Query ids by first appearance, offsets, and the row order that makes them contiguous.

    The order is None where the rows are contiguous already.
    """
    begins = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    if _first_repeated(ids[begins]) is None:
        return ids[begins], np.append(begins, len(ids)), None
    _, first, inverse, sizes = np.unique(
        ids, return_index=True, return_inverse=True, return_counts=True
    )
    appearance = np.argsort(first)
    position = np.empty_like(appearance)
    position[appearance] = np.arange(len(appearance))
    offsets = np.concatenate([[0], np.cumsum(sizes[appearance])])
    return ids[first[appearance]], offsets, np.argsort(position[inverse], kind="stable")


def _matrix(X: Any) -> tuple[NDArray[Any], Sequence[str] | None]:
    """The values and, for a DataFrame, the column names."""
    if sparse.issparse(X):
        return X.toarray(), None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return np.asarray(X), None
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {dtype}.")
    return frame.to_numpy(), [str(name) for name in frame.columns]


def _plain(values: Any) -> NDArray[Any]:
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)


def _vector(values: Any, length: int, name: str, one_per: str) -> NDArray[Any]:
    """A one-dimensional array of ids of one type, none missing."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(
            f"{name} needs one entry per {one_per} ({length}). Got shape {array.shape} instead."
        )
    if array.dtype == object:
        kinds = {type(value).__name__ for value in array.tolist()}
        if len(kinds) > 1:
            raise ValueError(f"{name} must hold values of one type. Got {sorted(kinds)} instead.")
        array = np.array(array.tolist())
        if array.shape != (length,) or array.dtype == object:
            raise ValueError(f"{name} must hold numbers, strings or dates. Got {kinds} instead.")
    missing = np.flatnonzero(array != array)
    if missing.size:
        raise ValueError(f"{name} must not be missing. Entry {missing[0]} is {array[missing[0]]}.")
    return array


def _first_repeated(values: NDArray[Any]) -> Any:
    ordered = np.sort(values)
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[repeated[0]].item() if repeated.size else None


def _checked_features(values: Any) -> NDArray[Any]:
    features = np.asarray(values)
    if features.ndim != 2:
        raise ValueError(
            f"Features must be a table of shape (documents, features). "
            f"Got shape {features.shape} instead."
        )
    if len(features) == 0:
        raise ValueError("There are no documents.")
    if features.dtype not in (np.float32, np.float64):
        try:
            features = features.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Features must be numbers: {error}.") from None
    # A finite sum proves every value finite without a temporary the size of the table.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(features.sum())
    if not finite and (infinite := np.argwhere(np.isinf(features))).size:
        row, column = infinite[0]
        raise ValueError(
            f"Features must be finite, or NaN where missing. "
            f"Row {row}, column {column} is {features[row, column]}."
        )
    return np.ascontiguousarray(features)


def _checked_relevance(values: Any, n_documents: int) -> NDArray[np.float64]:
    relevance = _vector(values, n_documents, "relevance", "document")
    try:
        relevance = relevance.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Relevance labels must be numbers. Got {relevance.dtype} instead."
        ) from None
    if (wrong := np.flatnonzero(~(np.isfinite(relevance) & (relevance >= 0)))).size:
        raise ValueError(
            f"Relevance labels must be 0 or larger. Document {wrong[0]} has "
            f"{relevance[wrong[0]]:g}. If negative labels mean not relevant, pass "
            f"np.maximum(y, 0)."
        )
    return relevance


def _checked_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    result = tuple(str(name) for name in names)
    if len(result) != n_features:
        raise ValueError(f"There are {n_features} features. Got {len(result)} names instead.")
    if len(set(result)) < len(result):
        twice = next(name for i, name in enumerate(result) if name in result[:i])
        raise ValueError(f"Feature names must be unique. {twice!r} is there twice.")
    return result


def _checked_order(values: Any, n_documents: int) -> NDArray[np.int64] | None:
    if values is None:
        return None
    order = np.asarray(values, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n_documents)):
        raise ValueError("input_order must be a permutation of the rows.")
    return order


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
