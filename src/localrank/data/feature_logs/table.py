"""Documents of a log as a table: rows by query, columns by the names of features."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.data.checks import is_text
from localrank.data.feature_logs.values import as_number, shortened
from localrank.data.offsets import offsets_of
from localrank.kernels.numbers import MAX_MAGNITUDE

Repeated = Literal["refuse", "first", "last"]
# Rows that are put into the table at once.
_BLOCK = 1 << 15


class LogTable:
    """Collects documents one after another, and makes the table of them.

    Parameters
    ----------
    features : sequence of str or None
        The columns, in this order; None: all, in the order in which the log first names them.
    ignore : sequence of str
        Features to leave out.
    repeated : "refuse", "first" or "last"
        Which values a document has that is logged again for its query.
    """

    def __init__(
        self, features: Sequence[str] | None, ignore: Sequence[str], repeated: Repeated
    ) -> None:
        self.features = None if features is None else list(features)
        self.ignored = frozenset(ignore)
        self.repeated = repeated
        # The rows of each query's documents.
        self.rows: dict[str, dict[str, int]] = {}
        # The different tuples of names, by number.
        self._numbers: dict[tuple[str, ...], int] = {}
        self._names: list[tuple[str, ...]] = []
        self._values = array("d")
        self._starts = array("q", [0])
        self._names_of, self._response_of = array("q"), array("q")
        self._places: list[str] = []

    def begin(self, place: str) -> None:
        """Begin with another response, which is at this place of a file."""
        self._places.append(place)

    def add(self, query: str, document: str, names: tuple[str, ...], values: list[Any]) -> None:
        """Take a document of the response."""
        try:
            number = self._numbers.get(names)
        except TypeError:  # a name that is a list or an object
            number = None
        if number is None:
            number = self._new(names)
        if not {float, int} >= set(map(type, values)):
            values = [
                as_number(value, name) if self._is_wanted(name) else math.nan
                for name, value in zip(names, values, strict=True)
            ]
        documents = self.rows.setdefault(query, {})
        row = documents.get(document)
        if row is not None:
            if self._response_of[row] == len(self._places) - 1:
                raise ValueError(f"document {document!r} is there twice, and a query has it once.")
            if self.repeated == "first" or self._same(row, number, values):
                return
            if self.repeated == "refuse":
                raise ValueError(
                    f"document {document!r} of query {query!r} again, with other values than at "
                    f"{self._places[self._response_of[row]]}. Choose the 'first' or the 'last'."
                )
        documents[document] = len(self._names_of)
        try:
            self._values.extend(values)
        except OverflowError:
            for name, value in zip(names, values, strict=True):
                as_number(value, name)
            raise
        self._starts.append(len(self._values))
        self._names_of.append(number)
        self._response_of.append(len(self._places) - 1)

    def _new(self, names: tuple[str, ...]) -> int:
        for name in names:
            if not isinstance(name, str) or not name or not is_text(name):
                raise ValueError(
                    f"the name of a feature must be text, not empty. Got {shortened(name)} instead."
                )
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"the feature {twice!r} is there twice.")
        number = self._numbers[names] = len(self._names)
        self._names.append(names)
        return number

    def _is_wanted(self, name: str) -> bool:
        return name not in self.ignored and (self.features is None or name in self.features)

    def _same(self, row: int, number: int, values: list[Any]) -> bool:
        known = np.asarray(self._values[self._starts[row] : self._starts[row + 1]])
        given = np.asarray(values, dtype=np.float64)
        return self._names_of[row] == number and np.array_equal(known, given, equal_nan=True)

    @property
    def logged(self) -> list[str]:
        """All features of the log that are not ignored, in the order of their first mention."""
        names = dict.fromkeys(name for names in self._names for name in names)
        return [name for name in names if name not in self.ignored]

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        logged = self.logged
        if self.features is None:
            if not logged:
                raise ValueError("no document has a feature.")
            return logged
        if absent := [name for name in self.features if name not in set(logged)]:
            listed = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
            raise ValueError(
                f"the log has no feature {listed}. Its features are {shortened(logged, 200)}."
            )
        return self.features

    @property
    def order(self) -> Integers:
        """The rows, query by query."""
        return np.array(
            [row for documents in self.rows.values() for row in documents.values()], np.int64
        )

    def place(self, row: int) -> str:
        """Where a row comes from."""
        return self._places[self._response_of[row]]

    def matrix(self, absent: float | None, by_name: Mapping[str, float]) -> Floats:
        """The features of the rows in their order.

        Parameters
        ----------
        absent : float or None
            The value of a feature that the log of a document does not name. None refuses such
            documents.
        by_name : mapping from feature to float
            The same for some features.
        """
        columns, order = self.columns, self.order
        width = {name: column for column, name in enumerate(columns)}
        if absent is None:
            self._refuse_incomplete([name for name in columns if name not in by_name], order)
        fill = np.full(len(columns), math.nan if absent is None else absent)
        for name, value in by_name.items():
            if name not in width:
                raise ValueError(
                    f"the log has no feature {name!r}, for which 'absent' has a value. Its "
                    f"features are {shortened(columns, 200)}."
                )
            fill[width[name]] = value
        # The columns of all tuples of names one after another; -1 for a feature not wanted.
        targets = np.array(
            [width.get(name, -1) for names in self._names for name in names], np.int64
        )
        first = offsets_of(np.array([len(names) for names in self._names], np.int64))
        values, starts = np.frombuffer(self._values), np.frombuffer(self._starts, np.int64)
        kinds = np.frombuffer(self._names_of, np.int64)
        table = np.empty((len(order), len(columns)))
        for begin in range(0, len(order), _BLOCK):
            rows = order[begin : begin + _BLOCK]
            table[begin : begin + len(rows)] = fill
            sizes = starts[rows + 1] - starts[rows]
            within = np.arange(sizes.sum()) - np.repeat(offsets_of(sizes)[:-1], sizes)
            target = targets[np.repeat(first[kinds[rows]], sizes) + within]
            source = np.repeat(starts[rows], sizes) + within
            into = np.repeat(np.arange(begin, begin + len(rows)), sizes)
            wanted = target >= 0
            table[into[wanted], target[wanted]] = values[source[wanted]]
        self._refuse_too_large(table, columns, order)
        return table

    def _refuse_incomplete(self, columns: list[str], order: Integers) -> None:
        lacks = [next((c for c in columns if c not in names), None) for names in self._names]
        kinds: Array = np.frombuffer(self._names_of, np.int64)[order]
        wrong = np.flatnonzero(np.array([name is not None for name in lacks])[kinds])
        if wrong.size:
            row = int(order[wrong[0]])
            raise ValueError(
                f"{self.place(row)}: document {self._document(row)!r} has no feature "
                f"{lacks[self._names_of[row]]!r}, which others have. If the log is sparse, its "
                f"format is 'solr-sparse'."
            )

    def _refuse_too_large(self, table: Floats, columns: list[str], order: Integers) -> None:
        wrong = np.argwhere(np.abs(table) > MAX_MAGNITUDE)
        if wrong.size:
            position, column = wrong[0].tolist()
            row = int(order[position])
            raise ValueError(
                f"{self.place(row)}: the feature {columns[column]!r} of document "
                f"{self._document(row)!r} must lie between -{MAX_MAGNITUDE:g} and "
                f"{MAX_MAGNITUDE:g}, or be missing. Got {table[position, column]:g} instead."
            )

    def _document(self, row: int) -> str:
        rows = (pair for documents in self.rows.values() for pair in documents.items())
        return next(document for document, number in rows if number == row)
