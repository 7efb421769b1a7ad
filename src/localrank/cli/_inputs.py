"""Options and files that commands share: data, measures, outputs."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

if TYPE_CHECKING:
    from localrank.clicks import ClickLog
    from localrank.data import RankingDataset
    from localrank.data.formats.base import Labels
    from localrank.data.sampling import Limit
    from localrank.measures import Measure

# Arguments of `localrank.data.read` by name, as a user gave them.
DataOptions = dict[str, Any]
MAX_DOCUMENTS_HELP = (
    "At most this many documents to learn from; whole queries are drawn by their ids. 0: use all. "
    "By default, all, and 2,000,000 of a folder of partitions."
)


_TABLES, _LOGS = "Columns of tables", "Feature logs"
# The options of every command that reads data: default, help, and panel of the help.
_OPTIONS: dict[str, tuple[str | bool | int, str, str | None]] = {
    "qid": ("qid", "Column of query ids.", _TABLES),
    "label": ("label", "Column of relevance labels.", _TABLES),
    "document_id": ("", "Column of document ids. By default, document_id if it exists.", _TABLES),
    "features": (
        "",
        "Columns of features, separated by commas, for example bm25,pagerank. By default, all "
        "other columns. To train from logs of clicks, give files of features.",
        _TABLES,
    ),
    "ignore": ("", "Columns to leave out, separated by commas, for example url,date.", _TABLES),
    "categories": (
        "",
        "Columns of numbers that are categories, separated by commas, for example shop_id. By "
        "default, columns of text and of categories are categories. ordinal: turn categories whose "
        "type has an order into numbers.",
        _TABLES,
    ),
    "vectors": (
        "",
        "Vectors of the documents by their ids: .npy with a file of ids beside it, .npz, .parquet "
        "or .jsonl. By default, the column `vector` of a table, if it holds lists.",
        None,
    ),
    "column_description": ("", "CatBoost's column description, a file such as train.cd.", _TABLES),
    "zero_based": (False, "LETOR text: feature ids begin at 0. By default, at 1.", None),
    "n_features": (
        0,
        "LETOR text: number of features, for files in which the last ones may not occur. By "
        "default, the largest feature id.",
        None,
    ),
    "float32": (
        False,
        "LETOR text: read features in single precision, which halves the memory.",
        None,
    ),
    "feature_log": (
        "",
        "Read the data as feature logs in this format: elasticsearch, opensearch, solr, "
        "solr-sparse or vespa. By default, files that end in .jsonl are logs, and their format is "
        "recognised.",
        _LOGS,
    ),
    "judgments": ("", "File of the documents' grades: TREC qrels, CSV or JSON lines.", _LOGS),
    "clicks": (
        "",
        "File of clicks on the documents, instead of grades. To train from logs of clicks, give "
        "the estimate of how much is seen: pbm (the default), swaps, em, groups, cascade, dcm, "
        "ubm, dbn, trust, auto or none.",
        _LOGS,
    ),
    "rates": (
        "",
        "Click rates at which the next grade begins, for example 0.05,0.2. By default, the number "
        "of clicks is the label. To train from logs of clicks, give the relevance at which the "
        "next grade begins. By default, relevance is the label.",
        _LOGS,
    ),
    "unjudged": (
        "",
        "Documents without a grade: zero gives them label 0 (the default), drop leaves them out.",
        _LOGS,
    ),
    "repeated": (
        "",
        "Documents logged twice for a query: refuse if they differ (the default), or keep the "
        "first or the last.",
        _LOGS,
    ),
    "log_name": ("", "Name of the log to read, if documents have several.", _LOGS),
}
# The options of commands that read logs of clicks, likewise.
_CLICK_LOGS = "Logs of clicks"
MAX_UNSEEN = 0.1
MAX_UNSEEN_HELP = (
    "With a log of clicks: the largest share of a ranking, weighted by position, that the log may "
    "never have shown. Such documents count as the mean of their query. 1: estimate whatever the "
    "log says."
)
_CLICK_OPTIONS: dict[str, tuple[str | bool | int, str, str | None]] = {
    "click_columns": (
        "",
        "Tables with a row for each document shown: columns of other names, separated by commas, "
        "for example session=visit,click=clicked. The names are session, query, document, "
        "position, click, and, where known, time, ranker, group, propensity.",
        _CLICK_LOGS,
    ),
    "click_actions": (
        "",
        "User Behavior Insights: the actions that count as a click, separated by commas. By "
        "default, click.",
        _CLICK_LOGS,
    ),
    "bad_sessions": (
        "",
        "Impossible sessions, such as one with a click on something that was not shown: refuse "
        "(the default), or drop them.",
        _CLICK_LOGS,
    ),
}


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all data. Its argument `options` has those that were given.

    They are keyword arguments of `localrank.data.read`.
    """
    return _reads(command, _OPTIONS, "options")


