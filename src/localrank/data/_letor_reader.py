"""The work behind `read_letor`: blocks of lines, rows, and errors with a line number."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Integers
from localrank._kernels import parsing
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank._kernels.parsing import MAX_FEATURES
from localrank.data import _letor_messages as letor_messages
from localrank.data._checks import fits_fixed_width, natural_ids, text_ids
from localrank.data._column_record import ColumnRecord
from localrank.data._compression import plain_name
from localrank.data._letor_messages import shown_token
from localrank.data._line_blocks import line_blocks
from localrank.data._no_features import warn_of_suspects
from localrank.data._query_sizes import (
    check_sizes,
    read_sizes,
    sizes_beside,
    warn_of_unused,
)
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError

# The longest line, in bytes: room for the largest number of features with 150 digits each.
MAX_LINE = 1 << 24
_QUERY_IN_COMMENT = re.compile(rb"^[^#]*#[ \t\v\f]*qid[ \t\v\f]*[=:]")


@dataclass(frozen=True)
class TrainingIds:
    """The feature ids of the training data of a model that files are read for."""

    n_features: int
    # Whether it is known where they begin: data that is not LETOR text has no ids.
    known_base: bool


class LetorReader:
    """Reads files line by line, and keeps what it knows of the dataset."""

    def __init__(
        self,
        paths: list[Path],
        n_features: int | None,
        dtype: Any,
        zero_based: bool = False,
        like: TrainingIds | None = None,
    ) -> None:
        self.paths = paths
        # Numbers of features by file: the place of the largest id in it.
        self.n_columns: dict[Path, int] = {}
        self.two_places = False
        self.like = like
        if n_features is None and like is not None:
            n_features = like.n_features
        self.n_features = n_features
        self.features = GrowingTable(dtype, n_features or 0)
        self.labels = GrowingTable(np.float64, 1)
        self.id_sizes = GrowingTable(np.uint16, 1)
        self.id_texts: list[NDArray[np.uint8]] = []
        self.capacity = 0
        self.bytes_left = sum(os.stat(path).st_size for path in paths)
        self.state = np.zeros(parsing.STATE_SIZE, dtype=np.int64)
        self.first_feature = 0 if zero_based else 1
        self.state[parsing.FIRST_FEATURE] = self.first_feature
        self.prefixes = parsing.feature_prefixes(self.features.width, self.first_feature)
        self.first_row = 0
        self.seen = np.zeros(self.features.width, dtype=np.int64)
        self.fixes = np.empty((2 * MAX_FEATURES, 5), dtype=np.int64)
        self.query_numbers: dict[str, int] = {}
        self.query_paths: list[Path] = []
        self.run_queries: list[Integers] = []
        self.run_begins: list[Integers] = []

    def read(self, path: Path) -> None:
        """Add the lines of a file."""
        self.state[parsing.LINE] = 1
        self.state[parsing.QUERY_PLACE] = parsing.AFTER_LABEL
        self.state[parsing.DOCUMENT_PLACE] = parsing.UNKNOWN
        self.first_row = int(self.state[parsing.ROW])
        n_queries_before = len(self.query_numbers)
        for text, begin, stop in self._blocks(path):
            self._read_lines(path, text, begin, stop, n_queries_before)
        if self.state[parsing.ROW] == self.first_row:
            raise ValueError(
                f"{path}: the file has no documents. Each needs a line like '0 qid:1 1:0.5 2:0.3'."
            )
        if self.state[parsing.QUERY_PLACE] == parsing.NOT_IN_FILE:
            self._add_sizes(path)
        self._end_file(path)
        warn_of_unused(path)

    def _end_file(self, path: Path) -> None:
        """Note how many features the file has, and whether it has document ids in two places."""
        self.two_places |= bool(self.state[parsing.DOCUMENT_PLACE] == parsing.BOTH)
        self.n_columns[path] = int(self.state[parsing.LARGEST_FEATURE])
        self.state[parsing.LARGEST_FEATURE] = 0

    def warn_of_unequal_files(self, stacklevel: int) -> None:
        """Warn if files differ in their largest feature ids, and nobody said how many there are."""
        if self.n_features is None and len(set(self.n_columns.values())) > 1:
            text = letor_messages.unequal(self.n_columns, self.first_feature)
            warnings.warn(text, stacklevel=stacklevel + 1)

    def _blocks(self, path: Path) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
        return line_blocks(path, MAX_LINE, lambda: int(self.state[parsing.LINE]))

    def _read_lines(
        self, path: Path, text: NDArray[np.uint8], begin: int, stop: int, n_queries_before: int
    ) -> None:
        state = self.state
        address = text.ctypes.data
        state[parsing.POSITION] = address + begin
        state[parsing.N_RUNS] = state[parsing.ID_BYTES] = state[parsing.DOCUMENT_BYTES] = 0
        # No document takes fewer than the eight bytes of "0 qid:a\n".
        runs = np.empty(((stop - begin) // 8 + 1, 2), dtype=np.int64)
        ids, documents = np.empty((2, stop - begin), dtype=np.uint8)
        status = -1
        while status != parsing.DONE:
            state[parsing.N_FIXES] = 0
            status = parsing.parse_lines(
                address + stop,
                state,
                self.capacity,
                self.features.values,
                self.features.width,
                self.n_features or MAX_FEATURES,
                self.labels.values,
                documents,
                self.id_sizes.values,
                self.prefixes.ctypes.data,
                self.seen,
                runs,
                ids,
                self.fixes,
            )
            self._apply_fixes(path, text)
            if status == parsing.NEED_ROWS:
                self._reserve(path, text, stop)
            elif status == parsing.NEED_COLUMNS:
                self._widen(path, int(state[parsing.NEEDED]), stop - begin)
            elif status == parsing.NO_QID and self._query_is_elsewhere(path, text):
                continue
            elif status not in (parsing.DONE, parsing.NEED_FIXES):
                raise self._error(path, text, status)
        self.bytes_left -= stop - begin
        self.id_texts.append(documents[: state[parsing.DOCUMENT_BYTES]].copy())
        self._add_runs(path, runs[: state[parsing.N_RUNS]], ids, n_queries_before)

    def _reserve(self, path: Path, text: NDArray[np.uint8], stop: int) -> None:
        """Make room for the rest of the input, assuming that its lines are as long as these."""
        rest = text[self.state[parsing.POSITION] - text.ctypes.data : stop]
        n_lines = int(np.count_nonzero(rest == ord("\n")))
        expected = int(1.02 * n_lines * max(1, self.bytes_left / len(rest))) + 16
        self.capacity = self._room(expected, self.features.width, len(rest))
        with self._memory_named(path, self.features.width):
            if self.features.size_of(int(self.state[parsing.ROW]) + n_lines) > _memory():
                self.capacity = int(self.state[parsing.ROW]) + n_lines
                raise MemoryError
            for table in (self.features, self.labels, self.id_sizes):
                table.reserve(self.capacity)

    def _widen(self, path: Path, needed: int, n_bytes: int) -> None:
        # The first row tells the width. If later ones are wider, few steps must suffice.
        width = min(max(needed, self.features.width * 5 // 4), MAX_FEATURES)
        n_rows = int(self.state[parsing.ROW])
        # Wide rows may leave room for fewer of them than was expected.
        self.capacity = min(self.capacity, self._room(self.capacity - n_rows, width, n_bytes))
        with self._memory_named(path, width):
            # One row more: the line that is read again has written a part of it already.
            self.features.widen(n_rows + 1, self.capacity, width)
        self.prefixes = parsing.feature_prefixes(width, self.first_feature)
        self.seen = np.zeros(width, dtype=np.int64)

    def _room(self, expected: int, width: int, n_bytes: int) -> int:
        """The number of rows to make room for: those that were read, and those expected.

        A value takes at least four bytes of text, as in ` 1:0`, which limits what to expect. Lines
        that leave out most features may exceed that: then the room grows by a quarter at a time.
        """
        n_rows = int(self.state[parsing.ROW])
        filled = max(self.bytes_left, n_bytes) // (4 * max(width, 1))
        return n_rows + max(min(expected, filled), n_rows // 4, 16)

    @contextmanager
    def _memory_named(self, path: Path, width: int) -> Iterator[None]:
        """Say what was too large if memory does not suffice."""
        try:
            yield
        except MemoryError:
            size = self.capacity * width * self.features.values.itemsize / 1e9
            raise MemoryError(
                f"{path}:{self.state[parsing.LINE]}: {self.capacity:,} rows of {width:,} features "
                f"take {size:,.1f} GB, which is more than the memory that is free. Features that "
                f"no line mentions take as much as others. dtype=np.float32 halves it."
            ) from None

    def _apply_fixes(self, path: Path, text: NDArray[np.uint8]) -> None:
        """Do what the kernel leaves to Python: numbers hard to round, ids beyond ASCII."""
        address = text.ctypes.data
        for row, column, line, begin, end in self.fixes[: self.state[parsing.N_FIXES]].tolist():
            token = text[begin - address : end - address].tobytes()
            wrong = None
            if column == parsing.FIX_DOCUMENT_ID:
                if not _is_utf_8(token):
                    wrong = f"document id {shown_token(token)} {letor_messages.NOT_UTF_8}"
            elif column == parsing.FIX_LABEL:
                self.labels.values[row] = value = float(token)
                if abs(value) > MAX_MAGNITUDE:
                    wrong = f"label {shown_token(token)} {letor_messages.LARGE_LABEL}"
            else:
                place = row * self.features.width + column
                with np.errstate(over="ignore"):
                    self.features.values[place] = float(token)
                if abs(float(self.features.values[place])) > MAX_MAGNITUDE:
                    feature = column + self.first_feature
                    name = f"value {shown_token(token)} of feature {feature}"
                    wrong = f"{name} {letor_messages.LARGE_VALUE}"
            if wrong is not None:
                raise ValueError(f"{path}:{line}: {wrong}")

    def _add_runs(
        self, path: Path, runs: Integers, ids: NDArray[np.uint8], n_queries_before: int
    ) -> None:
        """Give each run of lines with the same query id the number of its query."""
        text = ids[: self.state[parsing.ID_BYTES]].tobytes()
        if not _is_utf_8(text):
            tokens = text.split(b"\n")
            wrong = next(i for i, token in enumerate(tokens) if not _is_utf_8(token))
            message = f"query id {shown_token(tokens[wrong])} {letor_messages.NOT_UTF_8}"
            raise ValueError(f"{path}:{runs[wrong, 1]}: {message}")
        names = text.decode().split("\n")[:-1]
        numbers = self.query_numbers
        queries = np.array(
            [numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64
        )
        if (twice := np.flatnonzero(queries < n_queries_before)).size:
            query, line = queries[twice[0]], runs[twice[0], 1]
            raise ValueError(
                f"{path}:{line}: query {names[twice[0]]} is also in {self.query_paths[query]}; "
                f"all lines of a query must be in one file."
            )
        self.query_paths += [path] * (len(numbers) - len(self.query_paths))
        self.run_queries.append(queries)
        self.run_begins.append(runs[:, 0].copy())

    def _query_is_elsewhere(self, path: Path, text: NDArray[np.uint8]) -> bool:
        """Whether a file whose first document has no query id after the label has it elsewhere."""
        state = self.state
        if state[parsing.ROW] > self.first_row or state[parsing.QUERY_PLACE]:
            return False
        line = text[state[parsing.POSITION] - text.ctypes.data :].tobytes().partition(b"\n")[0]
        if _QUERY_IN_COMMENT.search(line):
            state[parsing.QUERY_PLACE] = parsing.IN_COMMENT
        elif sizes_beside(path) is not None:
            state[parsing.QUERY_PLACE] = parsing.NOT_IN_FILE
        return bool(state[parsing.QUERY_PLACE])

    def _add_sizes(self, path: Path) -> None:
        """Name the queries after the file, if another file has their sizes."""
        sizes = read_sizes(path)
        check_sizes(path, sizes, int(self.state[parsing.ROW]) - self.first_row)
        n_before = len(self.query_numbers)
        # The file's name keeps the queries of different files apart.
        names = [f"{plain_name(path)}:{number}" for number in range(1, len(sizes) + 1)]
        if names[0] in self.query_numbers:
            other = self.query_paths[self.query_numbers[names[0]]]
            raise ValueError(
                f"{path}: the file has no query ids, and its queries cannot be named after it, "
                f"because {other} has the same name. Read the files one by one."
            )
        self.query_numbers.update(zip(names, range(n_before, n_before + len(names)), strict=True))
        self.query_paths += [path] * len(names)
        self.run_queries.append(np.arange(n_before, n_before + len(names)))
        self.run_begins.append(self.first_row + np.cumsum(sizes) - sizes)

    def _error(self, path: Path, text: NDArray[np.uint8], status: int) -> ValueError:
        """The error for a line that the kernel has refused."""
        begin, line = self.state[parsing.POSITION], self.state[parsing.LINE]
        rest = text[begin - text.ctypes.data :].tobytes().partition(b"\n")[0]
        before = rest[: self.state[parsing.TOKEN] - begin]
        after = rest[len(before) :]
        token = (after.split(maxsplit=1) or [b""])[0] if after[:1].strip() else b""
        if status != parsing.LONG_DOCUMENT_ID:
            token = token.partition(b"#")[0]
        kind = None
        if status in (parsing.BAD_LABEL, parsing.NO_QID):
            kind = letor_messages.other_kind(rest)
        if b"\0" in rest:
            message = letor_messages.NUL
        elif kind is not None:
            message = kind
        elif b"\r" in rest.rstrip(b"\r")[: len(before) + 1]:
            message = letor_messages.LONE_RETURN
        else:
            message = letor_messages.message(status, token, self.n_features, self.first_feature)
        known_base = self.like is not None and self.like.known_base
        if known_base and status in (parsing.BAD_FEATURE, parsing.LARGE_FEATURE):
            message += ", as in the training data"
        elif self.first_feature == 1 and status == parsing.BAD_FEATURE and token.startswith(b"0:"):
            ways = ("pass zero_based=True", "add --zero-based")
            advice = (f"if the file counts them from 0, {way}" for way in ways)
            return AdvisedError(f"{path}:{line}: {message};", *advice)
        return ValueError(f"{path}:{line}: {message}")

    def dataset(self) -> RankingDataset:
        """All rows that were read, as a dataset."""
        n_rows, n_columns = int(self.state[parsing.ROW]), max(self.n_columns.values())
        if n_columns == 0 and self.n_features is None:
            raise ValueError(f"{self.paths[0]}: no line has a feature, like '1:0.5'.")
        n_ids, n_words = self.state[[parsing.N_DOCUMENT_IDS, parsing.N_FIRST_WORDS]].tolist()
        documents = None
        if n_ids + n_words == n_rows and not self.two_places:
            documents = _strings(np.concatenate(self.id_texts), self.id_sizes.finish(n_rows, 1))
            self.id_texts.clear()
        elif n_ids:
            warnings.warn(
                f"{self.paths[0]}: {n_rows - n_ids:,} of {n_rows:,} lines have no '#docid = ...', "
                f"so all document ids are left out",
                stacklevel=3,
            )
        self.warn_of_unequal_files(stacklevel=3)
        features = self.features.finish(n_rows, self.n_features or n_columns)
        labels = self.labels.finish(n_rows, 1).ravel()
        offsets, order = _group(
            np.concatenate(self.run_queries), np.concatenate(self.run_begins), n_rows
        )
        if order is not None:
            features, labels = features[order], labels[order]
            documents = None if documents is None else documents[order]
        if n_words and documents is not None and _repeated_in_query(documents, offsets):
            documents = None  # words about documents, not names of them
        dataset = RankingDataset._checked(
            features=features,
            relevance=labels,
            offsets=offsets,
            query_ids=natural_ids(list(self.query_numbers)),
            document_ids=documents,
            feature_names=None,
            input_order=order,
            column_record=ColumnRecord(zero_based=not self.first_feature),
        )
        warn_of_suspects(dataset, "letor", f"{self.paths[0]}: ")
        return dataset


def _repeated_in_query(documents: Array, offsets: Integers) -> bool:
    """Whether a query has two documents of the same id."""
    _, numbers = np.unique(documents, return_inverse=True)
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return len(np.unique(queries * len(documents) + numbers)) < len(documents)


def _memory() -> float:
    """Bytes of memory of this machine; infinite if it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return np.inf


