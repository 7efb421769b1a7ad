"""Reads the files of documents, queries and judgments, record by record.

A record comes with the number of the line where it begins. Lines are read one by one, so that a
corpus need not fit into memory. Collections of the package ir_datasets are named like
"irds:cranfield".
"""

from __future__ import annotations

import codecs
import csv
import html
import io
import json
import re
from collections.abc import Iterator, Sequence
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

from localrank.data._compression import damage_named, open_binary
from localrank.data.errors import AdvisedError

# The longest line, in bytes. A whole document may be one line.
MAX_LINE = 1 << 28


Lines = Iterator[tuple[int, str]]


Records = Iterator[tuple[int, dict[str, Any]]]


def numbered_lines(path: str | PathLike[str], encoding: str = "utf-8") -> Lines:
    """The lines of a file without line ends, with their numbers from 1.

    Files whose names end in `.gz`, `.bz2` or `.xz` are decompressed.
    """
    path = Path(path)
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if len(line) > MAX_LINE:
                raise ValueError(f"{path}:{number}: the line is longer than {MAX_LINE:,} bytes.")
            if b"\0" in line:
                raise ValueError(
                    f"{path}:{number}: the line has a NUL byte. The file must be text; convert "
                    f"UTF-16 to UTF-8 first."
                )
            yield number, _decoded(line.rstrip(b"\r\n"), encoding, f"{path}:{number}")


def _decoded(line: bytes, encoding: str, where: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise AdvisedError(
            f"{where}: byte {error.start + 1} of the line, 0x{line[error.start]:02x}, is not "
            f"{encoding}.",
            "Give the file's encoding, such as encoding='latin-1'.",
            "Convert the file to UTF-8.",
        ) from None


# JSON lines: one object on each line.
def json_records(path: str | PathLike[str], encoding: str) -> Records:
    """The objects with their line numbers. Blank lines are left out."""
    for number, line in numbered_lines(path, encoding):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}:{number}: not a JSON object: {error}.") from None
        if not isinstance(record, dict):
            raise ValueError(
                f"{path}:{number}: a line must be one JSON object, "
                f'{{"id": "1", "text": "..."}}. Got {type(record).__name__} instead.'
            )
        yield number, record


# NPL's files: each record is a number, lines of text, and a line `/`.
def npl_records(path: str | PathLike[str], encoding: str) -> Records:
    """The records, with the lines where they begin. Words are separated by one blank."""
    begin, name, words = 0, "", list[str]()
    for number, line in numbered_lines(path, encoding):
        cells = line.split()
        if cells == ["/"]:
            if begin:
                yield begin, {"id": name, "text": " ".join(words)}
            begin, words = 0, []
        elif begin:
            words += cells
        elif cells:
            if not (cells[0].isascii() and cells[0].isdigit()):
                raise ValueError(
                    f"{path}:{number}: a record must begin with its number. "
                    f"Got {cells[0][:40]!r} instead."
                )
            begin, name, words = number, str(int(cells[0])), cells[1:]
    if begin:
        raise ValueError(f"{path}:{begin}: the record has no end. A line '/' must follow it.")


def npl_judgments(path: str | PathLike[str]) -> Iterator[tuple[int, str, str]]:
    """The line where a query's record begins, the query, and a relevant document, one by one."""
    for number, record in npl_records(path, "utf-8"):
        for document in record["text"].split():
            if not (document.isascii() and document.isdigit()):
                raise ValueError(
                    f"{path}:{number}: the relevant documents of a query must be numbers. "
                    f"Got {document[:40]!r} instead."
                )
            yield number, record["id"], str(int(document))


# SMART's markup: `.I 1`, then fields, each a line such as `.T` and lines of text. Cranfield, CISI,
# MED and CACM come in this format.
KEYS = {
    "T": "title",
    "W": "text",
    "A": "author",
    "B": "bibliography",
    "K": "keywords",
    "C": "categories",
    "N": "note",
    "X": "references",
}


_RECORD, _FIELD = re.compile(r"\.I\s+(\d+)\s*"), re.compile(r"\.([A-Z])\s*")


def smart_records(path: str | PathLike[str], encoding: str) -> Records:
    """The records, with the lines where they begin.

    Runs of blanks and line ends become one blank. A field that occurs twice is joined. Numbers lose
    leading zeros: `.I 001` is "1". A number may be broken over two lines, like CACM's 2856.
    """
    begin, digits, fields, key = 0, "", dict[str, list[str]](), ""
    for number, line in numbered_lines(path, encoding):
        if match := _RECORD.fullmatch(line):
            if begin:
                yield begin, _joined(digits, fields)
            begin, digits, fields, key = number, match[1], {}, ""
        elif match := _FIELD.fullmatch(line):
            key = KEYS.get(match[1], match[1])
            fields.setdefault(key, [])
        elif key and begin:
            fields[key].append(line)
        elif begin and (rest := line.strip()).isascii() and rest.isdigit():
            digits += rest
        elif line.strip():
            where = "before the first record, '.I 1'" if not begin else "before a field, '.T'"
            raise ValueError(f"{path}:{number}: there is text {where}: {line[:40]!r}.")
    if begin:
        yield begin, _joined(digits, fields)