def reads_clicks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of logs of clicks. Its argument `log_options` has those given.

    They are keyword arguments of `localrank.data.read`, too.
    """
    return _reads(command, _CLICK_OPTIONS, "log_options")


def _reads(
    command: Callable[..., None],
    known: Mapping[str, tuple[str | bool | int, str, str | None]],
    taken: str,
) -> Callable[..., None]:
    def with_data(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in known}
        options: DataOptions = {}
        for name, value in given.items():
            if value != known[name][0]:
                options |= _arguments(name, value)
        command(**arguments, **{taken: options})

    options = {
        name: typer.Option(default, f"--{name.replace('_', '-')}", help=text, rich_help_panel=panel)
        for name, (default, text, panel) in known.items()
    }
    return _with_options(command, with_data, options, taken=taken)


def on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option `--dask`. The command then runs on that cluster."""

    def on_workers(*, dask: str, **arguments: Any) -> None:
        if not dask:
            command(**arguments)
            return
        from localrank._base.distributed import connected, described_workers, peak_memory
        from localrank.cli._tables import say

        with connected(dask) as client:
            say(described_workers(client))
            try:
                command(**arguments)
            except typer.Exit:
                say(peak_memory(client))
                raise
            say(peak_memory(client))

    option = typer.Option(
        "",
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: its address, such as tcp://host:8786, or local:4 for "
        "four processes on this machine. By default, run in this process.",
    )
    return _with_options(command, on_workers, {"dask": option})


def _with_options(
    command: Callable[..., None],
    run: Callable[..., None],
    options: Mapping[str, Any],
    taken: str = "",
) -> Callable[..., None]:
    """The function `run` with the arguments of a command, except `taken`, and more options."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        if parameter.name != taken
    ]
    parameters += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option,
            annotation=type(option.default),
        )
        for name, option in options.items()
    ]
    functools.update_wrapper(run, command)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def read_data(
    paths: Sequence[Path], options: DataOptions, *, labels: Labels = "needed", like: Any = None
) -> RankingDataset:
    """Read data as `localrank.data.read` does, and say what is left out."""
    from localrank.cli._tables import say, say_if_compiling
    from localrank.data import read

    if gives_clicks(paths, options):
        raise ValueError(
            f"{paths[0]} is a log of clicks, which has no features. To learn from it, use "
            f"`localrank train log.jsonl --features features.parquet --clicks pbm`. To see what is "
            f"in it, use `localrank info`."
        )
    say_if_compiling()
    data: Any = read(paths, labels=labels, like=like, say=say, **options)
    return cast("RankingDataset", data)


def read_clicks(paths: Sequence[Path], log_options: DataOptions) -> ClickLog:
    """Read a log of clicks as `localrank.data.read` does, and say what is left out."""
    from localrank.cli._tables import say, say_if_compiling
    from localrank.data import read

    if not gives_clicks(paths, log_options):
        raise ValueError(
            f"{paths[0]} is not a log of clicks. A log has JSON lines such as "
            f'{{"query": "tea", "documents": ["a", "b"], "clicks": [1]}}; or it is a table with '
            f"the columns session, query, document, position and click, which --click-columns may "
            f"name; or the queries and events of User Behavior Insights."
        )
    say_if_compiling()
    return read(paths, say=say, **log_options)


def features_of_log(options: DataOptions) -> RankingDataset | None:
    """The features of a log's documents, from the files in an option; None: it was not given."""
    options = dict(options)
    files = options.pop("features", [])
    if files:
        return read_data([Path(file) for file in files], options, labels="optional")
    if options:
        raise ValueError("Options of data go with --features FILE, the features of the documents.")
    return None


def gives_clicks(paths: Sequence[Path], options: Mapping[str, Any]) -> bool:
    """Whether files are logs of clicks."""
    from localrank.data.reading import format_of, given_path

    given = [given_path(path) for path in paths]
    # --feature-log, which names a format, may be about the features beside a log.
    return format_of(given, None, options).gives_clicks