def _strings(text: NDArray[np.uint8], sizes: Array) -> Array:
    """The strings of a text in UTF-8, where a newline follows each; sizes are in bytes."""
    longest = int(sizes.max())
    if fits_fixed_width(len(sizes), longest, len(text)) and text.max() < 128:
        letters = np.zeros((len(sizes), longest), dtype=np.uint32)
        parsing.spread_letters(text, sizes.ravel(), letters)
        return letters.view(f"U{longest}").ravel()
    return text_ids(text.tobytes().decode().split("\n")[:-1])


def _is_utf_8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _group(queries: Integers, begins: Integers, n_rows: int) -> tuple[Integers, Integers | None]:
    """Offsets of the queries, and the order of rows that makes each query contiguous.

    Takes the query number and the first row of each run of rows. The order is None if nothing has
    to move.
    """
    sizes = np.diff(begins, append=n_rows)
    offsets = np.zeros(queries.max() + 2, dtype=np.int64)
    np.add.at(offsets, queries + 1, sizes)
    offsets = np.cumsum(offsets)
    if np.all(queries[1:] >= queries[:-1]):
        return offsets, None
    runs = np.argsort(queries, kind="stable")
    sizes = sizes[runs]
    targets = np.cumsum(sizes) - sizes
    return offsets, np.arange(n_rows) + np.repeat(begins[runs] - targets, sizes)


