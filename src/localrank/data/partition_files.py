"""Files that hold whole queries: one partition of a dataset each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank.data._checks import (
    checked_features,
    checked_relevance,
    first_repeated,
    natural_ids,
    text_ids,
)
from localrank.data._column_names import check_named
from localrank.data._column_record import ColumnRecord
from localrank.data._offsets import offsets_of, rows_of
from localrank.data._sources import Step
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError

PARTITION_SUFFIXES = (".parquet", ".arrow", ".feather")


@dataclass(frozen=True)
class PartitionColumns:
    """The role of each column of a partition, the same in all partitions of a dataset."""

    qid: str
    label: str | None
    document_id: str | None
    features: tuple[str, ...]
    dtype: str
    # Whether query ids are text in the file, and each of them is written like an integer.
    ids_are_digits: bool = False
    record: ColumnRecord | None = None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None if the columns are called 1, 2, 3, ... as in LETOR files."""
        plain = all(name == str(number) for number, name in enumerate(self.features, start=1))
        return None if plain else self.features


@dataclass(frozen=True, eq=False)
class Partition:
    """Some queries of a dataset in a file.

    The object is small, so that it can be sent to another process or machine that reads the file.

    Partitions come from the `partitions` of a dataset that `open_partitions` opened.

    Attributes
    ----------
    path : Path
    n_queries, n_documents : int
        Size of this partition, which may have only a part of the file's queries.
    """

    path: Path
    columns: PartitionColumns
    n_queries: int
    n_documents: int
    # A hash of the query ids and labels, to notice that the file was replaced.
    digest: bytes
    # Positions of the queries among those of the file; None: all.
    queries: Integers | None = None
    # Functions that the queries go through when they are read, one after another.
    steps: tuple[Step, ...] = ()

    def read(self) -> RankingDataset:
        """Read the queries: features, labels and document ids.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from localrank.data import open_partitions
        >>> table = pd.DataFrame({"qid": [7, 7], "label": [0, 1], "bm25": [7.5, 9.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table.to_parquet(f"{folder}/part-0.parquet")
        ...     open_partitions(folder).partitions[0].read().features
        array([[7.5],
               [9. ]])
        """
        dataset = self._read(self.columns.features)
        for step in self.steps:
            dataset = step(dataset)
        return dataset

    def without_features(self) -> RankingDataset:
        """Read the queries with their labels and document ids only."""
        return self._read(())

    def of_queries(self, positions: Integers, n_documents: int) -> Partition:
        """A partition with the queries at some ascending positions of this one."""
        if len(positions) == self.n_queries:
            return self
        queries = positions if self.queries is None else self.queries[positions]
        return replace(
            self, n_queries=len(positions), n_documents=n_documents, queries=queries.copy()
        )

    def through(self, step: Step) -> Partition:
        """The partition with other features, which a function makes when they are read."""
        return replace(self, steps=(*self.steps, step))

    def _read(self, features: Sequence[str]) -> RankingDataset:
        columns = self.columns
        others = [name for name in (columns.qid, columns.label, columns.document_id) if name]
        with damage_named(self.path):
            table = open_table(self.path).read([*others, *features])
            contents = _contents(self.path, table, columns)
            if contents.digest != self.digest:
                raise ValueError(
                    "the file has changed since it was opened. Open the dataset again."
                )
            query_ids = contents.query_ids
            if query_ids.dtype.kind in "UT" and columns.ids_are_digits:
                query_ids = natural_ids(query_ids.tolist())
            offsets, labels, rows = offsets_of(contents.sizes), contents.labels, None
            if self.queries is not None:
                rows, offsets = rows_of(offsets, self.queries)
                query_ids = query_ids[self.queries]
                labels = None if labels is None else labels[rows]
            values = _matrix(table, features, np.dtype(columns.dtype), rows)
            documents = None
            if columns.document_id is not None:
                column = table.column(columns.document_id)
                documents = _ids(column if rows is None else column.take(rows), "document_id")
            names = columns.feature_names if features else None
            return RankingDataset._checked(
                features=checked_features(values, names) if features else values,
                relevance=labels,
                offsets=offsets,
                query_ids=query_ids,
                document_ids=documents,
                feature_names=names,
                column_record=columns.record,
            )


