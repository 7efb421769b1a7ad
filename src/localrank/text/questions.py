"""What is asked: queries, candidates and labels, as they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from localrank.data import Qrels, Run

Queries = Mapping[Any, str] | Sequence[str]
Candidates = Run | Qrels | Mapping[Any, Sequence[Any]]
Judgments = Qrels | Mapping[Any, Mapping[Any, float]]


def named_queries(queries: Queries) -> tuple[list[str], list[str]]:
    """Ids and texts of queries."""
    if isinstance(queries, str):
        raise ValueError("Queries must be a list of texts, or texts by id. Got one text instead.")
    if isinstance(queries, Mapping):
        ids, texts = [str(name) for name in queries], list(queries.values())
    else:
        texts = list(queries)
        ids = [str(place + 1) for place in range(len(texts))]
    if not texts:
        raise ValueError("There is no query.")
    if len(set(ids)) < len(ids):
        raise ValueError("Ids of queries must be different as texts.")
    return ids, [checked_query(text) for text in texts]


def checked_query(query: Any) -> str:
    """A query, which must be a text."""
    if not isinstance(query, str):
        raise ValueError(f"A query must be a text. Got {query!r} instead.")
    return query


def checked_depth(depth: int) -> int:
    """How many candidates to take, 1 or more."""
    if not isinstance(depth, int | np.integer) or depth < 1:
        raise ValueError(f"The depth must be a whole number, 1 or larger. Got {depth!r} instead.")
    return int(depth)


def documents_by_query(candidates: Candidates) -> dict[str, list[Any]]:
    """Documents by query, in their order."""
    if isinstance(candidates, Mapping):
        return {str(query): list(documents) for query, documents in candidates.items()}
    grouped: dict[str, list[Any]] = {}
    pairs = zip(candidates.query_ids.tolist(), candidates.document_ids.tolist(), strict=True)
    for query, document in pairs:
        grouped.setdefault(str(query), []).append(document)
    return grouped


def labels_by_query(qrels: Judgments | None) -> dict[str, dict[str, float]]:
    """Labels by query and document."""
    if qrels is None:
        return {}
    if isinstance(qrels, Mapping):
        return {
            str(query): {str(document): float(label) for document, label in judged.items()}
            for query, judged in qrels.items()
        }
    labels: dict[str, dict[str, float]] = {}
    columns = (qrels.query_ids, qrels.document_ids, qrels.relevance)
    for query, document, label in zip(*(column.tolist() for column in columns), strict=True):
        labels.setdefault(str(query), {})[str(document)] = label
    return labels
