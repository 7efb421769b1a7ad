"""Requests and answers as tables in Arrow's stream format.

The table of a request has one row for each document, a column for each feature, and optionally a
column `id`. A batch also has a column `qid` that names the list of each document; the rows of a
list follow one another. A column `vector` of lists holds the vectors of documents. The table of an
answer has the columns `qid`, `id`, `index`, `rank` and `score`, with the best documents of each
list first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data._offsets import group_rows
from localrank.data._row_vectors import RowVectors, joined_vectors
from localrank.serving._lists import (
    Inputs,
    Lists,
    as_dataset,
    coded,
    columns_of,
    vectors_of_list,
)
from localrank.serving._messages import Id, Refused

# Columns of a table that are no features. A column `vector` of numbers is a feature.
QUERY, DOCUMENT, VECTOR = "qid", "id", "vector"
# The end mark of an Arrow stream. Without it, a stream cut between two batches would pass as a
# shorter list.
STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
# The mark of compressed Arrow streams in version 4 of the format.
LEGACY_COMPRESSION = b"ARROW:experimental_compression"
# At most this many bytes of a schema that is kept for later requests.
KEPT_SCHEMA = 1 << 16


class Columns(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    schema : pyarrow.Schema
    place : dict
        The place of each column by its name.
    features : dict
        The type of each column of features by its name.
    names : tuple of str
        The names of the features.
    only : int or None
        The id of the type that all features have. None: their types differ.
    """

    schema: Any
    place: dict[str, int]
    features: dict[str, Any]
    names: tuple[str, ...]
    only: int | None


@dataclass(frozen=True)
class ArrowTable:
    """A table as it was read from a request.

    Attributes
    ----------
    columns : Columns
    batch : pyarrow.RecordBatch
        All rows.
    """

    columns: Columns
    batch: Any

    @property
    def n_documents(self) -> int:
        return int(self.batch.num_rows)

    def queries(self) -> tuple[list[Id | None], list[int]]:
        """The ids of the lists and their sizes. Without a column `qid`, one list with id None."""
        qid = self._ids(QUERY)
        if qid is None:
            return [None], [self.n_documents]
        names, offsets, order = group_rows(np.array(qid, dtype=object))
        if order is not None:
            raise Refused(422, f"The rows of a list must follow one another in {QUERY!r}.")
        return names.tolist(), np.diff(offsets).tolist()

    def lists(self, inputs: Inputs) -> Lists:
        """The lists in the form that a model takes."""
        names = self.columns.names
        if inputs.names not in (None, names):
            names = tuple(names[column] for column in columns_of(names, inputs.names))
        if len(names) != inputs.n_features:
            raise Refused(
                422,
                f"The model takes {inputs.n_features} features. "
                f"The table has {len(names)} columns for them.",
            )
        matrix = self._matrix(names, inputs)
        queries, sizes = self.queries()
        bounds = np.cumsum([0, *sizes]).tolist()
        ids = self._ids(DOCUMENT)
        named = [
            list(range(size)) if ids is None else ids[begin : begin + size]
            for begin, size in zip(bounds, sizes, strict=False)
        ]
        vectors = None
        if inputs.vectors and VECTOR in self.columns.place:
            vectors = self._vectors(inputs.n_dimensions)
        elif inputs.vectors:
            looked_up = [
                vectors_of_list([None] * len(each), each if ids else [None] * len(each), inputs)
                for each in named
            ]
            vectors = joined_vectors(looked_up)
        dataset = as_dataset(matrix, sizes, inputs, vectors)
        return Lists(dataset, queries, named, ids is not None)

    def _matrix(self, names: Sequence[str], inputs: Inputs) -> Floats:
        """The features, one row per document, in the order of the names."""
        columns, kinds = self.columns, _kinds()
        if columns.only in (kinds.single, kinds.double) and not inputs.categories:
            batch = self.batch.select([columns.place[name] for name in names])
            table: Floats = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            return table
        for name, kind in columns.features.items():
            if kind.id in kinds.texts and name not in inputs.categories:
                raise Refused(422, f"Column {name!r} must hold numbers. Its type is {kind}.")
        dtype = np.float32 if columns.only == kinds.single else np.float64
        matrix = np.empty((self.n_documents, len(names)), dtype)
        for place, name in enumerate(names):
            values = self.batch.column(name)
            if name in inputs.categories:
                rows = [[value] for value in values.to_pylist()]
                matrix[:, [place]] = coded(rows, [name], inputs.categories)
            else:
                matrix[:, place] = values.to_numpy(zero_copy_only=False)
        return matrix

    def _vectors(self, n_dimensions: int | None) -> RowVectors:
        """The vectors, one per document. Raises `Refused` if they are wrong."""
        column = self.batch.column(self.columns.place[VECTOR])
        lists = column.flatten()
        if column.null_count or lists.null_count:
            raise Refused(422, f"Column {VECTOR!r}: vectors and their numbers must not be missing.")
        lengths = np.asarray(column.value_lengths())
        width = int(lengths[0]) if n_dimensions is None else n_dimensions
        if (wrong := np.flatnonzero((lengths != width) | (lengths == 0))).size:
            raise Refused(
                422,
                f"Column {VECTOR!r}: vectors must have {width:,} numbers. That of row "
                f"{int(wrong[0])} has {int(lengths[wrong[0]]):,}.",
            )
        values = lists.to_numpy(zero_copy_only=False)
        if not (np.abs(values) <= np.finfo(np.float32).max).all():
            raise Refused(422, f"Column {VECTOR!r} must hold finite numbers of 32 bits.")
        return RowVectors(values.reshape(len(lengths), width).astype(np.float32))

    def _ids(self, name: str) -> list[Id] | None:
        """The ids in a column. None: the table has no such column."""
        if name not in self.columns.place:
            return None
        column = self.batch.column(self.columns.place[name])
        if column.null_count:
            raise Refused(422, f"Ids must not be missing: {column.null_count:,} are.")
        return list(column.to_pylist())


