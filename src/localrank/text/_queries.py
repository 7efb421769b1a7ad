"""Checks queries, candidates and labels that users give."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Container, Mapping, Sequence, Sized
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import Qrels, RankingDataset, Run
from localrank.data.errors import AdvisedError

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
        raise ValueError("There are no queries. Give at least one.")
    if len(set(ids)) < len(ids):
        raise ValueError("Ids of queries must be unique when written as text.")
    return ids, [checked_query(text) for text in texts]


def checked_query(query: Any) -> str:
    """The query. Refuses values that are not text."""
    if not isinstance(query, str):
        raise ValueError(f"A query must be a text. Got {query!r} instead.")
    return query


def checked_count(value: int, name: str) -> int:
    """A number of documents. Refuses values below 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"The {name} must be a whole number, 1 or larger. Got {value!r} instead.")
    return int(value)


def documents_by_query(candidates: Candidates) -> dict[str, list[Any]]:
    """The documents of each query, in their order."""
    if isinstance(candidates, Mapping):
        for query, documents in candidates.items():
            if isinstance(documents, str):
                raise ValueError(
                    f"Candidates of query {str(query)!r} must be a list of ids. Got {documents!r} "
                    f"instead."
                )
        return {str(query): list(documents) for query, documents in candidates.items()}
    grouped: dict[str, list[Any]] = {}
    pairs = zip(candidates.query_ids.tolist(), candidates.document_ids.tolist(), strict=True)
    for query, document in pairs:
        grouped.setdefault(str(query), []).append(document)
    return grouped


def labels_by_query(qrels: Judgments | None) -> dict[str, dict[str, float]]:
    """The labels by query and document."""
    if qrels is None:
        return {}
    if isinstance(qrels, Mapping):
        return {str(query): _labels_of(query, judged) for query, judged in qrels.items()}
    if not isinstance(qrels, Qrels):
        raise ValueError(
            "Judgments must be labels by query and document, or what read_judgments returns. "
            f"Got {qrels!r} instead."
        )
    labels: dict[str, dict[str, float]] = {}
    columns = (qrels.query_ids, qrels.document_ids, qrels.relevance)
    for query, document, label in zip(*(column.tolist() for column in columns), strict=True):
        labels.setdefault(str(query), {})[str(document)] = label
    return labels


def check_numbering(ids: Sequence[str], judged: Collection[str]) -> None:
    """Refuse judgments that number the queries by position, of queries that have other ids.

    Their numbers lie from 1 to the number of queries, are most of these, and are not all ids.
    """
    positions = {str(place + 1) for place in range(len(ids))}
    known = set(ids)
    unknown = [query for query in judged if query not in known]
    if unknown and positions.issuperset(judged) and 2 * len(judged) > len(ids):
        raise AdvisedError(
            f"The judgments seem to number the {len(ids):,} queries by position, like Cranfield's: "
            f"{len(unknown):,} of {len(judged):,} judged queries are not among the ids; the first "
            f"is {unknown[0]!r}, and all lie from 1 to {len(ids):,}.",
            "Read the queries with read_queries(…, numbered=True), or leave out the judgments of "
            "queries that do not exist.",
            "Add --numbered, or leave out the judgments of queries that do not exist.",
        )


def check_judgments(
    ids: Sequence[str], labels: Mapping[str, Mapping[str, float]], corpus: Container[str]
) -> None:
    """Refuse judgments that match no query or no document. Warns if only some do not match."""
    judged = [query for query in ids if labels.get(query)]
    if not judged:
        others = f" The first judgment is of query {next(iter(labels))!r}." if labels else ""
        raise ValueError(f"No query has a judgment. The first query is {ids[0]!r}.{others}")
    check_numbering(ids, labels)
    pairs = [(query, document) for query in judged for document in labels[query]]
    unknown = [pair for pair in pairs if pair[1] not in corpus]
    if len(unknown) == len(pairs):
        raise ValueError(
            f"No judged document is in the corpus. The first is {pairs[0][1]!r} of query "
            f"{pairs[0][0]!r}."
        )
    if unknown:
        warnings.warn(
            f"{len(unknown):,} of {len(pairs):,} judged documents are not in the corpus. The "
            f"first is {unknown[0][1]!r} of query {unknown[0][0]!r}.",
            stacklevel=3,
        )
    if len(judged) < len(ids):
        first = next(query for query in ids if not labels.get(query))
        warnings.warn(
            f"{len(ids) - len(judged):,} of {len(ids):,} queries have no judgment. The first is "
            f"{first!r}. Their documents count as not relevant.",
            stacklevel=3,
        )


def with_candidates(ids: Sequence[str], documents: Sequence[Sized]) -> list[int]:
    """The positions of the queries that have candidates. Warns if others have none."""
    kept = [place for place, candidates in enumerate(documents) if len(candidates)]
    if not kept:
        raise ValueError("No query has a candidate, so there is nothing to rank.")
    if len(kept) < len(ids):
        first = next(place for place in range(len(ids)) if not len(documents[place]))
        warnings.warn(
            f"{len(ids) - len(kept)} of {len(ids)} queries have no candidate and are left out. "
            f"The first is {ids[first]!r}.",
            stacklevel=4,
        )
    return kept


def labels_in(dataset: RankingDataset, labels: Mapping[str, Mapping[str, float]]) -> Floats:
    """The label of each document of a dataset. 0: the document was not judged."""
    pairs = zip(
        dataset.query_ids[dataset.query_index].tolist(),
        np.asarray(dataset.document_ids).tolist(),
        strict=True,
    )
    return np.array([labels.get(query, {}).get(document, 0.0) for query, document in pairs])


def _labels_of(query: Any, judged: Any) -> dict[str, float]:
    """The labels of a query's documents."""
    if not isinstance(judged, Mapping):
        raise ValueError(
            f"Judgments of query {str(query)!r} must be labels by document. Got {judged!r} instead."
        )
    for document, label in judged.items():
        if not isinstance(label, Real) or not isfinite(label):
            raise ValueError(
                f"The label of document {str(document)!r} of query {str(query)!r} must be a finite "
                f"number. Got {label!r} instead."
            )
    return {str(document): float(label) for document, label in judged.items()}
