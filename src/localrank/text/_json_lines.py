"""Reads JSON lines: one object on each line."""

from __future__ import annotations

import json
from os import PathLike

from localrank.text._smart import Records
from localrank.text._text_lines import numbered_lines


def json_records(path: str | PathLike[str], encoding: str) -> Records:
    """The objects with their line numbers. Blank lines are left out."""
    for number, line in numbered_lines(path, encoding):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}:{number}: not a JSON object: {error}.") from None
        if not isinstance(record, dict):
            raise ValueError(
                f"{path}:{number}: a line must be one JSON object, "
                f'{{"id": "1", "text": "..."}}. Got {type(record).__name__} instead.'
            )
        yield number, record
