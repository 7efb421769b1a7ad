"""Documents of a log as a table: rows by query, columns by the names of features."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._checks import is_text
from localrank.data._offsets import offsets_of
from localrank.data.feature_logs._values import as_number, shortened

Repeated = Literal["refuse", "first", "last"]
# Number of rows that are put into the table at once.
_BLOCK = 1 << 13
# At most this many tuples of names are kept. Most logs have few; a sparse log may have one for
# each document.
_MAX_KNOWN = 1000
_NUMBERS: set[type] = {float, int}
_NUMBERS_OR_NONE = {*_NUMBERS, type(None)}


class LogTable:
    """Collects documents one after another, and makes a table of them.

    Parameters
    ----------
    features : sequence or array of str, or None
        The columns, in this order. None: all features, in the order of their first mention.
    ignore : sequence of str
        Features to leave out.
    repeated : "refuse", "first" or "last"
        The values to take if a document is logged again for its query.
    """

    def __init__(
        self, features: Sequence[str] | Array | None, ignore: Sequence[str], repeated: Repeated
    ) -> None:
        self.features = None if features is None else [str(name) for name in features]
        self._wanted = None if self.features is None else frozenset(self.features)
        self.ignored = frozenset(ignore)
        self.repeated = repeated
        # The rows of each query's documents.
        self.rows: dict[str, dict[str, int]] = {}
        # Numbers of the names in the order of their first mention, and of tuples of them.
        self._number: dict[str, int] = {}
        self._known: dict[tuple[str, ...], array[int]] = {}
        # Values of all rows one after another, the numbers of their features, and where rows begin.
        self._values, self._numbers = array("d"), array("i")
        self._starts = array("q", [0])
        # The response that each row comes from, and the place of each response.
        self._response_of = array("q")
        self._places: list[str] = []

    def begin(self, place: str) -> None:
        """Begin another response, at this place of a file."""
        self._places.append(place)

    def add(self, query: str, document: str, names: tuple[str, ...], values: list[Any]) -> None:
        """Add a document of the current response."""
        try:
            numbers = self._known.get(names)
        except TypeError:  # a name that is a list or an object
            numbers = None
        if numbers is None:
            numbers = self._new(names)
        if not (kinds := set(map(type, values))) <= _NUMBERS:
            if kinds <= _NUMBERS_OR_NONE:
                values = [math.nan if value is None else value for value in values]
            else:
                values = [
                    as_number(value, name) if self._is_wanted(name) else math.nan
                    for name, value in zip(names, values, strict=True)
                ]
        documents = self.rows.setdefault(query, {})
        row = documents.get(document)
        if row is not None:
            if self._response_of[row] == len(self._places) - 1:
                raise ValueError(f"document {document!r} occurs twice in one response.")
            if self.repeated == "first" or self._same(row, numbers, values):
                return
            if self.repeated == "refuse":
                raise ValueError(
                    f"document {document!r} of query {query!r} has other values than at "
                    f"{self._places[self._response_of[row]]}. Choose the 'first' or the 'last'."
                )
        documents[document] = len(self._response_of)
        try:
            self._values.extend(values)
        except OverflowError:
            for name, value in zip(names, values, strict=True):
                as_number(value, name)
            raise
        self._numbers.extend(numbers)
        self._starts.append(len(self._values))
        self._response_of.append(len(self._places) - 1)

    def _new(self, names: tuple[str, ...]) -> array[int]:
        for name in names:
            if not isinstance(name, str) or not name or not is_text(name):
                raise ValueError(
                    f"the name of a feature must be text, not empty. Got {shortened(name)} instead."
                )
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"the feature {twice!r} occurs twice.")
        number = self._number
        numbers = array("i", [number.setdefault(name, len(number)) for name in names])
        if len(self._known) < _MAX_KNOWN:
            self._known[names] = numbers
        return numbers

    def _is_wanted(self, name: str) -> bool:
        return name not in self.ignored and (self._wanted is None or name in self._wanted)

    def _same(self, row: int, numbers: array[int], values: list[Any]) -> bool:
        entries = slice(self._starts[row], self._starts[row + 1])
        given = np.asarray(values, dtype=np.float64)
        return self._numbers[entries] == numbers and np.array_equal(
            np.asarray(self._values[entries]), given, equal_nan=True
        )

    @property
    def logged(self) -> list[str]:
        """All features of the log that are not ignored, in the order of their first mention."""
        return [name for name in self._number if name not in self.ignored]

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
        """The file and line that a row comes from."""
        return self._places[self._response_of[row]]

    def matrix(self, absent: float | None, by_name: Mapping[str, float]) -> Floats:
        """The features of the rows in their order.

        Parameters
        ----------
        absent : float or None
            The value of a feature that a document's log does not name. None: refuse such
            documents.
        by_name : mapping from feature to float
            Values for some of the features. They come before `absent`.
        """
        columns, order = self.columns, self.order
        width = {name: column for column, name in enumerate(columns)}
        fill = np.full(len(columns), math.nan if absent is None else absent)
        for name, value in by_name.items():
            if name not in width:
                raise ValueError(
                    f"'absent' has a value for {name!r}, but the log has no such feature. Its "
                    f"features are {shortened(columns, 200)}."
                )
            fill[width[name]] = value
        # The column of each feature's number. -1: the feature is not wanted.
        column_of = np.array([width.get(name, -1) for name in self._number], np.int64)
        values, numbers = np.frombuffer(self._values), np.frombuffer(self._numbers, np.int32)
        starts = np.frombuffer(self._starts, np.int64)
        table = np.empty((len(order), len(columns)))
        for begin in range(0, len(order), _BLOCK):
            rows = order[begin : begin + _BLOCK]
            block = table[begin : begin + len(rows)]
            block[:] = fill
            sizes = starts[rows + 1] - starts[rows]
            source = np.repeat(starts[rows] - offsets_of(sizes)[:-1], sizes)
            source += np.arange(len(source))
            column = column_of[numbers[source]]
            wanted = column >= 0
            row = np.repeat(np.arange(len(rows)), sizes)[wanted]
            block[row, column[wanted]] = values[source[wanted]]
            if absent is None:
                named = np.zeros(block.shape, bool)
                named[row, column[wanted]] = True
                named[:, [width[name] for name in by_name]] = True
                self._refuse_incomplete(named, columns, rows)
        self._refuse_too_large(table, columns, order)
        return table

    def _refuse_incomplete(self, named: Flags, columns: list[str], rows: Integers) -> None:
        lacking = np.argwhere(~named)
        if lacking.size:
            row, column = int(rows[lacking[0, 0]]), int(lacking[0, 1])
            raise ValueError(
                f"{self.place(row)}: document {self._document(row)!r} has no feature "
                f"{columns[column]!r}, but other documents have it. If the log is sparse, its "
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
