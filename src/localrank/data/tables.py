"""Tables with a query column: Parquet, CSV and Arrow files, and DataFrames of any library."""

from __future__ import annotations

import csv as text_tables
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

from localrank._base.arrays import Array
from localrank.data import _column_description as descriptions
from localrank.data._atomic import atomic_write
from localrank.data._cells import NUMBER_CELL, mentions_hexadecimals, no_number
from localrank.data._checks import check_writes, natural_ids
from localrank.data._column_description import ColumnDescription
from localrank.data._column_names import check_named, names_in_file
from localrank.data._column_record import ColumnRecord
from localrank.data._columns import as_features
from localrank.data._compression import damage_named, open_binary
from localrank.data._no_features import warn_of_suspects
from localrank.data._row_vectors import RowVectors
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError
from localrank.data.vector_files import check_lists, table_of_lists
from localrank.data.vectors import stacked

CategoryColumns = Literal["auto", "ordinal"] | Sequence[str] | None
# The column of document ids, unless a caller names another one.
_IDS = "document_id"
# The column of vectors, if it holds lists.
VECTOR = "vector"


def read_table(
    table: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    categories: CategoryColumns = "auto",
    column_description: str | PathLike[str] | None = None,
    optional: Sequence[str] = (),
) -> RankingDataset:
    """Read a table with one row per document.

    Parameters
    ----------
    table : path or DataFrame
        A Parquet (`.parquet`), CSV (`.csv`, `.csv.gz`, `.tsv`) or Arrow (`.arrow`, `.feather`)
        file, which need the extra `localrank[tables]`, or a DataFrame of pandas, polars,
        pyarrow or any other library that narwhals knows. In a CSV file, an id that is empty, `NA`
        or another common mark of a missing value is refused; in quotes it is text. Numbers are
        decimal, such as -0.5 and 1e5, also in quotes and with blanks around them. Features may
        be true or false, which is 1 or 0; labels may not.
    qid : str, default="qid"
        The column of query ids.
    label : str or None, default="label"
        The column of relevance labels. None: the table has no labels.
    document_id : str or None, default=None
        The column of document ids. None: the column `document_id`, if there is one; otherwise the
        documents have no ids.
    features : sequence of str or None, default=None
        The feature columns, which must hold numbers or categories. None: every other column; each
        must have a name.
    ignore : sequence of str, default=()
        Columns to leave out: titles, dates, ids.
    categories : "auto", "ordinal", sequence of str or None, default="auto"
        "auto": columns of texts and of categories become features of categories, of which a model
        remembers the values. "ordinal": a category becomes a number, its position, from 0, in the
        order that the column's type declares. pandas and pyarrow have ordered categories, polars
        has Enum. The same type gives the same numbers in every table. Other categories are as with
        "auto". A sequence: as "auto", and these columns are categories, though they hold numbers,
        such as the number of a shop. None: refuse all texts and categories.
    column_description : path or None, default=None
        CatBoost's description (`.cd`) of a text table. It names the columns of the query, the
        label, the document id and the features, so `qid`, `document_id` and the name of the label
        are ignored. None: use `train.cd` if it lies beside `train.tsv`.
    optional : sequence of str, default=()
        Columns that the table may lack: of labels, of document ids, of categories, or to leave
        out.

    Notes
    -----
    A column `vector` of lists of numbers, all of the same length, holds the documents' vectors:
    they stand beside the features. `ignore=["vector"]` leaves them out.

    Warns
    -----
    ColumnWarning
        If a column is probably no feature, and `features` does not name it: whole numbers that
        count up with the rows or are different in nearly every row, or values that order the
        documents of at least 90 % of the queries exactly as the label does.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"qid": ["a", "a"], "label": [0, 1], "bm25": [7.5, 9.0]})
    >>> read_table(table).feature_names
    ('bm25',)

    >>> size = pd.CategoricalDtype(["small", "large"], ordered=True)
    >>> table["size"] = pd.Series(["large", "small"], dtype=size)
    >>> table["title"] = ["Tea", "Coffee"]
    >>> read_table(table, ignore=["title"], categories="ordinal").features
    array([[7.5, 1. ],
           [9. , 0. ]])
    >>> read_table(table, ignore=["title"]).categories
    {'size': ('large', 'small')}
    """
    if isinstance(categories, str) and categories not in ("auto", "ordinal"):
        raise ValueError(
            f"The 'categories' argument of read_table must be 'auto', 'ordinal', a sequence of "
            f"columns or None. Got {categories!r} instead."
        )
    declared = [] if categories is None or isinstance(categories, str) else list(categories)
    for name, value in (("features", features), ("ignore", ignore)):
        if isinstance(value, str):
            raise ValueError(
                f"The {name!r} argument of read_table must be a sequence of columns. "
                f"Got the string {value!r} instead."
            )
    source, described, by_name = "", None, features is not None
    if isinstance(table, str | PathLike):
        path, source = Path(table), f"{table}: "
        column_description = column_description or descriptions.beside(path)
        if column_description is not None:
            described = describe(path, Path(column_description))
            qid, document_id = described.qid, described.document_id
            label, features = described.chosen(label, features, ignore)
            declared += [name for name in described.categories if name in features]
        texts = [name for name in (qid, document_id or _IDS) if name not in (features or ())]
        table = read_file(path, [*texts, *declared], described)
    elif column_description is not None:
        raise ValueError(
            "The 'column_description' argument of read_table describes a file. "
            f"Got a {type(table).__name__} instead."
        )
    frame = as_frame(table, source)
    absent = set(optional) - set(frame.columns)
    label, document_id = (None if name in absent else name for name in (label, document_id))
    ignore = [name for name in ignore if name not in absent]
    declared = [name for name in declared if name not in absent]
    if document_id is None and _IDS not in (qid, label, *ignore, *(features or ())):
        document_id = _IDS if _IDS in frame.columns else None
    vector = VECTOR if _holds_vectors(frame, features, ignore) else None
    if features is None:
        others = (qid, label, document_id, vector, *ignore)
        features = [name for name in frame.columns if name not in others]
        check_named(features, source)
    roles = {"qid": qid, "label": label, "document_id": document_id}
    _check_columns(frame, roles, features, ignore, source)
    if absent_categories := [name for name in declared if name not in features]:
        raise AdvisedError(
            f"{source}the column {absent_categories[0]!r} is not a feature, and",
            "the 'categories' argument names it.",
            "--categories names it.",
        )
    if source and is_text(path, described):
        _check_cells(path, frame, [f for f in features if f not in declared], label, described)
    columns = as_features(
        frame,
        features,
        ordinal=categories == "ordinal",
        refuse=categories is None,
        declared=declared,
        source=source,
    )
    if label is not None and frame.schema[label] in (nw.Categorical, nw.Enum):
        raise ValueError(f"{source}the column {label!r} must hold numbers. It holds categories.")
    try:
        dataset = RankingDataset.from_arrays(
            columns.to_native(),
            None if label is None else frame[label].to_native(),
            _ids(frame[qid], source),
            document_ids=None if document_id is None else _ids(frame[document_id], source),
            feature_names=features,
            categories=declared,
            vectors=None if vector is None else _vectors(frame[vector]),
        )
    except ValueError as error:
        raise ValueError(f"{source}{error}") from None
    if not by_name:
        warn_of_suspects(dataset, source=source)
    used = {qid, label, document_id, vector, *features}
    left_out = tuple(name for name in frame.columns if name not in used)
    record = ColumnRecord(left_out=left_out, ordinal=categories == "ordinal")
    # A file was read with pyarrow, which its user may never have heard of.
    library = None if source else dataset.frame_library
    return dataset.replaced(frame_library=library, column_record=record)


