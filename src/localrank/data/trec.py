"""TREC runs and relevance judgements (qrels)."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._atomic import atomic_write
from localrank.data._checks import check_writes, text_ids
from localrank.data._compression import damage_named, open_binary
from localrank.data._letor_messages import LONE_RETURN, NUL
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError

# The longest line, in bytes.
MAX_LINE = 1 << 20
# Characters that an id may have and a column of a run may not, and the mark that replaces them.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_MARK, _MARK_BYTES = re.compile(r"\\x[0-9a-f]{2}"), re.compile(rb"\\x([0-9a-f]{2})")
_NOT_IN_RUNS = re.compile(rf"{_BLANK.pattern}|{_MARK.pattern}")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The scores that a system gave to documents, one entry per line of a run file."""

    query_ids: Array
    document_ids: Array
    scores: Floats
    tag: str = "localrank"

    def __repr__(self) -> str:
        n_queries = len(np.unique(self.query_ids))
        return f"Run {self.tag!r}: {n_queries:,} queries, {len(self.scores):,} documents"


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """The judged relevance of documents, one entry per line of a qrels file."""

    query_ids: Array
    document_ids: Array
    relevance: Floats

    def __repr__(self) -> str:
        n_queries, n_relevant = len(np.unique(self.query_ids)), int(np.sum(self.relevance > 0))
        return (
            f"Qrels: {n_queries:,} queries, {len(self.relevance):,} judged documents, "
            f"{n_relevant:,} relevant"
        )


def read_run(path: str | PathLike[str]) -> Run:
    r"""Read a TREC run: `query Q0 document rank score tag`.

    The rank column is ignored, as trec_eval does: documents are ranked by score. Ids are as
    `write_run` writes them: `\x20` stands for a blank.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".trec") as file:
    ...     print("q1 Q0 d7 1 3.25 bm25", file=file, flush=True)
    ...     run = read_run(file.name)
    >>> run
    Run 'bm25': 1 queries, 1 documents
    >>> run.document_ids, run.scores
    (array(['d7'], dtype='<U2'), array([3.25]))
    """
    columns, lines = _read_columns(path, 6, "query Q0 document rank score tag")
    scores = _numbers(path, columns[4], lines, "score")
    queries, documents = _ids(path, columns[0], lines), _ids(path, columns[2], lines)
    _refuse_repeated(path, queries, documents, lines)
    tag = columns[5][0].decode("utf-8", "backslashreplace")
    return Run(text_ids(queries), text_ids(documents), scores, tag)


def read_qrels(path: str | PathLike[str]) -> Qrels:
    """Read TREC judgements: `query 0 document relevance`.

    Negative judgements (spam, in some collections) stay as they are; `judged` counts them as
    not relevant. `localrank.text.read_judgments` reads other forms.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("q1 0 d7 2", file=file, flush=True)
    ...     read_qrels(file.name).relevance
    array([2.])
    """
    columns, lines = _read_columns(path, 4, "query 0 document relevance")
    relevance = _numbers(path, columns[3], lines, "relevance", MAX_MAGNITUDE)
    queries, documents = _ids(path, columns[0], lines), _ids(path, columns[2], lines)
    if set(documents) == {"0"} and not relevance.any():
        raise AdvisedError(
            f"{path}: every line says that document '0' is not relevant. These are SMART's lines, "
            f"`query document 0 0`.",
            "Read them with localrank.text.read_judgments.",
            "Write the pairs as TREC's lines, `query 0 document 1`.",
        )
    _refuse_repeated(path, queries, documents, lines)
    return Qrels(text_ids(queries), text_ids(documents), relevance)


