"""Requests and answers: from bytes to lists of documents, and from rankings to bytes.

A body is JSON, or a table in Arrow's stream format (`_arrow`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec
import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.vectors import Singles
from localrank.data._row_vectors import RowVectors, joined_vectors
from localrank.serving._arrow import read_arrow
from localrank.serving._lists import (
    Inputs,
    Lists,
    as_dataset,
    check_names,
    coded,
    columns_of,
    nothing,
    vector_of,
    vectors_of_list,
)
from localrank.serving._messages import (
    ARROW,
    JSON,
    MAX_DIMENSIONS,
    MAX_VECTOR_BYTES,
    Batch,
    CategoryBatch,
    CategoryList,
    DocumentList,
    Id,
    RawBatch,
    RawList,
    Refused,
    Runs,
    RunsBatch,
    SaysRuns,
    SaysRunsBatch,
    TextQuery,
    Value,
    Vector,
)
from localrank.serving._models import Loaded
from localrank.serving._number_tables import number_table
from localrank.serving._runs import documents_of, fusible, joined
from localrank.serving.settings import Settings

if TYPE_CHECKING:
    from localrank.text import TextRanker

_List = TypeVar("_List")
_Read = TypeVar("_Read")

_one = msgspec.json.Decoder(DocumentList)
_several = msgspec.json.Decoder(Batch)
_one_raw = msgspec.json.Decoder(RawList)
_several_raw = msgspec.json.Decoder(RawBatch)
_one_of_texts = msgspec.json.Decoder(CategoryList)
_several_of_texts = msgspec.json.Decoder(CategoryBatch)
_words = msgspec.json.Decoder(TextQuery)
_one_of_runs = msgspec.json.Decoder(Runs)
_several_of_runs = msgspec.json.Decoder(RunsBatch)
_says_runs = msgspec.json.Decoder(SaysRuns)
_several_say_runs = msgspec.json.Decoder(SaysRunsBatch)
_vector_of_raw: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Vector)
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
        table = read_arrow(body, batch=batch)
        _check_sizes(settings, table.n_documents)
        queries, _ = table.queries()
        _check_sizes(settings, table.n_documents, len(queries))
        return Asked(queries, lambda model: table.lists(model.inputs))
    if (tables := _number_tables(body, batch=batch)) is not None:
        _check_sizes(settings, sum(len(each.table) for each in tables), len(tables))
        return Asked(
            [each.raw.query for each in tables],
            lambda model: (
                _lists_of_tables(tables, model.inputs)
                or lists_of_documents(_documents(body, batch=batch), model.inputs)
            ),
        )
    try:
        lists = _documents(body, batch=batch)
    except msgspec.ValidationError as error:
        if _of_runs(body, batch=batch):
            return _asked_by_runs(body, settings, batch=batch)
        refused = Refused(422, f"{error}.")
        if (with_texts := _lists_with_texts(body, batch=batch)) is not None:
            return _asked_with_texts(with_texts, settings, refused)
        if batch:
            raise refused from None
        return _asked_by_words(body, settings, refused)
    except _NOT_JSON as error:
        raise Refused(400, f"The body is not JSON: {error}.") from None
    _check_sizes(settings, sum(len(each.documents) for each in lists), len(lists))
    return Asked(
        [each.query for each in lists], lambda model: lists_of_documents(lists, model.inputs)
    )


def _documents(body: bytes, *, batch: bool) -> Sequence[DocumentList]:
    return _several.decode(body).lists if batch else [_one.decode(body)]


@dataclass(frozen=True)
class _NumberTable:
    """A list of documents that are all written alike.

    Attributes
    ----------
    raw : RawList
    table : ndarray
        The numbers of the documents, a row for each.
    names : list of str or None
        The names of the columns. None: the documents are rows.
    """

    raw: RawList
    table: Floats
    names: list[str] | None


def _number_tables(body: bytes, *, batch: bool) -> list[_NumberTable] | None:
    """The lists of a request as tables. None: only the decoder can tell what they are."""
    try:
        lists = _several_raw.decode(body).lists if batch else [_one_raw.decode(body)]
    except _NOT_JSON:
        return None
    for each in lists:
        _check_vector_bytes(each)
    tables = []
    for each in lists:
        read = number_table([document.features for document in each.documents])
        if read is None:
            return None
        tables.append(_NumberTable(each, *read))
    return tables


def _check_vector_bytes(each: RawList) -> None:
    """Refuse a vector that is too long, before its numbers are read."""
    for number, document in enumerate(each.documents):
        if memoryview(document.vector).nbytes > MAX_VECTOR_BYTES:
            raise Refused(
                422, f"documents[{number}].vector may have at most {MAX_DIMENSIONS:,} numbers."
            )


def _lists_of_tables(tables: Sequence[_NumberTable], inputs: Inputs) -> Lists | None:
    """Tables in the form that a model takes. None: they are not what the model takes."""
    matrices = []
    for each in tables:
        names = each.names or each.raw.feature_names
        named_twice = each.names is not None and each.raw.feature_names is not None
        if inputs.categories or named_twice or each.table.shape[1] != inputs.n_features:
            return None
        if names is None or tuple(names) == inputs.names:
            matrices.append(each.table)
        elif inputs.names is not None and set(names) == set(inputs.names):
            matrices.append(each.table[:, columns_of(names, inputs.names)])
        else:
            return None
    return _joined(matrices, [each.raw for each in tables], inputs)


def _lists_with_texts(body: bytes, *, batch: bool) -> Sequence[DocumentList] | None:
    """The lists of a request with texts among the features. None: the request is no such thing."""
    try:
        if batch:
            return _several_of_texts.decode(body).lists
        return [_one_of_texts.decode(body)]
    except _NOT_JSON:
        return None


def _asked_with_texts(lists: Sequence[DocumentList], settings: Settings, refused: Refused) -> Asked:
    """Lists with texts among the features. A model without categories raises `refused`."""
    _check_sizes(settings, sum(len(each.documents) for each in lists), len(lists))

    def of_model(model: Loaded) -> Lists:
        if not model.inputs.categories:
            raise refused
        return lists_of_documents(lists, model.inputs)

    return Asked([each.query for each in lists], of_model)


def _of_runs(body: bytes, *, batch: bool) -> bool:
    """Whether a request has lists of retrievers, right or wrong."""
    try:
        (_several_say_runs if batch else _says_runs).decode(body)
    except _NOT_JSON:
        return False
    return True


def _asked_by_runs(body: bytes, settings: Settings, *, batch: bool) -> Asked:
    """Decode a request with lists of retrievers."""
    try:
        asked = _several_of_runs.decode(body).lists if batch else [_one_of_runs.decode(body)]
    except msgspec.ValidationError as error:
        raise Refused(422, f"{error}.") from None
    _check_sizes(settings, sum(len(documents_of(runs)) for runs in asked), len(asked))
    return Asked(
        [runs.query for runs in asked],
        lambda model: joined(
            _of_each(asked, lambda runs: fusible(runs, model.inputs)), model.inputs
        ),
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

        def refuse(model: Loaded) -> NoReturn:
            raise refused if model.texts is None else no_words

        return Asked([None], refuse)
    except _NOT_JSON as error:
        # The first decoder may have stopped before the place where the JSON is broken.
        raise Refused(400, f"The body is not JSON: {error}.") from None
    _check_sizes(settings, len(asked.documents or []))
    most = settings.max_query_words
    # Counted without taking the query apart, and no further than needed.
    if sum(1 for _ in islice(re.finditer(r"\w+", asked.query), most + 1)) > most:
        raise Refused(413, f"A query may have at most {most:,} words. Got more.")

    def lists(model: Loaded) -> Lists:
        if model.texts is None:
            raise refused
        return list_of_words(asked, model.texts, settings.max_documents)

    return Asked([asked.query], lists)


def _check_sizes(settings: Settings, n_documents: int, n_lists: int = 1) -> None:
    for n, most, what in (
        (n_documents, settings.max_documents, "documents"),
        (n_lists, settings.max_lists, "lists"),
    ):
        if n > most:
            raise Refused(413, f"A request may hold at most {most:,} {what}. Got {n:,} instead.")


def list_of_words(asked: TextQuery, texts: TextRanker, max_documents: int) -> Lists:
    """The documents of a request in the form that a model takes. Raises `Refused` if wrong."""
    if asked.documents is not None and asked.depth is not None:
        raise Refused(
            422,
            "depth is for documents of the index, and the request holds documents: leave out one "
            "of them.",
        )
    # Two lists may have no document in common.
    max_depth = max_documents // 2 if texts.extractor_.with_vectors else max_documents
    if asked.depth is not None and asked.depth > max_depth:
        raise Refused(
            413,
            f"A request may rank at most {max_documents:,} documents. Got depth {asked.depth:,}"
            f"{' of two lists' if texts.extractor_.with_vectors else ''} instead.",
        )
    for number, document in enumerate(asked.documents or []):
        _check_keys(number, document, texts)
    depth = min(texts.extractor_.depth, max_depth) if asked.depth is None else asked.depth
    vector = None if asked.vector is None else _vector(asked.vector, texts)
    if vector is None and not texts.extractor_.takes_words_alone:
        raise Refused(
            422,
            "The model ranks by vectors, too, and the service has no encoder: give the vector of "
            "the query as `vector`.",
        )
    try:
        dataset, ids = texts.list_of(asked.query, asked.documents, depth=depth, query_vector=vector)
    except ValueError as error:
        raise Refused(422, str(error)) from None
    if dataset is None:
        dataset = nothing(texts.n_features_in_)
    names = [name if isinstance(name, str | int) else str(name) for name in ids]
    named = all(document.get("id") is not None for document in asked.documents or [])
    return Lists(dataset, [asked.query], [names], named)


def _vector(given: list[float] | str, texts: TextRanker) -> Singles:
    """The vector of a query. Raises `Refused` if it is wrong."""
    vectors = texts.extractor_.index_.vectors
    if vectors is None:
        raise Refused(422, "The model ranks by words alone: leave out `vector`.")
    return vector_of(given, "`vector`", vectors.shape[1])


def _check_keys(number: int, document: Mapping[str, Any], texts: TextRanker) -> None:
    """Refuse a document without any field of the corpus: its keys are probably wrong."""
    keys = texts.extractor_.document_keys
    if not any(key in document for key in keys):
        raise Refused(
            422, f"documents[{number}]: has no text under {' or '.join(map(repr, keys))}."
        )


def lists_of_documents(lists: Sequence[DocumentList], inputs: Inputs) -> Lists:
    """The lists in the form that a model takes. Raises `Refused` that names the error's place."""
    return _joined(_of_each(lists, lambda each: _matrix(each, inputs)), lists, inputs)


