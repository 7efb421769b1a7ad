"""The work behind `read_letor`: blocks of lines, growing tables, and errors with a line number."""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.arrays import Array, Integers
from localrank.data.checks import natural_ids
from localrank.data.compression import damage_named, open_binary
from localrank.data.dataset import RankingDataset
from localrank.kernels import parsing
from localrank.kernels.parsing import MARGIN, MAX_FEATURES, MAX_ID_LENGTH

_BLOCK = 1 << 20
_NEGATIVE = "is negative; labels are 0 or larger: map negative labels to 0"


class _Table:
    """Rows of equal width that grow in both directions, in one piece of memory.

    Fresh memory is zero and not occupied before it is written to; growing moves pages, not
    bytes. So the rows need never be held twice.
    """

    def __init__(self, dtype: Any, width: int) -> None:
        self.values = np.zeros(0, dtype=dtype)
        self.width = width

    def reserve(self, n_rows: int) -> None:
        size = n_rows * self.width
        if self.values.size == 0:
            self.values = np.zeros(size, dtype=self.values.dtype)
        elif size > self.values.size:
            self.values.resize(size, refcheck=False)

    def widen(self, n_rows: int, capacity: int, width: int) -> None:
        before, self.width = self.width, width
        self.reserve(capacity)
        parsing.respace(self.values, n_rows, before, width)

    def finish(self, n_rows: int, width: int) -> Array:
        if width < self.width:
            parsing.respace(self.values, n_rows, self.width, width)
        self.values.resize(n_rows * width, refcheck=False)
        return self.values.reshape(n_rows, width)