def write_run(
    dataset: RankingDataset,
    scores: ArrayLike,
    path: str | PathLike[str],
    *,
    tag: str = "localrank",
) -> None:
    r"""Write scores (one per document, in input order) as a TREC run, best documents first.

    In a dataset without document ids, a document's id is its position within its query, from 1.
    The columns of a run are separated by blanks, so a blank in an id is written as `\x20`, other
    white space and control characters likewise. `read_run` turns them back. If an id itself has
    such a mark, its backslash is written as `\x5c`.

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
    check_writes("write_run(dataset, scores, path)", dataset, path)
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
    if len(tag.split()) != 1:
        raise ValueError(f"The tag of a run must be one word. Got {tag!r} instead.")
    values = dataset.in_query_order(values)
    order = np.lexsort((-values, dataset.query_index))
    ranks = _position_in_query(dataset)
    queries = [_escaped(name) for name in _texts(dataset.query_ids)]
    documents = [_escaped(name) for name in run_document_ids(dataset)]
    if (twice := _repeated_document(dataset)) is not None:
        warnings.warn(
            f"Query {twice[0]!r} has two documents with the id {twice[1]!r}: `read_run` and "
            f"trec_eval refuse such a run.",
            stacklevel=3,
        )
    return (
        f"{queries[query]} Q0 {documents[row]} {rank} {score!r} {tag}\n"
        for query, row, rank, score in zip(
            dataset.query_index.tolist(),
            order.tolist(),
            (ranks + 1).tolist(),
            values[order].tolist(),
            strict=True,
        )
    )


def run_document_ids(dataset: RankingDataset) -> list[str]:
    """The ids that a run uses for documents: those of the dataset, or positions in the query."""
    if dataset.document_ids is not None:
        return _texts(dataset.document_ids)
    return [str(position) for position in (_position_in_query(dataset) + 1).tolist()]


def _texts(ids: Array) -> list[str]:
    """Ids as text, in a list: an array would give each of them the room of the longest."""
    return list(ids.tolist() if ids.dtype.kind in "UT" else ids.astype(str).tolist())


def _escaped(name: str) -> str:
    """An id as one word without white space; `_plain` undoes it."""
    if not _NOT_IN_RUNS.search(name):
        return name
    name = _MARK.sub(lambda mark: r"\x5c" + mark[0][1:], name)
    return _BLANK.sub(lambda blank: "".join(rf"\x{byte:02x}" for byte in blank[0].encode()), name)


def _plain(word: bytes) -> str:
    """The id that a word stands for."""
    if b"\\x" in word:
        with suppress(UnicodeDecodeError):  # else the marks are part of the id
            return _MARK_BYTES.sub(lambda mark: bytes.fromhex(mark[1].decode()), word).decode()
    return word.decode()


def _position_in_query(dataset: RankingDataset) -> Integers:
    return np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]


def align(run: Run, dataset: RankingDataset) -> Floats:
    """The run's score for each document of a dataset, in input order.

    A document that is not in the run was not retrieved: it gets minus infinity. Documents of the
    run that are not in the dataset are left out.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0.0], [0.0]], qid=[5, 5], document_ids=["a", "b"])
    >>> align(Run(np.array(["5"]), np.array(["b"]), np.array([1.5])), dataset)
    array([-inf,  1.5])
    """
    rows = _dataset_pairs(dataset)
    if (twice := _first_repeated(rows)) is not None:
        raise ValueError(
            f"Query {twice[0]!r} of the dataset has two documents with the same id, {twice[1]!r}."
        )
    place = {pair: row for row, pair in enumerate(rows)}
    places = np.array([place.get(pair, -1) for pair in _pairs(run.query_ids, run.document_ids)])
    scores = np.full(dataset.n_documents, -np.inf)
    scores[places[places >= 0]] = run.scores[places >= 0]
    return dataset.in_input_order(scores)


def judged(run: Run, qrels: Qrels) -> tuple[RankingDataset, Floats]:
    """A run's documents with their judgements, as a dataset without features, and the scores.

    As in `trec_eval -c`, every judged query counts, even if it is not in the run. Queries without
    judgements are left out. A document without a judgement is not relevant. A judged document
    that is not in the run was not retrieved: its score is minus infinity.

    Examples
    --------
    >>> run = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> dataset, scores = judged(run, Qrels(np.array(["q"]), np.array(["b"]), np.array([1.0])))
    >>> dataset.relevance, scores
    (array([0., 1.]), array([2., 1.]))
    """
    judged_queries = set(qrels.query_ids.tolist())
    in_qrels = np.array([query in judged_queries for query in run.query_ids.tolist()])
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


def _dataset_pairs(dataset: RankingDataset) -> list[tuple[str, str]]:
    queries = _texts(dataset.query_ids)
    numbers = dataset.query_index.tolist()
    return [(queries[n], name) for n, name in zip(numbers, run_document_ids(dataset), strict=True)]


def _repeated_document(dataset: RankingDataset) -> tuple[str, str] | None:
    return None if dataset.document_ids is None else _first_repeated(_dataset_pairs(dataset))


def _first_repeated(pairs: list[tuple[str, str]]) -> tuple[str, str] | None:
    seen = set()
    for pair in pairs:
        if pair in seen:
            return pair
        seen.add(pair)
    return None


def _read_columns(
    path: str | PathLike[str], n_columns: int, form: str
) -> tuple[list[list[bytes]], list[int]]:
    """The columns of a blank-separated file, and the line number of each row."""
    rows, numbers = [], []
    for number, line in enumerate(_lines(Path(path)), start=1):
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
        raise ValueError(f"{path}: the file has no lines. Each should look like {form!r}.")
    return [list(column) for column in zip(*rows, strict=True)], numbers


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a text file, one after another, so that an endless one is noticed."""
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if b"\0" in line:
                raise ValueError(f"{path}:{number}: {NUL}.")
            if len(line) > MAX_LINE:
                raise ValueError(f"{path}:{number}: the line is longer than {MAX_LINE:,} bytes.")
            if b"\r" in line.rstrip(b"\r\n"):
                raise ValueError(f"{path}:{number}: {LONE_RETURN}.")
            yield line


def _ids(path: str | PathLike[str], column: list[bytes], lines: list[int]) -> list[str]:
    names = []
    for token, line in zip(column, lines, strict=True):
        try:
            names.append(_plain(token))
        except UnicodeDecodeError:
            raise ValueError(f"{path}:{line}: the id {token!r} is not UTF-8.") from None
    return names


def _numbers(
    path: str | PathLike[str],
    column: list[bytes],
    lines: list[int],
    name: str,
    most: float | None = None,
) -> Floats:
    values = np.empty(len(column))
    for row, token in enumerate(column):
        try:
            # Python also takes 1_000 for a number, which no other reader of runs does.
            values[row] = np.nan if b"_" in token else float(token)
        except ValueError:
            values[row] = np.nan
        if not np.isfinite(values[row]) or (most is not None and abs(values[row]) > most):
            shown = token.decode("utf-8", "backslashreplace")
            bound = "" if most is None else f" between -{most:g} and {most:g}"
            raise ValueError(
                f"{path}:{lines[row]}: the {name} must be a finite number{bound}. Got {shown!r} "
                f"instead."
            )
    return values


def _refuse_repeated(
    path: str | PathLike[str], queries: list[str], documents: list[str], lines: list[int]
) -> None:
    seen: dict[tuple[str, str], int] = {}
    for pair, line in zip(zip(queries, documents, strict=True), lines, strict=True):
        if (first := seen.setdefault(pair, line)) != line:
            raise ValueError(
                f"{path}:{line}: document {pair[1]!r} of query {pair[0]!r} again; it is in line "
                f"{first}, and a query may have it once."
            )
