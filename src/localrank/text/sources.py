"""Reads documents and queries from files, tables and named collections."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from localrank.data._checks import is_missing
from localrank.data.errors import AdvisedError
from localrank.text._file_formats import (
    Records,
    delimited_kind,
    delimited_records,
    is_named,
    json_records,
    named_documents,
    named_queries,
    npl_records,
    numbered_lines,
    smart_records,
    trec_documents,
    trec_topics,
)

# Names of ids. The first that a record has becomes its "id".
DOCUMENT_IDS = ("id", "_id", "docno", "doc_id", "document_id", "docid")
QUERY_IDS = ("id", "_id", "qid", "query_id", "query-id", "num")
# Names of a query's text.
QUERY_TEXTS = ("text", "query", "title")
FORMATS = ("json", "csv", "tsv", "smart", "trec", "npl")

Source = Any


@dataclass(frozen=True, eq=False)
class Corpus:
    """The documents of a source. Each iteration reads them again, one by one.

    Attributes
    ----------
    source : path, list of paths, name or DataFrame
    file_format, encoding : str
    names : sequence of str or None
        Names of the columns of a table of text. None: read them from the file.
    """

    source: Source
    file_format: str | None = None
    encoding: str = "utf-8"
    names: Sequence[str] | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        seen: set[str] = set()
        for source in self.sources:
            records = _records(source, self.file_format, self.encoding, self.names, queries=False)
            n_seen = len(seen)
            for where, record in records:
                yield _identified(record, where, DOCUMENT_IDS, seen)
            if len(seen) == n_seen:
                raise ValueError(f"{_named(source)} has no documents.")

    @property
    def sources(self) -> list[Source]:
        """The sources as a list."""
        return list(self.source) if isinstance(self.source, list | tuple) else [self.source]


def read_corpus(
    source: Source,
    file_format: str | None = None,
    *,
    encoding: str = "utf-8",
    columns: Sequence[str] | None = None,
) -> Corpus:
    r"""Read the documents of a source as dictionaries, which `FeatureExtractor.fit` takes.

    Documents are read one by one during the iteration, never all at once. In the source, the id
    may be named "id", "_id", "docno", "doc_id", "document_id" or "docid"; in the dictionary it is
    under "id". Everything else stays as it is in the source.

    Parameters
    ----------
    source : path, list of paths, DataFrame, or "irds:NAME"
        A file, compressed if its name ends in `.gz`, `.bz2` or `.xz`; several files, read one
        after another; a table; or a collection of the package ir_datasets.
    file_format : {"json", "csv", "tsv", "smart", "trec", "npl"} or None
        "json": one object on each line. "csv": a table with a line of names. "tsv": cells
        separated by tabs, without quotes; a file of two columns without names holds ids and texts.
        "smart": `.I .T .W .A .B`, which become "title", "text", "author" and "bibliography".
        "trec": `<DOC> <DOCNO>`, where each element is a field. "npl": numbered texts, each
        followed by a line `/`. None: the format is recognised by the file's name or first line.
    encoding : str, default="utf-8"
        Encoding of the files.
    columns : sequence of str, optional
        Names of the columns, for a table of text without a line of names.

    Returns
    -------
    Corpus
        It can be iterated as often as needed. Errors name the file and the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "corpus.jsonl")
    ...     _ = path.write_text('{"_id": "a", "title": "Tea"}\n{"_id": "b", "title": "Rice"}\n')
    ...     for document in read_corpus(path):
    ...         print(document)
    {'id': 'a', 'title': 'Tea'}
    {'id': 'b', 'title': 'Rice'}
    """
    _check(file_format, encoding)
    corpus = Corpus(source, file_format, encoding, columns)
    if not corpus.sources:
        raise ValueError("The list of sources is empty. Give at least one file.")
    for each in corpus.sources:
        check_source(each)
    return corpus


def read_queries(
    source: Source,
    file_format: str | None = None,
    *,
    field: str | None = None,
    numbered: bool = False,
    encoding: str = "utf-8",
    columns: Sequence[str] | None = None,
) -> dict[str, str]:
    r"""Read queries: their texts by id.

    Parameters
    ----------
    source : path, DataFrame, or "irds:NAME"
        A file, a table, or a collection of the package ir_datasets.
    file_format : {"json", "csv", "tsv", "smart", "trec", "npl"} or None
        As in `read_corpus`, but "trec" files hold topics, `<top> <num> <title> <desc>`.
    field : str, optional
        The field that is the query. None: the first of "text", "query" and "title" that exists.
    numbered : bool, default=False
        Whether ids are the positions of the queries, from 1, and the file's ids are ignored.
        Cranfield's judgments number its queries in this way.
    encoding : str, default="utf-8"
        Encoding of the file.
    columns : sequence of str, optional
        Names of the columns, for a table of text without a line of names.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "queries.tsv")
    ...     _ = path.write_text("q1\tgreen tea\nq2\trice and beans\n")
    ...     read_queries(path)
    {'q1': 'green tea', 'q2': 'rice and beans'}
    """
    _check(file_format, encoding)
    check_source(source)
    queries: dict[str, str] = {}
    seen: set[str] = set()
    for where, record in _records(source, file_format, encoding, columns, queries=True):
        query = _identified(record, where, QUERY_IDS, seen)
        keys = QUERY_TEXTS if field is None else (field,)
        text = next((query[key] for key in keys if isinstance(query.get(key), str)), None)
        if text is None:
            raise ValueError(
                f"{where}: the query has no text under {' or '.join(map(repr, keys))}. It has "
                f"{', '.join(map(repr, query))}."
            )
        queries[str(len(queries) + 1) if numbered else str(query["id"])] = text
    if not queries:
        raise ValueError(f"{_named(source)} has no queries.")
    return queries


def check_source(source: Source) -> None:
    """Refuse a file that does not exist, and values that are not a source."""
    if is_named(source) or is_frame(source):
        return
    if not isinstance(source, str | PathLike):
        raise ValueError(
            f"A source must be a path, a DataFrame or 'irds:NAME'. "
            f"Got {type(source).__name__} instead."
        )
    if not Path(source).exists():
        raise FileNotFoundError(f"{source}: there is no such file.")
    if Path(source).is_dir():
        raise ValueError(f"{source} is a folder. Give the files in it, as a list.")


def is_frame(source: Source) -> bool:
    """Whether a source is a table in memory."""
    return hasattr(source, "columns") or hasattr(source, "column_names")


def frame_rows(frame: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a DataFrame of any library, each with a name for messages."""
    from localrank.data.tables import as_frame

    for number, row in enumerate(as_frame(frame).iter_rows(named=True), start=1):
        yield f"row {number}", dict(row)


