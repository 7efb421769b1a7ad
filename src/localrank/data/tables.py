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
        pyarrow or any other library that narwhals knows.
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
    frame = nw.from_native(table, eager_only=True)
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


def _ids(column: nw.Series[Any], source: str) -> Any:
    """Ids of a file as they are written: integers only where all of them print as such."""
    if source and column.dtype == nw.String and column.null_count() == 0:
        return natural_ids(column.to_list())
    return column.to_native()


def read_file(path: Path, text_columns: Sequence[str] = ()) -> Any:
    """A table file as a pyarrow table.

    The given columns of a CSV file are not taken for numbers: an id may have leading zeros.
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
                    column_types=dict.fromkeys(text_columns, pyarrow.string())
                ),
            )
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    raise ValueError(
        f"{path}: a table must end in .parquet, .csv, .tsv, .arrow or .feather. "
        f"For LETOR files use read_letor."
    )