class LetorReader:
    """What is known of a dataset while its files are read."""

    def __init__(self, paths: list[Path], n_features: int | None, dtype: Any) -> None:
        self.paths = paths
        self.n_features = n_features
        self.features = _Table(dtype, n_features or 0)
        self.labels = _Table(np.float64, 1)
        self.documents = _Table(np.uint32, 0)
        self.capacity = 0
        self.bytes_left = sum(os.stat(path).st_size for path in paths)
        self.state = np.zeros(parsing.STATE_SIZE, dtype=np.int64)
        self.prefixes = parsing.feature_prefixes(self.features.width)
        self.seen = np.zeros(self.features.width, dtype=np.int64)
        self.fixes = np.empty((2 * MAX_FEATURES, 5), dtype=np.int64)
        self.query_numbers: dict[str, int] = {}
        self.query_paths: list[Path] = []
        self.run_queries: list[Integers] = []
        self.run_begins: list[Integers] = []

    def read(self, path: Path) -> None:
        """Add the lines of a file."""
        self.state[parsing.LINE] = 1
        first_row = self.state[parsing.ROW]
        n_queries_before = len(self.query_numbers)
        for text, begin, stop in _blocks(path):
            self._read_lines(path, text, begin, stop, n_queries_before)
        if self.state[parsing.ROW] == first_row:
            raise ValueError(
                f"{path}: no documents; a line like '0 qid:1 1:0.5 2:0.3' is needed for each."
            )

    def _read_lines(
        self, path: Path, text: NDArray[np.uint8], begin: int, stop: int, n_queries_before: int
    ) -> None:
        state = self.state
        address = text.ctypes.data
        state[parsing.POSITION] = address + begin
        state[parsing.N_RUNS] = state[parsing.ID_BYTES] = 0
        # No document takes fewer than the eight bytes of "0 qid:a\n".
        runs = np.empty(((stop - begin) // 8 + 1, 2), dtype=np.int64)
        ids = np.empty(stop - begin, dtype=np.uint8)
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
                self.documents.values,
                self.documents.width,
                self.prefixes.ctypes.data,
                self.seen,
                runs,
                ids,
                self.fixes,
            )
            self._apply_fixes(path, text)
            if status == parsing.NEED_ROWS:
                self._reserve(text, stop)
            elif status == parsing.NEED_COLUMNS:
                self._widen_features(int(state[parsing.NEEDED]))
            elif status == parsing.NEED_ID_WIDTH:
                self._widen_ids(int(state[parsing.NEEDED]))
            elif status not in (parsing.DONE, parsing.NEED_FIXES):
                raise self._error(path, text, status)
        self.bytes_left -= stop - begin
        self._add_runs(path, runs[: state[parsing.N_RUNS]], ids, n_queries_before)

    def _reserve(self, text: NDArray[np.uint8], stop: int) -> None:
        """Make room for as many rows as the rest of the input has, were its lines like these."""
        rest = text[self.state[parsing.POSITION] - text.ctypes.data : stop]
        n_lines = np.count_nonzero(rest == ord("\n"))
        expected = int(1.02 * n_lines * max(1, self.bytes_left / len(rest))) + 16
        self.capacity = max(int(self.state[parsing.ROW]) + expected, self.capacity * 5 // 4)
        for table in (self.features, self.labels, self.documents):
            table.reserve(self.capacity)

    def _widen_features(self, needed: int) -> None:
        # The first row tells the width; if later ones keep adding to it, few steps must do.
        width = min(max(needed, self.features.width * 5 // 4), MAX_FEATURES)
        # One row more: part of the line to be read again is in place already.
        self.features.widen(int(self.state[parsing.ROW]) + 1, self.capacity, width)
        self.prefixes = parsing.feature_prefixes(width)
        self.seen = np.zeros(width, dtype=np.int64)

    def _widen_ids(self, needed: int) -> None:
        width = max(needed, self.documents.width * 5 // 4)
        self.documents.widen(int(self.state[parsing.ROW]), self.capacity, width)

    def _apply_fixes(self, path: Path, text: NDArray[np.uint8]) -> None:
        """Put in what the kernel leaves to Python: numbers hard to round, ids beyond ASCII."""
        address = text.ctypes.data
        for row, column, line, begin, end in self.fixes[: self.state[parsing.N_FIXES]].tolist():
            token = text[begin - address : end - address].tobytes()
            if column == parsing.FIX_DOCUMENT_ID:
                points = np.array(
                    [ord(c) for c in token.decode("utf-8", "backslashreplace")], dtype=np.uint32
                )
                if len(points) > self.documents.width:
                    self._widen_ids(len(points))
                start = row * self.documents.width
                self.documents.values[start : start + len(points)] = points
                self.state[parsing.LONGEST_ID] = max(self.state[parsing.LONGEST_ID], len(points))
                continue
            value = float(token)
            name = f"value {_shown(token)}"
            if column == parsing.FIX_LABEL:
                name = f"label {_shown(token)}"
                if value < 0:
                    raise ValueError(f"{path}:{line}: {name} {_NEGATIVE}")
                self.labels.values[row] = value
            else:
                place = row * self.features.width + column
                with np.errstate(over="ignore"):
                    self.features.values[place] = value
                value = float(self.features.values[place])
            if np.isinf(value):
                raise ValueError(f"{path}:{line}: {name} is too large; numbers must be finite")

    def _add_runs(
        self, path: Path, runs: Integers, ids: NDArray[np.uint8], n_queries_before: int
    ) -> None:
        """Give each run of lines with the same query id the number of its query."""
        text = ids[: self.state[parsing.ID_BYTES]].tobytes().decode("utf-8", "backslashreplace")
        names = text.split("\n")[:-1]
        numbers = self.query_numbers
        queries = np.array(
            [numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64
        )
        if (twice := np.flatnonzero(queries < n_queries_before)).size:
            query, line = queries[twice[0]], runs[twice[0], 1]
            raise ValueError(
                f"{path}:{line}: query {names[twice[0]]} is also in {self.query_paths[query]}; "
                f"all lines of a query must be in one file"
            )
        self.query_paths += [path] * (len(numbers) - len(self.query_paths))
        self.run_queries.append(queries)
        self.run_begins.append(runs[:, 0].copy())

    def _error(self, path: Path, text: NDArray[np.uint8], status: int) -> ValueError:
        """The error of a line that the kernel has refused."""
        begin, line = self.state[parsing.POSITION], self.state[parsing.LINE]
        rest = text[begin - text.ctypes.data :].tobytes().partition(b"\n")[0]
        after = rest[self.state[parsing.TOKEN] - begin :]
        token = (after.split(maxsplit=1) or [b""])[0] if after[:1].strip() else b""
        if status != parsing.LONG_DOCUMENT_ID:
            token = token.partition(b"#")[0]
        if b"\0" in rest:
            message = "NUL byte; the file is damaged or is no text in UTF-8"
        else:
            message = _message(status, token, self.n_features)
        return ValueError(f"{path}:{line}: {message}")

    def dataset(self) -> RankingDataset:
        """The dataset of all that was read."""
        n_rows, n_columns = int(self.state[parsing.ROW]), int(self.state[parsing.LARGEST_FEATURE])
        if n_columns == 0 and self.n_features is None:
            raise ValueError(f"{self.paths[0]}: no features in any line, like '1:0.5'")
        n_ids = int(self.state[parsing.N_IDS])
        documents = None
        if n_ids == n_rows:
            points = self.documents.finish(n_rows, int(self.state[parsing.LONGEST_ID]))
            documents = points.view(f"U{points.shape[1]}").ravel()
        elif n_ids:
            warnings.warn(
                f"{self.paths[0]}: {n_rows - n_ids} of {n_rows} lines have no '#docid = ...'; "
                f"all document ids are left out",
                stacklevel=3,
            )
        features = self.features.finish(n_rows, self.n_features or n_columns)
        labels = self.labels.finish(n_rows, 1).ravel()
        offsets, order = _group(
            np.concatenate(self.run_queries), np.concatenate(self.run_begins), n_rows
        )
        if order is not None:
            features, labels = features[order], labels[order]
            documents = None if documents is None else documents[order]
        return RankingDataset._checked(
            features=features,
            relevance=labels,
            offsets=offsets,
            query_ids=natural_ids(list(self.query_numbers)),
            document_ids=documents,
            feature_names=None,
            input_order=order,
        )


def _blocks(path: Path) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
    """A file's whole lines, block by block: a buffer, and where in it they begin and end."""
    buffer = bytearray(_BLOCK + 2 * MARGIN)
    begin = stop = MARGIN
    at_start = True
    with open_binary(path) as file:
        while True:
            with damage_named(path), memoryview(buffer) as free:
                n_read = file.readinto(free[stop:-MARGIN])
            stop += n_read
            if n_read == 0:
                buffer[stop] = ord("\n")
                end = stop = stop + 1
            else:
                end = buffer.rfind(b"\n", begin, stop) + 1
            if end:
                if at_start and buffer.startswith(codecs.BOM_UTF8, begin):
                    begin += len(codecs.BOM_UTF8)
                at_start = False
                yield np.frombuffer(buffer, dtype=np.uint8), begin, end
                if n_read == 0:
                    return
                rest = buffer[end:stop]
                begin, stop = MARGIN, MARGIN + len(rest)
                buffer[begin:stop] = rest
            elif stop == len(buffer) - MARGIN:
                # A line longer than the buffer.
                buffer = buffer + bytes(len(buffer))


def _shown(token: bytes) -> str:
    """A token as it stands in an error message."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _message(status: int, token: bytes, n_features: int | None) -> str:
    """What is wrong with a token, and what would be right."""
    shown = _shown(token)
    feature = _shown(token.partition(b":")[0])[1:-1]
    value = _shown(token.partition(b":")[2])
    match status:
        case parsing.BAD_LABEL:
            return f"label {shown} is not a finite number; a line begins like '0 qid:1 1:0.5'"
        case parsing.NEGATIVE_LABEL:
            return f"label {shown} {_NEGATIVE}"
        case parsing.NO_QID:
            found = shown if token else "nothing"
            return f"found {found} after the label; the query id is needed there, like 'qid:7'"
        case parsing.BAD_QID:
            return f"query id in {shown} is empty or damaged; it should be like 'qid:7'"
        case parsing.LARGE_FEATURE if n_features is None:
            return f"feature id {feature} in {shown}; the largest allowed is {MAX_FEATURES}"
        case parsing.LARGE_FEATURE:
            return f"feature id {feature} in {shown}; 'n_features' is {n_features}"
        case parsing.REPEATED_FEATURE:
            return f"feature id {feature} in {shown} is there twice; each may be once in a line"
        case parsing.BAD_VALUE:
            return f"value {value} in {shown} is not a finite number, nor NULL for a missing one"
        case parsing.OVERFLOW:
            return f"value {value} is too large; numbers must be finite"
        case parsing.LONG_DOCUMENT_ID:
            return f"document id {shown} is longer than {MAX_ID_LENGTH} bytes"
        case _ if b":" not in token:
            return f"found {shown} where a feature like '1:0.5' is expected"
        case _ if re.fullmatch(rb"-?[0-9]+", token.partition(b":")[0]):
            return f"feature id {feature} in {shown}; ids start at 1"
        case _:
            return f"feature id {feature!r} in {shown} is not a number; ids start at 1"


def _group(queries: Integers, begins: Integers, n_rows: int) -> tuple[Integers, Integers | None]:
    """Offsets of the queries, and the row order that makes them contiguous unless they are.

    Given the query number and first row of each run of rows.
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
