"""Responses of Solr with the `[features]` transformer of its learning-to-rank module."""

from __future__ import annotations

import re
from typing import Any

from localrank.data.feature_logs._values import Documents, as_id, shortened

# A float as Java prints it, or NaN; and the characters of such numbers.
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(E-?[0-9]+)?|NaN")
_NUMBERS = re.compile(r"[-0-9.ENa]*")


def recognised(body: dict[str, Any]) -> bool:
    """Whether a response is of this shape."""
    inner = body.get("response")
    return isinstance(inner, dict) and "docs" in inner


def documents(body: dict[str, Any], log: str | None, document_id: str | None) -> Documents:
    """The documents of a response: id, names and values of the features.

    Features are in the field `[features]`, or in the field that `fl` names. They are a text,
    `title=0.5,body=1.25`, or an object, which the first versions wrote for `fvwt=json`.

    Examples
    --------
    >>> response = {"docs": [{"id": "7", "[features]": "title=0.5,body=1.25E-4"}]}
    >>> list(documents({"response": response}, None, None))
    [('7', ('title', 'body'), [0.5, 0.000125])]
    """
    if body.get("error"):
        raise ValueError(f"the search failed: {shortened(body['error'], 200)}.")
    inner = body.get("response")
    rows = inner.get("docs") if isinstance(inner, dict) else None
    if not isinstance(rows, list):
        raise ValueError(
            "a response of Solr must have its documents in response.docs. Grouped results are not "
            f"supported. Its members are {', '.join(map(repr, body))}."
        )
    key, field = document_id or "id", log or "[features]"
    for row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"a document must be an object. Got {shortened(row)} instead.")
        document = as_id(row.get(key), f"the field {key!r} of a document")
        if field not in row:
            raise ValueError(
                f"document {document!r} has no field {field!r}. Ask for fl={key},[features]. If "
                f"the field has another name, name the log. Its fields are "
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
    pairs = [pair.rpartition("=") for pair in text.split(",")]
    names, equals, numbers = zip(*pairs, strict=True)
    try:
        # Python reads 1_000 and some words as numbers, too.
        if all(equals) and _NUMBERS.fullmatch("".join(numbers)):
            return names, [float(number) for number in numbers]
    except ValueError:
        pass
    wrong = next("".join(pair) for pair in pairs if not pair[1] or not _NUMBER.fullmatch(pair[2]))
    raise ValueError(
        f"the features of document {document!r} must be pairs of a name and a number, as "
        f"'title=0.5,body=1.25'. Got {shortened(wrong)} instead."
    )