def is_partitioned(paths: Sequence[Path]) -> bool:
    """Whether the data is a folder of partitions, or files that `convert` wrote into one."""
    from localrank.data.formats import PartitionFiles

    return all(PartitionFiles().recognises(path, {}) for path in paths)


def _arguments(option: str, value: Any) -> dict[str, Any]:
    """The arguments of `localrank.data.read` for an option."""
    match option:
        case "float32":
            return {"dtype": "float32"}
        case "feature_log":
            return {"format": value}
        case "log_name":
            return {"log": value}
        case "label":
            return {"label": value or None}
        case "features" | "ignore":
            return {option: column_names(value)}
        case "categories":
            return {option: value if value in ("auto", "ordinal") else column_names(value)}
        case "rates":
            return {"rates": _rates(value)}
        case "click_columns":
            return _click_columns(value)
        case "click_actions":
            return {"actions": column_names(value)}
        case "bad_sessions":
            return {"bad": value}
        case _:
            return {option: value}


def _click_columns(text: str) -> dict[str, str]:
    """The columns of a table of clicks, by their roles."""
    from localrank._base.names import unknown
    from localrank.data.formats import ClickTables

    roles = [name for name in ClickTables.options if name != "bad"]
    columns = {}
    for item in column_names(text):
        role, equals, column = (part.strip() for part in item.partition("="))
        if not equals or not column:
            raise ValueError(
                f"--click-columns must be names of columns such as session=visit,click=clicked. "
                f"Got {item!r} instead."
            )
        if role not in roles:
            raise unknown("A table of clicks has no column for", role, roles, roles)
        columns[role] = column
    return columns


def _rates(text: str) -> list[float]:
    try:
        return [float(rate) for rate in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--rates must be numbers separated by commas, such as 0.05,0.2. Got {text!r} instead."
        ) from None


def column_names(text: str) -> list[str]:
    """The names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def measure_names(text: str) -> list[str]:
    """Names of measures. Commas separate them; commas in parentheses do not."""
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("Give at least one measure, such as ndcg@10.")
    return names


def parse_measures(text: str, convention: str = "default") -> list[Measure]:
    """Measures by their names."""
    from localrank.measures import parse_measure

    return [parse_measure(name, convention=convention) for name in measure_names(text)]


def limit_of(max_documents: int | None) -> Limit:
    """The `max_documents` argument of `fit` for the value of `--max-documents`."""
    return "auto" if max_documents is None else max_documents or None


def check_output(path: Path) -> None:
    """Refuse an output file that cannot be written, before any work is done."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {folder} is not writable.")


def check_model(path: Path) -> None:
    """Refuse an output to which no model can be written."""
    if str(path) == "-":
        raise ValueError("A model cannot be written to standard output: give a file name.")
    check_output(path)


def save_model(model: Any, path: Path) -> None:
    """Save a trained model. One that cannot be saved there is kept in a temporary folder."""
    import tempfile

    try:
        model.save(path)
    except OSError as error:
        try:
            kept = Path(tempfile.mkdtemp(prefix="localrank-"), path.name)
            model.save(kept)
        except OSError:
            raise error from None
        raise ValueError(
            f"{path}: {error.strerror or error}. The trained model is kept as {kept}: move it once "
            f"there is room."
        ) from None


def check_held_out(valid: Sequence[Path], data: Sequence[Path]) -> None:
    """Refuse training files as validation files, also files in a folder of partitions."""
    from localrank.data.partitions import is_partition

    trained = {path.resolve() for path in data}
    folders = {path.parent for path in trained if is_partition(path)}
    for path in valid:
        real = path.resolve()
        if real in trained | folders or (is_partition(real) and real.parent in trained):
            raise ValueError(f"{path} is training data, so it cannot validate. Give other queries.")


def read_key(path: Path | None) -> bytes | None:
    """The key in a file, of 32 bytes. None: there is no file."""
    if path is None:
        return None
    with path.open("rb") as file:
        key = file.read(33)
    if len(key) != 32:
        size = f"{len(key)} bytes" if len(key) < 33 else "more bytes"
        raise ValueError(f"{path}: a key must have 32 bytes. Got {size} instead.")
    return key


def check_folder(path: Path) -> None:
    """Refuse a file where an output folder is needed, before any work is done."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file. Give a folder to write into.")
