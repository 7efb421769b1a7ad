"""Turns the words of a request into the rows that a model takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.data import RankingDataset
from localrank.serving.failures import Refused
from localrank.serving.lists import Lists
from localrank.serving.messages import TextQuery

if TYPE_CHECKING:
    from localrank.text import TextRanker

# How many documents of the index are ranked if a request does not say.
DEPTH = 100


def list_of_words(asked: TextQuery, texts: TextRanker, max_documents: int) -> Lists:
    """The documents of a request in the form that a model takes. Raises `Refused` if wrong."""
    if asked.documents is not None and asked.depth is not None:
        raise Refused(
            422,
            "depth is for documents of the index, and the request holds documents: leave out one "
            "of them.",
        )
    if asked.depth is not None and asked.depth > max_documents:
        raise Refused(
            413,
            f"A request may rank at most {max_documents:,} documents. Got depth {asked.depth:,} "
            f"instead.",
        )
    for number, document in enumerate(asked.documents or []):
        _check_keys(number, document, texts)
    depth = min(DEPTH, max_documents) if asked.depth is None else asked.depth
    try:
        dataset, ids = texts.list_of(asked.query, asked.documents, depth=depth)
    except ValueError as error:
        raise Refused(422, str(error)) from None
    if dataset is None:
        dataset = _nothing(texts.n_features_in_)
    names = [name if isinstance(name, str | int) else str(name) for name in ids]
    return Lists(dataset, [asked.query], [names])


def _check_keys(number: int, document: Mapping[str, Any], texts: TextRanker) -> None:
    """Refuse a document without any field of the corpus: its keys are probably wrong."""
    keys = texts.extractor_.document_keys
    if not any(key in document for key in keys):
        raise Refused(
            422, f"documents[{number}]: has no text under {' or '.join(map(repr, keys))}."
        )


def _nothing(n_features: int) -> RankingDataset:
    """An empty list, for a query that no document matches."""
    return RankingDataset._checked(
        features=np.empty((0, n_features)),
        relevance=None,
        offsets=np.array([0, 0]),
        query_ids=np.array(["1"]),
        document_ids=None,
        feature_names=None,
        input_order=None,
    )