def _holds_vectors(
    frame: nw.DataFrame[Any], features: Sequence[str] | None, ignore: Sequence[str]
) -> bool:
    """Whether the column `vector` holds lists, and is neither left out nor a feature."""
    if VECTOR not in frame.columns or VECTOR in ignore or VECTOR in (features or ()):
        return False
    column = frame[VECTOR]
    if isinstance(column.dtype, nw.List | nw.Array):
        return True
    # pandas has arrays, or lists, as objects.
    return column.dtype == nw.Object and isinstance(column[0], list | tuple | np.ndarray)


def _vectors(column: nw.Series[Any]) -> Array:
    """The vectors in a column of lists, one row each."""
    owners = range(1, len(column) + 1)
    native = column.to_native()
    if hasattr(native, "combine_chunks"):
        check_lists(native.type, column.name)
        return table_of_lists(native.combine_chunks(), column.name, [f"row {n}" for n in owners])
    rows = column.to_list()
    for row, vector in enumerate(rows):
        if vector is None:
            raise ValueError(f"the vector of 'row {row + 1}' is missing.")
    return stacked(rows, [f"row {n}" for n in owners])


def _check_columns(
    frame: nw.DataFrame[Any],
    roles: dict[str, str | None],
    features: Sequence[str],
    ignore: Sequence[str],
    source: str,
) -> None:
    """Refuse columns that do not exist, or are both used and ignored."""
    columns = frame.columns
    named = {name: role for role, name in roles.items() if name is not None}
    for name in [*named, *features, *ignore]:
        if name not in columns:
            listed = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
            fault = f"{source}there is no column {name!r}. Its columns are {listed}."
            if name not in named:
                raise ValueError(fault)
            option = named[name].replace("_", "-")
            what = f"the column of {'labels' if option == 'label' else 'ids'}"
            raise AdvisedError(
                fault, f"Name {what} with {named[name]}='...'.", f"Name {what} with --{option}."
            )
    if twice := [name for name in ignore if name in named or name in features]:
        used = f"as {named[twice[0]]!r}" if twice[0] in named else "as a feature"
        raise ValueError(f"{source}the column {twice[0]!r} is ignored and used {used}.")
    if not features:
        raise ValueError(
            f"{source}there are no feature columns: the table has only {', '.join(named)}."
        )


