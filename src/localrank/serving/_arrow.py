"""Lists of documents as Arrow tables, in Arrow's stream format.

A request is a table with one row for each document, a column for each feature, and optionally a
column `id`. A batch also has a column `qid` that names the list of each document; the rows of a
list follow one another. The answer has the columns `qid`, `id`, `index`, `rank` and `score`, with
the best documents of each list first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank.data._offsets import group_rows
from localrank.rankers import Ranker
from localrank.serving._failures import Refused
from localrank.serving._lists import Lists, as_dataset, columns_of
from localrank.serving._messages import Id, Ranking

QUERY, DOCUMENT = "qid", "id"
# The end mark of a stream. Without it, a stream cut between two batches would pass as a shorter
# list.
END = b"\xff\xff\xff\xff\0\0\0\0"
# The mark of compressed streams in version 4 of the format.
LEGACY_COMPRESSION = b"ARROW:experimental_compression"


@dataclass(frozen=True)
class Table:
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
        names, offsets, order = group_rows(np.array(_ids(self.qid), dtype=object))
        if order is not None:
            raise Refused(422, f"The rows of a list must follow one another in {QUERY!r}.")
        return names.tolist(), np.diff(offsets).tolist()

    def lists(self, ranker: Ranker) -> Lists:
        """The lists in the form that a ranker takes."""
        names = self.features.column_names
        known = getattr(ranker, "feature_names_in_", None)
        columns = range(len(names)) if known is None else columns_of(names, known)
        if len(columns) != ranker.n_features_in_:
            raise Refused(
                422,
                f"The model takes {ranker.n_features_in_} features. "
                f"The table has {len(columns)} columns for them.",
            )
        single = all(field.type == "float" for field in self.features.schema)
        matrix = np.empty((self.n_documents, len(columns)), np.float32 if single else np.float64)
        for place, column in enumerate(columns):
            matrix[:, place] = self.features.column(column).to_numpy(zero_copy_only=False)
        queries, sizes = self.queries()
        bounds = np.cumsum([0, *sizes]).tolist()
        ids = None if self.ids is None else _ids(self.ids)
        return Lists(
            as_dataset(matrix, sizes),
            queries,
            [
                list(range(size)) if ids is None else ids[begin : begin + size]
                for begin, size in zip(bounds, sizes, strict=False)
            ],
        )


def read(body: bytes, *, batch: bool) -> Table:
    """Read the table of a request. Raises `Refused` with the reason if it is wrong."""
    pyarrow, ipc = _arrow()
    if not body.endswith(END):
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
        text = kinds.is_string(field.type) or kinds.is_large_string(field.type)
        if field.name in (QUERY, DOCUMENT):
            if not (kinds.is_integer(field.type) or text):
                raise Refused(422, f"Column {field.name!r} must hold integers or strings.")
        elif not number:
            raise Refused(
                422, f"Column {field.name!r} must hold numbers. Its type is {field.type}."
            )
    return Table(
        table.drop_columns([name for name in (QUERY, DOCUMENT) if name in names]),
        table.column(QUERY) if QUERY in names else None,
        table.column(DOCUMENT) if DOCUMENT in names else None,
    )


def write(rankings: list[Ranking]) -> bytes:
    """Rankings as the bytes of a stream."""
    pyarrow, ipc = _arrow()
    places = [place for ranking in rankings for place in ranking.ranking]
    columns: dict[str, Any] = {
        QUERY: _column(
            [ranking.query for ranking in rankings for _ in ranking.ranking],
        ),
        DOCUMENT: _column([place.id for place in places]),
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


def _column(ids: list[Id | None]) -> list[Any]:
    """Ids of one type: all texts if one is a text, or is too large for Arrow's integers."""
    if any(isinstance(name, str) or (name is not None and name.bit_length() > 63) for name in ids):
        return [None if name is None else str(name) for name in ids]
    return ids


def _ids(column: Any) -> list[Id]:
    if column.null_count:
        raise Refused(422, f"Ids must not be missing: {column.null_count:,} are.")
    return list(column.to_pylist())


def _arrow() -> tuple[Any, Any]:
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
