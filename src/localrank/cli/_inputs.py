"""Options and files that commands share: data, measures, outputs."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.data.drawing import Limit
    from localrank.data.tables import Categories, Labels
    from localrank.measures import Measure
    from localrank.rankers import Ranker

STANDARD_INPUT = Path("/dev/stdin")
MAX_DOCUMENTS_HELP = (
    "The most documents that a model learns from; whole queries are drawn by their ids. 0: use "
    "all. By default, all, and 2,000,000 of a folder of partitions."
)
_TABLES = "Columns of tables"
_LOGS = "Feature logs"
# Options that only LETOR text, only tables, and only feature logs understand.
FOR_TEXT = ("zero_based", "float32")
FOR_TABLES = ("label", "categories", "column_description")
FOR_LOGS = ("feature_log", "judgments", "clicks", "rates", "unjudged", "repeated", "log_name")


def _option(default: Any, name: str, text: str, panel: str | None = _TABLES) -> Any:
    return typer.Option(default, name, help=text, rich_help_panel=panel)


@dataclass(frozen=True)
class Reading:
    """How data files are read: the options of every command that reads data."""

    qid: str = _option("qid", "--qid", "Column of query ids.")
    label: str = _option("label", "--label", "Column of relevance labels.")
    document_id: str = _option(
        "", "--document-id", "Column of document ids. By default, document_id if it exists."
    )
    features: str = _option(
        "",
        "--features",
        "Columns of features, separated by commas, for example bm25,pagerank. By default, all "
        "other columns.",
    )
    ignore: str = _option(
        "", "--ignore", "Columns to leave out, separated by commas, for example url,date."
    )
    categories: str = _option(
        "",
        "--categories",
        "ordinal: turn ordered categories into numbers. By default, refuse columns of categories.",
    )
    column_description: str = _option(
        "", "--column-description", "CatBoost's column description, a file such as train.cd."
    )
    zero_based: bool = _option(
        False, "--zero-based", "LETOR text: feature ids begin at 0. By default, at 1.", None
    )
    float32: bool = _option(
        False,
        "--float32",
        "LETOR text: read features in single precision, which halves the memory.",
        None,
    )
    feature_log: str = _option(
        "",
        "--feature-log",
        "Read the data as feature logs in this format: elasticsearch, opensearch, solr, "
        "solr-sparse or vespa. By default, files that end in .jsonl are logs, and their format is "
        "recognised.",
        _LOGS,
    )
    judgments: str = _option(
        "", "--judgments", "File of the documents' grades: TREC qrels, CSV or JSON lines.", _LOGS
    )
    clicks: str = _option(
        "", "--clicks", "File of clicks on the documents, instead of grades.", _LOGS
    )
    rates: str = _option(
        "",
        "--rates",
        "Click rates where the next grade begins, for example 0.05,0.2. By default, the number of "
        "clicks is the label.",
        _LOGS,
    )
    unjudged: str = _option(
        "",
        "--unjudged",
        "Documents without a grade: zero gives them label 0 (the default), drop leaves them out.",
        _LOGS,
    )
    repeated: str = _option(
        "",
        "--repeated",
        "Documents logged twice for a query: refuse if they differ (the default), or keep the "
        "first or the last.",
        _LOGS,
    )
    log_name: str = _option(
        "", "--log-name", "Name of the log to read, if documents have several.", _LOGS
    )

    @property
    def dtype(self) -> str:
        """The precision of features read from LETOR text."""
        return "float32" if self.float32 else "float64"

    def given(self, *names: str) -> list[str]:
        """Those of the named options that the user gave, written as options."""
        usual = {"qid": "qid", "label": "label"} | dict.fromkeys(FOR_TEXT, False)
        return [
            f"--{name.replace('_', '-')}"
            for name in names
            if getattr(self, name) != usual.get(name, "")
        ]


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading`. It receives them as its argument `reading`."""
    added = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation={"str": str, "bool": bool}[str(field.type)],
        )
        for field in fields(Reading)
    ]

    @functools.wraps(command)
    def with_options(**arguments: Any) -> None:
        chosen = {field.name: arguments.pop(field.name) for field in fields(Reading)}
        command(**arguments, reading=Reading(**chosen))

    signature = inspect.signature(command, eval_str=True)
    given = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        if parameter.name != "reading"
    ]
    with_options.__signature__ = signature.replace(parameters=[*given, *added])  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in [*given, *added]}
    return with_options


