"""Reads judgments of documents: TREC's, three columns, tables, SMART's and NPL's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data import Qrels, as_qrels, read_qrels
from localrank.data._checks import is_missing, text_ids
from localrank.data._run_forms import DOCUMENTS, GRADES, QUERIES
from localrank.data.errors import AdvisedError
from localrank.text._file_formats import (
    delimited_kind,
    delimited_records,
    is_named,
    json_records,
    named_judgments,
    npl_judgments,
    numbered_lines,
    smart_judgments,
)
from localrank.text.sources import Source, check_source, first_line

FORMATS = ("trec", "json", "csv", "tsv", "smart", "npl")

# The third column of Cranfield's judgments. The original has -1 at some pairs, without a meaning.
CODES = {-1.0, 1.0, 2.0, 3.0, 4.0, 5.0}

# How `{query: {document: grade}}` begins, in one line or in several.
_OBJECT = re.compile(r'\{\s*("[^"]*"\s*:\s*\{|"[^"]*"\s*:\s*$|$)')

# The place in the source, the query, the document and the grade.
Judgment = tuple[str, Any, Any, Any]


def read_judgments(source: Source, file_format: str | None = None) -> Qrels:
    r"""Read the judgments of documents for queries.

    Parameters
    ----------
    source : path, DataFrame, "irds:NAME", or what `localrank.data.as_qrels` takes
        A file, a table, a collection of the package ir_datasets, or judgments in memory: a dict
        `{query: {document: grade}}`, objects of ranx and ir_measures.
    file_format : {"trec", "json", "csv", "tsv", "smart", "npl"} or None
        "trec": lines `query 0 document grade`, or the same without the second column. "json",
        "csv", "tsv" and DataFrames have named columns: "query_id", "document_id" and "relevance",
        or the names in BEIR's files. "smart": each line begins with a relevant pair,
        `query document`; the rest of the line is ignored. "npl": the relevant documents of each
        query, followed by a line `/`. None: a table is recognised by the file's name, JSON lines
        and NPL by the first line, and SMART by lines `query document 0 0`. Anything else is
        "trec". Lines `query document code` may be either: if the codes differ and could be those
        of Cranfield, of which 1 is the best, the file is refused until its format is named.

    Returns
    -------
    Qrels
        A pair that is given twice is refused. In "smart" and "npl" it counts once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "qrels.tsv")
    ...     _ = path.write_text("query-id\tcorpus-id\tscore\nq1\td7\t2\n")
    ...     read_judgments(path).relevance
    array([2.])
    """
    if file_format is not None and file_format not in FORMATS:
        raise ValueError(
            f"The format must be one of {', '.join(FORMATS)}, or None. Got {file_format!r} instead."
        )
    if not isinstance(source, str | PathLike):
        return as_qrels(source)
    check_source(source)
    if is_named(source):
        return _collected(_named(str(source)), source)
    if file_format is None and _is_columnar(source):
        return read_qrels(source)
    kind = file_format or _recognised(source)
    n_columns = len(first_line(source, "utf-8").split())
    if kind == "trec" and n_columns == 4 and file_format is None and _is_smart(source):
        kind = "smart"
    if kind == "trec" and n_columns != 3:
        return read_qrels(source)
    judgments: Iterator[Judgment]
    if kind == "trec":
        judgments = _three_columns(source)
    elif kind == "smart":
        judgments = ((f"{source}:{n}", q, d, 1.0) for n, q, d, _ in smart_judgments(source))
    elif kind == "npl":
        judgments = ((f"{source}:{n}", q, d, 1.0) for n, q, d in npl_judgments(source))
    else:
        records = (
            json_records(source, "utf-8")
            if kind == "json"
            else delimited_records(source, kind, "utf-8", None, frozenset(QUERIES), ())
        )
        judgments = (_by_name(f"{source}:{number}", record) for number, record in records)
    qrels = _collected(judgments, source, again=kind in ("smart", "npl"))
    if kind == "trec" and file_format is None:
        _refuse_codes(qrels, source)
    return qrels


def _is_smart(path: Any) -> bool:
    """Whether all lines are `query document 0 0`. TREC's would all judge a document 0 with 0."""
    rows = (line.split() for _, line in numbered_lines(path))
    return all(len(row) == 4 and row[2] == "0" and row[3].strip("0.") == "" for row in rows if row)


