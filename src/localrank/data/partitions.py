"""Opening data larger than memory: features in files, each with whole queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from localrank._base.arrays import Array
from localrank._base.parallel import in_parallel
from localrank.data._checks import first_repeated, joined_ids, natural_ids
from localrank.data._offsets import offsets_of
from localrank.data._sources import Files
from localrank.data.dataset import RankingDataset
from localrank.data.partition_files import (
    PARTITION_SUFFIXES,
    Contents,
    Partition,
    PartitionColumns,
    examine,
)

# A folder in this folder is being written, or was until something interrupted it.
UNFINISHED = ".unfinished"

_REPARTITION = "`localrank convert` repartitions."


def open_partitions(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> RankingDataset:
    """Open data larger than memory: Parquet or Arrow files, each with whole queries.

    The dataset has labels, query ids and the sizes of queries in memory: 8 bytes per document, and
    8 bytes and its id per query. Features and document ids are read when they are needed, one file
    at a time. Work that looks at queries one by one uses `partitions` or `feature_blocks`. Work
    that needs all documents at once uses `in_memory`, which first checks that they fit.

    Opening checks the columns and labels of the files, and that no query is in two of them.
    Features are checked when they are read.

    `select` gives some queries, which are read from the same files. If they are in another order
    than in the files, they are read into memory instead.

    Parameters
    ----------
    source : path or sequence of paths
        A folder of files that end in `.parquet`, `.arrow` or `.feather`, in the order of their
        names; or the files. `localrank convert` makes such a folder of any data.
    qid : str, default="qid"
        The column of query ids: integers or text. Rows of a query lie together in one file.
    label : str or None, default="label"
        The column of relevance labels. None: the documents have no labels.
    document_id : str or None, default=None
        The column of document ids. None: the column `document_id`, if there is one; otherwise the
        documents have no ids.
    features : sequence of str or None, default=None
        The feature columns. None: every other column; each must have a name. Columns called 1, 2,
        3, ... are features without names, as in LETOR files.
    ignore : sequence of str, default=()
        Columns to leave out: text, dates, ids.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         table = pd.DataFrame({"qid": [part, part], "label": [0, 1], "bm25": [part, 9.0]})
    ...         table.to_parquet(f"{folder}/part-{part}.parquet")
    ...     dataset = open_partitions(folder)
    ...     [partition.read().features.ravel().tolist() for partition in dataset.partitions]
    [[0.0, 9.0], [1.0, 9.0]]
    >>> dataset
    RankingDataset: 2 queries, 4 documents, 1 feature (float64)
      documents per query: 2 to 2, median 2
      relevance: 0 × 2 (50.0 %), 1 × 2 (50.0 %)
      queries without a relevant document: 0
      files: 2
    """
    paths = partition_paths(source)
    contents = in_parallel(
        examine,
        paths,
        shared=(qid, label, document_id, features, tuple(ignore)),
        n_jobs=-1,
        description="Opening partitions",
    )
    first = contents[0]
    for other in contents[1:]:
        _check_same(first, other)
    # Other tools write files without rows. They are left out.
    contents = [part for part in contents if len(part.query_ids)]
    if not contents:
        raise ValueError(f"{first.path}: the files have no documents.")
    query_ids = joined_ids([part.query_ids for part in contents])
    _check_apart(query_ids, contents)
    columns = first.columns
    if query_ids.dtype.kind in "UT":
        query_ids = natural_ids(query_ids.tolist())
        columns = replace(columns, ids_are_digits=query_ids.dtype.kind not in "UT")
    labels = [part.labels for part in contents if part.labels is not None]
    partitions = tuple(_partition(part, columns) for part in contents)
    return RankingDataset._checked(
        features=Files(len(columns.features), np.dtype(columns.dtype), partitions),
        relevance=np.concatenate(labels) if labels else None,
        offsets=offsets_of(np.concatenate([part.sizes for part in contents])),
        query_ids=query_ids,
        feature_names=columns.feature_names,
        column_record=columns.record,
    )


def partition_paths(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
) -> list[Path]:
    """The files to open: those of a folder by name, or those given."""
    given = [source] if isinstance(source, str | PathLike) else list(source)
    if not given:
        raise ValueError("There is nothing to open: the list of files is empty.")
    # Absolute, because workers may be in other folders.
    paths = [Path(path).absolute() for path in given]
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0]
        paths = sorted(path for path in folder.iterdir() if is_partition(path))
        if not paths and not (folder / UNFINISHED).exists():
            raise ValueError(
                f"{folder}: the folder has no partitions, which end in "
                f"{', '.join(PARTITION_SUFFIXES)}. `localrank convert` makes them of other data."
            )
        paths = paths or [folder / UNFINISHED]
    for path in paths:
        if (path.parent / UNFINISHED).exists():
            raise ValueError(
                f"{path.parent}: the partitions are not complete. `localrank convert` is still at "
                f"work, or was interrupted. Convert again, with --overwrite."
            )
        if path.suffix.lower() not in PARTITION_SUFFIXES:
            raise ValueError(
                f"{path}: a partition must end in {', '.join(PARTITION_SUFFIXES)}. "
                f"`localrank convert` makes partitions of other data."
            )
    return paths


def is_partition(path: Path) -> bool:
    """Whether the name of a file is that of a partition."""
    plain = not path.name.startswith((".", "_"))
    return plain and path.suffix.lower() in PARTITION_SUFFIXES and path.is_file()


def _check_same(first: Contents, other: Contents) -> None:
    """Refuse a file whose columns differ from those of the first."""
    known = first.columns.record
    if known is not None and known.contradicts(other.columns.record):
        raise ValueError(
            f"{other.path}: one of this file and {first.path.name} was converted with zero_based, "
            f"the other without. {_REPARTITION}"
        )
    if first.types == other.types:
        return
    expected, actual = dict(first.types), dict(other.types)
    where = f"{other.path}: "
    for name in actual:
        if name not in expected:
            raise ValueError(
                f"{where}the file has a column {name!r}, which {first.path.name} does not have."
            )
    for name, kind in expected.items():
        if name not in actual:
            raise ValueError(f"{where}there is no column {name!r}, which {first.path.name} has.")
        if actual[name] != kind:
            raise ValueError(
                f"{where}column {name!r} has the type {actual[name]}, but {kind} in "
                f"{first.path.name}. All partitions need the same columns. {_REPARTITION}"
            )
    pairs = zip(expected, actual, strict=True)
    in_first, in_other = next((one, two) for one, two in pairs if one != two)
    raise ValueError(
        f"{where}column {in_other!r} is at the place of column {in_first!r} in "
        f"{first.path.name}. All partitions need their columns in the same order. {_REPARTITION}"
    )


def _check_apart(query_ids: Array, contents: Sequence[Contents]) -> None:
    """Refuse a query that is in two files."""
    repeated = first_repeated(query_ids)
    if repeated is None:
        return
    one, two = [part.path for part in contents if (part.query_ids == repeated).any()][:2]
    raise ValueError(
        f"{two}: query {repeated} is also in {one.name}. All documents of a query must be in one "
        f"partition. {_REPARTITION}"
    )


def _partition(part: Contents, columns: PartitionColumns) -> Partition:
    n_documents = int(part.sizes.sum())
    return Partition(part.path, columns, len(part.query_ids), n_documents, part.digest)
