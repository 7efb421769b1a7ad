"""Feature logs of search engines as datasets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array
from localrank.data._checks import natural_ids
from localrank.data._errors import AdvisedError
from localrank.data._offsets import offsets_of
from localrank.data.dataset import RankingDataset
from localrank.data.feature_logs import _elasticsearch as elasticsearch
from localrank.data.feature_logs import _solr as solr
from localrank.data.feature_logs import _vespa as vespa
from localrank.data.feature_logs._judgments import read_clicks, read_judgments
from localrank.data.feature_logs._labelling import LogReport, labelled
from localrank.data.feature_logs._responses import json_lines, searches
from localrank.data.feature_logs._table import LogTable, Repeated
from localrank.data.feature_logs._values import as_id
from localrank.data.trec import Qrels

LogFormat = Literal["elasticsearch", "opensearch", "solr", "solr-sparse", "vespa"]
Unjudged = Literal["zero", "drop"]
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
        document is in several of them: take the values of the first or of the last. "refuse":
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
        f"{', '.join(map(repr, body))}."
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