def smart_judgments(path: str | PathLike[str]) -> Iterator[tuple[int, str, str, list[str]]]:
    """The line, query and document of each relevant pair, and the rest of its line."""
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() for cell in cells[:2]):
            raise ValueError(
                f"{path}:{number}: a line must begin with the numbers of a query and of a "
                f"document. Got {line[:40]!r} instead."
            )
        yield number, str(int(cells[0])), str(int(cells[1])), cells[2:]


def _joined(digits: str, fields: dict[str, list[str]]) -> dict[str, Any]:
    texts = {key: " ".join(" ".join(lines).split()) for key, lines in fields.items()}
    return {"id": str(int(digits)), **texts}


# TREC's documents, `<DOC> <DOCNO>1</DOCNO> <TEXT>...</TEXT> </DOC>`, and its topics.
_DOCUMENT = re.compile(r"<doc>", re.IGNORECASE), re.compile(r"</doc>", re.IGNORECASE)


_TOPIC = re.compile(r"<top(?:ic)?(?:\s[^>]*)?>", re.I), re.compile(r"</top(?:ic)?>", re.I)


_ELEMENT = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^>]*)?>(.*?)</\1\s*>", re.DOTALL)


_TAG = re.compile(r"</?[A-Za-z!][^>]*>")


_PART = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^>]*)?>([^<]*)")


_NUMBER = re.compile(r"""\bnumber\s*=\s*["']?\s*([^"'\s>]+)""", re.IGNORECASE)


# Words that topics repeat after a tag.
_SAID = re.compile(r"\s*(?:Number|Topic|Description|Narrative|Summary|Domain|Concepts?)\s*:", re.I)


def trec_documents(path: str | PathLike[str], encoding: str) -> Records:
    """The documents, with the lines where they begin. Fields have the names of their elements.

    Names are in lower case, and DOCNO is the id. Tags within a field are removed and their text is
    kept. Entities such as `&amp;` become characters. Text outside all fields is left out.
    """
    for number, _, text in _blocks(path, encoding, *_DOCUMENT, "</DOC>"):
        fields: dict[str, list[str]] = {}
        for name, content in _ELEMENT.findall(text):
            fields.setdefault(name.lower(), []).append(_plain(content))
        record: dict[str, Any] = {key: "\n".join(parts) for key, parts in fields.items()}
        name = record.pop("docno", "").strip()
        if not name:
            raise ValueError(f"{path}:{number}: the document has no <DOCNO>...</DOCNO>.")
        yield number, {"id": name, **record}


def trec_topics(path: str | PathLike[str], encoding: str) -> Records:
    """The topics, with the lines where they begin. Tags need no end tags, as in TREC's files.

    The id is the text of `<num>`, or the attribute `number` of the topic.
    """
    for number, head, text in _blocks(path, encoding, *_TOPIC, "</top>"):
        record: dict[str, Any] = {}
        for name, content in _PART.findall(text):
            said = _plain(_SAID.sub("", content, count=1))
            record[name.lower()] = " ".join(said.split())
        attribute = _NUMBER.search(head)
        name = record.pop("num", "") or (attribute[1] if attribute else "")
        if not name:
            raise ValueError(f"{path}:{number}: the topic has no number, such as <num> Number: 1.")
        yield number, {"id": name, **record}


def _blocks(
    path: str | PathLike[str],
    encoding: str,
    first: re.Pattern[str],
    last: re.Pattern[str],
    end: str,
) -> Iterator[tuple[int, str, str]]:
    """The line where a block begins, its tag, and the text up to its end tag."""
    begin, head, lines, size = 0, "", list[str](), 0
    for number, line in numbered_lines(path, encoding):
        rest = line
        while rest or begin:
            if not begin:
                opening = first.search(rest)
                if opening is None:
                    break
                begin, head, lines, size = number, opening[0], [], 0
                rest = rest[opening.end() :]
            closing = last.search(rest)
            if closing is None:
                lines.append(rest)
                size += len(rest)
                if size > MAX_LINE:
                    raise ValueError(
                        f"{path}:{begin}: no {end} follows within {MAX_LINE:,} characters."
                    )
                break
            lines.append(rest[: closing.start()])
            yield begin, head, "\n".join(lines)
            begin, rest = 0, rest[closing.end() :]
    if begin:
        raise ValueError(f"{path}:{begin}: no {end} follows.")


