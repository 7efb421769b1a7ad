"""TREC runs and relevance judgements (qrels)."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._atomic import atomic_write
from localrank.data._checks import check_writes
from localrank.data._run_forms import GRADES, SCORES, Wanted, of_file
from localrank.data._strings import Strings, first_repeated
from localrank.data._trec_reader import Form, read_lines, refuse_repeated
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError

_RUN_LINE, _QRELS_LINE = "query Q0 document rank score tag", "query 0 document relevance"
RUN = Wanted("run", Form(_RUN_LINE, 4, "score", sys.float_info.max), SCORES)
QRELS = Wanted("judgments", Form(_QRELS_LINE, 3, "relevance", MAX_MAGNITUDE), GRADES)
# Characters that an id may have and a column of a run may not, and the mark that replaces them.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_MARK = re.compile(r"\\x[0-9a-f]{2}")
_NOT_IN_RUNS = re.compile(rf"{_BLANK.pattern}|{_MARK.pattern}")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The scores that a system gave to documents, one entry per line of a run file."""

    query_ids: Array
    document_ids: Array
    scores: Floats
    tag: str = "localrank"

    def __repr__(self) -> str:
        n_queries = _n_different(self.query_ids)
        return f"Run {self.tag!r}: {n_queries:,} queries, {len(self.scores):,} documents"


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """The judged relevance of documents, one entry per line of a qrels file."""

    query_ids: Array
    document_ids: Array
    relevance: Floats

    def __repr__(self) -> str:
        n_queries, n_relevant = _n_different(self.query_ids), int(np.sum(self.relevance > 0))
        return (
            f"Qrels: {n_queries:,} queries, {len(self.relevance):,} judged documents, "
            f"{n_relevant:,} relevant"
        )


def _n_different(ids: Array) -> int:
    return len(Strings.of(np.asarray(ids)).numbered()[1])


def read_run(path: str | PathLike[str], *, columns: Sequence[str] | None = None) -> Run:
    r"""Read a run: TREC's lines, JSON, or a table.

    Parameters
    ----------
    path : path
        TREC's lines are `query Q0 document rank score tag`. The rank is ignored, as trec_eval
        does: documents are ranked by score. Ids are as `write_run` writes them: `\x20` stands for
        a blank. JSON is an object `{query: {document: score}}`. A table (`.parquet`, `.csv`,
        `.tsv`, `.arrow`, `.feather`) has columns such as `query_id`, `doc_id` and `score`;
        `qid`, `query`, `docno`, `docid`, `document` and the like are known as well, in small or
        capital letters. Lines and JSON may be compressed (`.gz`, `.bz2`, `.xz`).
    columns : sequence of str or None, default=None
        The columns of a table: query, document, score. None: go by their names.

    Raises
    ------
    ValueError
        A line is damaged, a score is not finite, a query has a document twice, or the file is
        empty. The message begins with `path:line:`, or with the path.

    Notes
    -----
    A run in memory needs 8 bytes for each line, and 4 for each letter of the longest query id and
    of the longest document id. Reading needs about twice that.

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
    path = Path(path)
    if (pairs := of_file(path, replace(RUN, columns=columns))) is not None:
        return Run(*pairs, tag=path.name.partition(".")[0] or "run")
    lines = read_lines(path, RUN.form)
    refuse_repeated(path, lines)
    tag = lines.first[5].decode("utf-8", "backslashreplace")
    return Run(lines.queries.array(), lines.documents.array(), lines.values, tag)


def read_qrels(path: str | PathLike[str], *, columns: Sequence[str] | None = None) -> Qrels:
    """Read judgments: TREC's lines, JSON, or a table.

    Parameters
    ----------
    path : path
        TREC's lines are `query 0 document relevance`. JSON is an object `{query: {document:
        relevance}}`. A table has columns such as `query_id`, `doc_id` and `relevance`, as in
        `read_run`; the last may be called `label`, `grade`, `rel` or `score`.
        `localrank.text.read_judgments` reads further forms.
    columns : sequence of str or None, default=None
        The columns of a table: query, document, relevance. None: go by their names.

    Returns
    -------
    Qrels
        Negative judgments stay as they are. For `pooled`, -1 means that nobody judged the document,
        and lower judgments (spam, in some collections) mean that it is not relevant.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("q1 0 d7 2", file=file, flush=True)
    ...     read_qrels(file.name).relevance
    array([2.])
    """
    path = Path(path)
    if (pairs := of_file(path, replace(QRELS, columns=columns))) is not None:
        return Qrels(*pairs)
    lines = read_lines(path, QRELS.form)
    documents = lines.documents.array()
    if not lines.values.any() and (documents == "0").all():
        raise AdvisedError(
            f"{path}: every line says that document '0' is not relevant. These are SMART's lines, "
            f"`query document 0 0`.",
            "Read them with localrank.text.read_judgments.",
            "Write the pairs as TREC's lines, `query 0 document 1`.",
        )
    refuse_repeated(path, lines)
    return Qrels(lines.queries.array(), documents, lines.values)


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
    ranks = position_in_query(dataset)
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
    return [str(position) for position in (position_in_query(dataset) + 1).tolist()]


def _texts(ids: Array) -> list[str]:
    """Ids as text, in a list: an array would give each of them the room of the longest."""
    return list(ids.tolist() if ids.dtype.kind in "UT" else ids.astype(str).tolist())


def _escaped(name: str) -> str:
    """An id as one word without white space; `plain` undoes it."""
    if not _NOT_IN_RUNS.search(name):
        return name
    name = _MARK.sub(lambda mark: r"\x5c" + mark[0][1:], name)
    return _BLANK.sub(lambda blank: "".join(rf"\x{byte:02x}" for byte in blank[0].encode()), name)


def position_in_query(dataset: RankingDataset) -> Integers:
    """The position of each row in its query, from 0."""
    return np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]


def _repeated_document(dataset: RankingDataset) -> tuple[str, str] | None:
    """A query and its document that it has twice, or None."""
    if dataset.document_ids is None:
        return None
    documents = Strings.of(dataset.document_ids)
    numbers, firsts, _ = documents.numbered_in_groups(
        np.arange(dataset.n_documents), dataset.offsets
    )
    if (row := first_repeated(numbers, len(firsts))) is None:
        return None
    return str(dataset.query_ids[dataset.query_index[row]]), documents.names([row])[0]
