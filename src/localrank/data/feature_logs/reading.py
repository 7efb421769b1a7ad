"""Feature logs of search engines as datasets."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._checks import is_text, natural_ids
from localrank.data._offsets import offsets_of
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError
from localrank.data.feature_logs import _elasticsearch as elasticsearch
from localrank.data.feature_logs import _solr as solr
from localrank.data.feature_logs import _vespa as vespa
from localrank.data.feature_logs._judgments import read_clicks, read_judgments
from localrank.data.feature_logs._labelling import LogReport, labelled
from localrank.data.feature_logs._responses import json_lines, searches
from localrank.data.feature_logs._values import as_id, as_number, shortened
from localrank.data.trec import Qrels

LogFormat = Literal["elasticsearch", "opensearch", "solr", "solr-sparse", "vespa"]
Unjudged = Literal["zero", "drop"]
Repeated = Literal["refuse", "first", "last"]
# Number of rows that are put into the table at once.
_BLOCK = 1 << 13
# At most this many tuples of names are kept. Most logs have few; a sparse log may have one for
# each document.
_MAX_KNOWN = 1000
_NUMBERS: set[type] = {float, int}
_NUMBERS_OR_NONE = {*_NUMBERS, type(None)}
# The reader of each format, and the value of a feature that a document's log does not name.
_FORMATS: dict[str, tuple[ModuleType, float | None]] = {
    "elasticsearch": (elasticsearch, math.nan),
    "opensearch": (elasticsearch, math.nan),
    "solr": (solr, None),
    "solr-sparse": (solr, 0.0),
    "vespa": (vespa, math.nan),
}
FORMATS = tuple(_FORMATS)


def read_feature_log(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: LogFormat | None = None,
    judgments: str | PathLike[str] | Qrels | None = None,
    clicks: str | PathLike[str] | None = None,
    rates: Sequence[float] | None = None,
    unjudged: Unjudged = "zero",
    qid: str = "qid",
    document_id: str | None = None,
    log: str | None = None,
    features: Sequence[str] | Array | None = None,
    ignore: Sequence[str] = (),
    absent: float | Mapping[str, float] | None = None,
    repeated: Repeated = "refuse",
    report: Callable[[LogReport], None] | None = None,
) -> RankingDataset:
    r"""Read the log of a search engine: the features of the documents in its responses.

    A log is a file of JSON lines. Each line has one response as the engine sent it, and the id of
    its query: `{"qid": "rambo", "response": {...}}`. The id may also be a member of the response,
    as `qid` or `query_id`. A line `{"qid": [...], "responses": [...]}` has the responses to several
    queries. A response of Solr may have the id as a parameter of the request, in
    `responseHeader.params`.

    Missing features are NaN, zeros are 0. A feature is missing if its value is left out, null or
    NaN. In logs of Elasticsearch, OpenSearch and Vespa, a feature is also missing if this document
    does not name it and others do.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        The files of one log. Files that end in `.gz`, `.bz2` or `.xz` are decompressed.
    format : str or None, default=None
        Where the features are. "elasticsearch" or "opensearch": in `fields._ltrlog` of the
        learning-to-rank plugins. "solr": in `[features]`; every document must have the same
        features. "solr-sparse": in `[features format=sparse]`, which leaves out features at their
        default. "vespa": in `matchfeatures`, or else in `summaryfeatures`. None: the first
        response of each file tells the engine; a response of Solr is read as "solr".
    judgments : path, Qrels or None, default=None
        Grades of documents: TREC qrels, or a file that ends in `.csv`, `.tsv` or `.jsonl`. Its
        columns are `query`, `document` and `grade`. The first line of `.csv` and `.tsv` names them.
    clicks : path or None, default=None
        Clicks instead of grades: a file of the same kind with the columns `query`, `document`,
        `clicks` and, for `rates`, `impressions`. Rows of the same document are added up. The
        positions at which documents were shown do not count.
    rates : sequence of float or None, default=None
        Rising rates of clicks per impression. A document's label is the number of rates that it
        reaches. A document without impressions is unjudged. None: the label is the number of
        clicks.
    unjudged : "zero" or "drop", default="zero"
        Documents without a grade in queries that have some grades: give them the label 0, or
        leave them out. Queries without any grade are always left out. Without judgments and
        clicks, the dataset has no labels.
    qid : str, default="qid"
        The member of a line, or the parameter of a Solr request, that has the query id.
    document_id : str or None, default=None
        The field that has the document id. None: `_id` of Elasticsearch and OpenSearch, `id` of
        Solr, `documentid` or else `id` of Vespa.
    log : str or None, default=None
        Name of the log, if a document has several. Elasticsearch and OpenSearch: the name in
        `log_specs`. Solr: the name that `fl` gives to `[features]`. Vespa: `matchfeatures` or
        `summaryfeatures`.
    features : sequence or array of str, or None, default=None
        The features of the dataset, in this order, as a model needs them. The log must have all
        of them. Its other features are left out. None: all features, in the order of first
        mention.
    ignore : sequence of str, default=()
        Features to leave out.
    absent : float, mapping from feature to float, or None, default=None
        The value of a feature that a document's log does not name. None: 0 in "solr-sparse", an
        error in "solr", and a missing value in the others.
    repeated : "refuse", "first" or "last", default="refuse"
        Several responses to one query, such as pages of its results, make one list. If a
        document is in several of them: use the values of the first or of the last. "refuse":
        the values must be equal.
    report : callable, optional
        Called with a `LogReport`, which says what was left out.

    Returns
    -------
    RankingDataset
        Queries and documents in the order of their first line in the log.

    Examples
    --------
    >>> import tempfile
    >>> qrels = Qrels(np.array(["rambo"]), np.array(["1370"]), np.array([4.0]))
    >>> log = '[{"name": "title", "value": 9.5}, {"name": "body"}]'
    >>> hit = '{"_id": "1370", "fields": {"_ltrlog": [{"entry": %s}]}}' % log
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.jsonl")
    ...     _ = path.write_text('{"qid": "rambo", "hits": {"hits": [%s]}}\n' % hit)
    ...     dataset = read_feature_log(path, judgments=qrels)
    >>> dataset.feature_names, dataset.features, dataset.labels
    (('title', 'body'), array([[9.5, nan]]), array([4.]))
    """
    paths = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
    if not paths:
        raise ValueError("There is nothing to read: the list of paths is empty.")
    _check_choice("format", format, (*FORMATS, None))
    _check_choice("unjudged", unjudged, ("zero", "drop"))
    _check_choice("repeated", repeated, ("refuse", "first", "last"))
    for name, value in (("features", features), ("ignore", ignore)):
        if isinstance(value, str):
            raise ValueError(
                f"The {name!r} argument of read_feature_log must be a sequence of names. "
                f"Got the string {value!r} instead."
            )
    if judgments is not None and clicks is not None:
        raise ValueError("Give judgments or clicks, not both.")
    if rates is not None and clicks is None:
        raise ValueError("Rates are rates of clicks: give a file of clicks with them.")
    graded = None
    if judgments is not None:
        graded = read_judgments(judgments)
    elif clicks is not None:
        graded = read_clicks(clicks, rates)
    table = LogTable(features, ignore, repeated)
    forms = {_add_file(table, Path(path), format, qid, document_id, log) for path in paths}
    if len(forms) > 1:
        raise ValueError(
            f"The files are logs of {' and '.join(sorted(forms))}. All files must have one format."
        )
    if not table.rows:
        raise ValueError(f"{paths[0]}: no response of the log has a document.")
    usual = _FORMATS[forms.pop()][1]
    by_name, rest = (absent, usual) if isinstance(absent, Mapping) else ({}, absent)
    try:
        columns = table.columns
    except ValueError as error:
        listed = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and others"
        raise ValueError(f"{listed}: {error}") from None
    dataset = RankingDataset(
        table.matrix(usual if rest is None else rest, by_name),
        None,
        offsets_of(np.array([len(documents) for documents in table.rows.values()])),
        natural_ids(list(table.rows)),
        natural_ids([document for documents in table.rows.values() for document in documents]),
        tuple(columns),
    )
    left_out = LogReport([name for name in table.logged if name not in set(columns)])
    if graded is not None:
        dataset, left_out = labelled(
            dataset, table.rows, graded, unjudged == "drop", left_out.unused_features
        )
    if report is not None:
        report(left_out)
    return dataset


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(
            f"The {name!r} argument of read_feature_log must be one of {listed}. "
            f"Got {value!r} instead."
        )


def _add_file(
    table: LogTable,
    path: Path,
    form: str | None,
    qid: str,
    document_id: str | None,
    log: str | None,
) -> str:
    """Put the documents of a file into the table. Returns the format of the file."""
    for line, record in json_lines(path):
        place = f"{path}:{line}"
        try:
            for query, body in searches(record, qid):
                form = form or _guessed(body)
                table.begin(place)
                name = _query_name(query, qid)
                for document, names, values in _FORMATS[form][0].documents(body, log, document_id):
                    table.add(name, document, names, values)
        except AdvisedError as error:
            raise error.at(place) from None
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    if form is None:
        raise ValueError(f"{path}: the file has no lines.")
    return form


def _guessed(body: dict[str, Any]) -> str:
    for form, (engine, _) in _FORMATS.items():
        if engine.recognised(body):
            return form
    raise ValueError(
        f"the response is not of a known search engine. It must have hits.hits (Elasticsearch, "
        f"OpenSearch), response.docs (Solr) or root (Vespa). Its members are "
        f"{', '.join(map(repr, body))}. A line of a log of clicks has query, documents and clicks."
    )


def _query_name(query: Any, qid: str) -> str:
    if query is None:
        raise AdvisedError(
            f"the line has no query id. Write lines as {{{qid!r}: ..., 'response': {{...}}}};",
            "or name the member that has the id, or the parameter of a Solr request, with "
            "qid='...'.",
            "or name the member that has the id, or the parameter of a Solr request, with --qid.",
        )
    return as_id(query, "the query id")


class LogTable:
    """Collects documents one after another, and makes a table of them.

    Parameters
    ----------
    features : sequence or array of str, or None
        The columns, in this order. None: all features, in the order of their first mention.
    ignore : sequence of str
        Features to leave out.
    repeated : "refuse", "first" or "last"
        Which values to use if a document is logged again for its query.
    """

    def __init__(
        self, features: Sequence[str] | Array | None, ignore: Sequence[str], repeated: Repeated
    ) -> None:
        self.features = None if features is None else [str(name) for name in features]
        self._wanted = None if self.features is None else frozenset(self.features)
        self.ignored = frozenset(ignore)
        self.repeated = repeated
        # The rows of each query's documents.
        self.rows: dict[str, dict[str, int]] = {}
        # Numbers of the names in the order of their first mention, and of tuples of them.
        self._number: dict[str, int] = {}
        self._known: dict[tuple[str, ...], array[int]] = {}
        # Values of all rows one after another, the numbers of their features, and where rows begin.
        self._values, self._numbers = array("d"), array("i")
        self._starts = array("q", [0])
        # The response that each row comes from, and the place of each response.
        self._response_of = array("q")
        self._places: list[str] = []

    def begin(self, place: str) -> None:
        """Begin another response, at this place of a file."""
        self._places.append(place)

    def add(self, query: str, document: str, names: tuple[str, ...], values: list[Any]) -> None:
        """Add a document of the current response."""
        try:
            numbers = self._known.get(names)
        except TypeError:  # a name that is a list or an object
            numbers = None
        if numbers is None:
            numbers = self._new(names)
        if not (kinds := set(map(type, values))) <= _NUMBERS:
            if kinds <= _NUMBERS_OR_NONE:
                values = [math.nan if value is None else value for value in values]
            else:
                values = [
                    as_number(value, name) if self._is_wanted(name) else math.nan
                    for name, value in zip(names, values, strict=True)
                ]
        documents = self.rows.setdefault(query, {})
        row = documents.get(document)
        if row is not None:
            if self._response_of[row] == len(self._places) - 1:
                raise ValueError(f"document {document!r} occurs twice in one response.")
            if self.repeated == "first" or self._same(row, numbers, values):
                return
            if self.repeated == "refuse":
                raise ValueError(
                    f"document {document!r} of query {query!r} has other values than at "
                    f"{self._places[self._response_of[row]]}. Choose the 'first' or the 'last'."
                )
        documents[document] = len(self._response_of)
        try:
            self._values.extend(values)
        except OverflowError:
            for name, value in zip(names, values, strict=True):
                as_number(value, name)
            raise
        self._numbers.extend(numbers)
        self._starts.append(len(self._values))
        self._response_of.append(len(self._places) - 1)

    def _new(self, names: tuple[str, ...]) -> array[int]:
        for name in names:
            if not isinstance(name, str) or not name or not is_text(name):
                raise ValueError(
                    f"the name of a feature must be text, not empty. Got {shortened(name)} instead."
                )
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"the feature {twice!r} occurs twice.")
        number = self._number
        numbers = array("i", [number.setdefault(name, len(number)) for name in names])
        if len(self._known) < _MAX_KNOWN:
            self._known[names] = numbers
        return numbers

    def _is_wanted(self, name: str) -> bool:
        return name not in self.ignored and (self._wanted is None or name in self._wanted)

    def _same(self, row: int, numbers: array[int], values: list[Any]) -> bool:
        entries = slice(self._starts[row], self._starts[row + 1])
        given = np.asarray(values, dtype=np.float64)
        return self._numbers[entries] == numbers and np.array_equal(
            np.asarray(self._values[entries]), given, equal_nan=True
        )

    @property
    def logged(self) -> list[str]:
        """All features of the log that are not ignored, in the order of their first mention."""
        return [name for name in self._number if name not in self.ignored]

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        logged = self.logged
        if self.features is None:
            if not logged:
                raise ValueError("no document has a feature.")
            return logged
        if absent := [name for name in self.features if name not in set(logged)]:
            listed = ", ".join(map(repr, absent[:5])) + (", ..." if len(absent) > 5 else "")
            raise ValueError(
                f"the log has no feature {listed}. Its features are {shortened(logged, 200)}."
            )
        return self.features

    @property
    def order(self) -> Integers:
        """The rows, query by query."""
        return np.array(
            [row for documents in self.rows.values() for row in documents.values()], np.int64
        )

    def place(self, row: int) -> str:
        """The file and line that a row comes from."""
        return self._places[self._response_of[row]]

    def matrix(self, absent: float | None, by_name: Mapping[str, float]) -> Floats:
        """The features of the rows in their order.

        Parameters
        ----------
        absent : float or None
            The value of a feature that a document's log does not name. None: refuse such
            documents.
        by_name : mapping from feature to float
            Values for some of the features. They come before `absent`.
        """
        columns, order = self.columns, self.order
        width = {name: column for column, name in enumerate(columns)}
        fill = np.full(len(columns), math.nan if absent is None else absent)
        for name, value in by_name.items():
            if name not in width:
                raise ValueError(
                    f"'absent' has a value for {name!r}, but the log has no such feature. Its "
                    f"features are {shortened(columns, 200)}."
                )
            fill[width[name]] = value
        # The column of each feature's number. -1: the feature is not wanted.
        column_of = np.array([width.get(name, -1) for name in self._number], np.int64)
        values, numbers = np.frombuffer(self._values), np.frombuffer(self._numbers, np.int32)
        starts = np.frombuffer(self._starts, np.int64)
        table = np.empty((len(order), len(columns)))
        for begin in range(0, len(order), _BLOCK):
            rows = order[begin : begin + _BLOCK]
            block = table[begin : begin + len(rows)]
            block[:] = fill
            sizes = starts[rows + 1] - starts[rows]
            source = np.repeat(starts[rows] - offsets_of(sizes)[:-1], sizes)
            source += np.arange(len(source))
            column = column_of[numbers[source]]
            wanted = column >= 0
            row = np.repeat(np.arange(len(rows)), sizes)[wanted]
            block[row, column[wanted]] = values[source[wanted]]
            if absent is None:
                named = np.zeros(block.shape, bool)
                named[row, column[wanted]] = True
                named[:, [width[name] for name in by_name]] = True
                self._refuse_incomplete(named, columns, rows)
        self._refuse_too_large(table, columns, order)
        return table

    def _refuse_incomplete(self, named: Flags, columns: list[str], rows: Integers) -> None:
        lacking = np.argwhere(~named)
        if lacking.size:
            row, column = int(rows[lacking[0, 0]]), int(lacking[0, 1])
            raise ValueError(
                f"{self.place(row)}: document {self._document(row)!r} has no feature "
                f"{columns[column]!r}, but other documents have it. If the log is sparse, its "
                f"format is 'solr-sparse'."
            )

    def _refuse_too_large(self, table: Floats, columns: list[str], order: Integers) -> None:
        wrong = np.argwhere(np.abs(table) > MAX_MAGNITUDE)
        if wrong.size:
            position, column = wrong[0].tolist()
            row = int(order[position])
            raise ValueError(
                f"{self.place(row)}: the feature {columns[column]!r} of document "
                f"{self._document(row)!r} must lie between -{MAX_MAGNITUDE:g} and "
                f"{MAX_MAGNITUDE:g}, or be missing. Got {table[position, column]:g} instead."
            )

    def _document(self, row: int) -> str:
        rows = (pair for documents in self.rows.values() for pair in documents.items())
        return next(document for document, number in rows if number == row)