def _refuse_codes(qrels: Qrels, path: Any) -> None:
    """Refuse grades that may be Cranfield's codes: whole numbers up to 5, different, and no 0."""
    grades = np.unique(qrels.relevance)
    ids = np.concatenate([qrels.query_ids, qrels.document_ids])
    if len(grades) > 1 and set(grades.tolist()) <= CODES and np.char.isdigit(ids).all():
        raise AdvisedError(
            f"{path}: the third column may be grades, of which the highest is best, or SMART's "
            f"codes as in Cranfield, of which 1 is best. It holds "
            f"{', '.join(f'{grade:g}' for grade in grades.tolist())} and no 0.",
            "Give file_format='trec' for grades, or 'smart' to count every pair as relevant.",
            "Add --qrels-format trec for grades, or smart to count every pair as relevant.",
        )


def _recognised(path: Any) -> str:
    line = first_line(path, "utf-8")
    if kind := delimited_kind(path):
        # A .tsv file may hold TREC's lines, without names of columns.
        cells = {cell.strip().lower() for cell in line.split("\t")}
        return kind if kind == "csv" or cells & set(QUERIES) else "trec"
    if line.startswith("{"):
        return "json"
    return "npl" if line.isascii() and line.isdigit() else "trec"


def _is_columnar(path: Any) -> bool:
    """Whether a file is a table that is no text, or one object of JSON with an object per query."""
    if Path(path).suffix.lower() in (".parquet", ".arrow", ".feather"):
        return True
    return _OBJECT.match(first_line(path, "utf-8")) is not None


def _named(source: str) -> Iterator[Judgment]:
    for number, query, document, grade in named_judgments(source):
        yield f"{source}:{number}", query, document, grade


def _by_name(where: str, record: dict[str, Any]) -> Judgment:
    values = []
    for names in (QUERIES, DOCUMENTS, GRADES):
        value = next((record[name] for name in names if name in record), None)
        if is_missing(value) or value == "":
            raise ValueError(
                f"{where}: a judgment must have the column {names[0]!r} (or "
                f"{', '.join(names[1:])}). It has {', '.join(map(repr, record))}."
            )
        values.append(value)
    return where, values[0], values[1], values[2]


def _three_columns(path: Any) -> Iterator[Judgment]:
    for number, line in numbered_lines(path):
        cells = line.split()
        if cells and len(cells) != 3:
            raise ValueError(
                f"{path}:{number}: a line must have 3 columns like the first line: query, "
                f"document, grade. Got {len(cells)} instead."
            )
        if cells:
            query, document, grade = cells
            yield f"{path}:{number}", query, document, grade


def _collected(judgments: Iterator[Judgment], source: Source, *, again: bool = False) -> Qrels:
    grades: dict[tuple[str, str], float] = {}
    for where, query, document, grade in judgments:
        pair = str(query), str(document)
        if pair in grades and not again:
            raise ValueError(
                f"{where}: document {pair[1]!r} of query {pair[0]!r} is judged twice. Keep one of "
                f"the judgments."
            )
        grades[pair] = _number(grade, where)
    if not grades:
        raise ValueError(f"{source}: the file has no judgments.")
    queries, documents = zip(*grades, strict=True)
    return Qrels(text_ids(list(queries)), text_ids(list(documents)), np.array([*grades.values()]))


def _number(grade: Any, where: str) -> float:
    try:
        value = float(grade)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not abs(value) <= MAX_MAGNITUDE:
        raise ValueError(
            f"{where}: the grade must be a finite number, up to {MAX_MAGNITUDE:g}. Got {grade!r} "
            f"instead."
        )
    return value
