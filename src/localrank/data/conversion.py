"""Converts data of any size into partitions of whole queries, a part of it at a time."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from localrank.data.buckets import Buckets, write_partitions
from localrank.data.partitions import UNFINISHED
from localrank.data.row_batches import LetorBatches, TableBatches
from localrank.data.table_files import parquet_files
from localrank.data.tables import is_table
from localrank.progress import progress

_PART = re.compile(r"part-\d{5,}\.parquet")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]i?b)?", re.IGNORECASE)
_COMPRESSED = (".gz", ".bz2", ".xz", ".parquet")
# Bytes of features that a byte of input becomes: a guess, to plan the number of partitions.
_GROWTH = {False: 0.7, True: 4.0}
_MOST_BUCKETS = 4096
_MOST_BATCH_BYTES = 2**24


def convert(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    folder: str | PathLike[str],
    *,
    partition_size: int | str = "128MB",
    dtype: DTypeLike = np.float32,
    overwrite: bool = False,
    n_features: int | None = None,
    zero_based: bool = False,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    column_description: str | PathLike[str] | None = None,
) -> int:
    r"""Write data as Parquet files that hold whole queries, for `PartitionedDataset.open`.

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
    n_features : int, optional
        Number of features of LETOR files that may lack the last ones.
    zero_based : bool, default=False
        Whether features of LETOR files are counted from 0.
    qid, label, document_id, features, ignore, column_description
        Columns of tables, as in `read_table`. `document_id=None`: use the column `document_id` if
        the table has one. `label=None`: the data has no labels.

    Returns
    -------
    int
        Number of partitions. Their columns are `qid`, `label`, `document_id` and the features.
        Features of LETOR files are called 1, 2, 3, ... Ids are integers if all are written so.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import PartitionedDataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.txt")
    ...     _ = path.write_text("1 qid:7 1:0.5\n0 qid:8 1:2\n0 qid:7 1:3 2:1\n")
    ...     n_partitions = convert(path, f"{folder}/data")
    ...     dataset = PartitionedDataset.open(f"{folder}/data")
    ...     dataset.query_ids, dataset.features
    (array([7, 8]), array([[0.5, 0. ],
           [3. , 1. ],
           [2. , 0. ]], dtype=float32))
    """
    given = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
    paths = [Path(path) for path in given]
    if not paths:
        raise ValueError("There is nothing to convert: the list of paths is empty.")
    if n_features is not None and n_features < 1:
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
            raise ValueError(f"{path}: this is a folder. Name the files in it.")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(
            f"The 'dtype' argument of convert must be float64 or float32. Got {dtype} instead."
        )
    n_documents, n_bytes = parsed_size(partition_size)
    tables = [bool(column_description) or is_table(path) for path in paths]
    if any(tables) and not all(tables):
        raise ValueError("Give LETOR files or tables, not both.")
    parquet_files()  # Partitions are Parquet files: say before the work if they cannot be written.
    n_steps = None
    if not any(tables) and not any(path.suffix.lower() in _COMPRESSED for path in paths):
        n_steps = sum(path.stat().st_size for path in paths) // 2**20 + len(paths)
    sizes = [path.stat().st_size * _GROWTH[path.suffix.lower() in _COMPRESSED] for path in paths]
    expected = sum(sizes) if n_bytes else sum(sizes) / (4 * 46)
    n_buckets = min(max(1, math.ceil(expected / (n_bytes or n_documents or 1))), _MOST_BUCKETS)
    batch_bytes = min((n_bytes or _MOST_BATCH_BYTES) // 4 + 1, _MOST_BATCH_BYTES)
    with _unfinished(Path(folder), overwrite) as work:
        buckets = Buckets(work, n_buckets, np.dtype(dtype), from_tables=tables[0])
        with progress("Reading", n_steps) as advance:
            reader: LetorBatches | TableBatches
            if tables[0]:
                reader = TableBatches(
                    qid,
                    label,
                    document_id,
                    features,
                    ignore,
                    None if column_description is None else Path(column_description),
                    batch_bytes,
                    advance,
                )
            else:
                reader = LetorBatches(n_features, np.dtype(dtype), zero_based, batch_bytes, advance)
            for path in paths:
                for batch in reader.batches(path):
                    buckets.add(path, batch)
        names = _feature_names(paths[0], reader)
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


def _feature_names(path: Path, reader: LetorBatches | TableBatches) -> list[str]:
    if isinstance(reader, LetorBatches):
        if reader.n_columns == 0:
            raise ValueError(f"{path}: no line has a feature, like '1:0.5'.")
        return [str(number) for number in range(1, reader.n_columns + 1)]
    names = list(reader.feature_names or ())
    if taken := [name for name in ("qid", "label", "document_id") if name in names]:
        raise ValueError(
            f"{path}: a feature must not be called {taken[0]!r}: partitions have another column "
            f"of that name."
        )
    return names


@contextmanager
def _unfinished(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A folder to work in, whose partitions are moved up when all are complete."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: this is a file. Name a folder for the partitions.")
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
        facts = json.loads((parquet.read_schema(path).metadata or {}).get(b"localrank", "{}"))
        return "n_features" in facts
    except (pyarrow.ArrowException, OSError):
        return False
