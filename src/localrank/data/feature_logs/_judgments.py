"""Grades of documents, from judgments or from clicks."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._compression import damage_named, open_binary
from localrank.data.feature_logs._responses import json_lines
from localrank.data.feature_logs._values import as_id, shortened
from localrank.data.trec import Qrels, read_qrels

# The names that each column may have.
_NAMES = {
    "query": ("query", "qid", "query_id"),
    "document": ("document", "document_id"),
    "grade": ("grade", "label", "relevance"),
    "clicks": ("clicks",),
    "impressions": ("impressions",),
}
_COMPRESSED = (".gz", ".bz2", ".xz")


@dataclass(frozen=True)
class Judgments:
    """The grades of documents, by query and document, and the name of their source."""

    source: str
    grades: dict[str, dict[str, float]]
    # Columns of a file of clicks that are not used.
    unused: tuple[str, ...] = ()

    @property
    def n_documents(self) -> int:
        return sum(map(len, self.grades.values()))


def read_judgments(source: str | PathLike[str] | Qrels) -> Judgments:
    """Judgments from a file, or from qrels that were read before.

    A file that ends in `.csv`, `.tsv` or `.jsonl` has columns with the names `query`, `document`
    and `grade`. Any other file has TREC's lines: `query 0 document grade`.

    Examples
    --------
    >>> qrels = Qrels(np.array([7, 7]), np.array(["a", "b"]), np.array([2.0, 0.0]))
    >>> read_judgments(qrels).grades
    {'7': {'a': 2.0, 'b': 0.0}}
    """
    grades: dict[str, dict[str, float]] = {}
    if isinstance(source, Qrels) or _suffix(Path(source)) not in _TABLES:
        qrels, name = source, "the qrels"
        if not isinstance(qrels, Qrels):
            qrels, name = read_qrels(qrels), str(source)
        for query, document, grade in zip(
            *(ids.tolist() for ids in (qrels.query_ids, qrels.document_ids)),
            qrels.relevance.tolist(),
            strict=True,
        ):
            grades.setdefault(str(query), {})[str(document)] = grade
        return Judgments(name, grades)
    path = Path(source)
    for place, (query, document, grade) in _rows(path, ["query", "document", "grade"]):
        documents = grades.setdefault(query, {})
        if document in documents:
            raise ValueError(
                f"{place}: document {document!r} of query {query!r} occurs twice. It has one grade."
            )
        documents[document] = _number(place, grade, "grade")
    return Judgments(str(source), grades)


def read_clicks(path: str | PathLike[str], rates: Sequence[float] | None) -> Judgments:
    """Grades from clicks: the number of clicks, or a level of the rate of clicks.

    A file that ends in `.csv`, `.tsv` or `.jsonl` has the columns `query`, `document`, `clicks`
    and, for rates, `impressions`. Rows of the same document are added up. A document without
    impressions has no grade.

    Parameters
    ----------
    path : path
    rates : sequence of float or None
        Rising rates of clicks per impression. The grade of a document is the number of rates that
        it reaches. None: the grade is the number of clicks.
    """
    if rates is not None:
        wrong = not len(rates) or not all(0 < rate <= 1 for rate in rates)
        if wrong or any(low >= high for low, high in pairwise(rates)):
            raise ValueError(
                f"The 'rates' argument of read_feature_log must be rising rates of clicks, above "
                f"0 and at most 1, such as [0.05, 0.2]. Got {rates!r} instead."
            )
    if _suffix(Path(path)) not in _TABLES:
        raise ValueError(f"{path}: a file of clicks must end in {', '.join(_TABLES)}.")
    columns = ["query", "document", "clicks", *(["impressions"] if rates is not None else [])]
    counts: dict[str, dict[str, list[float]]] = {}
    unused: dict[str, None] = {}
    for place, (query, document, *given) in _rows(Path(path), columns, unused):
        pair = [_count(place, *cell) for cell in zip(given, columns[2:], strict=True)]
        if rates is not None and pair[0] and not pair[1]:
            raise ValueError(f"{place}: {pair[0]:g} clicks need impressions. Got 0 impressions.")
        totals = counts.setdefault(query, {}).setdefault(document, [0.0] * len(pair))
        totals[:] = [total + count for total, count in zip(totals, pair, strict=True)]
    if rates is None:
        grades = {
            query: {document: totals[0] for document, totals in documents.items()}
            for query, documents in counts.items()
        }
    else:
        grades = {
            query: {
                document: float(np.searchsorted(rates, clicks / shown, side="right"))
                for document, (clicks, shown) in documents.items()
                if shown
            }
            for query, documents in counts.items()
        }
    return Judgments(str(path), grades, tuple(unused))


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    delimiter = "\t" if _suffix(path) == ".tsv" else ","
    try:
        with (
            open_binary(path) as raw,
            damage_named(path),
            io.TextIOWrapper(io.BufferedReader(raw), "utf-8-sig", newline="") as file,
        ):
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for cells in reader:
                yield reader.line_num, cells
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8.") from None
    except csv.Error as error:
        raise ValueError(f"{path}:{reader.line_num}: {error}.") from None


def _rows(
    path: Path, columns: Sequence[str], unused: dict[str, None] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """The place and the cells of each row, for some columns. The first two columns are ids.

    The names of other columns are added to `unused`.
    """
    cells = _json_cells if _suffix(path) in _JSON else _csv_cells
    rows = cells(path, columns, {} if unused is None else unused)
    empty = True
    for place, (query, document, *others) in rows:
        empty = False
        try:
            yield place, [as_id(query, "the query"), as_id(document, "the document"), *others]
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    if empty:
        raise ValueError(f"{path} has no rows of {', '.join(columns)}.")


def _json_cells(
    path: Path, columns: Sequence[str], unused: dict[str, None]
) -> Iterator[tuple[str, list[Any]]]:
    for line, record in json_lines(path):
        names = [_named(path, line, list(record), column) for column in columns]
        unused.update(dict.fromkeys(name for name in record if name not in names))
        yield f"{path}:{line}", [record[name] for name in names]


def _csv_cells(
    path: Path, columns: Sequence[str], unused: dict[str, None]
) -> Iterator[tuple[str, list[Any]]]:
    places: list[int] | None = None
    header: list[str] = []
    for line, cells in _csv_rows(path):
        if not cells:
            continue
        if places is None:
            header = [cell.strip() for cell in cells]
            names = [_named(path, line, header, column) for column in columns]
            places = [header.index(name) for name in names]
            unused.update(dict.fromkeys(name for name in header if name not in names))
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"{path}:{line}: a row must have {len(header)} cells, as many as the header. Got "
                f"{len(cells)} instead."
            )
        yield f"{path}:{line}", [cells[place].strip() for place in places]


def _named(path: Path, line: int, header: list[str], column: str) -> str:
    for name in _NAMES[column]:
        if name in header:
            return name
    raise ValueError(
        f"{path}:{line}: the column {column!r} is missing. The columns are "
        f"{', '.join(map(repr, header[:10]))}."
    )


def _number(place: str, value: Any, what: str) -> float:
    try:
        # Python also reads 1_000 as a number.
        wrong = isinstance(value, bool) or (isinstance(value, str) and "_" in value)
        number = math.nan if wrong else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= MAX_MAGNITUDE:
        raise ValueError(
            f"{place}: the {what} must be a finite number, up to {MAX_MAGNITUDE:g}. Got "
            f"{shortened(value)} instead."
        )
    return number


def _count(place: str, value: Any, what: str) -> float:
    number = _number(place, value, f"number of {what}")
    if number < 0:
        raise ValueError(f"{place}: the number of {what} must not be negative. Got {number:g}.")
    return number


_JSON = (".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv", *_JSON)


def _suffix(path: Path) -> str:
    """The suffix that tells the format, in lower case."""
    name = Path(path.name.lower())
    return Path(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
