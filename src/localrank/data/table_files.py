"""Datasets as Parquet files."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from localrank.data.atomic import atomic_write
from localrank.data.dataset import RankingDataset
from localrank.data.deferred import gathered

COLUMNS = ("qid", "label", "document_id")


def write_table(dataset: RankingDataset, path: str | PathLike[str]) -> None:
    """Write a dataset as a Parquet file, its documents in input order.

    The columns are `qid`, `label` and `document_id`, as far as the dataset has them, then a
    column for each feature, by its name or as `feature_1`, `feature_2`, ... A file of that name is
    replaced once the new one is complete. Needs pyarrow.

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
    pyarrow, parquet = _pyarrow()
    dataset = gathered(dataset)
    names = dataset.feature_names or [f"feature_{n + 1}" for n in range(dataset.n_features)]
    if twice := [name for name in names if name in COLUMNS]:
        raise ValueError(f"A feature may not have the name of the column {twice[0]!r}.")
    rows = dataset.in_input_order(np.arange(dataset.n_documents))
    columns: dict[str, Any] = {"qid": dataset.query_ids[dataset.query_index[rows]]}
    if dataset.relevance is not None:
        columns["label"] = dataset.relevance[rows]
    if dataset.document_ids is not None:
        columns["document_id"] = dataset.document_ids[rows]
    for place, name in enumerate(names):
        columns[name] = dataset.features[rows, place]
    plain = {
        name: values.tolist() if values.dtype.kind in "UT" else values
        for name, values in columns.items()
    }
    with atomic_write(path) as file:
        parquet.write_table(pyarrow.table(plain), file, compression="zstd")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Writing Parquet needs pyarrow. Install it with pip install 'localrank[tables]'."
        ) from None
    return pyarrow, parquet