def read_arrow(body: bytes, *, batch: bool) -> ArrowTable:
    """Read the table of a request. Raises `Refused` with the reason if it is wrong."""
    pyarrow, ipc = arrow()
    if not body.endswith(STREAM_END):
        raise Refused(400, "The body is not an Arrow stream, or is cut off: it lacks the end mark.")
    try:
        messages = list(ipc.MessageReader.open_stream(body))
        _refuse_compressed(messages)
        columns = _columns(messages)
        if batch != (QUERY in columns.place):
            raise Refused(
                422,
                f"A batch needs the column {QUERY!r}, which names the list of each document."
                if batch
                else f"A table with the column {QUERY!r} holds several lists: send it to …/batch.",
            )
        batches = [ipc.read_record_batch(message, columns.schema) for message in messages[1:]]
        for each in batches:
            each.validate(full=True)
        if len(batches) > 1:
            batches = pyarrow.Table.from_batches(batches).combine_chunks().to_batches()
    except (pyarrow.ArrowException, OSError, struct.error, UnicodeDecodeError) as error:
        raise Refused(400, f"The body is not an Arrow stream: {error}.") from None
    if not batches or batches[0].num_rows == 0:
        raise Refused(422, "The table has no rows. A list needs at least one document.")
    return ArrowTable(columns, batches[0])


def _columns(messages: Sequence[Any]) -> Columns:
    """The columns of a stream. Raises `Refused` if they cannot be those of a list."""
    if not messages or messages[0].type != "schema":
        raise Refused(400, "The body is not an Arrow stream: it has no schema.")
    content = bytes(messages[0].metadata)
    # Clients send the same columns again and again.
    read = _columns_of if len(content) <= KEPT_SCHEMA else _columns_of.__wrapped__
    return read(content)


@lru_cache(maxsize=16)
def _columns_of(content: bytes) -> Columns:
    pyarrow, ipc = arrow()
    size = struct.pack("<i", len(content))
    schema = ipc.read_schema(pyarrow.py_buffer(STREAM_END[:4] + size + content))
    types = dict(zip(schema.names, schema.types, strict=True))
    if len(types) != len(schema.names):
        raise Refused(422, "Column names must be unique.")
    taken = _kinds()
    for name, kind in types.items():
        if name in (QUERY, DOCUMENT):
            if kind.id not in taken.integers | taken.texts:
                raise Refused(422, f"Column {name!r} must hold integers or strings.")
        elif kind.id not in taken.values and not _holds_vectors(name, kind):
            raise Refused(422, f"Column {name!r} must hold numbers. Its type is {kind}.")
    place = {name: column for column, name in enumerate(types)}
    features = {
        name: kind
        for name, kind in types.items()
        if name not in (QUERY, DOCUMENT) and not _holds_vectors(name, kind)
    }
    ids = {kind.id for kind in features.values()}
    only = ids.pop() if len(ids) == 1 else None
    return Columns(schema, place, features, tuple(features), only)


