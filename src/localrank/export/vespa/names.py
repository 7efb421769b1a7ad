"""Names that Vespa takes for fields and functions."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

# Letters first, then letters, digits and underscores.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# What the schema's own language keeps for itself.
_RESERVED = {
    "attribute",
    "case",
    "documentid",
    "else",
    "if",
    "index",
    "rankfeatures",
    "sddocname",
    "select_input",
    "summary",
    "summaryfeatures",
    "switch",
    "tokenize",
    "unpack_bits",
}


def field_names(features: Iterable[str]) -> list[str]:
    """A field's name for each feature: the feature's own where Vespa takes it.

    Examples
    --------
    >>> field_names(["bm25", "title length", "if"])
    ['bm25', 'field_title_length', 'field_if']
    """
    features = list(features)
    names = [name for name in features if _plain(name)]
    result = []
    for feature in features:
        name = feature
        if not _plain(feature):
            name = unused(f"field_{re.sub('[^A-Za-z0-9_]', '_', feature)}", names)
            names.append(name)
        result.append(name)
    return result


def _plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken.

    Examples
    --------
    >>> unused("net", ["net", "net_2"])
    'net_3'
    """
    number, result = 1, name
    while result in taken:
        number += 1
        result = f"{name}_{number}"
    return result
