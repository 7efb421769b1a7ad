"""Converts data of any size into partitions of whole queries, a part of it at a time."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from localrank._base.arrays import Array, Integers
from localrank._base.progress import progress
from localrank.data._atomic import naming
from localrank.data._row_batches import Batch, written_as_integers
from localrank.data.errors import AdvisedError
from localrank.data.formats import LetorText, TableFiles
from localrank.data.partition_files import conversion_facts
from localrank.data.partitions import UNFINISHED
from localrank.data.reading import check_options, format_of
from localrank.data.tables import parquet_files

_PART = re.compile(r"part-\d{5,}\.parquet")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?b)?", re.IGNORECASE)
_COMPRESSED = (".gz", ".bz2", ".xz", ".parquet")
# Bytes of features that a byte of input becomes: a guess, to plan the number of partitions.
_GROWTH = {False: 0.7, True: 4.0}
_MAX_BUCKETS = 4096
_MAX_BATCH_BYTES = 2**24


def convert(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    partition_size: int | str = "128MB",
    dtype: DTypeLike = np.float32,
    overwrite: bool = False,
    format: str | None = None,
    **options: Any,
) -> int:
    r"""Write data as Parquet files that hold whole queries, for `open_partitions`.

    The rows of a query may be scattered, even over several files. A hash of the query's id decides
    its partition. In a partition, queries are in the order in which they first appear, and the
    rows of a query in the order of the input. The result depends only on the input, the order of
    its files and the size of partitions.

    Memory holds about one partition. While the work goes on, the disk must have room for the
    features twice. The files appear when all are complete. Until then the folder does not open as
    a dataset.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        LETOR files as `read_letor` reads them, or tables as `read_table` does: Parquet, CSV, Arrow.
    folder : path
        Created if it does not exist. It must be empty, unless `overwrite` is given.
    partition_size : int or str, default="128MB"
        Approximate size of a partition: a number of documents, or bytes of features in memory,
        such as "64MB" or "1GB". A query is never divided, so a partition may be larger.
    dtype : float32 or float64, default=float32
        Precision of the features.
    overwrite : bool, default=False
        Whether to replace partitions that this function has written to the folder before.
    format : str or None, default=None
        "letor" or "table". None: recognised, as in `localrank.data.read`.
    **options
        As in `localrank.data.read`. LETOR files: `n_features`, `zero_based`. Tables: `qid`,
        `label` (None: the data has no labels), `document_id`, `features`, `ignore`,
        `column_description`.

    Returns
    -------
    int
        Number of partitions. Their columns are `qid`, `label`, `document_id` and the features.
        Features of LETOR files are called 1, 2, 3, ... Ids are integers if all are written so.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import open_partitions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.txt")
    ...     _ = path.write_text("1 qid:7 1:0.5\n0 qid:8 1:2\n0 qid:7 1:3 2:1\n")
    ...     n_partitions = convert(path, f"{folder}/data")
    ...     dataset = open_partitions(f"{folder}/data")
    ...     dataset.query_ids, dataset.features
    (array([7, 8]), array([[0.5, 0. ],
           [3. , 1. ],
           [2. , 0. ]], dtype=float32))
    """
    given = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
    paths = [Path(path) for path in given]
    if not paths:
        raise ValueError("There is nothing to convert: the list of paths is empty.")
    if (n_features := options.get("n_features")) is not None and n_features < 1:
        raise ValueError(
            f"The 'n_features' argument of convert must be at least 1. Got {n_features} instead."
        )
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file.")
        if path.resolve() in seen:
            raise ValueError(f"{path}: the file is named twice, which would double its documents.")
        seen.add(path.resolve())
        if path.is_dir():
            raise ValueError(f"{path} is a folder. Name the files in it.")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(
            f"The 'dtype' argument of convert must be float64 or float32. Got {dtype} instead."
        )
    if "vectors" in options:
        raise AdvisedError(
            "Partitions cannot hold vectors:",
            "read the data into memory by read, which takes vectors.",
            "use the data as it is. The other commands take --vectors.",
        )
    n_documents, n_bytes = parsed_size(partition_size)
    form = format_of(paths, format, options)
    check_options(form, paths[0], options)
    parquet_files()  # Partitions are Parquet files: say before the work if they cannot be written.
    n_steps = None
    if isinstance(form, LetorText) and not any(p.suffix.lower() in _COMPRESSED for p in paths):
        n_steps = sum(path.stat().st_size for path in paths) // 2**20 + len(paths)
    sizes = [path.stat().st_size * _GROWTH[path.suffix.lower() in _COMPRESSED] for path in paths]
    expected = sum(sizes) if n_bytes else sum(sizes) / (4 * 46)
    n_buckets = min(max(1, math.ceil(expected / (n_bytes or n_documents or 1))), _MAX_BUCKETS)
    batch_bytes = min((n_bytes or _MAX_BATCH_BYTES) // 4 + 1, _MAX_BATCH_BYTES)
    with _unfinished(Path(folder), overwrite) as work:
        buckets = Buckets(work, n_buckets, np.dtype(dtype), isinstance(form, TableFiles))
        if isinstance(form, LetorText):
            buckets.facts["zero_based"] = bool(options.get("zero_based"))
        with progress("Reading", n_steps) as advance:
            reader = form.batches(np.dtype(dtype), batch_bytes, advance, **options)
            if reader is None:
                raise ValueError(
                    f"{paths[0]} {form.said}. `convert` takes LETOR text and tables; other "
                    f"commands read {form.files} directly."
                )
            for path in paths:
                for batch in reader.batches(path):
                    buckets.add(path, batch)
        names = reader.feature_names(paths[0])
        row_bytes = len(names) * np.dtype(dtype).itemsize
        most = n_documents or max(1, int((n_bytes or 1) // row_bytes))
        return write_partitions(work, buckets, names, most)


def parsed_size(size: int | str) -> tuple[int | None, int | None]:
    """A size of partitions as a number of documents, or as a number of bytes.

    Examples
    --------
    >>> parsed_size("64MB"), parsed_size(1000)
    ((None, 64000000), (1000, None))
    """
    match = _SIZE.fullmatch(str(size).strip())
    value = float(match[1]) if match else 0.0
    unit = (match[2] or "").lower() if match else ""
    if value <= 0 or (not unit and value != int(value)):
        raise ValueError(
            f"The size of partitions must be a number of documents, such as 100000, or of bytes, "
            f"such as 64MB. Got {size!r} instead."
        )
    if not unit:
        return int(value), None
    power = " kmg".index(unit[0])
    return None, max(1, int(value * (1024 if "i" in unit else 1000) ** power))


@contextmanager
def _unfinished(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A folder to work in, whose partitions are moved up when all are complete."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file. Name a folder for the partitions.")
    old = sorted(folder.iterdir()) if folder.exists() else []
    if old and not overwrite:
        raise ValueError(
            f"{folder}: the folder is not empty. Name another one, or replace its partitions with "
            f"--overwrite (overwrite=True)."
        )
    for path in old:
        if path.name != UNFINISHED and not (_PART.fullmatch(path.name) and made_here(path)):
            raise ValueError(
                f"{path}: `localrank convert` did not write this file, and replaces only its own. "
                f"Name another folder."
            )
    made = not folder.exists()
    work = folder / UNFINISHED
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    try:
        yield work
        for path in old:
            if path.name != UNFINISHED:
                path.unlink()
        for path in sorted(work.glob("part-*.parquet")):
            path.replace(folder / path.name)
        work.rmdir()
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise


def made_here(path: Path) -> bool:
    """Whether a Parquet file is one that `convert` wrote."""
    import pyarrow
    from pyarrow import parquet

    try:
        return "n_features" in conversion_facts(parquet.read_schema(path))
    except (pyarrow.ArrowException, OSError):
        return False


class Buckets:
    """Files of Arrow batches. A hash of the query's id decides the file of a row."""

    def __init__(self, folder: Path, n: int, dtype: np.dtype[Any], from_tables: bool) -> None:
        self.folder, self.n, self.dtype = folder, n, dtype
        self.sizes = np.zeros(n, np.int64)
        self.integer_queries = True
        # Document ids of LETOR files are text, whatever they look like.
        self.integer_documents = from_tables
        self.n_labels = self.n_document_ids = 0
        # What partitions say of themselves.
        self.facts: dict[str, Any] = {"version": version("localrank")}

    def path(self, bucket: int) -> Path:
        return self.folder / f"bucket-{bucket}.arrows"

    def add(self, path: Path, batch: Batch) -> None:
        """Put rows into the files of their queries."""
        import pyarrow

        names = batch.query_names.tolist()
        self.integer_queries = self.integer_queries and written_as_integers(names)
        hashes = np.array([zlib.crc32(name.encode()) for name in names], dtype=np.int64)
        buckets = (hashes % self.n)[batch.queries]
        order = np.argsort(buckets, kind="stable")
        places = order + self.sizes.sum()
        counts = np.bincount(buckets, minlength=self.n)
        self.sizes += counts
        ends = np.cumsum(counts)
        features = self._features(path, batch, order)
        labels = np.zeros(len(batch)) if batch.labels is None else batch.labels[order]
        self.n_labels += 0 if batch.labels is None else len(batch)
        queries = pyarrow.DictionaryArray.from_arrays(
            batch.queries[order].astype(np.int32), pyarrow.array(names, pyarrow.string())
        ).cast(pyarrow.string())
        documents = pyarrow.nulls(len(batch), pyarrow.string())
        if batch.documents is not None:
            self._count_documents(batch.documents)
            documents = pyarrow.array(batch.documents[order], pyarrow.string())
        for bucket in np.flatnonzero(counts).tolist():
            rows = slice(int(ends[bucket] - counts[bucket]), int(ends[bucket]))
            table = {
                "query": queries[rows.start : rows.stop],
                "place": pyarrow.array(places[rows]),
                "label": pyarrow.array(labels[rows]),
                "document": documents[rows.start : rows.stop],
                "features": _as_binary(features[rows]),
            }
            record = pyarrow.record_batch(table)
            with (
                naming(self.path(bucket)),
                self.path(bucket).open("ab") as file,
                pyarrow.ipc.new_stream(file, record.schema) as writer,
            ):
                writer.write_batch(record)

    def _features(self, path: Path, batch: Batch, order: Integers) -> Array:
        with np.errstate(over="ignore"):
            features = np.ascontiguousarray(batch.features[order], self.dtype)
        if batch.features.dtype != self.dtype and np.isinf(features).any():
            row, column = np.argwhere(np.isinf(features))[0].tolist()
            raise ValueError(
                f"{path}: the value {batch.features[order[row], column]!s} in column {column} is "
                f"too large for float32. Add --float64 (dtype=np.float64)."
            )
        return features

    def _count_documents(self, documents: Array) -> None:
        present = documents != ""
        self.n_document_ids += int(np.sum(present))
        if self.integer_documents:
            self.integer_documents = written_as_integers(documents[present].tolist())

    def read(self, bucket: int) -> Iterator[Any]:
        """The batches of a bucket."""
        import pyarrow

        with pyarrow.memory_map(str(self.path(bucket))) as source:
            while source.tell() < source.size():
                with pyarrow.ipc.open_stream(source) as reader:
                    yield from reader


