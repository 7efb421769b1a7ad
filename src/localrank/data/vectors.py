"""Vectors of documents or queries, by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.sorting import read_only
from localrank._kernels.vectors import Singles, norms
from localrank.data._as_arrays import as_array
from localrank.data._checks import checked_ids
from localrank.data._id_table import IdTable
from localrank.data._strings import Strings


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of documents or queries, by id.

    Ids are compared as texts: 7 is "7". Every value is finite. A vector of zeros is allowed: it
    has no direction, so its cosine with every vector is 0. `n_zero` counts them.

    Parameters
    ----------
    ids : ndarray of shape (n_vectors,)
        Different ids, none missing. Whole numbers become texts.
    values : ndarray of shape (n_vectors, n_dimensions)
        One vector per row. An array of float32 is used as it is, even if it is mapped from a file.
        Other numbers are converted in memory.

    Examples
    --------
    >>> vectors = Vectors.of({"a": [3.0, 4.0], "b": [0.0, 0.0]})
    >>> vectors.n_dimensions, vectors.n_zero
    (2, 1)
    >>> vectors.rows(["b", "c"])
    array([ 1, -1])
    """

    ids: Array
    values: Singles

    def __post_init__(self) -> None:
        values = _checked_values(self.values)
        ids = checked_ids(self.ids, len(values), "ids of vectors", "vector")
        if ids.dtype.kind not in "UTiu":
            raise ValueError(
                f"The ids of vectors must be texts or whole numbers. Got {ids.dtype} instead."
            )
        object.__setattr__(self, "ids", ids if ids.dtype.kind in "UT" else ids.astype(str))
        object.__setattr__(self, "values", values)
        if (place := self._table.first_repeated) is not None:
            raise ValueError(
                f"The ids of vectors must be different. {str(self.ids[place])!r} occurs twice."
            )
        wrong = np.flatnonzero(~np.isfinite(self.norms))
        if wrong.size:
            row = int(wrong[0])
            column = int(np.flatnonzero(~np.isfinite(values[row]))[0])
            raise ValueError(
                f"Vectors must be finite. The vector of {str(self.ids[row])!r} has "
                f"{values[row, column]} at position {column}."
            )

    @classmethod
    def of(cls, source: Any) -> Self:
        """Vectors from a mapping, a pair (ids, array), or Vectors.

        Parameters
        ----------
        source : Vectors, mapping of id to vector, or pair of ids and array
            `Vectors` are returned as they are.

        Examples
        --------
        >>> Vectors.of((["a", "b"], np.eye(2))).values
        array([[1., 0.],
               [0., 1.]], dtype=float32)
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, Mapping):
            return cls(np.array(list(source), object), stacked(source.values(), list(source)))
        if isinstance(source, tuple) and len(source) == 2:
            return cls(*source)
        raise ValueError(
            "Vectors must be a mapping from ids to vectors, a pair (ids, array), or Vectors. "
            f"Got {type(source).__name__} instead. read_vectors reads a file."
        )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Vectors(n_vectors={len(self)}, n_dimensions={self.n_dimensions})"

    @property
    def n_dimensions(self) -> int:
        """How many numbers each vector has."""
        return int(self.values.shape[1])

    @property
    def n_zero(self) -> int:
        """How many vectors have only zeros."""
        return int(np.count_nonzero(self.norms == 0))

    @cached_property
    def norms(self) -> Floats:
        """The Euclidean length of each vector."""
        result = np.empty(len(self.values))
        norms(read_only(self.values, np.float32), result)
        return result

    def rows(self, ids: Any) -> Integers:
        """The position of each id; -1 where an id has no vector."""
        return self._table.rows(Strings.of(as_array(ids) if len(ids) else np.zeros(0, "U1")))

    def take(self, ids: Any, *, missing: Literal["refuse", "zero"] = "refuse") -> Singles:
        """The vectors of some ids, in their order.

        Parameters
        ----------
        ids : sequence of ids
        missing : "refuse" or "zero", default="refuse"
            What to do with an id that has no vector. "refuse": raise an error that names the id.
            "zero": give it a vector of zeros, which is similar to no other.

        Examples
        --------
        >>> Vectors.of({"a": [1.0, 2.0]}).take(["a", "b"], missing="zero")
        array([[1., 2.],
               [0., 0.]], dtype=float32)
        """
        if missing not in ("refuse", "zero"):
            raise ValueError(
                f"The 'missing' argument of take must be 'refuse' or 'zero'. "
                f"Got {missing!r} instead."
            )
        rows = self.rows(ids)
        absent = np.flatnonzero(rows < 0)
        if absent.size and missing == "refuse":
            raise ValueError(
                f"{absent.size:,} of {len(rows):,} ids have no vector; the first is "
                f"{str(ids[int(absent[0])])!r}. missing='zero' gives them zeros."
            )
        result = np.asarray(self.values[rows])
        result[absent] = 0.0
        return result

    @cached_property
    def _table(self) -> IdTable:
        return IdTable(Strings.of(self.ids))


def stacked(vectors: Iterable[Any], ids: Sequence[Any]) -> Singles:
    """A table of float32 from vectors that are given one by one.

    Parameters
    ----------
    vectors : iterable of array-like
    ids : sequence
        Whose vectors they are, for errors.
    """
    result = np.empty((len(ids), 0), np.float32)
    for row, vector in enumerate(vectors):
        values = np.asarray(vector)
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ValueError(
                f"A vector must be a list of numbers. That of {ids[row]!r} has shape "
                f"{values.shape} and type {values.dtype}."
            )
        if row == 0:
            result = np.empty((len(ids), len(values)), np.float32)
        if len(values) != result.shape[1]:
            raise ValueError(
                f"All vectors must have the same length. That of {ids[row]!r} has {len(values)} "
                f"numbers, that of {ids[0]!r} has {result.shape[1]}."
            )
        with np.errstate(over="ignore"):
            result[row] = values
    return result


def _checked_values(given: Any) -> Singles:
    values = given if isinstance(given, np.ndarray) else np.asarray(as_array(given))
    if values.ndim != 2:
        raise ValueError(
            f"Vectors must be a table of shape (vectors, dimensions). "
            f"Got shape {values.shape} instead."
        )
    if not values.size:
        raise ValueError(f"There are no vectors: the table has shape {values.shape}.")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"Vectors must be numbers. Got {values.dtype} instead.")
    # A value too large for float32 becomes infinite, which is refused.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)
