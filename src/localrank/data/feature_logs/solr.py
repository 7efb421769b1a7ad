"""Responses of Solr with the `[features]` transformer of its learning-to-rank module."""

from __future__ import annotations

import re
from typing import Any

from localrank.data.feature_logs.values import Documents, as_id, shortened

# A name and a float as Java prints it.
_PAIR = r"[^,]*=(?:-?\d+(?:\.\d*)?(?:E-?\d+)?|NaN)"
_PAIRS = re.compile(f"{_PAIR}(?:,{_PAIR})*")


def recognised(body: dict[str, Any]) -> bool:
    """Whether a response is of this shape."""
    inner = body.get("response")
    return isinstance(inner, dict) and "docs" in inner


def documents(body: dict[str, Any], log: str | None, document_id: str | None) -> Documents:
    """The documents of a response: id, names and values of the features.

    A document has them in the field `[features]`, or by what name `fl` gave it: as text,
    `title=0.5,body=1.25`, or as an object, which the first versions wrote for `fvwt=json`.

    Examples
    --------
    >>> found = {"docs": [{"id": "7", "[features]": "title=0.5,body=1.25E-4"}]}
    >>> list(documents({"response": found}, None, None))
    [('7', ('title', 'body'), [0.5, 0.000125])]
    """
    if body.get("error"):
        raise ValueError(f"the search failed: {shortened(body['error'], 200)}.")
    inner = body.get("response")
    rows = inner.get("docs") if isinstance(inner, dict) else None
    if not isinstance(rows, list):
        raise ValueError(
            "a response of Solr must have its documents in response.docs; grouped results are not "
            f"read. Its members are {', '.join(map(repr, body))}."
        )
    key, field = document_id or "id", log or "[features]"
    for row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"a document must be an object. Got {shortened(row)} instead.")
        document = as_id(row.get(key), f"the field {key!r} of a document")
        if field not in row:
            raise ValueError(
                f"document {document!r} has no field {field!r}. Ask for fl={key},[features]; for "
                f"another name of the field, name the log. Its fields are "
                f"{', '.join(map(repr, row))}."
            )
        logged = row[field]
        if isinstance(logged, dict):
            yield document, tuple(logged), list(logged.values())
        else:
            yield document, *_split(logged, document)


def _split(text: Any, document: str) -> tuple[tuple[str, ...], list[Any]]:
    if text == "":
        return (), []
    if not isinstance(text, str):
        raise ValueError(
            f"the features of document {document!r} must be text, as 'title=0.5,body=1.25'. "
            f"Got {shortened(text)} instead."
        )
    pairs = text.split(",")
    if not _PAIRS.fullmatch(text):
        wrong = next(pair for pair in pairs if not _PAIRS.fullmatch(pair))
        raise ValueError(
            f"the features of document {document!r} must be pairs of a name and a number, as "
            f"'title=0.5,body=1.25'. Got {shortened(wrong)} instead."
        )
    parts = [pair.rpartition("=") for pair in pairs]
    return tuple([part[0] for part in parts]), [float(part[2]) for part in parts]
