"""Runs and judgments that are no lines of TREC: JSON, tables, DataFrames, dicts, records."""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.data._cells import mentions_hexadecimals
from localrank.data._checks import is_text, text_ids
from localrank.data._compression import damage_named, open_binary, plain_name
from localrank.data._strings import Strings
from localrank.data._trec_reader import Form, repeated
from localrank.data.errors import AdvisedError

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw

# Names of columns, the first that a table has counts. `docid` of some tools is a number that only
# their index knows, `docno` the id; `query` may be the text of the query beside its `qid`.
QUERIES = ("query_id", "query-id", "qid", "query")
DOCUMENTS = ("document_id", "corpus-id", "doc_id", "docno", "docid", "document", "doc")
SCORES = ("score",)
GRADES = ("relevance", "score", "label", "grade", "rel")

_TABLES = (".parquet", ".arrow", ".feather")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = re.compile(rb'\s*\{\s*["}]')


class Pairs(NamedTuple):
    """The columns of a run, or of judgments."""

    query_ids: Array
    document_ids: Array
    values: Floats


@dataclass(frozen=True)
class Wanted:
    """What is read: a run or judgments.

    Attributes
    ----------
    kind : str
        For messages: "run" or "judgments".
    form : Form
        What its lines look like, and which numbers it takes.
    names : tuple of str
        The names that the column of these numbers may have.
    columns : sequence of str or None
        The names of the three columns, if the caller says them.
    """

    kind: str
    form: Form
    names: tuple[str, ...]
    columns: Sequence[str] | None = None

    @property
    def choices(self) -> list[tuple[str, ...]]:
        """The names that each of the three columns may have."""
        if self.columns is None:
            return [QUERIES, DOCUMENTS, self.names]
        if isinstance(self.columns, str) or len(self.columns) != 3:
            raise ValueError(
                f"The 'columns' argument must be the names of three columns, of the query, the "
                f"document and the {self.form.name}. Got {self.columns!r} instead."
            )
        return [(name,) for name in self.columns]


def of_file(path: Path, wanted: Wanted) -> Pairs | None:
    """What a file of JSON, or a table, holds. None: its content is none of these."""
    # A pipe can be read once: it has lines.
    if not path.is_file():
        return None
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix in _TABLES or wanted.columns is not None:
        return _of_table(path, wanted)
    with damage_named(path), open_binary(path) as file:
        begin = file.read(1 << 16).removeprefix(codecs.BOM_UTF8)
    if suffix in _DELIMITERS:
        names = _header(begin, suffix)
        # No line of TREC has commas between its columns.
        if (_DELIMITERS[suffix] == "," and len(names) > 1) or {*map(str.lower, names)} & {*QUERIES}:
            return _of_table(path, wanted)
    if suffix == ".json" or _JSON.match(begin):
        return _of_json(path, wanted)
    return None


def of_mapping(source: Mapping[Any, Any], wanted: Wanted, where: str) -> Pairs:
    """The columns of a dict of dicts, `{query: {document: value}}`."""
    sizes: list[int] = []
    documents: list[Any] = []
    values: list[Any] = []
    for query, given in source.items():
        if not isinstance(given, Mapping):
            raise ValueError(
                f"{where}a dict must be {{query: {{document: {wanted.form.name}}}}}. Query "
                f"{query!r} has {_shown(given)} instead of a dict."
            )
        sizes.append(len(given))
        documents += given.keys()
        values += given.values()
    queries = _texts(list(source), where, "query") if source else np.empty(0, "U1")
    return _checked(np.repeat(queries, sizes), documents, values, wanted, where)


def of_records(source: Iterable[Any], wanted: Wanted, where: str) -> Pairs:
    """The columns of records with the attributes query_id, doc_id, and score or relevance."""
    name = wanted.form.name
    rows = []
    for number, record in enumerate(source, start=1):
        try:
            rows.append((record.query_id, record.doc_id, getattr(record, name)))
        except AttributeError:
            raise ValueError(
                f"{where}record {number} must have the attributes query_id, doc_id and {name}. "
                f"Got {_shown(record)} instead."
            ) from None
    queries, documents, values = zip(*rows, strict=True) if rows else ((), (), ())
    return _checked(list(queries), list(documents), list(values), wanted, where)


def of_frame(source: Any, wanted: Wanted, where: str) -> Pairs:
    """The columns of a DataFrame of any library."""
    from localrank.data.tables import as_frame

    frame = as_frame(source, where)
    queries, documents, values = (
        frame[_column(frame.columns, names, wanted, where)] for names in wanted.choices
    )
    return _checked(_cells(queries), _cells(documents), _cells(values), wanted, where)


def _cells(column: nw.Series[Any]) -> Any:
    """The cells of a column: whole numbers as an array, and all numbers where none is missing."""
    if column.dtype.is_numeric() and not column.null_count():
        return column.to_numpy()
    return column.to_list()