def _holds_vectors(name: str, kind: Any) -> bool:
    """Whether a column holds a list of numbers for each document."""
    pyarrow, _ = arrow()
    types = pyarrow.types
    of_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return name == VECTOR and of_lists and types.is_floating(kind.value_type)


@dataclass(frozen=True)
class _Kinds:
    """The ids of the types that columns may have."""

    integers: frozenset[int]
    texts: frozenset[int]
    values: frozenset[int]
    single: int
    double: int


@cache
def _kinds() -> _Kinds:
    pyarrow, _ = arrow()
    sizes = (8, 16, 32, 64)
    integers = {getattr(pyarrow, f"{sign}int{size}")().id for sign in ("", "u") for size in sizes}
    texts = {pyarrow.string().id, pyarrow.large_string().id}
    single, double = pyarrow.float32().id, pyarrow.float64().id
    values = integers | texts | {single, double, pyarrow.bool_().id}
    return _Kinds(frozenset(integers), frozenset(texts), frozenset(values), single, double)


def write_arrow(
    model: str,
    version: str,
    lists: Lists,
    orders: Sequence[Integers],
    scores: Sequence[Floats],
) -> bytes:
    """Rankings as the bytes of a stream.

    Parameters
    ----------
    model, version : str
    lists : Lists
    orders : sequence of ndarray
        The documents of each list, the best first.
    scores : sequence of ndarray
        The scores of each list, in the order of the request.
    """
    pyarrow, _ = arrow()
    ids = [
        names[index]
        for names, order in zip(lists.ids, orders, strict=True)
        for index in order.tolist()
    ]
    ranks = [np.arange(1, len(order) + 1) for order in orders]
    best = [part[order] for part, order in zip(scores, orders, strict=True)]
    if any(query is not None for query in lists.queries):
        queries = _array_of(
            [q for q, order in zip(lists.queries, orders, strict=True) for _ in range(len(order))]
        )
    else:
        queries = pyarrow.nulls(len(ids))
    columns = [queries, _array_of(ids)]
    columns += [pyarrow.array(_joined(parts)) for parts in (orders, ranks, best)]
    schema, told = _answer_schema(columns[0].type, columns[1].type, model, version)
    batch = pyarrow.RecordBatch.from_arrays(columns, schema=schema)
    return b"".join([told, batch.serialize(), STREAM_END])


@lru_cache(maxsize=64)
def _answer_schema(query: Any, document: Any, model: str, version: str) -> tuple[Any, bytes]:
    """The columns of an answer, and the same as bytes."""
    pyarrow, _ = arrow()
    columns = {QUERY: query, DOCUMENT: document, "index": pyarrow.int64(), "rank": pyarrow.int64()}
    schema = pyarrow.schema(
        columns | {"score": pyarrow.float64()}, metadata={"model": model, "version": version}
    )
    return schema, bytes(schema.serialize())


def _joined(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _array_of(ids: list[Any]) -> Any:
    """Ids of one type: all texts if one is a text, or is too large for Arrow's integers."""
    pyarrow, _ = arrow()
    kinds = set(map(type, ids))
    if kinds == {str}:
        return pyarrow.array(ids, pyarrow.string())
    if str in kinds or any(name is not None and name.bit_length() > 63 for name in ids):
        ids = [None if name is None else str(name) for name in ids]
    return pyarrow.array(ids)


def arrow() -> tuple[Any, Any]:
    """The modules that read and write Arrow. Raises `Refused` if they are not installed."""
    try:
        import pyarrow
        from pyarrow import ipc
    except ImportError:
        raise Refused(
            415,
            "This service accepts no Arrow bodies, because pyarrow is not installed. Send JSON, or "
            "install it with pip install 'localrank[serve,tables]'.",
        ) from None
    return pyarrow, ipc


def _refuse_compressed(messages: Sequence[Any]) -> None:
    """Refuse compressed buffers: a few bytes could become any number of bytes."""
    for message in messages:
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
            raise Refused(415, "Compressed Arrow buffers are not accepted: send them uncompressed.")


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
