"""Tables with a query column: Parquet, CSV and Arrow files, and DataFrames of any library."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from localrank.data.checks import natural_ids
from localrank.data.dataset import RankingDataset


def read_table(
    table: Any,
    *,
    qid: str = "qid",
    label: str | None = "label",
    document_id: str | None = None,
    features: Sequence[str] | None = None,
) -> RankingDataset:
    """Read a table with one row per document.

    Parameters
    ----------
    table : path or DataFrame
        A Parquet (`.parquet`), CSV (`.csv`, `.csv.gz`, `.tsv`) or Arrow (`.arrow`, `.feather`)
        file, which need the extra `localrank[tables]`, or a DataFrame of pandas, polars,
        pyarrow or any other library that narwhals knows. In a CSV file, an id that is empty, `NA`
        or another common mark of a missing value is refused; in quotes it is text.
    qid : str, default="qid"
        The column of query ids.
    label : str or None, default="label"
        The column of relevance labels; None for a table without labels.
    document_id : str or None, default=None
        The column of document ids.
    features : sequence of str or None, default=None
        The feature columns; by default every other column, which must then hold numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"qid": ["a", "a"], "label": [0, 1], "bm25": [7.5, 9.0]})
    >>> read_table(table).feature_names
    ('bm25',)
    """
    source = ""
    if isinstance(table, str | PathLike):
        source = f"{table}: "
        table = read_file(Path(table), text_columns=[qid, *([document_id] if document_id else [])])
    frame = as_frame(table, source)
    special = [name for name in (qid, label, document_id) if name is not None]
    if features is None:
        features = [name for name in frame.columns if name not in special]
    for name in [*special, *features]:
        if name not in frame.columns:
            raise ValueError(
                f"{source}there is no column {name!r}. Its columns are "
                f"{', '.join(map(repr, frame.columns[:20]))}"
                f"{', ...' if len(frame.columns) > 20 else ''}."
            )
    if not features:
        raise ValueError(f"{source}there are no feature columns beside {', '.join(special)}.")
    try:
        return RankingDataset.from_arrays(
            frame.select(features).to_native(),
            None if label is None else frame[label].to_native(),
            _ids(frame[qid], source),
            document_ids=None if document_id is None else _ids(frame[document_id], source),
        )
    except ValueError as error:
        raise ValueError(f"{source}{error}") from None


def as_frame(table: Any, source: str = "") -> nw.DataFrame[Any]:
    """A DataFrame of any library behind one interface; errors begin with the source."""
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
    """Ids of a file as they are written: integers only where all of them print as such."""
    if source and column.dtype == nw.String:
        if column.null_count():
            raise ValueError(
                f"the column {column.name!r} must not have missing values. Row "
                f"{column.is_null().to_list().index(True) + 1} has one. In a CSV file an empty "
                f"cell and words like NA and NULL are missing values; in quotes they are text."
            )
        return natural_ids(column.to_list())
    return column.to_native()


def read_file(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """A table file as a pyarrow table.

    The given columns of a CSV file are not taken for numbers: an id may have leading zeros. They
    are missing where the cell is empty or says so without quotes, as in all columns.
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
        raise ValueError(f"{path}: not a regular file, which a table must be.")
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    try:
        if suffix == ".parquet":
            return parquet.read_table(path)
        if suffix in (".arrow", ".feather"):
            return feather.read_table(path)
        if suffix in (".csv", ".tsv"):
            return csv.read_csv(
                path,
                parse_options=csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ","),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(text_columns, pyarrow.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    raise ValueError(
        f"{path}: a table must end in .parquet, .csv, .tsv, .arrow or .feather. "
        f"For LETOR files use read_letor."
    )
