"""Vectors of documents or queries, one per row, beside the features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._kernels.vectors import Singles
from localrank.data._sources import Chosen, locked
from localrank.data.vectors import Vectors


class RowVectors:
    """A vector for each row, as its place in a table. A document of many queries is in it once.

    Parameters
    ----------
    table : ndarray of shape (n_vectors, n_dimensions)
        float32.
    places : ndarray, optional
        The place of each row's vector in the table. -1: no vector, which reads as zeros. None: all
        vectors, in their order.

    Examples
    --------
    >>> vectors = RowVectors(np.array([[1, 0], [0, 2]], np.float32), np.array([1, 1, -1, 0]))
    >>> vectors[1:3].array()
    array([[0., 2.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, table: Singles, places: Integers | None = None) -> None:
        self.table = locked(table)
        self.places = places

    def __len__(self) -> int:
        return len(self.table if self.places is None else self.places)

    def __getitem__(self, rows: Chosen) -> RowVectors:
        places = np.arange(len(self)) if self.places is None else self.places
        return RowVectors(self.table, places[rows])

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self.table.shape[1])

    def array(self) -> Singles:
        """The vector of each row."""
        if self.places is None:
            return self.table
        if not len(self.table):
            return np.zeros((len(self), self.width), np.float32)
        vectors: Singles = self.table[self.places]
        vectors[self.places < 0] = 0.0
        return locked(vectors)

    def __reduce__(self) -> tuple[type[RowVectors], tuple[Singles, Integers | None]]:
        """They travel to another process without the vectors that no row has."""
        if self.places is None:
            return RowVectors, (self.table, None)
        used, places = np.unique(self.places, return_inverse=True)
        lacking = int(len(used) > 0 and used[0] < 0)
        return RowVectors, (self.table[used[lacking:]], places.reshape(-1) - lacking)


def checked_vectors(
    values: Any, n_rows: int, what: str, each: str, ids: Array | None = None
) -> RowVectors:
    """Vectors in single precision, all finite, one for each row.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_dimensions), or what `Vectors.of` takes
    n_rows : int
    what : str
        The name of the argument.
    each : str
        What has a vector: "document" or "query".
    ids : ndarray of shape (n_rows,), optional
        The ids by which vectors are looked up.

    Examples
    --------
    >>> checked_vectors([[1.0, 0.0]], 2, "vectors", "document")
    Traceback (most recent call last):
    ValueError: vectors must have one row for each document: 2. Got 1 instead.
    """
    if _has_ids(values):
        return _looked_up(Vectors.of(values), ids, what, each)
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{what} must be a table of numbers with one row for each {each}. Got an array of "
            f"shape {array.shape} and type {array.dtype} instead."
        )
    if len(array) != n_rows:
        raise ValueError(
            f"{what} must have one row for each {each}: {n_rows}. Got {len(array)} instead."
        )
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, np.float32)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{what} must be finite in single precision. That of the {each} at position "
            f"{int(np.argmin(finite))} is not: encode it again, or give it zeros, which are "
            f"nobody's neighbour."
        )
    return RowVectors(array)


def _has_ids(values: Any) -> bool:
    """Whether vectors come with ids: a mapping, `Vectors`, or a pair of ids and a table."""
    pair = isinstance(values, tuple) and len(values) == 2 and np.ndim(values[1]) == 2
    return pair or isinstance(values, Mapping | Vectors)


def _looked_up(vectors: Vectors, ids: Array | None, what: str, each: str) -> RowVectors:
    if ids is None:
        raise ValueError(
            f"{what} are looked up by id, and this dataset has no ids of its documents. Give a "
            f"table with one row for each {each} instead."
        )
    places = vectors.rows(ids)
    absent = np.flatnonzero(places < 0)
    if absent.size == len(places):
        raise ValueError(
            f"None of the {len(places):,} {'queries' if each == 'query' else each + 's'} has a "
            f"vector: the ids differ. The first here is {str(ids[0])!r}, that of the vectors "
            f"{str(vectors.ids[0])!r}."
        )
    if absent.size:
        warnings.warn(
            f"{absent.size:,} of {len(places):,} rows have no vector, such as "
            f"{str(ids[absent[0]])!r}. They are nobody's neighbour.",
            stacklevel=4,
        )
    return RowVectors(vectors.values, places)


def check_same_width(vectors: RowVectors | None, query_vectors: RowVectors | None) -> None:
    """Refuse vectors of queries and of documents with different numbers of dimensions."""
    if vectors is not None and query_vectors is not None and vectors.width != query_vectors.width:
        raise ValueError(
            f"Vectors of queries and documents must have the same number of dimensions. Got "
            f"{query_vectors.width} and {vectors.width}."
        )


def joined_vectors(parts: Sequence[RowVectors | None]) -> RowVectors | None:
    """The vectors of several datasets one after another. None: a part has none.

    Examples
    --------
    >>> one = RowVectors(np.ones((1, 2), np.float32))
    >>> len(joined_vectors([one, one])), joined_vectors([one, None])
    (2, None)
    """
    present = [part for part in parts if part is not None]
    if len(present) < len(parts):
        return None
    if len({part.width for part in present}) > 1:
        widths = sorted({part.width for part in present})
        raise ValueError(
            f"Datasets to concatenate need vectors of the same number of dimensions. Got "
            f"{widths[0]} and {widths[1]}."
        )
    if all(part.table is present[0].table for part in present):
        places = [np.arange(len(part)) if part.places is None else part.places for part in present]
        return RowVectors(present[0].table, np.concatenate(places))
    return RowVectors(np.concatenate([part.array() for part in present]))