def _of_each(lists: Sequence[_List], read: Callable[[_List], _Read]) -> list[_Read]:
    """What is read of each list. Names the list if it is refused."""
    results = []
    for number, documents in enumerate(lists):
        try:
            results.append(read(documents))
        except Refused as refused:
            where = f"lists[{number}]: " if len(lists) > 1 else ""
            raise Refused(refused.status, where + refused.message) from None
    return results


def _joined(matrices: Sequence[Floats], lists: Sequence[DocumentList], inputs: Inputs) -> Lists:
    """The features of lists, with the ids of their queries and documents."""
    whole = np.concatenate(matrices) if len(matrices) > 1 else matrices[0]
    vectors = joined_vectors(_of_each(lists, lambda each: _vectors(each, inputs)))
    return Lists(
        as_dataset(whole, [len(matrix) for matrix in matrices], inputs, vectors),
        [each.query for each in lists],
        [
            [
                index if document.id is None else document.id
                for index, document in enumerate(each.documents)
            ]
            for each in lists
        ],
        not any(document.id is None for each in lists for document in each.documents),
    )


def _vectors(request: DocumentList, inputs: Inputs) -> RowVectors | None:
    """The vectors of a list's documents. None: the model needs none."""
    if not inputs.vectors:
        return None
    documents = request.documents
    vectors = [document.vector for document in documents]
    for number, vector in enumerate(vectors):
        if isinstance(vector, msgspec.Raw):
            try:
                vectors[number] = _vector_of_raw.decode(vector)
            except msgspec.ValidationError as error:
                raise Refused(422, f"documents[{number}].vector: {error}.") from None
    return vectors_of_list(vectors, [document.id for document in documents], inputs)