def _plain(content: str) -> str:
    return html.unescape(_TAG.sub(" ", content)).strip()


# Tables of text: CSV with commas and optional quotes, and TSV with tabs.
KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}


def delimited_kind(path: str | PathLike[str]) -> str | None:
    """The kind of table by the file's name, compressed or not: "csv", "tsv" or None."""
    name = Path(path)
    if name.suffix.lower() in (".gz", ".bz2", ".xz"):
        name = name.with_suffix("")
    return KINDS.get(name.suffix.lower())


def delimited_records(
    path: str | PathLike[str],
    kind: str,
    encoding: str,
    columns: Sequence[str] | None,
    known: frozenset[str],
    plain: Sequence[str],
) -> Records:
    """The rows with their line numbers, as texts by column name.

    Parameters
    ----------
    path : path
    kind : {"csv", "tsv"}
    encoding : str
    columns : sequence of str or None
        Names of the columns, for a file without a line of names. None: read them from the file.
    known : frozenset of str
        A first line that holds one of these words is a line of names.
    plain : sequence of str
        Names of the columns of a file without a line of names, if it has as many columns.
    """
    names: Sequence[str] | None = columns
    for number, row in _rows(path, kind, encoding):
        if names is None:
            if known & {cell.strip().lower() for cell in row}:
                names = [cell.strip() for cell in row]
                if len(set(names)) < len(names):
                    raise ValueError(f"{path}:{number}: two columns have the same name: {row}.")
                continue
            if len(row) != len(plain):
                raise AdvisedError(
                    f"{path}:{number}: the first line must hold the names of the columns, among "
                    f"them {' or '.join(sorted(known))}.",
                    f"Or give them: columns={list(plain)}.",
                    "Add such a line to the file.",
                )
            names = plain
        if len(row) != len(names):
            raise ValueError(
                f"{path}:{number}: a row must have {len(names)} columns ({', '.join(names)}). "
                f"Got {len(row)} instead."
            )
        yield number, dict(zip(names, row, strict=True))


def _rows(path: str | PathLike[str], kind: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The rows, with the lines where they begin. Blank lines are left out."""
    if kind == "tsv":
        for number, line in numbered_lines(path, encoding):
            if line.strip():
                yield number, line.split("\t")
        return
    # The limit holds for the whole process, and its default is too low for documents.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.reader((f"{line}\n" for _, line in numbered_lines(path, encoding)), strict=True)
    before = 0
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"{path}:{before + 1}: not a row of CSV: {error}.") from None
        if row is None:
            return
        if row:
            yield before + 1, row
        before = reader.line_num


# Collections of the package ir_datasets.
PREFIX = "irds:"


def is_named(source: Any) -> bool:
    """Whether a source is the name of a collection of ir_datasets."""
    return isinstance(source, str) and source.startswith(PREFIX)


def named_documents(source: str) -> Records:
    """Documents with their positions, from 1. Only their texts and numbers are kept."""
    return _records(source, "docs", "doc_id")


def named_queries(source: str) -> Records:
    """Queries with their positions, from 1."""
    return _records(source, "queries", "query_id")


def named_judgments(source: str) -> Iterator[tuple[int, str, str, float]]:
    """Position, query, document and grade of each judgment."""
    for number, judgment in enumerate(_part(source, "qrels"), start=1):
        yield number, judgment.query_id, judgment.doc_id, float(judgment.relevance)


def _records(source: str, kind: str, id_key: str) -> Records:
    for number, item in enumerate(_part(source, kind), start=1):
        record = item._asdict()
        name = record.pop(id_key)
        kept = {key: value for key, value in record.items() if isinstance(value, str | Real)}
        yield number, {"id": name, **kept}


def _part(source: str, kind: str) -> Iterator[Any]:
    try:
        import ir_datasets
    except ImportError:
        raise ImportError(
            f"{source!r} needs the package ir_datasets. Install it with pip install ir_datasets."
        ) from None
    try:
        dataset = ir_datasets.load(source.removeprefix(PREFIX))
    except KeyError:
        raise ValueError(
            f"{source}: ir_datasets has no such collection. ir_datasets.registry lists them."
        ) from None
    has = {"docs": dataset.has_docs, "queries": dataset.has_queries, "qrels": dataset.has_qrels}
    if not has[kind]():
        raise ValueError(f"{source}: this collection of ir_datasets has no {kind}.")
    part: Iterator[Any] = getattr(dataset, f"{kind}_iter")()
    return part
