"""TREC runs and relevance judgements (qrels)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localrank.arrays import Array, Floats, Integers
from localrank.data.atomic import atomic_write
from localrank.data.compression import damage_named, open_binary
from localrank.data.dataset import RankingDataset


@dataclass(frozen=True, eq=False)
class Run:
    """The scores a system gave to documents, one entry per line of a run file."""

    query_ids: Array
    document_ids: Array
    scores: Floats
    tag: str = "localrank"


@dataclass(frozen=True, eq=False)
class Qrels:
    """The judged relevance of documents, one entry per line of a qrels file."""

    query_ids: Array
    document_ids: Array
    relevance: Floats


def read_run(path: str | PathLike[str]) -> Run:
    """Read a TREC run: `query Q0 document rank score tag`.

    The rank column is ignored, as trec_eval does: documents are ranked by score.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".trec") as file:
    ...     print("q1 Q0 d7 1 3.25 bm25", file=file, flush=True)
    ...     run = read_run(file.name)
    >>> run.document_ids, run.scores
    (array(['d7'], dtype='<U2'), array([3.25]))
    """
    columns, lines = _read_columns(path, 6, "query Q0 document rank score tag")
    scores = _numbers(path, columns[4], lines, "score")
    _refuse_repeated(path, columns[0], columns[2], lines)
    return Run(columns[0], columns[2], scores, str(columns[5][0]))


def read_qrels(path: str | PathLike[str]) -> Qrels:
    """Read TREC judgements: `query 0 document relevance`.

    Negative judgements (spam, in some collections) stay as they are; `judged` counts them as
    not relevant.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("q1 0 d7 2", file=file, flush=True)
    ...     read_qrels(file.name).relevance
    array([2.])
    """
    columns, lines = _read_columns(path, 4, "query 0 document relevance")
    relevance = _numbers(path, columns[3], lines, "relevance")
    _refuse_repeated(path, columns[0], columns[2], lines)
    return Qrels(columns[0], columns[2], relevance)


def write_run(
    dataset: RankingDataset,
    scores: ArrayLike,
    path: str | PathLike[str],
    *,
    tag: str = "localrank",
) -> None:
    """Write scores (one per document, in input order) as a TREC run, best documents first.

    In a dataset without document ids, a document's id is its position within its query, from 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> dataset = RankingDataset.from_arrays([[0.0], [0.0]], qid=[5, 5], document_ids=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "run.trec")
    ...     write_run(dataset, [0.5, 2.0], path)
    ...     print(path.read_text().strip())
    5 Q0 b 1 2.0 localrank
    5 Q0 a 2 0.5 localrank
    """
    lines = run_lines(dataset, scores, tag)
    with atomic_write(path) as file:
        file.writelines(line.encode() for line in lines)


def run_lines(dataset: RankingDataset, scores: ArrayLike, tag: str) -> Iterator[str]:
    """The lines of a TREC run."""
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (dataset.n_documents,):
        raise ValueError(
            f"A run needs one score per document ({dataset.n_documents}). "
            f"Got shape {values.shape} instead."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"Scores of a run must be finite. {np.sum(~np.isfinite(values))} are not.")
    values = dataset.in_query_order(values)
    order = np.lexsort((-values, dataset.query_index))
    ranks = _position_in_query(dataset)
    queries = dataset.query_ids.astype(str)
    documents = run_document_ids(dataset)
    for name, ids in (("Query", queries), ("Document", documents), ("Tag", np.array([tag]))):
        if blank := [item for item in ids.tolist() if len(item.split()) != 1]:
            raise ValueError(
                f"{name} {blank[0]!r} has blanks or is empty, which a run cannot hold."
            )
    return (
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for query, document, rank, score in zip(
            queries[dataset.query_index].tolist(),
            documents[order].tolist(),
            (ranks + 1).tolist(),
            values[order].tolist(),
            strict=True,
        )
    )


def run_document_ids(dataset: RankingDataset) -> NDArray[np.str_]:
    """The ids a run uses for a dataset's rows: its own, or positions within the query from 1."""
    if dataset.document_ids is not None:
        return dataset.document_ids.astype(str)
    return (_position_in_query(dataset) + 1).astype(str)


def _position_in_query(dataset: RankingDataset) -> Integers:
    return np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]