def _matrix(request: DocumentList, inputs: Inputs) -> Floats:
    """The features, one row per document, columns in the model's order."""
    n_features, names, categories = inputs.n_features, inputs.names, inputs.categories
    features = [document.features for document in request.documents]
    kinds = set(map(type, features))
    if len(kinds) > 1:
        raise Refused(
            422, "Some documents are rows, others name their features. Use one form in a list."
        )
    rows: list[Any] = features
    if kinds == {dict}:
        if request.feature_names is not None:
            raise Refused(
                422, "feature_names is for rows, and these documents name their features."
            )
        if names is None:
            raise Refused(
                422,
                f"The model was trained without feature names: send each document's features as "
                f"a row of {n_features} numbers.",
            )
        rows = _rows_by_name(rows, list(names))
    elif wrong := [i for i, row in enumerate(rows) if len(row) != n_features]:
        raise Refused(
            422,
            f"documents[{wrong[0]}]: the model takes {n_features} features. "
            f"Got {len(rows[wrong[0]])} instead.",
        )
    columns = None
    if request.feature_names is not None:
        columns = columns_of(request.feature_names, names)
    if categories:
        rows = rows if columns is None else [[row[column] for column in columns] for row in rows]
        return coded(rows, names or (), categories)
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), n_features)
    return matrix if columns is None else matrix[:, columns]


def _rows_by_name(features: Sequence[dict[str, Value]], names: list[str]) -> list[Any]:
    take = itemgetter(*names)
    try:
        rows = [take(values) for values in features]
    except KeyError:
        rows = []
    if not rows or any(len(values) != len(names) for values in features):
        for number, values in enumerate(features):
            check_names(f"documents[{number}]", values, names)
    return rows
