"""Reads judgments of documents: TREC's, three columns, tables, SMART's and NPL's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data import Qrels, read_qrels
from localrank.data._checks import is_missing, text_ids
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
from localrank.text.sources import Source, check_source, first_line, frame_rows, is_frame

FORMATS = ("trec", "json", "csv", "tsv", "smart", "npl")
QUERIES = ("query_id", "query-id", "qid", "query")
DOCUMENTS = ("document_id", "corpus-id", "doc_id", "docno", "docid", "document", "doc")
GRADES = ("relevance", "score", "label", "grade", "rel")

# The place in the source, the query, the document and the grade.
Judgment = tuple[str, Any, Any, Any]


def read_judgments(source: Source, file_format: str | None = None) -> Qrels:
    r"""Read the judgments of documents for queries.

    Parameters
    ----------
    source : path, DataFrame, or "irds:NAME"
        A file, a table, or a collection of the package ir_datasets.
    file_format : {"trec", "json", "csv", "tsv", "smart", "npl"} or None
        "trec": lines `query 0 document grade`, or the same without the second column. "json",
        "csv", "tsv" and DataFrames have named columns: "query_id", "document_id" and "relevance",
        or the names in BEIR's files. "smart": each line begins with a relevant pair,
        `query document`; the rest of the line is ignored. "npl": the relevant documents of each
        query, followed by a line `/`. None: a table is recognised by the file's name, JSON lines
        and NPL by the first line, and anything else is "trec". SMART's lines look like TREC's, so
        "smart" must be named.

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
    check_source(source)
    if is_frame(source) or is_named(source):
        return _collected(_given(source), source)
    kind = file_format or _recognised(source)
    if kind == "trec" and len(first_line(source, "utf-8").split()) != 3:
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
    return _collected(judgments, source, again=kind in ("smart", "npl"))


def _recognised(path: Any) -> str:
    line = first_line(path, "utf-8")
    if kind := delimited_kind(path):
        # A .tsv file may hold TREC's lines, without names of columns.
        cells = {cell.strip().lower() for cell in line.split("\t")}
        return kind if kind == "csv" or cells & set(QUERIES) else "trec"
    if line.startswith("{"):
        return "json"
    return "npl" if line.isascii() and line.isdigit() else "trec"


def _given(source: Source) -> Iterator[Judgment]:
    if is_named(source):
        for number, query, document, grade in named_judgments(source):
            yield f"{source}:{number}", query, document, grade
        return
    for where, row in frame_rows(source):
        yield _by_name(where, row)


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
        name = "The table" if is_frame(source) else f"{source}: the file"
        raise ValueError(f"{name} has no judgments.")
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
