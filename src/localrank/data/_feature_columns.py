"""Features by number or name."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank.data._parts import over_parts
from localrank.data.dataset import RankingDataset


def column_of(dataset: RankingDataset, value: Any) -> int:
    """The column of a feature that is given by number or name; negative if it does not exist.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0, 2.0]], qid=[1], feature_names=["a", "b"])
    >>> column_of(dataset, "b"), column_of(dataset, 1), column_of(dataset, "c")
    (1, 1, -1)
    """
    names = dataset.feature_names or ()
    if isinstance(value, str):
        return names.index(value) if value in names else -1
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if number and value < dataset.n_features else -1


def known_columns(dataset: RankingDataset) -> str:
    """The valid ways to give a feature, for an error message."""
    columns = f"a column from 0 to {dataset.n_features - 1}"
    return f"{columns} or the name of one" if dataset.feature_names else columns


def values_of_queries(dataset: RankingDataset, columns: Integers, role: str) -> Floats:
    """The values of some columns for each query; an error if documents of a query differ.

    Parameters
    ----------
    dataset : RankingDataset
    columns : ndarray of int
    role : str
        The role of the columns, for the error message.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[3.0, 1.0], [3.0, 2.0], [0.5, 0.0]], qid=[7, 7, 8])
    >>> values_of_queries(dataset, np.array([0]), "the category of queries")
    array([[3. ],
           [0.5]])
    """
    parts = over_parts(_one_value_each, dataset, shared=(columns, role), description="Values")
    return np.concatenate(parts)


def _one_value_each(dataset: RankingDataset, columns: Integers, role: str) -> Floats:
    # A zero may have a sign, which means nothing.
    values: Array = dataset.features[:, columns].astype(np.float64) + 0.0
    first = values[dataset.offsets[:-1]]
    before = first[dataset.query_index]
    differs = (values != before) & ~(np.isnan(values) & np.isnan(before))
    if differs.any():
        row, place = np.argwhere(differs)[0]
        query = dataset.query_ids[dataset.query_index[row]]
        raise ValueError(
            f"{dataset.feature_label(int(columns[place]))} cannot be {role}: query {query} has the "
            f"values {before[row, place]:g} and {values[row, place]:g}, and all documents of a "
            f"query must have one value."
        )
    return first