class GrowingTable:
    """Rows of equal width, in one piece of memory that grows.

    Growing moves pages, not bytes, so no row exists twice. The first `reserve` takes no memory
    before rows are written. Later ones do, because numpy fills the new room with zeros: reserve
    little more than is needed.

    Examples
    --------
    >>> table = GrowingTable(np.float64, width=2)
    >>> table.reserve(3)
    >>> table.values[:4] = [1.0, 2.0, 3.0, 4.0]
    >>> table.finish(n_rows=2, width=2)
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(self, dtype: Any, width: int) -> None:
        self.values = np.zeros(0, dtype=dtype)
        self.width = width

    def size_of(self, n_rows: int) -> int:
        """Bytes that some rows take."""
        return n_rows * self.width * self.values.itemsize

    def reserve(self, n_rows: int) -> None:
        """Make room for some rows in all."""
        size = n_rows * self.width
        if self.values.size == 0:
            self.values = np.zeros(size, dtype=self.values.dtype)
        elif size > self.values.size:
            self.values.resize(size, refcheck=False)

    def widen(self, n_rows: int, capacity: int, width: int) -> None:
        """Give the rows more columns, which are 0, and room for as many rows as `capacity`."""
        before, self.width = self.width, width
        self.reserve(capacity)
        parsing.respace(self.values, n_rows, before, width)

    def finish(self, n_rows: int, width: int) -> Array:
        """The rows as a table of that width; all other room is given back."""
        if width < self.width:
            parsing.respace(self.values, n_rows, self.width, width)
        self.values.resize(n_rows * width, refcheck=False)
        return self.values.reshape(n_rows, width)