def align(run: Run, dataset: RankingDataset) -> Floats:
    """The run's score for each document of a dataset, in input order.

    A document that the run does not hold gets minus infinity: not retrieved. Documents of the
    run that the dataset does not hold are left out.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0.0], [0.0]], qid=[5, 5], document_ids=["a", "b"])
    >>> align(Run(np.array(["5"]), np.array(["b"]), np.array([1.5])), dataset)
    array([-inf,  1.5])
    """
    rows = _pairs(dataset.query_ids.astype(str)[dataset.query_index], run_document_ids(dataset))
    place = {pair: row for row, pair in enumerate(rows)}
    if len(place) < len(rows):
        raise ValueError("A query of the dataset has two documents with the same id.")
    found = np.array([place.get(pair, -1) for pair in _pairs(run.query_ids, run.document_ids)])
    scores = np.full(dataset.n_documents, -np.inf)
    scores[found[found >= 0]] = run.scores[found >= 0]
    return dataset.in_input_order(scores)


def judged(run: Run, qrels: Qrels) -> tuple[RankingDataset, Floats]:
    """A run's documents with their judgements, as a dataset without features, and the scores.

    As in `trec_eval -c`, every judged query counts, also where the run does not have it; queries
    without judgements are left out. A document without judgement is not relevant; a judged
    document that the run does not hold scores minus infinity: not retrieved.

    Examples
    --------
    >>> run = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> dataset, scores = judged(run, Qrels(np.array(["q"]), np.array(["b"]), np.array([1.0])))
    >>> dataset.relevance, scores
    (array([0., 1.]), array([2., 1.]))
    """
    in_qrels = np.isin(run.query_ids, qrels.query_ids)
    if not in_qrels.any():
        raise ValueError("The run and the judgements have no query in common.")
    scored = dict(
        zip(
            _pairs(run.query_ids[in_qrels], run.document_ids[in_qrels]),
            run.scores[in_qrels].tolist(),
            strict=True,
        )
    )
    labelled = dict(
        zip(
            _pairs(qrels.query_ids, qrels.document_ids),
            np.maximum(qrels.relevance, 0).tolist(),
            strict=True,
        )
    )
    pairs = list(dict.fromkeys([*scored, *labelled]))
    dataset = RankingDataset.from_arrays(
        np.empty((len(pairs), 0)),
        [labelled.get(pair, 0.0) for pair in pairs],
        [query for query, _ in pairs],
        document_ids=[document for _, document in pairs],
    )
    return dataset, np.array([scored.get(pair, -np.inf) for pair in pairs])


def _pairs(queries: Array, documents: Array) -> list[tuple[str, str]]:
    return list(zip(queries.tolist(), documents.tolist(), strict=True))


def _read_columns(
    path: str | PathLike[str], n_columns: int, form: str
) -> tuple[list[NDArray[np.str_]], list[int]]:
    """The columns of a blank-separated file, and the line number of each row."""
    try:
        with open_binary(Path(path)) as file, damage_named(Path(path)):
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file ({error.reason}).") from None
    rows, numbers = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        row = line.split()
        if not row:
            continue
        if len(row) != n_columns:
            raise ValueError(
                f"{path}:{number}: a line must have {n_columns} columns ({form}). "
                f"Got {len(row)} instead."
            )
        rows.append(row)
        numbers.append(number)
    if not rows:
        raise ValueError(f"{path}: no lines of the form {form!r}.")
    return [np.array(column) for column in zip(*rows, strict=True)], numbers


def _numbers(path: str | PathLike[str], column: Array, lines: list[int], name: str) -> Floats:
    values = np.empty(len(column))
    for row, token in enumerate(column.tolist()):
        try:
            values[row] = float(token)
        except ValueError:
            values[row] = np.nan
        if not np.isfinite(values[row]):
            raise ValueError(
                f"{path}:{lines[row]}: the {name} must be a finite number. Got {token!r} instead."
            )
    return values


def _refuse_repeated(
    path: str | PathLike[str], queries: Array, documents: Array, lines: list[int]
) -> None:
    pairs = _pairs(queries, documents)
    if len(set(pairs)) == len(pairs):
        return
    seen = set()
    for pair, line in zip(pairs, lines, strict=True):
        if pair in seen:
            raise ValueError(f"{path}:{line}: document {pair[1]!r} of query {pair[0]!r} again.")
        seen.add(pair)
