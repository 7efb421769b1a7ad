"""Names that Vespa takes for fields and functions."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

# A letter, then letters, digits and underscores.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Words that are reserved in the language of schemas.
_RESERVED = {
    "attribute",
    "case",
    "documentid",
    "else",
    "if",
    "index",
    "normalize_linear",
    "position",
    "rankfeatures",
    "reciprocal_rank",
    "reciprocal_rank_fusion",
    "sddocname",
    "select_input",
    "summary",
    "summaryfeatures",
    "switch",
    "tokenize",
    "unpack_bits",
}


def field_names(features: Iterable[str]) -> list[str]:
    """A field name for each feature: the feature's name if Vespa takes it.

    For Vespa, names that differ only in upper and lower case are the same.

    Examples
    --------
    >>> field_names(["bm25", "title length", "if", "BM25"])
    ['bm25', 'field_title_length', 'field_if', 'field_bm25']
    """
    features = list(features)
    kept = {name.lower(): name for name in reversed(features) if _plain(name)}
    taken = set(kept)
    result = []
    for feature in features:
        name = feature
        if kept.get(feature.lower()) != feature:
            name = unused(f"field_{re.sub('[^a-z0-9_]', '_', feature.lower())}", taken)
            taken.add(name)
        result.append(name)
    return result


def _plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def check_model_name(name: str) -> None:
    """Refuse a name that Vespa uses itself: the model's schema has the same name."""
    if name == "document":
        raise ValueError(
            "A model for Vespa cannot have the name 'document': all schemas inherit from the "
            "schema of this name. Give the model another name."
        )


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number after it if it is taken.

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