def _check_cells(
    path: Path,
    frame: nw.DataFrame[Any],
    features: Sequence[str],
    label: str | None,
    described: ColumnDescription | None,
) -> None:
    """Refuse cells that are no numbers in columns of numbers.

    These are labels that are no numbers, hexadecimal numbers, which pyarrow reads as integers, and
    single words in a column of features that is mostly numbers. Features that are true or false
    are 1 or 0, as in a DataFrame. `features` are those that are not declared as categories.
    """
    from pyarrow import ArrowException, compute, csv

    wrong, types = [], frame.schema
    if label is not None and not (types[label].is_numeric() or frame[label].is_null().all()):
        wrong = [label]
    for name in features:
        if types[name] == nw.String:
            cells = frame[name].to_native()
            n_numbers = compute.sum(compute.match_substring_regex(cells, NUMBER_CELL)).as_py() or 0
            if 2 * n_numbers >= len(cells) - cells.null_count > 0:
                place = false_number(path, frame.columns, [name], described)
                raise AdvisedError(
                    f"{place} If they are categories,",
                    f"pass categories=[{name!r}].",
                    f"add --categories {name}.",
                )
    integers = [name for name in (*features, label) if name and types[name].is_integer()]
    if integers and mentions_hexadecimals(path):
        options = csv_options(path, dict.fromkeys(integers, "double"), described)
        options["convert_options"].include_columns = integers
        try:
            csv.read_csv(path, **options)
        except ArrowException:
            wrong += integers
    if wrong:
        raise ValueError(false_number(path, frame.columns, wrong, described))


def false_number(
    path: Path, names: Sequence[str], columns: Sequence[str], described: ColumnDescription | None
) -> str:
    """The text of the error for the first cell of these columns that holds no number."""
    has_header = described is None or described.has_header
    return no_number(path, names, columns, delimiter=_delimiter(path), has_header=has_header)


def is_text(path: Path, described: ColumnDescription | None) -> bool:
    """Whether a table is text: by its name, or because it has a description."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix in (".csv", ".tsv") or described is not None


def describe(path: Path, description: Path) -> ColumnDescription:
    """Read the description of a text table that has at least one line."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file.")
    if path.suffix.lower() in (".parquet", ".arrow", ".feather"):
        raise ValueError(f"{path}: only text tables, such as CSV, take a column description.")
    with damage_named(path), open_binary(path) as file:
        line = file.readline(1 << 24).decode("utf-8", "replace").removeprefix("\ufeff")
    cells = next(text_tables.reader([line], delimiter=_delimiter(path)), [])
    if not cells:
        raise ValueError(f"{path}: the first line is empty. It needs a cell for each column.")
    return descriptions.read_description(description, cells)


def _delimiter(path: Path) -> str:
    return "," if path.name.lower().removesuffix(".gz").endswith(".csv") else "\t"


def as_frame(table: Any, source: str = "") -> nw.DataFrame[Any]:
    """A DataFrame of any library, behind one interface. Errors begin with `source`."""
    if hasattr(table, "collect"):
        raise ValueError(f"{source}the table is a lazy frame. Call its collect() first.")
    try:
        frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        names = " ".join(str(error).split())
        raise ValueError(f"{source}column names must be unique: {names}") from None
    except TypeError:
        raise ValueError(
            f"{source}the table must be a DataFrame or the path of a file. "
            f"Got {type(table).__name__} instead."
        ) from None
    for name in frame.columns:
        if not isinstance(name, str):
            raise ValueError(f"{source}column names must be strings. Got {name!r} instead.")
    return frame


