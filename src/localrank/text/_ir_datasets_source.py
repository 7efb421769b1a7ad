"""Reads collections of the package ir_datasets, named like "irds:cranfield"."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

from localrank.text._smart import Records

PREFIX = "irds:"


def is_named(source: Any) -> bool:
    """Whether a source is the name of a collection of ir_datasets."""
    return isinstance(source, str) and source.startswith(PREFIX)


def named_documents(source: str) -> Records:
    """Documents with their positions, from 1. Only their texts and numbers are kept."""
    return _records(source, "docs", "doc_id")


def named_queries(source: str) -> Records:
    """Queries with their positions, from 1."""
    return _records(source, "queries", "query_id")


def named_judgments(source: str) -> Iterator[tuple[int, str, str, float]]:
    """Position, query, document and grade of each judgment."""
    for number, judgment in enumerate(_part(source, "qrels"), start=1):
        yield number, judgment.query_id, judgment.doc_id, float(judgment.relevance)


def _records(source: str, kind: str, id_key: str) -> Records:
    for number, item in enumerate(_part(source, kind), start=1):
        record = item._asdict()
        name = record.pop(id_key)
        kept = {key: value for key, value in record.items() if isinstance(value, str | Real)}
        yield number, {"id": name, **kept}


def _part(source: str, kind: str) -> Iterator[Any]:
    try:
        import ir_datasets
    except ImportError:
        raise ImportError(
            f"{source!r} needs the package ir_datasets. Install it with pip install ir_datasets."
        ) from None
    try:
        dataset = ir_datasets.load(source.removeprefix(PREFIX))
    except KeyError:
        raise ValueError(
            f"{source}: ir_datasets has no such collection. ir_datasets.registry lists them."
        ) from None
    has = {"docs": dataset.has_docs, "queries": dataset.has_queries, "qrels": dataset.has_qrels}
    if not has[kind]():
        raise ValueError(f"{source}: this collection of ir_datasets has no {kind}.")
    part: Iterator[Any] = getattr(dataset, f"{kind}_iter")()
    return part
