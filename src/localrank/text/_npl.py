"""Reads NPL's files: each record is a number, lines of text, and a line `/`."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

from localrank.text._smart import Records
from localrank.text._text_lines import numbered_lines


def npl_records(path: str | PathLike[str], encoding: str) -> Records:
    """The records, with the lines where they begin. Words are separated by one blank."""
    begin, name, words = 0, "", list[str]()
    for number, line in numbered_lines(path, encoding):
        cells = line.split()
        if cells == ["/"]:
            if begin:
                yield begin, {"id": name, "text": " ".join(words)}
            begin, words = 0, []
        elif begin:
            words += cells
        elif cells:
            if not (cells[0].isascii() and cells[0].isdigit()):
                raise ValueError(
                    f"{path}:{number}: a record must begin with its number. "
                    f"Got {cells[0][:40]!r} instead."
                )
            begin, name, words = number, str(int(cells[0])), cells[1:]
    if begin:
        raise ValueError(f"{path}:{begin}: the record has no end. A line '/' must follow it.")


def npl_judgments(path: str | PathLike[str]) -> Iterator[tuple[int, str, str]]:
    """The line where a query's record begins, the query, and a relevant document, one by one."""
    for number, record in npl_records(path, "utf-8"):
        for document in record["text"].split():
            if not (document.isascii() and document.isdigit()):
                raise ValueError(
                    f"{path}:{number}: the relevant documents of a query must be numbers. "
                    f"Got {document[:40]!r} instead."
                )
            yield number, record["id"], str(int(document))