def _as_binary(rows: Array) -> Any:
    """Rows of numbers as one column: batches may differ in the number of features."""
    import pyarrow

    offsets = np.arange(len(rows) + 1) * rows.shape[1] * rows.itemsize
    buffers = [None, pyarrow.py_buffer(offsets.astype(np.int64)), pyarrow.py_buffer(rows)]
    return pyarrow.LargeBinaryArray.from_buffers(pyarrow.large_binary(), len(rows), buffers)


def write_partitions(work: Path, buckets: Buckets, names: Sequence[str], most: int) -> int:
    """Write the buckets as partitions of about `most` documents. Returns their number."""
    n_rows = int(buckets.sizes.sum())
    if buckets.n_labels not in (0, n_rows):
        raise ValueError(
            "Some of the files have labels, others do not. Ignore the labels, or convert the "
            "files separately."
        )
    if buckets.n_document_ids not in (0, n_rows):
        warnings.warn(
            f"{n_rows - buckets.n_document_ids:,} of {n_rows:,} documents have no id; all document "
            f"ids are left out",
            stacklevel=3,
        )
    n_written = 0
    units = list(_units(buckets.sizes, most))
    with progress("Writing partitions", len(units)) as advance:
        for unit in units:
            n_written += _write_unit(work, buckets, unit, names, most, n_written)
            for bucket in unit:
                buckets.path(bucket).unlink(missing_ok=True)
            advance()
    return n_written


