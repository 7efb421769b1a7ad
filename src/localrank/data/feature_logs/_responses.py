"""JSON lines: each has one response of a search engine and the id of its query."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localrank.data._compression import damage_named, open_binary
from localrank.data.feature_logs._values import shortened

# The longest line, in bytes: a response with all its hits.
MAX_LINE = 1 << 28


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with their line numbers. Empty lines are skipped."""
    for number, line in raw_lines(path):
        yield number, parsed(path, number, line)


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not empty, with their numbers."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Name the files in it.")
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if len(line) > MAX_LINE:
                raise ValueError(f"{path}:{number}: line longer than {MAX_LINE:,} bytes.")
            if not line.isspace():
                yield number, line


def parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """The object of a line."""
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError:
        raise ValueError(f"{path}:{number}: the line is not text in UTF-8.") from None
    except RecursionError:
        raise ValueError(f"{path}:{number}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(
            f"{path}:{number}: the line is not JSON: {error}. Each line must hold one whole "
            f"object; `jq -c .` writes such lines."
        ) from None
    if not isinstance(record, dict):
        raise ValueError(
            f"{path}:{number}: each line must hold an object, as {{...}}. Got {shortened(record)} "
            f"instead."
        )
    return record


def searches(record: dict[str, Any], qid: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The query ids and responses of a line. The id is None if the line has none.

    A line is `{"qid": ..., "response": {...}}`; or the response itself with the member `qid`; or
    `{"qid": [...], "responses": [...]}`, the responses to several queries. A Solr response may
    have the id among the parameters of its request.

    Examples
    --------
    >>> list(searches({"qid": 7, "response": {"hits": {}}}, "qid"))
    [(7, {'hits': {}})]
    >>> list(searches({"qid": [7, 8], "responses": [{}, {}]}, "qid"))
    [(7, {}), (8, {})]
    """
    query, body = _query_id(record, qid), record
    inner = record.get("response")
    # Solr has a member "response", too: the part of its response that has the documents.
    if isinstance(inner, dict) and "docs" not in inner:
        query, body = _query_id(inner, qid) if query is None else query, inner
    several = body.get("responses")
    if several is None:
        yield query, body
        return
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise ValueError("'responses' must be a list of responses.")
    if query is None:
        yield from ((_query_id(one, qid), one) for one in several)
        return
    if not isinstance(query, list) or len(query) != len(several):
        raise ValueError(
            f"{qid!r} must be a list with one query id for each of the {len(several)} responses. "
            f"Got {shortened(query)} instead."
        )
    yield from zip(query, several, strict=True)


def _query_id(body: dict[str, Any], qid: str) -> Any:
    if qid in body:
        return body[qid]
    if qid == "qid" and "query_id" in body:
        return body["query_id"]
    header = body.get("responseHeader")
    parameters = header.get("params") if isinstance(header, dict) else None
    return parameters.get(qid) if isinstance(parameters, dict) else None