def first_line(path: str | PathLike[str], encoding: str) -> str:
    """The first line that is not blank. Refuses a file without one."""
    for _, line in numbered_lines(path, encoding):
        if line.strip():
            return line.strip()
    raise ValueError(f"{path}: the file is empty.")


def _records(
    source: Source,
    file_format: str | None,
    encoding: str,
    columns: Sequence[str] | None,
    *,
    queries: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a source, each with its place for messages."""
    if is_frame(source):
        yield from frame_rows(source)
        return
    records: Records
    if is_named(source):
        records = (named_queries if queries else named_documents)(source)
    else:
        kind = file_format or _recognised(source, encoding, queries)
        if kind in ("csv", "tsv"):
            ids = frozenset(QUERY_IDS if queries else DOCUMENT_IDS)
            records = delimited_records(source, kind, encoding, columns, ids, ("id", "text"))
        else:
            reader: Callable[[Any, str], Records] = {
                "json": json_records,
                "smart": smart_records,
                "trec": trec_topics if queries else trec_documents,
                "npl": npl_records,
            }[kind]
            records = reader(source, encoding)
    for number, record in records:
        yield f"{source}:{number}", record


def _recognised(path: str | PathLike[str], encoding: str, queries: bool) -> str:
    """The format of a file."""
    if kind := delimited_kind(path):
        return kind
    line = first_line(path, encoding)
    tags = ("<top", "<?xml") if queries else ("<doc>",)
    if line.startswith("{"):
        return "json"
    if line.startswith(".I"):
        return "smart"
    if line.lower().startswith(tags):
        return "trec"
    if line.isascii() and line.isdigit():
        return "npl"
    raise AdvisedError(
        f"{path}: the format is not recognised by the file's name or by its first line, "
        f"{line[:40]!r}.",
        f"Give file_format={' or '.join(map(repr, FORMATS))}.",
        "If it is a table, let its name end in .csv or .tsv.",
    )


def _identified(
    record: dict[str, Any], where: str, names: Sequence[str], seen: set[str]
) -> dict[str, Any]:
    """The record with its id under "id", first. Refuses a missing or repeated id."""
    key = next((name for name in names if not _absent(record.get(name))), None)
    if key is None:
        raise ValueError(f"{where}: the record has no id under {' or '.join(map(repr, names))}.")
    value = record[key]
    if isinstance(value, bool | float | list | dict):
        raise ValueError(f"{where}: an id must be a text or a whole number. Got {value!r} instead.")
    name = str(value)
    if name in seen:
        raise ValueError(f"{where}: the record repeats the id {name!r}. Ids must be unique.")
    seen.add(name)
    return {"id": name, **{other: record[other] for other in record if other != key}}


def _absent(value: Any) -> bool:
    return is_missing(value) or value == ""


def _check(file_format: str | None, encoding: str) -> None:
    if file_format is not None and file_format not in FORMATS:
        raise ValueError(
            f"The format must be one of {', '.join(FORMATS)}, or None. Got {file_format!r} instead."
        )
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(f"There is no encoding {encoding!r}.") from None


def _named(source: Source) -> str:
    return "The table" if is_frame(source) else f"{source}: the file"