def _units(sizes: Integers, most: int) -> Iterator[list[int]]:
    """Lists of buckets of at most `most` documents together, or of one larger bucket."""
    unit: list[int] = []
    total = 0
    for bucket, size in enumerate(sizes.tolist()):
        if unit and total + size > most:
            yield unit
            unit, total = [], 0
        if size:
            unit.append(bucket)
            total += size
    if unit:
        yield unit


def _write_unit(
    work: Path,
    buckets: Buckets,
    unit: Sequence[int],
    names: Sequence[str],
    most: int,
    first: int,
) -> int:
    """Write the queries of some buckets as partitions. Returns the number of partitions."""
    import pyarrow

    batches = [batch for bucket in unit for batch in buckets.read(bucket)]
    joined = pyarrow.concat_arrays([batch.column("query") for batch in batches])
    places = np.concatenate([batch.column("place").to_numpy() for batch in batches])
    # Queries are numbered in the order in which they first appear in the input.
    arrival = np.argsort(places)
    queries = np.empty_like(arrival)
    queries[arrival] = joined.take(arrival).dictionary_encode().indices.to_numpy()
    sizes = np.bincount(queries)
    n_parts = math.ceil(len(queries) / most)
    part_of = (np.cumsum(sizes) - sizes) * n_parts // len(queries)
    kept = np.unique(part_of)
    for number, part in enumerate(kept.tolist(), start=first):
        rows = np.flatnonzero(part_of[queries] == part)
        order = np.lexsort((places[rows], queries[rows]))
        columns: dict[str, Any] = {"qid": joined.take(rows[order])}
        if buckets.integer_queries:
            columns["qid"] = columns["qid"].cast(pyarrow.int64())
        if buckets.n_labels:
            labels = np.concatenate([batch.column("label").to_numpy() for batch in batches])
            columns["label"] = labels[rows[order]]
        if buckets.n_document_ids == buckets.sizes.sum():
            ids = pyarrow.concat_arrays([batch.column("document") for batch in batches])
            ids = ids.take(rows[order])
            columns["document_id"] = ids.cast(pyarrow.int64()) if buckets.integer_documents else ids
        table = _columns_of(batches, rows, len(names), buckets.dtype)
        for place, name in enumerate(names):
            table[place] = table[place][order]
            columns[name] = table[place]
        facts = {**buckets.facts, "n_features": len(names)}
        _write_part(work / f"part-{number:05d}.parquet", columns, facts)
    return len(kept)


def _columns_of(
    batches: Sequence[Any], rows: Integers, n_features: int, dtype: np.dtype[Any]
) -> Array:
    """Features of some rows, column by column. 0: the row's batch does not have the feature."""
    table = np.zeros((n_features, len(rows)), dtype)
    begin = 0
    for batch in batches:
        end = begin + batch.num_rows
        first, last = np.searchsorted(rows, [begin, end]).tolist()
        data = batch.column("features").buffers()[2]
        if first < last and data is not None and data.size:
            values = np.frombuffer(data, dtype).reshape(batch.num_rows, -1)
            width = min(values.shape[1], n_features)
            table[:width, first:last] = values[rows[first:last] - begin, :width].T
        begin = end
    return table


def _write_part(path: Path, columns: dict[str, Any], facts: dict[str, Any]) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(columns).replace_schema_metadata({"localrank": json.dumps(facts)})
    with naming(path), path.open("wb") as file:
        # Features have few equal values. A dictionary of them would take most of the time.
        parquet.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=["qid", "label"],
            write_page_checksum=True,
        )
        file.flush()
        os.fsync(file.fileno())
