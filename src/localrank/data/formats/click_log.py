"""Logs of clicks: JSON lines, tables, and OpenSearch's User Behavior Insights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from localrank.data._compression import plain_name
from localrank.data.click_log import ClickLog
from localrank.data.formats.base import Format, Wanted
from localrank.registry import declare

# The first lines that may be damaged, or announce others, before one tells the format.
_MAX_LINES = 20
_JSON = (".jsonl", ".ndjson")
_COLUMNS = {"session", "query", "document", "position", "click"}
_TABLES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather")


@declare("click-log", "logs of clicks in JSON lines: query, documents, clicks")
class ClickLines(Format):
    """Logs of clicks, read by `read_click_log`."""

    said, files = "is a click log", "click logs"
    suffixes: ClassVar[tuple[str, ...]] = _JSON
    options: ClassVar[tuple[str, ...]] = ("bad",)
    goes_first, gives_clicks = True, True

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        members = _first_members(path)
        # Files of clicks that are added up have a member "document".
        return "clicks" in members and "query" in members and "document" not in members

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> ClickLog:
        from localrank.data.click_lines import read_click_log

        return read_click_log(paths, **options)

    def sample(self) -> tuple[str, bytes]:
        lines = (
            b'{"query": 7, "documents": ["a", "b"], "clicks": [1]}\n'
            b'{"query": 8, "documents": ["c"], "clicks": []}\n'
        )
        return "sample.jsonl", lines


@declare("ubi", "searches and clicks as OpenSearch's User Behavior Insights records them")
class UserBehaviour(Format):
    """Queries and events in JSON lines, read by `read_ubi`."""

    said, files = "is a record of User Behavior Insights", "records of User Behavior Insights"
    suffixes: ClassVar[tuple[str, ...]] = _JSON
    options: ClassVar[tuple[str, ...]] = ("bad", "actions")
    goes_first, gives_clicks = True, True

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        from localrank.data.ubi import is_ubi

        return is_ubi(_first_members(path))

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> ClickLog:
        from localrank.data.ubi import read_ubi

        return read_ubi(paths, **options)

    def sample(self) -> tuple[str, bytes]:
        lines = (
            b'{"query_id": "x", "user_query": "7", "query_response_hit_ids": ["a", "b"]}\n'
            b'{"query_id": "y", "user_query": "8", "query_response_hit_ids": ["c"]}\n'
            b'{"query_id": "x", "action_name": "click", "event_attributes": '
            b'{"object": {"object_id": "b"}}}\n'
        )
        return "sample.ndjson", lines


@declare("click-table", "logs of clicks in tables with a row for each document that was shown")
class ClickTables(Format):
    """Tables of impressions, read by `read_click_table`. No session is in two files."""

    said, files = "is a table of clicks", "tables of clicks"
    suffixes: ClassVar[tuple[str, ...]] = _TABLES
    options: ClassVar[tuple[str, ...]] = (
        "bad",
        "session",
        "query",
        "document",
        "position",
        "click",
        "time",
        "ranker",
        "group",
        "propensity",
    )
    goes_first, gives_clicks = True, True

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        if not super().recognises(path, options) or "column_description" in options:
            return False
        return bool(_COLUMNS & options.keys()) or _column_names(path) >= _COLUMNS

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> ClickLog:
        from localrank.data.click_tables import read_click_table

        logs = [read_click_table(path, **options) for path in paths]
        return logs[0] if len(logs) == 1 else ClickLog.joined(logs)

    def sample(self) -> tuple[str, bytes]:
        lines = b"session,query,document,position,click\n1,7,b,2,1\n1,7,a,1,0\n2,8,c,1,0\n"
        return "sample.csv", lines


def _first_members(path: Path) -> dict[str, Any]:
    """The object of the first line that is one, of a file of JSON lines; otherwise nothing."""
    from localrank.data.feature_logs._responses import raw_lines
    from localrank.data.ubi import unwrapped

    # To look into a pipe would take its first bytes away.
    if not plain_name(path).lower().endswith(_JSON) or not path.is_file():
        return {}
    try:
        for _, line in islice(raw_lines(path), _MAX_LINES):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            body = unwrapped(record) if isinstance(record, dict) else None
            if body is not None:
                return body
    except (OSError, ValueError):
        # The reader says what is wrong.
        return {}
    return {}


def _column_names(path: Path) -> set[str]:
    """The names of a table's columns; none if it cannot be read, which its reader says."""
    name = path.name.lower()
    if not path.is_file():
        return set()
    try:
        if name.endswith(".parquet"):
            from pyarrow import parquet

            return set(parquet.read_schema(path).names)
        if name.endswith((".arrow", ".feather")):
            from pyarrow import ipc

            with ipc.open_file(path) as file:
                return set(file.schema.names)
        from localrank.data._compression import open_binary

        with open_binary(path) as file:
            first = file.readline(1 << 16).decode("utf-8-sig").rstrip("\r\n")
    except (ImportError, OSError, EOFError, ValueError):
        return set()
    delimiter = "," if ".csv" in name else "\t"
    return {cell.strip().strip('"') for cell in first.split(delimiter)}
