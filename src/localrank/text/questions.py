"""What is asked: queries, candidates and labels, as they are given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.data import Qrels, RankingDataset, Run

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


def with_candidates(ids: Sequence[str], documents: Sequence[Sized]) -> list[int]:
    """The places of queries that have candidates, with a warning where others have none."""
    kept = [place for place, candidates in enumerate(documents) if len(candidates)]
    if not kept:
        raise ValueError("No query has a candidate.")
    if len(kept) < len(ids):
        first = next(place for place in range(len(ids)) if not len(documents[place]))
        warnings.warn(
            f"{len(ids) - len(kept)} of {len(ids)} queries have no candidate and are left "
            f"out, {ids[first]!r} first.",
            stacklevel=4,
        )
    return kept


def labels_in(dataset: RankingDataset, labels: Mapping[str, Mapping[str, float]]) -> Floats:
    """The label of each document of a dataset; 0 of one that was not judged."""
    pairs = zip(
        dataset.query_ids[dataset.query_index].tolist(),
        np.asarray(dataset.document_ids).tolist(),
        strict=True,
    )
    return np.array([labels.get(query, {}).get(document, 0.0) for query, document in pairs])