def read_data(
    paths: Sequence[Path],
    reading: Reading,
    *,
    labels: Labels = "needed",
    n_features: int | None = None,
    names: Sequence[str] | None = None,
) -> RankingDataset:
    """Read LETOR files (`-`: from standard input), tables, partitions or feature logs.

    `n_features` and `names` are those of a model or of training data. With them, LETOR files may
    lack the last features, and the features of logs are put into the order of `names`.
    """
    from localrank.cli._tables import say_if_compiling
    from localrank.data import concatenate, read_letor
    from localrank.data.tables import is_table

    say_if_compiling()
    if are_logs(paths, reading):
        from localrank.cli._logs import read_logs

        files = [STANDARD_INPUT if str(path) == "-" else path for path in paths]
        return read_logs(files, reading, labels, n_features, names)
    if is_partitioned(paths):
        return _open_partitions(paths, reading, labels)
    for path in paths:
        if path.is_dir():
            raise ValueError(
                f"{path}: is a folder without partitions. Give the files in it, or make "
                f"partitions of them with `localrank convert`."
            )
    tables = [path for path in paths if reading.column_description or is_table(path)]
    if not tables:
        refuse_other_options(paths[0], reading)
        files = [STANDARD_INPUT if str(path) == "-" else path for path in paths]
        return read_letor(
            files, n_features=n_features, dtype=reading.dtype, zero_based=reading.zero_based
        )
    if len(tables) < len(paths):
        raise ValueError(f"{tables[0]}: is a table. Give LETOR files or tables, not both.")
    for option in reading.given(*FOR_TEXT):
        raise ValueError(f"{tables[0]}: is a table, and {option} is for LETOR text.")
    refuse_log_options(tables[0], reading, "is a table")
    return concatenate([_read_table(path, reading, labels) for path in tables])


def are_logs(paths: Sequence[Path], reading: Reading) -> bool:
    """Whether the data is feature logs, by an option or by the names of the files."""
    from localrank.data.feature_logs.reading import is_feature_log

    logs = [path for path in paths if reading.feature_log or is_feature_log(path)]
    if logs and len(logs) < len(paths):
        raise ValueError(f"{logs[0]}: is a feature log. Give logs or other data, not both.")
    return bool(logs)


def is_partitioned(paths: Sequence[Path]) -> bool:
    """Whether the data is a folder of partitions, or files that `convert` wrote into one."""
    from localrank.data.partitions import UNFINISHED, is_partition

    if len(paths) == 1 and paths[0].is_dir():
        return any(path.name == UNFINISHED or is_partition(path) for path in paths[0].iterdir())
    if not all(map(is_partition, paths)):
        return False
    from localrank.data.conversion import made_here

    return all(map(made_here, paths))


def _open_partitions(paths: Sequence[Path], reading: Reading, labels: Labels) -> RankingDataset:
    from localrank.data import open_partitions
    from localrank.data.partition_files import damage_named, open_table
    from localrank.data.partitions import partition_paths

    for option in reading.given(*FOR_TEXT, "categories", "column_description", *FOR_LOGS):
        raise ValueError(f"{paths[0]}: is a folder of partitions, and {option} is not for them.")
    files = partition_paths(paths[0] if len(paths) == 1 else paths)
    label, ignore = reading.label or None, column_names(reading.ignore)
    if label is not None and labels == "optional":
        with damage_named(files[0]):
            label = label if label in open_table(files[0]).schema.names else None
    elif label is not None and labels == "ignored":
        ignore.append(label)
        label = None
    return open_partitions(
        files,
        qid=reading.qid,
        label=label,
        document_id=reading.document_id or "document_id",
        features=column_names(reading.features) or None,
        ignore=ignore,
    )


