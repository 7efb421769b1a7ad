"""The work behind `read_run` and `read_qrels`: lines of columns, with errors by line."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels import columns
from localrank._kernels.strings import MARGIN
from localrank.data._line_blocks import line_blocks, too_long, unreadable
from localrank.data._strings import Strings, by_group, first_repeated

# The longest line, in bytes.
MAX_LINE = 1 << 20
_MARK = re.compile(rb"\\x([0-9a-f]{2})")


@dataclass(frozen=True)
class Form:
    """What the lines of a file look like."""

    line: str
    # The place and the name of the column with a number, and the largest one allowed.
    number: int
    name: str
    most: float

    @property
    def n_columns(self) -> int:
        return len(self.line.split())

    @property
    def bound(self) -> str:
        """The bound of the number, for messages; nothing if any finite number will do."""
        return "" if self.most > 1e300 else f" between -{self.most:g} and {self.most:g}"


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a file, as columns."""

    queries: Strings
    documents: Strings
    values: Floats
    # The numbers of the lines, without those that are blank.
    numbers: Integers
    # The columns of the first line.
    first: list[bytes]


def read_lines(path: Path, form: Form) -> Lines:
    """Read all lines of a file."""
    reader = _Reader(path, form)
    parts = [
        reader.read_block(text, begin, stop)
        for text, begin, stop in line_blocks(path, MAX_LINE, lambda: reader.line)
    ]
    if not reader.first:
        raise ValueError(f"{path}: the file has no lines. Each should look like {form.line!r}.")
    return Lines(
        Strings.joined([part.queries for part in parts]),
        Strings.joined([part.documents for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        reader.first,
    )


def refuse_repeated(path: Path, lines: Lines) -> None:
    """Refuse a document that occurs twice for a query."""
    if (twice := repeated(lines.queries, lines.documents)) is not None:
        first, again = twice
        query, document = lines.queries.names([again])[0], lines.documents.names([again])[0]
        raise ValueError(
            f"{path}:{lines.numbers[again]}: document {document!r} of query {query!r} again; it is "
            f"in line {lines.numbers[first]}, and a query may have it once."
        )


def repeated(queries: Strings, documents: Strings) -> tuple[int, int] | None:
    """The first row with the query and the document of an earlier one: both. None: all differ."""
    groups, firsts = queries.numbered()
    items, offsets = by_group(groups, len(firsts))
    numbers, firsts, _ = documents.numbered_in_groups(items, offsets)
    again = first_repeated(numbers, len(firsts))
    return None if again is None else (int(firsts[numbers[again]]), again)


def plain(word: bytes) -> str:
    """The id that a word of a run stands for."""
    if b"\\x" in word:
        with suppress(UnicodeDecodeError):  # else the marks are part of the id
            return _MARK.sub(lambda mark: bytes.fromhex(mark[1].decode()), word).decode()
    return word.decode()


class _Reader:
    """Reads blocks of lines, and knows in which line of the file it is."""

    def __init__(self, path: Path, form: Form) -> None:
        self.path = path
        self.form = form
        self.line = 1
        self.first: list[bytes] = []

    def read_block(self, text: NDArray[np.uint8], begin: int, stop: int) -> Lines:
        """The columns of the lines of a block."""
        form, address = self.form, text.ctypes.data
        most_rows = (stop - begin) // (2 * form.n_columns) + 1
        state = np.array([address + begin, self.line, 0, 0])
        values, numbers = np.empty(most_rows), np.empty(most_rows, np.int64)
        begins = np.zeros((2, most_rows + 1), np.int64)
        ids = np.empty((2, stop - begin + MARGIN), np.uint8)
        fixes = np.empty((most_rows, 4), np.int64)
        whole = columns.read_columns(
            address + stop, state, form.n_columns, form.number, MAX_LINE,
            values, numbers, ids[0], begins[0], ids[1], begins[1], fixes,
        )  # fmt: skip
        first_line = self.line
        self.line = int(state[columns.LINE])
        n = int(state[columns.ROW])
        values, numbers = values[:n].copy(), numbers[:n].copy()
        for row, _, start, end in fixes[: state[columns.N_FIXES]].tolist():
            values[row] = _number(text[start - address : end - address].tobytes())
        # The first line that is wrong counts. It is the last that the kernel has seen, or before.
        wrong: list[tuple[int, str]] = []
        if (bad := np.flatnonzero(~(np.abs(values) <= form.most))).size:
            line = int(numbers[bad[0]])
            lines = text[begin:stop].tobytes().split(b"\n", line - first_line + 1)
            wrong.append((line, self._no_number(lines[line - first_line].split()[form.number])))
        names = []
        for part, starts in zip(ids, begins[:, : n + 1], strict=True):
            strings, not_text = _as_text(
                Strings(_with_margin(part, int(starts[-1])), starts.copy())
            )
            names.append(strings)
            if not_text is not None:
                row, token = not_text
                wrong.append((int(numbers[row]), f"the id {token!r} is not UTF-8."))
        if not whole:
            at = int(state[columns.POSITION]) - address
            wrong.append((self.line, self._bad_line(text[at:stop].tobytes().partition(b"\n")[0])))
        if wrong:
            line, message = min(wrong, key=lambda pair: pair[0])
            raise ValueError(f"{self.path}:{line}: {message}")
        if n and not self.first:
            self.first = text[begin:stop].tobytes().split(None, form.n_columns)[: form.n_columns]
        return Lines(names[0], names[1], values, numbers, self.first)

    def _no_number(self, token: bytes) -> str:
        shown = token.decode("utf-8", "backslashreplace")
        return (
            f"the {self.form.name} must be a finite number{self.form.bound}. Got {shown!r} instead."
        )

    def _bad_line(self, line: bytes) -> str:
        if b"\0" not in line and len(line) >= MAX_LINE:
            return f"{too_long(MAX_LINE)}."
        if wrong := unreadable(line):
            return f"{wrong}."
        return (
            f"a line must have {self.form.n_columns} columns ({self.form.line}). Got "
            f"{len(line.split())} instead."
        )


def _number(token: bytes) -> float:
    """A number as Python reads it; NaN if it is none."""
    try:
        # Python also takes 1_000 for a number, which no other reader of runs does.
        return np.nan if b"_" in token else float(token)
    except ValueError:
        return np.nan


def _with_margin(text: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    text = text[: size + MARGIN].copy()
    text[size:] = 0
    return text


def _as_text(words: Strings) -> tuple[Strings, tuple[int, bytes] | None]:
    """Words with their marks replaced, and the first that is not UTF-8, with its row."""
    data = words.text[: words.begins[-1]].tobytes()
    if b"\\x" not in data:
        if data.isascii():
            return words, None
        with suppress(UnicodeDecodeError):
            data.decode()
            # The text is right as a whole, and so is each word that begins with a character.
            if not np.any(words.text[words.begins[:-1]] & 0xC0 == 0x80):
                return words, None
    names = []
    for row, (begin, end) in enumerate(pairwise(words.begins.tolist())):
        try:
            names.append(plain(data[begin:end]).encode())
        except UnicodeDecodeError:
            return words, (row, data[begin:end])
    return Strings.of_bytes(names), None
