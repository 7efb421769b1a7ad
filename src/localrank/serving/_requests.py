"""Requests and answers: from bytes to lists of documents, and from rankings to bytes.

A body is JSON, or a table in Arrow's stream format. The table of a request has one row for each
document, a column for each feature, and optionally a column `id`. A batch also has a column `qid`
that names the list of each document; the rows of a list follow one another. The table of an answer
has the columns `qid`, `id`, `index`, `rank` and `score`, with the best documents of each list
first.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np

from localrank._base.arrays import Floats
from localrank._base.names import unknown
from localrank.data import RankingDataset
from localrank.data._categories import Categories, input_names, text_of
from localrank.data._offsets import group_rows
from localrank.rankers import Ranker
from localrank.serving._messages import (
    ARROW,
    JSON,
    Batch,
    CategoryBatch,
    CategoryList,
    DocumentList,
    Id,
    Ranking,
    Rankings,
    Refused,
    TextQuery,
    Value,
)
from localrank.serving._models import Loaded
from localrank.serving.settings import Settings

if TYPE_CHECKING:
    from localrank.text import TextRanker

# At most this many names of features are listed in a message.
MAX_NAMES = 5
# Columns of an Arrow table that are no features.
QUERY, DOCUMENT = "qid", "id"
# The end mark of an Arrow stream. Without it, a stream cut between two batches would pass as a
# shorter list.
STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
# The mark of compressed Arrow streams in version 4 of the format.
LEGACY_COMPRESSION = b"ARROW:experimental_compression"

_one = msgspec.json.Decoder(DocumentList)
_several = msgspec.json.Decoder(Batch)
_one_of_texts = msgspec.json.Decoder(CategoryList)
_several_of_texts = msgspec.json.Decoder(CategoryBatch)
_words = msgspec.json.Decoder(TextQuery)
_encoder = msgspec.json.Encoder()
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Lists:
    """The lists of one request.

    Attributes
    ----------
    dataset : RankingDataset
        A query for each list, its rows in the order of the request.
    queries : list
        Ids of the queries. None: the request gives no id.
    ids : list of list
        Ids of the documents of each list.
    """

    dataset: RankingDataset
    queries: Sequence[Id | None]
    ids: Sequence[Sequence[Id]]


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
        return Asked(queries, lambda model: table.lists(model.ranker))
    try:
        lists = _several.decode(body).lists if batch else [_one.decode(body)]
    except msgspec.ValidationError as error:
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
        [each.query for each in lists], lambda model: lists_of_documents(lists, model.ranker)
    )


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
        if not getattr(model.ranker, "categories_", None):
            raise refused
        return lists_of_documents(lists, model.ranker)

    return Asked([each.query for each in lists], of_model)


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


def encoded(rankings: list[Ranking], kind: str, *, batch: bool) -> bytes:
    """The body of the answer."""
    if kind == ARROW:
        return write_arrow(rankings)
    return _encoder.encode(Rankings(rankings) if batch else rankings[0])


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
    if asked.depth is not None and asked.depth > max_documents:
        raise Refused(
            413,
            f"A request may rank at most {max_documents:,} documents. Got depth {asked.depth:,} "
            f"instead.",
        )
    for number, document in enumerate(asked.documents or []):
        _check_keys(number, document, texts)
    depth = min(texts.extractor_.depth, max_documents) if asked.depth is None else asked.depth
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


def lists_of_documents(lists: Sequence[DocumentList], ranker: Ranker) -> Lists:
    """The lists in the form that a model takes. Raises `Refused` that names the error's place."""
    several = len(lists) > 1
    matrices = []
    for number, documents in enumerate(lists):
        try:
            matrices.append(_matrix(documents, ranker))
        except Refused as refused:
            where = f"lists[{number}]: " if several else ""
            raise Refused(refused.status, where + refused.message) from None
    sizes = [len(matrix) for matrix in matrices]
    return Lists(
        as_dataset(np.concatenate(matrices) if several else matrices[0], sizes, ranker),
        [each.query for each in lists],
        [
            [
                index if document.id is None else document.id
                for index, document in enumerate(each.documents)
            ]
            for each in lists
        ],
    )


def as_dataset(features: Floats, sizes: Sequence[int], ranker: Ranker) -> RankingDataset:
    """A dataset of the rows of lists that follow one another, in the model's order of features."""
    try:
        dataset = RankingDataset.from_arrays(features, qid=np.repeat(np.arange(len(sizes)), sizes))
    except ValueError as error:
        raise Refused(422, str(error)) from None
    names, categories = _inputs(ranker)
    return dataset.replaced(feature_names=names, categories=categories or None)