def refuse_other_options(path: Path, reading: Reading) -> None:
    """Refuse options that would have no effect on LETOR text."""
    from localrank.data.tables import TABLE_SUFFIXES

    columns = ("qid", "label", "document_id", "features", "ignore")
    for option in reading.given(*columns, *FOR_TABLES):
        raise ValueError(
            f"{path}: is read as LETOR text, and {option} is for tables. Names of tables end in "
            f"{', '.join(TABLE_SUFFIXES)}."
        )
    refuse_log_options(path, reading, "is read as LETOR text")


def refuse_log_options(path: Path, reading: Reading, kind: str) -> None:
    """Refuse options that only feature logs understand."""
    for option in reading.given(*FOR_LOGS):
        raise ValueError(
            f"{path}: {kind}, and {option} is for feature logs. Their names end in .jsonl; else "
            f"give --feature-log."
        )


def names_of(ranker: Ranker) -> list[str] | None:
    """The feature names that a ranker was fitted with; None if it had none."""
    names = getattr(ranker, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names.tolist()]


def _read_table(path: Path, reading: Reading, labels: Labels) -> RankingDataset:
    from localrank.data.tables import read_columns

    if reading.categories not in ("", "ordinal"):
        raise ValueError(f"--categories must be ordinal. Got {reading.categories!r} instead.")
    categories: Categories = "ordinal" if reading.categories else None
    return read_columns(
        path,
        qid=reading.qid,
        label=reading.label,
        document_id=reading.document_id or "document_id",
        features=column_names(reading.features) or None,
        ignore=column_names(reading.ignore),
        categories=categories,
        column_description=reading.column_description or None,
        labels=labels,
        find_document_id=not reading.document_id,
    )


def column_names(text: str) -> list[str]:
    """The names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def known_categories(text: str) -> dict[str, str] | int | str | None:
    """The value of `--query-categories`: a file's categories by query id, or a feature."""
    path = Path(text)
    if path.suffix in (".txt", ".tsv", ".csv") and not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if not text or not path.is_file():
        return None if not text else int(text) if text.isdigit() else text
    categories: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        cells = (
            re.split(r"[\t,]", line, maxsplit=1)
            if re.search(r"[\t,]", line)
            else line.split(None, 1)
        )
        query, *category = (cell.strip() for cell in cells)
        if not query or not category or not category[0]:
            raise ValueError(
                f"{path}:{number}: a line must hold a query id and its category, separated by a "
                f"tab, a comma or a blank. Got {line!r} instead."
            )
        if categories.setdefault(query, category[0]) != category[0]:
            raise ValueError(f"{path}:{number}: query {query} has two categories.")
    if not categories:
        raise ValueError(f"{path}: has no lines.")
    return categories


def parse_measures(text: str, convention: str = "default") -> list[Measure]:
    """Measures by their names. Commas separate names; commas in parentheses do not."""
    from localrank.measures import parse_measure

    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("Give at least one measure, such as ndcg@10.")
    return [parse_measure(name, convention=convention) for name in names]


def limit_of(max_documents: int | None) -> Limit:
    """The `max_documents` argument of `fit` for the value of `--max-documents`."""
    return "auto" if max_documents is None else max_documents or None


def check_output(path: Path) -> None:
    """Refuse an output file that cannot be written, before any work is done."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path}: is a folder. Give the name of a file.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {folder} is not writable.")


def check_model(path: Path) -> None:
    """Refuse an output to which no model can be written."""
    if str(path) == "-":
        raise ValueError("A model cannot be written to standard output: give a file name.")
    check_output(path)


def check_held_out(valid: Sequence[Path], data: Sequence[Path]) -> None:
    """Refuse training files as validation files, also files in a folder of partitions."""
    from localrank.data.partitions import is_partition

    trained = {path.resolve() for path in data}
    folders = {path.parent for path in trained if is_partition(path)}
    for path in valid:
        real = path.resolve()
        if real in trained | folders or (is_partition(real) and real.parent in trained):
            raise ValueError(
                f"{path}: is training data, so it cannot validate. Give other queries."
            )


def check_folder(path: Path) -> None:
    """Refuse a file where an output folder is needed, before any work is done."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file. Give a folder to write into.")
