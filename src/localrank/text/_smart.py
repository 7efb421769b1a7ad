"""Reads SMART's markup: `.I 1`, then fields, each a line such as `.T` and lines of text.

Cranfield, CISI, MED and CACM come in this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from typing import Any

from localrank.text._text_lines import numbered_lines

Records = Iterator[tuple[int, dict[str, Any]]]

KEYS = {
    "T": "title",
    "W": "text",
    "A": "author",
    "B": "bibliography",
    "K": "keywords",
    "C": "categories",
    "N": "note",
    "X": "references",
}
_RECORD, _FIELD = re.compile(r"\.I\s+(\d+)\s*"), re.compile(r"\.([A-Z])\s*")


def smart_records(path: str | PathLike[str], encoding: str) -> Records:
    """The records, with the lines where they begin.

    Runs of blanks and line ends become one blank. A field that occurs twice is joined. Numbers lose
    leading zeros: `.I 001` is "1". A number may be broken over two lines, like CACM's 2856.
    """
    begin, digits, fields, key = 0, "", dict[str, list[str]](), ""
    for number, line in numbered_lines(path, encoding):
        if match := _RECORD.fullmatch(line):
            if begin:
                yield begin, _joined(digits, fields)
            begin, digits, fields, key = number, match[1], {}, ""
        elif match := _FIELD.fullmatch(line):
            key = KEYS.get(match[1], match[1])
            fields.setdefault(key, [])
        elif key and begin:
            fields[key].append(line)
        elif begin and (rest := line.strip()).isascii() and rest.isdigit():
            digits += rest
        elif line.strip():
            where = "before the first record, '.I 1'" if not begin else "before a field, '.T'"
            raise ValueError(f"{path}:{number}: there is text {where}: {line[:40]!r}.")
    if begin:
        yield begin, _joined(digits, fields)


def smart_judgments(path: str | PathLike[str]) -> Iterator[tuple[int, str, str, list[str]]]:
    """The line, query and document of each relevant pair, and the rest of its line."""
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() for cell in cells[:2]):
            raise ValueError(
                f"{path}:{number}: a line must begin with the numbers of a query and of a "
                f"document. Got {line[:40]!r} instead."
            )
        yield number, str(int(cells[0])), str(int(cells[1])), cells[2:]


def _joined(digits: str, fields: dict[str, list[str]]) -> dict[str, Any]:
    texts = {key: " ".join(" ".join(lines).split()) for key, lines in fields.items()}
    return {"id": str(int(digits)), **texts}
