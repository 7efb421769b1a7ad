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
    """A field's name for each feature: the feature's own where Vespa takes it.

    Names that differ in upper and lower case alone are the same for Vespa.

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
    """Refuse the name of a model, and so of its schema, that Vespa has itself."""
    if name == "document":
        raise ValueError(
            "A schema of Vespa cannot have the name 'document', which all documents inherit. "
            "Name the model otherwise."
        )


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
