"""Scores of a partitioned dataset: one file for each partition, Parquet or a TREC run."""

from __future__ import annotations

import json
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.parallel import in_parallel
from localrank._kernels.sorting import argsort_descending
from localrank.data._atomic import atomic_write
from localrank.data.dataset import RankingDataset
from localrank.data.partition_files import Partition, damage_named, open_table
from localrank.data.pooling import align
from localrank.data.trec import read_run, run_document_ids, write_run

ScoreFormat = Literal["parquet", "run"]
SUFFIXES: dict[ScoreFormat, str] = {"parquet": ".parquet", "run": ".trec"}


def score_path(folder: Path, partition: Partition, form: ScoreFormat) -> Path:
    """The file for the scores of a partition: it has the name of the partition."""
    return folder / f"{partition.path.stem}{SUFFIXES[form]}"


def content_of(path: Path) -> str:
    """A hash of the content of a file."""
    with path.open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def origin(partition: Partition, **facts: str) -> dict[str, str]:
    """Facts that decide the scores of a partition: its content, and those given."""
    queries = b"" if partition.queries is None else partition.queries.tobytes()
    which = blake2b(repr(partition.columns).encode() + queries, digest_size=16).hexdigest()
    return {"data": content_of(partition.path), "columns": which, **facts}


def is_finished(path: Path, facts: dict[str, str]) -> bool:
    """Whether a file of scores exists, is complete, and comes from these facts."""
    if not path.is_file():
        return False
    if path.suffix == SUFFIXES["run"]:
        beside = _facts_beside(path)
        if not beside.is_file():
            return False
        return _parsed(beside.read_bytes()) == facts | {"run": content_of(path)}
    try:
        return _known_facts(path) == facts
    except ValueError:
        return False


def write_scores(
    dataset: RankingDataset, scores: Floats, path: Path, tag: str, facts: dict[str, str]
) -> None:
    """Write the scores of a partition, whole or not at all, with the facts they come from.

    Parameters
    ----------
    dataset : RankingDataset
        The partition, read.
    scores : ndarray of shape (n_documents,)
    path : Path
        A Parquet file has the columns `qid`, `document_id`, `score` and `rank` (from 1), with the
        rows of the partition. Without document ids it has `row` (from 0) instead. Another suffix
        means a TREC run.
    tag : str
        Name of the run.
    facts : dict
    """
    if path.suffix == SUFFIXES["run"]:
        _facts_beside(path).unlink(missing_ok=True)
        write_run(dataset, scores, path, tag=tag)
        with atomic_write(_facts_beside(path)) as file:
            file.write(json.dumps(facts | {"run": content_of(path)}).encode())
        return
    import pyarrow
    from pyarrow import parquet

    documents: dict[str, Array] = {"row": np.arange(dataset.n_documents)}
    if dataset.document_ids is not None:
        documents = {"document_id": dataset.document_ids}
    columns = {
        "qid": _plain(np.repeat(dataset.query_ids, dataset.query_sizes)),
        **{name: _plain(ids) for name, ids in documents.items()},
        "score": scores,
        "rank": _ranks(dataset, scores),
    }
    table = pyarrow.table(columns).replace_schema_metadata({"localrank": json.dumps(facts)})
    with atomic_write(path) as file:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def read_scores(folder: Path, dataset: RankingDataset) -> Floats:
    """Read the scores of a dataset from a folder with a file for each partition.

    A document that is not in a run was not retrieved: its score is minus infinity.
    """
    parts = in_parallel(
        _scores_of, dataset.partitions, shared=(folder,), n_jobs=1, description="Reading scores"
    )
    return np.concatenate(parts)


def refuse_others(folder: Path, dataset: RankingDataset) -> None:
    """Refuse a folder with scores of partitions that the dataset does not have."""
    known = {partition.path.stem for partition in dataset.partitions}
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES.values() and path.stem not in known:
            raise ValueError(
                f"{path}: the file belongs to no partition of the data. Delete it, or name "
                f"another folder."
            )


def refuse_data(folder: Path, dataset: RankingDataset) -> None:
    """Refuse a folder in which scores would overwrite data or other scores."""
    seen: dict[str, Path] = {}
    for partition in dataset.partitions:
        other = seen.setdefault(partition.path.stem, partition.path)
        if other != partition.path:
            raise ValueError(
                f"{partition.path}: its scores would get the same file name as those of {other}. "
                f"Rename one of the files, or name a run to write instead of a folder."
            )
        if folder.resolve() == partition.path.resolve().parent:
            raise ValueError(
                f"{folder}: the folder holds the data to rank. Name another folder for the scores."
            )
        path = score_path(folder, partition, "parquet")
        if path.is_file() and not _is_replaceable(path):
            raise ValueError(
                f"{path}: `localrank rank` did not write this file, and replaces only its own. "
                f"Name another folder for the scores."
            )


def _is_replaceable(path: Path) -> bool:
    try:
        return "model" in _known_facts(path)
    except ValueError:
        # Damaged, and of no use to anyone.
        return True


def _known_facts(path: Path) -> dict[str, Any]:
    """The facts that the scores in a Parquet file come from; empty if it has none."""
    with damage_named(path):
        return _parsed((open_table(path).schema.metadata or {}).get(b"localrank", b"{}"))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        facts = json.loads(text)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _scores_of(partition: Partition, folder: Path) -> Floats:
    paths = [score_path(folder, partition, form) for form in SUFFIXES]
    existing = [path for path in paths if path.is_file()]
    if len(existing) != 1:
        fault = "there are two files of scores" if existing else "there is no file of scores"
        raise ValueError(f"{folder}: {fault} for {partition.path.name}.")
    part = partition.without_features()
    path = existing[0]
    if path.suffix == SUFFIXES["run"]:
        if part.document_ids is None:
            part = part.replaced(document_ids=np.array(run_document_ids(part)))
        return align(read_run(path), part)
    with damage_named(path):
        file = open_table(path)
        if missing := {"qid", "score"} - set(file.schema.names):
            raise ValueError(f"there is no column {min(missing)!r}.")
        known = part.document_ids if "document_id" in file.schema.names else None
        table = file.read(["qid", "score", *([] if known is None else ["document_id"])])
        queries, scores = table.column("qid").to_numpy(), table.column("score").to_numpy()
        ids = np.repeat(part.query_ids, part.query_sizes)
        same = len(queries) == len(ids) and (queries == ids.astype(queries.dtype)).all()
        if same and known is not None:
            documents = table.column("document_id").to_numpy()
            same = (documents == known.astype(documents.dtype)).all()
        if not same:
            raise ValueError(f"its rows are not those of {partition.path}: it scores other data.")
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite.")
    return np.asarray(scores, dtype=np.float64)


def _ranks(dataset: RankingDataset, scores: Floats) -> Integers:
    """The rank of each row in its query, from 1; equal scores in the order of the rows."""
    ranks = np.empty(dataset.n_documents, np.int64)
    order = argsort_descending(scores, dataset.offsets)
    ranks[order] = np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index] + 1
    return ranks


def _facts_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.json")


def _plain(ids: Array) -> Any:
    """Ids as pyarrow takes them: text as objects."""
    return ids.astype(object) if ids.dtype.kind in "UT" else ids
