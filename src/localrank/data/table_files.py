"""Datasets as Parquet files."""

from __future__ import annotations

from os import PathLike
from typing import Any

from localrank.data._atomic import atomic_write
from localrank.data.dataset import RankingDataset


def write_table(dataset: RankingDataset, path: str | PathLike[str]) -> None:
    """Write a dataset as a Parquet file, its documents in input order.

    The columns are those of `RankingDataset.to_frame`. A file of that name is replaced once the
    new one is complete. Needs pyarrow.

    Parameters
    ----------
    dataset : RankingDataset
    path : path

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import read_table
    >>> dataset = RankingDataset.from_arrays([[3.0], [1.0]], [1, 0], [7, 7], feature_names=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(dataset, f"{folder}/train.parquet")
    ...     read_table(f"{folder}/train.parquet").feature_names
    ('bm25',)
    """
    parquet = parquet_files()
    table = dataset.to_frame("pyarrow")
    with atomic_write(path) as file:
        parquet.write_table(table, file, compression="zstd")


def parquet_files() -> Any:
    """The module for Parquet; without pyarrow, an error that says what to install."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Writing Parquet needs pyarrow. Install it with pip install 'localrank[tables]'."
        ) from None
    return parquet