def _ids(column: nw.Series[Any], source: str) -> Any:
    """Ids of a file as they are written: integers only if all are written as integers."""
    if source and column.dtype in (nw.String, nw.Categorical):
        column = column.cast(nw.String)
        if column.null_count():
            raise ValueError(
                f"the column {column.name!r} must not have missing values. Row "
                f"{column.is_null().to_list().index(True) + 1} has one. In a CSV file an empty "
                f"cell and words like NA and NULL are missing values; in quotes they are text."
            )
        return natural_ids(column.to_list())
    return column.to_native()


def read_file(
    path: Path, text_columns: Sequence[str] = (), described: ColumnDescription | None = None
) -> Any:
    """A table file as a pyarrow table.

    `text_columns` of a CSV file stay text: an id may have leading zeros. As in all columns, an
    empty cell or a word like NA without quotes is a missing value. A file with a description is
    text, whatever its name.
    """
    try:
        import pyarrow
        from pyarrow import csv, feather, parquet
    except ImportError:
        raise ImportError(
            f"{path}: reading table files needs pyarrow. Install it with "
            f"pip install 'localrank[tables]'."
        ) from None
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file.")
    if not path.is_file():
        raise ValueError(f"{path}: a table must be a regular file, not a folder or a device.")
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    try:
        if suffix == ".parquet":
            return named(parquet.read_table(path))
        if suffix in (".arrow", ".feather"):
            return named(feather.read_table(path))
        if is_text(path, described):
            types = dict.fromkeys(text_columns, pyarrow.string())
            return named(csv.read_csv(path, **csv_options(path, types, described)))
    except UnicodeDecodeError:
        raise ValueError(f"{path}:1: the names of the columns are not text in UTF-8.") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    raise ValueError(
        f"{path}: a table must end in .parquet, .csv, .tsv, .arrow or .feather. "
        f"For LETOR files use read_letor."
    )


def named(table: Any) -> Any:
    """The table of a file with a name for each column, also for those that have none there."""
    return table.rename_columns(names_in_file(table.column_names))


def csv_options(
    path: Path, types: dict[str, Any], described: ColumnDescription | None
) -> dict[str, Any]:
    """Options for pyarrow to read a text table, with the types of some columns."""
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(
            column_names=described and described.names,
            skip_rows=int(described is not None and described.has_header),
        ),
        "parse_options": csv.ParseOptions(delimiter=_delimiter(path)),
        "convert_options": csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    }


def write_table(dataset: RankingDataset, path: str | PathLike[str]) -> None:
    """Write a dataset as a Parquet file, its documents in input order.

    The columns are those of `RankingDataset.to_frame`, and `vector` if documents have vectors;
    vectors of queries are not written. A file of that name is replaced once the new one is
    complete. Needs pyarrow.

    Parameters
    ----------
    dataset : RankingDataset
    path : path

    Examples
    --------
    >>> import tempfile
    >>> dataset = RankingDataset.from_arrays([[3.0], [1.0]], [1, 0], [7, 7], feature_names=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(dataset, f"{folder}/train.parquet")
    ...     read_table(f"{folder}/train.parquet").feature_names
    ('bm25',)
    """
    check_writes("write_table(dataset, path)", dataset, path)
    parquet = parquet_files()
    table = dataset.to_frame("pyarrow")
    if dataset._vectors is not None:
        table = table.append_column(VECTOR, _column_of(dataset._vectors, dataset, table))
    with atomic_write(path) as file:
        parquet.write_table(table, file, compression="zstd")


def _column_of(vectors: RowVectors, dataset: RankingDataset, table: Any) -> Any:
    """Vectors as a column of lists of fixed size, in input order."""
    import pyarrow

    if VECTOR in table.column_names:
        raise ValueError(
            f"The feature {VECTOR!r} has the name of the column of vectors. "
            f"Rename it: dataset.with_features(dataset.features, names)."
        )
    rows = dataset.in_input_order(vectors.array())
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), vectors.width)


def parquet_files() -> Any:
    """The module for Parquet; without pyarrow, an error that says what to install."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Writing Parquet needs pyarrow. Install it with pip install 'localrank[tables]'."
        ) from None
    return parquet
