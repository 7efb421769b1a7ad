"""`read`: data files of every format, recognised by their names and first bytes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from localrank._base.names import unknown
from localrank.data import formats
from localrank.data._categories import input_names
from localrank.data._column_record import ColumnRecord, first_id
from localrank.data.errors import AdvisedError, ColumnWarning
from localrank.data.formats.base import Format, Labels, Wanted
from localrank.data.vector_files import read_vectors
from localrank.data.vectors import Vectors
from localrank.registry import declared

if TYPE_CHECKING:
    from localrank.data.click_log import ClickLog
    from localrank.data.dataset import RankingDataset

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
STANDARD_INPUT = "/dev/stdin"
# Options of commands whose names are not those of the arguments.
_ON_COMMAND_LINE = {
    "dtype": "--float32",
    "log": "--log-name",
    "format": "--feature-log",
    "bad": "--bad-sessions",
    "actions": "--click-actions",
} | dict.fromkeys(
    ("session", "query", "document", "position", "click", "time", "ranker", "group", "propensity"),
    "--click-columns",
)


# A type checker takes data for documents, unless the format's name says that it is a log of clicks.
@overload
def read(
    path_or_paths: Paths,
    *,
    format: Literal["click-log", "click-table", "ubi"],
    say: Callable[[str], None] | None = None,
    **options: Any,
) -> ClickLog: ...


@overload
def read(
    path_or_paths: Paths,
    *,
    format: str | None = None,
    labels: Labels = "needed",
    like: Any = None,
    say: Callable[[str], None] | None = None,
    vectors: Any = None,
    **options: Any,
) -> RankingDataset: ...


def read(
    path_or_paths: Paths,
    *,
    format: str | None = None,
    labels: Labels = "needed",
    like: Any = None,
    say: Callable[[str], None] | None = None,
    vectors: Any = None,
    **options: Any,
) -> RankingDataset | ClickLog:
    r"""Read ranking data of any format, in the same way as the commands.

    A log of clicks becomes a `ClickLog`, any other data a `RankingDataset`.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        LETOR text, tables (Parquet, CSV, Arrow), a folder of partitions, feature logs, or logs of
        clicks. Several files of one format are one dataset, or one log. "-" is standard input.
        Read a folder of folds with `folds`.
    format : str or None, default=None
        "letor", "table", "partitions", or the engine of a feature log: "elasticsearch",
        "opensearch", "solr", "solr-sparse", "vespa". Or a log of clicks: "click-log",
        "click-table", "ubi". None: the name of a file decides, with its first line or the names of
        its columns, or else its first bytes. A file that no format recognises is read as LETOR
        text.
    labels : "needed", "optional" or "ignored", default="needed"
        "needed": data without labels is an error. "ignored": labels need not be read; in a table
        they may be missing values.
    like : RankingDataset or fitted ranker, optional
        Training data or a model. Files are then read as the training data was: feature ids begin at
        the same number, and the features of tables and logs are found by their names. Options that
        say otherwise are an error. LETOR text in which the last features do not occur is refused,
        unless `n_features` says how many there are.
    say : callable, optional
        Called with each line about what was left out, such as documents without judgments.
    vectors : path, Vectors, mapping of id to vector, or pair of ids and array, optional
        Vectors of the documents, looked up by their ids. A path is read by `read_vectors`. None:
        those in the column `vector` of tables, if there is one with lists.
    **options
        Arguments of the function that reads the format. LETOR text: `n_features`, `dtype` and
        `zero_based` of `read_letor`. Tables: all arguments of `read_table`. Partitions: `qid`,
        `label`, `document_id`, `features` and `ignore`. Feature logs: all arguments of
        `read_feature_log`. Logs of clicks: all arguments of `read_click_log`, `read_click_table`
        or `read_ubi`. An option of another format is an error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text, table = Path(folder, "train.txt"), Path(folder, "train.csv")
    ...     _ = text.write_text("1 qid:7 1:0.5\n0 qid:7 1:2\n")
    ...     _ = table.write_text("qid,clicks,bm25\n7,1,0.5\n7,0,2\n")
    ...     read(text).features.tolist(), read(table, label="clicks").feature_names
    ([[0.5], [2.0]], ('bm25',))
    """
    given = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
    paths = [given_path(path) for path in given]
    if not paths:
        raise ValueError("There is nothing to read: the list of paths is empty.")
    form = format_of(paths, format, options)
    check_options(form, paths[0], options)
    n_features, names, columns = (None, None, None) if like is None else _features_of(like)
    # A ranker has those it has learned. Its parameter `categories` is something else.
    of_ranker = hasattr(like, "n_features_in_")
    learned = getattr(like, "categories_" if of_ranker else "categories", None) or {}
    if names is not None:
        names = input_names(names, learned)
    tell = say or (lambda line: None)
    wanted = Wanted(format, labels, n_features, names, columns, tell, tuple(learned))
    with warnings.catch_warnings():
        if like is not None:
            # It was read before, and what is no feature was mentioned then.
            warnings.simplefilter("ignore", ColumnWarning)
        result = form.read(paths, wanted, **options)
    if form.gives_clicks:
        if vectors is not None:
            raise ValueError(
                f"{paths[0]} is a log of clicks, which has no vectors. Give the vectors with the "
                f"features of its documents."
            )
        from localrank.data._click_damage import left_out_lines

        log = cast("ClickLog", result)
        for line in left_out_lines(log.left_out):
            tell(f"{paths[0]}: {line}")
        return log
    dataset = cast("RankingDataset", result)
    if columns is not None and columns.contradicts(dataset.column_record):
        raise ValueError(
            f"{paths[0]}: the feature ids of this data begin at another number than those of the "
            f"training data, which begin at {first_id(columns)}."
        )
    if labels == "needed" and dataset.relevance is None:
        raise AdvisedError(
            f"{paths[0]} has no labels.",
            "Pass labels='optional' to read it without them.",
            "This command needs them.",
        )
    if vectors is None:
        return dataset
    known = read_vectors(vectors) if isinstance(vectors, str | PathLike) else Vectors.of(vectors)
    return dataset.with_vectors(known)


def given_path(path: str | PathLike[str]) -> Path:
    """A path that somebody gave. `-` is standard input."""
    if str(path) != "-":
        return Path(path)
    if not os.path.lexists(STANDARD_INPUT):
        raise ValueError(
            "Standard input cannot be read on Windows. Give the name of a file instead of '-'."
        )
    return Path(STANDARD_INPUT)


def format_of(
    paths: Sequence[Path], name: str | None = None, options: Mapping[str, Any] | None = None
) -> Format:
    """The format of all files: the one with this name, or the one that recognises them.

    Examples
    --------
    >>> format_of([Path("train.csv"), Path("test.tsv")]).files
    'tables'
    """
    known = _formats()
    if name is not None:
        for form in known:
            if name in form.names:
                return form
        # The option of commands is for feature logs alone.
        *engines, last = formats.FeatureLogs().names[:-1]
        names = ", ".join(repr(one) for form in known for one in form.names)
        raise AdvisedError(
            "",
            f"The 'format' argument of read must be one of {names}. Got {name!r} instead.",
            f"--feature-log must be {', '.join(engines)} or {last}. Got {name!r} instead.",
        )
    recognised = {path: _recognised(path, known, options or {}) for path in paths}
    for form in known:
        if all(form in found for found in recognised.values()):
            return form
    for path, found in recognised.items():
        if found:
            raise ValueError(
                f"{path} {found[0].said}. Give {found[0].files} or other data, not both."
            )
        if path.is_dir():
            raise AdvisedError(
                f"{path} is a folder without partitions. Give the files in it, or",
                "read its folds with localrank.data.folds.",
                "make partitions of them with `localrank convert`.",
            )
    return formats.LetorText()


def check_options(form: Format, path: Path, options: Iterable[str]) -> None:
    """Refuse options that only other formats take."""
    known = _formats()
    for name in options:
        if name in form.options:
            continue
        takers = [other for other in known if name in other.options]
        if not takers:
            all_options = {option for other in known for option in other.options}
            raise unknown("read has no option", name, all_options, form.options)
        *first, last = sorted(other.files for other in takers)
        listed = f"{', '.join(first)} and {last}" if first else last
        endings = [
            f" Names of {other.files} end in {', '.join(other.suffixes)}."
            for other in takers
            if other.suffixes
        ]
        use = f"is for {listed}.{''.join(endings)}"
        option = _ON_COMMAND_LINE.get(name, f"--{name.replace('_', '-')}")
        raise AdvisedError(f"{path} {form.said}, and", f"{name} {use}", f"{option} {use}")


def _formats() -> list[Format]:
    """All formats, those that ask first in front."""
    known = [form() for form in declared(formats).values()]
    return sorted(known, key=lambda form: not form.goes_first)


def _recognised(path: Path, known: Sequence[Format], options: Mapping[str, Any]) -> list[Format]:
    """The formats that a file may have, by its name or else by its first bytes."""
    found = [form for form in known if form.recognises(path, options)]
    found = [form for form in found if form.gives_clicks] or found
    # To look into a pipe would take its first bytes away.
    if found or not path.is_file():
        return found
    with path.open("rb") as file:
        start = file.read(16)
    return [form for form in known if start.startswith(form.first_bytes)]


def _features_of(like: Any) -> tuple[int, Sequence[str] | None, ColumnRecord | None]:
    """The features of a dataset or of a fitted ranker: number, names, what was said of them."""
    if hasattr(like, "n_features_in_"):
        names = getattr(like, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        return like.n_features_in_, names, getattr(like, "column_record_", None)
    return like.n_features, like.feature_names, like.column_record