def _inputs(ranker: Ranker) -> tuple[tuple[str, ...] | None, Categories]:
    """The names of the features that a model takes, and its categories."""
    categories: Categories = getattr(ranker, "categories_", None) or {}
    trained = getattr(ranker, "feature_names_in_", None)
    names = None if trained is None else tuple(trained.tolist())
    return (input_names(names, categories) if names and categories else names), categories


def columns_of(given: list[str], names: Sequence[str] | None) -> list[int]:
    """The position of each of the model's features among the given names."""
    if names is None:
        raise Refused(422, "The model was trained without feature names: leave out feature_names.")
    place = {name: column for column, name in enumerate(given)}
    if len(place) != len(given):
        raise Refused(422, "feature_names must be unique.")
    _check_names("feature_names", place, list(names))
    return [place[name] for name in names]


def _matrix(request: DocumentList, ranker: Ranker) -> Floats:
    """The features, one row per document, columns in the model's order."""
    names, categories = _inputs(ranker)
    n_features: int = ranker.n_features_in_ if names is None else len(names)
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
        return _coded(rows, names or (), categories)
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), n_features)
    return matrix if columns is None else matrix[:, columns]


def _coded(
    rows: Sequence[Sequence[Value | str]], names: Sequence[str], categories: Categories
) -> Floats:
    """Rows with the codes of categories; NaN for a value that was not in training."""
    matrix = np.empty((len(rows), len(names)))
    for column, name in enumerate(names):
        values = [row[column] for row in rows]
        if name in categories:
            place: dict[str | None, float] = {
                text: float(code) for code, text in enumerate(categories[name])
            }
            texts = [value if isinstance(value, str) else text_of(value, name) for value in values]
            matrix[:, column] = [place.get(text, np.nan) for text in texts]
            continue
        for number, value in enumerate(values):
            if isinstance(value, str):
                raise Refused(
                    422, f"documents[{number}]: the feature {name!r} is a number. Got a text."
                )
        matrix[:, column] = np.array(values, dtype=np.float64)
    return matrix


def _rows_by_name(features: Sequence[dict[str, Value]], names: list[str]) -> list[Any]:
    take = itemgetter(*names)
    try:
        rows = [take(values) for values in features]
    except KeyError:
        rows = []
    if not rows or any(len(values) != len(names) for values in features):
        for number, values in enumerate(features):
            _check_names(f"documents[{number}]", values, names)
    return rows


def _check_names(where: str, given: dict[str, Any], names: list[str]) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise Refused(422, f"{where}: lacks {_listed(missing)}, which the model needs.")
    surplus = [name for name in given if name not in set(names)]
    if surplus:
        raise Refused(422, f"{where}: {unknown('The model has no feature', surplus[0], names)}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(repr, names[:MAX_NAMES])) + more


@dataclass(frozen=True)
class ArrowTable:
    """A table as it was read from a request."""

    features: Any
    qid: Any
    ids: Any

    @property
    def n_documents(self) -> int:
        return int(self.features.num_rows)

    def queries(self) -> tuple[list[Id | None], list[int]]:
        """The ids of the lists and their sizes. Without a column `qid`, one list with id None."""
        if self.qid is None:
            return [None], [self.n_documents]
        names, offsets, order = group_rows(np.array(_present_ids(self.qid), dtype=object))
        if order is not None:
            raise Refused(422, f"The rows of a list must follow one another in {QUERY!r}.")
        return names.tolist(), np.diff(offsets).tolist()

    def lists(self, ranker: Ranker) -> Lists:
        """The lists in the form that a ranker takes."""
        names = self.features.column_names
        known, categories = _inputs(ranker)
        columns = range(len(names)) if known is None else columns_of(names, known)
        n_features = ranker.n_features_in_ if known is None else len(known)
        if len(columns) != n_features:
            raise Refused(
                422,
                f"The model takes {n_features} features. "
                f"The table has {len(columns)} columns for them.",
            )
        for field in self.features.schema:
            if _is_text(field.type) and field.name not in categories:
                raise Refused(
                    422, f"Column {field.name!r} must hold numbers. Its type is {field.type}."
                )
        single = all(field.type == "float" for field in self.features.schema)
        matrix = np.empty((self.n_documents, len(columns)), np.float32 if single else np.float64)
        for place, column in enumerate(columns):
            values = self.features.column(column)
            if names[column] in categories:
                rows = [[value] for value in values.to_pylist()]
                matrix[:, [place]] = _coded(rows, [names[column]], categories)
            else:
                matrix[:, place] = values.to_numpy(zero_copy_only=False)
        queries, sizes = self.queries()
        bounds = np.cumsum([0, *sizes]).tolist()
        ids = None if self.ids is None else _present_ids(self.ids)
        return Lists(
            as_dataset(matrix, sizes, ranker),
            queries,
            [
                list(range(size)) if ids is None else ids[begin : begin + size]
                for begin, size in zip(bounds, sizes, strict=False)
            ],
        )


def read_arrow(body: bytes, *, batch: bool) -> ArrowTable:
    """Read the table of a request. Raises `Refused` with the reason if it is wrong."""
    pyarrow, ipc = arrow()
    if not body.endswith(STREAM_END):
        raise Refused(400, "The body is not an Arrow stream, or is cut off: it lacks the end mark.")
    try:
        _refuse_compressed(ipc, body)
        table = ipc.open_stream(body).read_all()
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, struct.error, UnicodeDecodeError) as error:
        raise Refused(400, f"The body is not an Arrow stream: {error}.") from None
    names = table.column_names
    if len(set(names)) != len(names):
        raise Refused(422, "Column names must be unique.")
    if table.num_rows == 0:
        raise Refused(422, "The table has no rows. A list needs at least one document.")
    if batch != (QUERY in names):
        raise Refused(
            422,
            f"A batch needs the column {QUERY!r}, which names the list of each document."
            if batch
            else f"A table with the column {QUERY!r} holds several lists: send it to …/batch.",
        )
    for field in table.schema:
        kinds = pyarrow.types
        number = kinds.is_integer(field.type) or str(field.type) in ("float", "double", "bool")
        text = _is_text(field.type)
        if field.name in (QUERY, DOCUMENT):
            if not (kinds.is_integer(field.type) or text):
                raise Refused(422, f"Column {field.name!r} must hold integers or strings.")
        elif not number and not text:
            raise Refused(
                422, f"Column {field.name!r} must hold numbers. Its type is {field.type}."
            )
    return ArrowTable(
        table.drop_columns([name for name in (QUERY, DOCUMENT) if name in names]),
        table.column(QUERY) if QUERY in names else None,
        table.column(DOCUMENT) if DOCUMENT in names else None,
    )


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string")


