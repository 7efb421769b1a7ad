"""Formats of requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np

from localrank.data import RankingDataset
from localrank.serving import _arrow as arrow
from localrank.serving._failures import Refused
from localrank.serving._lists import Lists, lists_of_documents
from localrank.serving._messages import Batch, DocumentList, Id, Ranking, Rankings, TextQuery
from localrank.serving._models import Loaded
from localrank.serving.settings import Settings

if TYPE_CHECKING:
    from localrank.text import TextRanker

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"

_one = msgspec.json.Decoder(DocumentList)
_several = msgspec.json.Decoder(Batch)
_words = msgspec.json.Decoder(TextQuery)
_encoder = msgspec.json.Encoder()
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Asked:
    """The lists of a request, before a model is known.

    Attributes
    ----------
    queries : sequence
        The query ids of the lists. None: a list without a query id.
    lists : callable
        A function from a model to the lists in the form that the model takes.
    """

    queries: Sequence[Id | None]
    lists: Callable[[Loaded], Lists]


def content_format(content_type: str) -> str:
    """The format of a request by its Content-Type. Raises `Refused` for other types."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (JSON, ARROW):
        raise Refused(415, f"Content-Type must be {JSON} or {ARROW}. Got {kind!r} instead.")
    return kind


def answer_format(accept: str, asked: str) -> str:
    """The format of the answer: the request's, unless the client accepts only the other one."""
    accepted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    (other,) = {JSON, ARROW} - {asked}
    return other if other in accepted and asked not in accepted else asked


def decoded(body: bytes, kind: str, settings: Settings, *, batch: bool) -> Asked:
    """Decode a request. Raises `Refused` with the place of the error if it is wrong."""
    if kind == ARROW:
        table = arrow.read(body, batch=batch)
        _check_sizes(settings, table.n_documents)
        queries, _ = table.queries()
        _check_sizes(settings, table.n_documents, len(queries))
        return Asked(queries, lambda model: table.lists(model.ranker))
    try:
        lists = _several.decode(body).lists if batch else [_one.decode(body)]
    except msgspec.ValidationError as error:
        refused = Refused(422, f"{error}.")
        if batch:
            raise refused from None
        return _asked_by_words(body, settings, refused)
    except _NOT_JSON as error:
        raise Refused(400, f"The body is not JSON: {error}.") from None
    _check_sizes(settings, sum(len(each.documents) for each in lists), len(lists))
    return Asked(
        [each.query for each in lists], lambda model: lists_of_documents(lists, model.ranker)
    )


def _asked_by_words(body: bytes, settings: Settings, refused: Refused) -> Asked:
    """Decode a request without features as a query of words.

    The model decides whether that is right. A model that takes no words raises `refused`, the
    reason why the request is not a list of features.
    """
    try:
        asked = _words.decode(body)
    except msgspec.ValidationError as error:
        no_words = Refused(422, f"{error}.")
        return Asked([None], lambda model: _raised(refused if model.texts is None else no_words))
    except _NOT_JSON as error:
        # The first decoder may have stopped before the place where the JSON is broken.
        raise Refused(400, f"The body is not JSON: {error}.") from None
    _check_sizes(settings, len(asked.documents or []))

    def lists(model: Loaded) -> Lists:
        if model.texts is None:
            raise refused
        return list_of_words(asked, model.texts, settings.max_documents)

    return Asked([asked.query], lists)


def _raised(refused: Refused) -> NoReturn:
    raise refused


def encoded(rankings: list[Ranking], kind: str, *, batch: bool) -> bytes:
    """The body of the answer."""
    if kind == ARROW:
        return arrow.write(rankings)
    return _encoder.encode(Rankings(rankings) if batch else rankings[0])


def _check_sizes(settings: Settings, n_documents: int, n_lists: int = 1) -> None:
    for n, most, what in (
        (n_documents, settings.max_documents, "documents"),
        (n_lists, settings.max_lists, "lists"),
    ):
        if n > most:
            raise Refused(413, f"A request may hold at most {most:,} {what}. Got {n:,} instead.")


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
