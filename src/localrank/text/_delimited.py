"""Reads tables of text: CSV with commas and optional quotes, and TSV with tabs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from localrank.data._errors import AdvisedError
from localrank.text._smart import Records
from localrank.text._text_lines import MAX_LINE, numbered_lines

KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}


def delimited_kind(path: str | PathLike[str]) -> str | None:
    """The kind of table by the file's name, compressed or not: "csv", "tsv" or None."""
    name = Path(path)
    if name.suffix.lower() in (".gz", ".bz2", ".xz"):
        name = name.with_suffix("")
    return KINDS.get(name.suffix.lower())


def delimited_records(
    path: str | PathLike[str],
    kind: str,
    encoding: str,
    columns: Sequence[str] | None,
    known: frozenset[str],
    plain: Sequence[str],
) -> Records:
    """The rows with their line numbers, as texts by column name.

    Parameters
    ----------
    path : path
    kind : {"csv", "tsv"}
    encoding : str
    columns : sequence of str or None
        Names of the columns, for a file without a line of names. None: read them from the file.
    known : frozenset of str
        A first line that holds one of these words is a line of names.
    plain : sequence of str
        Names of the columns of a file without a line of names, if it has as many columns.
    """
    names: Sequence[str] | None = columns
    for number, row in _rows(path, kind, encoding):
        if names is None:
            if known & {cell.strip().lower() for cell in row}:
                names = [cell.strip() for cell in row]
                if len(set(names)) < len(names):
                    raise ValueError(f"{path}:{number}: two columns have the same name: {row}.")
                continue
            if len(row) != len(plain):
                raise AdvisedError(
                    f"{path}:{number}: the first line must hold the names of the columns, among "
                    f"them {' or '.join(sorted(known))}.",
                    f"Or give them: columns={list(plain)}.",
                    "Add such a line to the file.",
                )
            names = plain
        if len(row) != len(names):
            raise ValueError(
                f"{path}:{number}: a row must have {len(names)} columns ({', '.join(names)}). "
                f"Got {len(row)} instead."
            )
        yield number, dict(zip(names, row, strict=True))


def _rows(path: str | PathLike[str], kind: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The rows, with the lines where they begin. Blank lines are left out."""
    if kind == "tsv":
        for number, line in numbered_lines(path, encoding):
            if line.strip():
                yield number, line.split("\t")
        return
    # The limit holds for the whole process, and its default is too low for documents.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.reader((f"{line}\n" for _, line in numbered_lines(path, encoding)), strict=True)
    before = 0
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{path}:{before + 1}: not a row of CSV: {error}.") from None
        if row is None:
            return
        if row:
            yield before + 1, row
        before = reader.line_num
