"""Cells of text tables that are no numbers, though a reader may take them for some."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from localrank.data._compression import open_binary

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A cell that is a number, for pyarrow's search.
NUMBER_CELL = rf"^[ \t]*{_NUMBER.pattern}[ \t]*$"
# What pyarrow takes for a missing value, and for NaN.
_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "N/A"}
_MISSING |= {"NA", "NULL", "n/a", "null"}
_NAN = re.compile(r"[+-]?nan(\([0-9A-Za-z_]*\))?", re.IGNORECASE)
_BLOCK = 1 << 20


def mentions_hexadecimals(path: Path) -> bool:
    """Whether a file has the beginning of a hexadecimal number anywhere: one fast look at it."""
    end = b""
    with open_binary(path) as file:
        while block := file.read(_BLOCK):
            block = end + block
            for mark in b"xX":
                # Zeros are frequent, and this letter is not: to look for it alone is much faster.
                if mark in block and bytes([ord("0"), mark]) in block:
                    return True
            end = block[-1:]
    return False


def no_number(
    path: Path, names: Sequence[str], columns: Sequence[str], *, delimiter: str, has_header: bool
) -> str:
    """Where the first cell is that holds no number, and what it holds: the text of an error.

    Parameters
    ----------
    path : Path
    names : sequence of str
        All columns of the file.
    columns : sequence of str
        Those that must hold numbers.
    delimiter : str
    has_header : bool
        Whether the first line names the columns.
    """
    places = [list(names).index(name) for name in columns]
    for line, cells in _rows(path, delimiter, has_header):
        for name, place in zip(columns, places, strict=True):
            if place < len(cells) and not _is_number(cells[place].strip(" \t")):
                return (
                    f"{path}:{line}: the column {name!r} must hold numbers. Got {cells[place]!r} "
                    f"instead."
                )
    return f"{path}: the column {columns[0]!r} must hold numbers."


def _rows(path: Path, delimiter: str, has_header: bool) -> Iterator[tuple[int, list[str]]]:
    """The rows with their lines, from 1."""
    with open_binary(path) as file:
        text = io.TextIOWrapper(_buffered(file), "utf-8-sig", "replace", newline="")
        rows = csv.reader(text, delimiter=delimiter)
        for number, cells in enumerate(row for row in rows if row):
            if number or not has_header:
                yield rows.line_num, cells


def _buffered(file: Any) -> Any:
    return io.BufferedReader(file) if isinstance(file, io.RawIOBase) else file


def _is_number(cell: str) -> bool:
    return cell in _MISSING or bool(_NUMBER.fullmatch(cell) or _NAN.fullmatch(cell))