@dataclass(frozen=True, eq=False)
class Contents:
    """What opening a partition finds: everything but features and document ids."""

    path: Path
    columns: PartitionColumns
    # Names and types of the columns in use.
    types: tuple[tuple[str, str], ...]
    query_ids: Array
    sizes: Integers
    labels: Floats | None
    digest: bytes


def examine(
    path: Path,
    qid: str,
    label: str | None,
    document_id: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str],
) -> Contents:
    """Check the columns, queries and labels of a file, without reading features."""
    with damage_named(path):
        file = open_table(path)
        names = file.schema.names
        roles = {"qid": qid, "label": label, "document_id": document_id}
        if document_id is None and "document_id" not in (qid, label, *ignore, *(features or ())):
            document_id = "document_id" if "document_id" in names else None
        if features is None:
            others = {qid, label, document_id, *ignore}
            features = [name for name in names if name not in others]
            check_named(features, f"{path}: ")
        _check_columns(path, file.schema, roles, features)
        types = [file.schema.field(name).type for name in features]
        small = np.result_type(np.float16, *(_numpy_type(kind) for kind in types)).itemsize <= 4
        columns = PartitionColumns(
            qid,
            label,
            document_id,
            tuple(features),
            "float32" if small else "float64",
            record=ColumnRecord(
                _base(conversion_facts(file.schema)),
                tuple(n for n in names if n not in (qid, label, document_id, *features)),
            ),
        )
        used = [name for name in (qid, label, document_id, *features) if name is not None]
        table = file.read([name for name in (qid, label) if name is not None])
        contents = _contents(path, table, columns)
    return replace(
        contents, types=tuple((name, str(file.schema.field(name).type)) for name in used)
    )


class _IPCFile:
    """An Arrow IPC file with the few methods of a Parquet file that are needed here."""

    def __init__(self, path: Path) -> None:
        from pyarrow import ipc, memory_map

        self.path = path
        with memory_map(str(path)) as source:
            self.schema = ipc.open_file(source).schema

    def read(self, columns: list[str]) -> Any:
        from pyarrow import feather

        return feather.read_table(self.path, columns=columns).select(columns)


class _ParquetFile:
    """A Parquet file. Pages that have a checksum are compared with it."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(path, page_checksum_verification=True)
        self.schema = self._file.schema_arrow

    def read(self, columns: list[str]) -> Any:
        return self._file.read(columns).select(columns)


def open_table(path: Path) -> Any:
    """A Parquet or Arrow file with its `schema`, and `read` for some columns."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file.")
    return (_ParquetFile if path.suffix.lower() == ".parquet" else _IPCFile)(path)


def conversion_facts(schema: Any) -> dict[str, Any]:
    """What `convert` wrote into a file about itself. Empty: the file is of other origin."""
    try:
        facts = json.loads((schema.metadata or {}).get(b"localrank", "{}"))
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _base(facts: dict[str, Any]) -> bool | None:
    """Whether feature ids of the LETOR text that was converted begin at 0. None: unknown."""
    known = facts.get("zero_based")
    return known if isinstance(known, bool) else None


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Let errors begin with the path of the file."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"{path}: reading table files needs pyarrow. Install it with "
            f"pip install 'localrank[tables]'."
        ) from None
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, MemoryError | FileNotFoundError | PermissionError):
            raise
        text = " ".join(str(error).split())
        raise ValueError(f"{path}: the file is damaged or incomplete: {text}") from None
    except ValueError as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path}: {error}") from None


def _check_columns(
    path: Path, schema: Any, roles: dict[str, str | None], features: Sequence[str]
) -> None:
    from pyarrow import types

    names = schema.names
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"column names must be unique. {twice!r} occurs twice.")
    named = {name: role for role, name in roles.items() if name is not None}
    for name in [*named, *features]:
        if name in names:
            continue
        listed = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        fault = f"{path}: there is no column {name!r}. Its columns are {listed}."
        if name not in named:
            raise ValueError(fault)
        role = named[name]
        what = {"qid": "query ids", "label": "labels", "document_id": "document ids"}[role]
        python = f"{role}='...'" + (", or pass label=None" if role == "label" else "")
        option = role.replace("_", "-")
        raise AdvisedError(
            fault, f"Name the column of {what} with {python}.", f"Name it with --{option}."
        )
    if not features:
        raise ValueError(f"{path}: there are no feature columns beside {', '.join(named)}.")
    wrong = {}
    for name in features:
        kind = schema.field(name).type
        numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not (numbers or types.is_null(kind) or types.is_decimal(kind)):
            text = types.is_string(kind) or types.is_large_string(kind)
            dates = "dates or times" if types.is_temporal(kind) else f"values of type {kind}"
            wrong[name] = "text" if text else dates
    if wrong:
        # Imported by those who need it: to load a model takes less.
        from localrank.data._columns import refusal

        raise refusal(wrong, f"{path}: ")