def _of_table(path: Path, wanted: Wanted) -> Pairs:
    from localrank.data.tables import as_frame, false_number, is_text, read_file

    where, texts = f"{path}: ", []
    if is_text(path, None):
        suffix = Path(plain_name(path)).suffix.lower()
        with damage_named(path), open_binary(path) as file:
            names = _header(file.read(1 << 20).removeprefix(codecs.BOM_UTF8), suffix)
        *texts, number = (_column(names, choice, wanted, where) for choice in wanted.choices)
    frame = as_frame(read_file(path, texts), where)
    if texts and not _holds_numbers(path, frame, number):
        raise ValueError(false_number(path, frame.columns, [number], None))
    return of_frame(frame, wanted, where)


def _holds_numbers(path: Path, frame: nw.DataFrame[Any], name: str) -> bool:
    """Whether all cells of a column of a text table are numbers."""
    kind = frame.schema[name]
    # A number in hexadecimal digits is an integer to pyarrow, but no other number.
    if not (kind.is_integer() and mentions_hexadecimals(path)):
        return kind.is_numeric()
    from pyarrow import ArrowException, csv

    from localrank.data.tables import csv_options

    options = csv_options(path, {name: "double"}, None)
    options["convert_options"].include_columns = [name]
    try:
        csv.read_csv(path, **options)
    except ArrowException:
        return False
    return True


def _of_json(path: Path, wanted: Wanted) -> Pairs:
    with damage_named(path), open_binary(path) as file:
        data = file.read()
    try:
        source = json.loads(data.removeprefix(codecs.BOM_UTF8), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: the file is not JSON: {error.msg}.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(source, dict):
        raise ValueError(
            f"{path}: JSON must be an object {{query: {{document: {wanted.form.name}}}}}. Got "
            f"{_shown(source)} instead."
        )
    return of_mapping(source, wanted, f"{path}: ")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, none of its keys twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = sorted(key for key, _ in pairs)
        twice = next(one for one, other in pairwise(keys) if one == other)
        raise ValueError(f"the key {twice!r} occurs twice in an object of JSON.")
    return result


def _header(begin: bytes, suffix: str) -> list[str]:
    """The cells of the first line of a text table."""
    line = begin.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    return next(csv.reader([line], delimiter=_DELIMITERS[suffix]), [])


def _column(columns: Sequence[str], names: Sequence[str], wanted: Wanted, where: str) -> str:
    """The column that has one of these names, in small or capital letters."""
    by_name = {column.lower(): column for column in reversed(columns)}
    for name in names:
        if name in columns or name.lower() in by_name:
            return name if name in columns else by_name[name.lower()]
    listed = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
    fault = f"{where}there is no column {' or '.join(map(repr, names))}. The columns are {listed}."
    if wanted.columns is not None:
        raise ValueError(fault)
    raise AdvisedError(
        fault,
        f"Name the columns of the query, the document and the {wanted.form.name} with "
        f"columns=('...', '...', '...').",
        "Rename the column.",
    )


def _checked(queries: Any, documents: Any, values: Any, wanted: Wanted, where: str) -> Pairs:
    """Columns as arrays, without anything that the rules of runs and judgments refuse."""
    if len(values) == 0:
        raise ValueError(f"{where}the {wanted.kind} must not be empty.")
    ids = [
        part if isinstance(part, np.ndarray) and part.dtype.kind in "UT" else
        _texts(part, where, kind)
        for part, kind in ((queries, "query"), (documents, "document"))
    ]  # fmt: skip
    numbers = _numbers(values)
    if (bad := np.flatnonzero(~(np.abs(numbers) <= wanted.form.most))).size:
        row = int(bad[0])
        raise ValueError(
            f"{where}the {wanted.form.name} must be a finite number{wanted.form.bound}. Document "
            f"{ids[1][row]!s} of query {ids[0][row]!s} has {_shown(values[row])}."
        )
    if (twice := repeated(Strings.of(ids[0]), Strings.of(ids[1]))) is not None:
        first, again = twice
        raise ValueError(
            f"{where}row {again + 1} has document {str(ids[1][again])!r} of query "
            f"{str(ids[0][again])!r} again; it is in row {first + 1}, and a query may have it once."
        )
    return Pairs(ids[0], ids[1], numbers)


def _texts(items: Any, where: str, kind: str) -> Array:
    """Ids as texts: texts, or whole numbers as Python writes them."""
    if isinstance(items, np.ndarray) and items.dtype.kind in "iu":
        return items.astype(str)
    if isinstance(items, np.ndarray):
        items = items.tolist()
    names = items if set(map(type, items)) == {str} else [_text(item) for item in items]
    wrong = [row for row, name in enumerate(names) if not name]
    if wrong or not is_text("".join(names)):
        row = wrong[0] if wrong else next(i for i, n in enumerate(names) if not is_text(n))
        raise ValueError(
            f"{where}the id of a {kind} must be text or a whole number. Row {row + 1} has "
            f"{_shown(items[row])}."
        )
    return text_ids(names)


def _text(item: Any) -> str:
    """An id as text; empty if it can be none."""
    if isinstance(item, str):
        return str(item)
    whole = isinstance(item, float) and item.is_integer()
    if whole or (isinstance(item, Integral) and not isinstance(item, bool | np.bool_)):
        return str(int(item))
    return ""


def _numbers(values: Any) -> Floats:
    """Values as numbers, NaN for what is none."""
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        values = [_number(value) for value in values]
    try:
        return np.array(values, np.float64)
    except OverflowError:
        return np.array([_number(value) for value in values])


def _number(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