def write_arrow(rankings: list[Ranking]) -> bytes:
    """Rankings as the bytes of a stream."""
    pyarrow, ipc = arrow()
    places = [place for ranking in rankings for place in ranking.ranking]
    columns: dict[str, Any] = {
        QUERY: _of_one_type(
            [ranking.query for ranking in rankings for _ in ranking.ranking],
        ),
        DOCUMENT: _of_one_type([place.id for place in places]),
        "index": [place.index for place in places],
        "rank": [rank for ranking in rankings for rank in range(1, len(ranking.ranking) + 1)],
        "score": [place.score for place in places],
    }
    table = pyarrow.table(columns).replace_schema_metadata(
        {"model": rankings[0].model, "version": rankings[0].version}
    )
    sink = pyarrow.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _of_one_type(ids: list[Id | None]) -> list[Any]:
    """Ids of one type: all texts if one is a text, or is too large for Arrow's integers."""
    if any(isinstance(name, str) or (name is not None and name.bit_length() > 63) for name in ids):
        return [None if name is None else str(name) for name in ids]
    return ids


def _present_ids(column: Any) -> list[Id]:
    if column.null_count:
        raise Refused(422, f"Ids must not be missing: {column.null_count:,} are.")
    return list(column.to_pylist())


def arrow() -> tuple[Any, Any]:
    """The modules that read and write Arrow. Raises `Refused` if they are not installed."""
    try:
        import pyarrow
        from pyarrow import ipc
    except ImportError:
        raise Refused(
            415,
            "This service takes no Arrow bodies, because pyarrow is not installed. Send JSON, or "
            "install it with pip install 'localrank[serve,tables]'.",
        ) from None
    return pyarrow, ipc


def _refuse_compressed(ipc: Any, body: bytes) -> None:
    """Refuse compressed buffers: a few bytes could become any number of bytes."""
    reader = ipc.MessageReader.open_stream(body)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        # Tables of the format's flatbuffers: Message.header, DictionaryBatch.data, and
        # RecordBatch.compression.
        metadata = bytes(message.metadata)
        if message.type not in ("record batch", "dictionary"):
            continue
        (root,) = struct.unpack_from("<I", metadata)
        batch = _inner_table(metadata, root, 2)
        if message.type == "dictionary" and batch is not None:
            batch = _inner_table(metadata, batch, 1)
        compressed = batch is not None and _inner_table(metadata, batch, 3) is not None
        if compressed or LEGACY_COMPRESSION in metadata:
            raise Refused(415, "Compressed Arrow buffers are not taken: send them uncompressed.")


def _inner_table(metadata: bytes, table: int, field: int) -> int | None:
    """The position of a table that is a field of another table. None: the field is absent."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if 4 + 2 * field >= size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * field)
    if not offset:
        return None
    place = table + offset
    return int(place + struct.unpack_from("<I", metadata, place)[0])
