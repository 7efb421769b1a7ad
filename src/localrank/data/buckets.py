"""Spreads rows over files by query, and writes these files as partitions."""

from __future__ import annotations

import json
import math
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from localrank.arrays import Array, Integers
from localrank.data.row_batches import Batch, written_as_integers
from localrank.progress import progress


class Buckets:
    """Files of Arrow batches. A hash of the query's id decides the file of a row."""

    def __init__(self, folder: Path, n: int, dtype: np.dtype[Any], from_tables: bool) -> None:
        self.folder, self.n, self.dtype = folder, n, dtype
        self.sizes = np.zeros(n, np.int64)
        self.integer_queries = True
        # Document ids of LETOR files are text, whatever they look like.
        self.integer_documents = from_tables
        self.n_labels = self.n_document_ids = 0

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
        _write_part(work / f"part-{number:05d}.parquet", columns)
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


def _write_part(path: Path, columns: dict[str, Any]) -> None:
    import pyarrow
    from pyarrow import parquet

    facts = {
        "version": version("localrank"),
        "n_features": len(set(columns) - {"qid", "label", "document_id"}),
    }
    table = pyarrow.table(columns).replace_schema_metadata({"localrank": json.dumps(facts)})
    with path.open("wb") as file:
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