def _numpy_type(kind: Any) -> Any:
    """The type of the numbers; double precision where Arrow's has no counterpart."""
    from pyarrow import types

    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return np.float16 if types.is_null(kind) else kind.to_pandas_dtype() if plain else np.float64


def _contents(path: Path, table: Any, columns: PartitionColumns) -> Contents:
    """Queries and labels of a file, whose queries must lie one after another."""
    query_ids, sizes = _runs(table.column(columns.qid))
    if len(query_ids) and (repeated := first_repeated(query_ids)) is not None:
        raise ValueError(
            f"the rows of query {repeated} are not next to each other. `localrank convert` brings "
            f"rows into the order of queries."
        )
    labels = None
    if columns.label is not None:
        column = table.column(columns.label)
        labels = checked_relevance(column.to_numpy(), len(column))
    text = query_ids.dtype.kind in "UT"
    names = "\n".join(query_ids.tolist()).encode() if text else query_ids.tobytes()
    seen = blake2b(names, digest_size=16)
    seen.update(sizes.tobytes())
    seen.update(b"" if labels is None else labels.tobytes())
    return Contents(path, columns, (), query_ids, sizes, labels, seen.digest())


def _runs(column: Any) -> tuple[Array, Integers]:
    """The ids of runs of rows with the same one, and the number of rows of each."""
    import pyarrow
    from pyarrow import compute, types

    column = _decoded(column)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise ValueError(f"query ids must not be missing. Row {row + 1} has none.")
    if not (types.is_integer(column.type) or types.is_large_string(column.type)):
        raise ValueError(f"query ids must be integers or text. Their type is {column.type}.")
    if len(column) == 0:
        kind = np.int64 if types.is_integer(column.type) else "U1"
        return np.empty(0, kind), np.empty(0, np.int64)
    runs = compute.run_end_encode(column.combine_chunks(), run_end_type=pyarrow.int64())
    return _ids(runs.values, "qid"), np.diff(runs.run_ends.to_numpy(), prepend=0)


def _ids(column: Any, name: str) -> Array:
    """Ids as integers or text."""
    if column.null_count:
        raise ValueError(f"{name} must not be missing. {column.null_count:,} rows have none.")
    from pyarrow import compute, types

    column = _decoded(column)
    if types.is_integer(column.type):
        ids: Array = np.asarray(column.to_numpy())
        return ids.astype(np.int64) if ids.dtype != np.uint64 else ids
    if not types.is_large_string(column.type):
        raise ValueError(f"{name} must be integers or text. Their type is {column.type}.")
    no_text = compute.or_(compute.equal(column, ""), compute.match_substring(column, "\0"))
    if compute.any(no_text).as_py():
        raise ValueError(f"{name} must not be empty text, nor hold NUL.")
    return text_ids(column.to_pylist())


def _decoded(column: Any) -> Any:
    """Text of all of Arrow's types as one of them; other columns as they are."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    text = types.is_string(column.type) or column.type == pyarrow.string_view()
    return column.cast(pyarrow.large_string()) if text else column


def _matrix(
    table: Any, features: Sequence[str], dtype: np.dtype[Any], rows: Integers | None
) -> Array:
    """Columns as one table, row by row; all rows or some. What is missing is NaN."""
    import pyarrow

    target = pyarrow.from_numpy_dtype(dtype)
    n_rows = table.num_rows if rows is None else len(rows)
    values = np.empty((n_rows, len(features)), dtype)
    for place, name in enumerate(features):
        column = table.column(name)
        if column.type != target:
            column = column.cast(target, safe=False)
        numbers = column.to_numpy()
        values[:, place] = numbers if rows is None else numbers[rows]
    return values
