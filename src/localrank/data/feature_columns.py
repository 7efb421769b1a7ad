"""Features by number or name."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.data.dataset import RankingDataset


def column_of(dataset: RankingDataset, value: Any) -> int:
    """The column of a feature given by number or name, negative where there is none.

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
    """What a feature may be given by, for an error."""
    columns = f"a column from 0 to {dataset.n_features - 1}"
    return f"{columns} or the name of one" if dataset.feature_names else columns
