"""The base class of rankers that merge lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.data import RankingDataset
from localrank.fusion._list_columns import columns_of_lists, list_names, n_lists, trained_names
from localrank.rankers.base import Ranker


class ListRanker(Ranker):
    """Base class of rankers whose score is a sum over lists."""

    @property
    def n_lists_(self) -> int:
        """Number of lists."""
        return n_lists(trained_names(self), self.n_features_in_)

    @property
    def list_names_(self) -> tuple[str, ...] | None:
        """Names of the lists, in the order of the weights. None: the features have no names."""
        names = trained_names(self)
        return list_names(names) or names

    def learns_from(self, dataset: RankingDataset) -> Flags:
        tuned = any(_is_tuned(value) for value in self.get_params(deep=False).values())
        return super().learns_from(dataset) if tuned else np.ones(dataset.n_queries, np.bool_)

    def _by_feature(self, values: Floats, column: str) -> Floats:
        """Values of lists as values of the features: of a column of each list, 0 elsewhere."""
        table = np.zeros((len(values), self.n_features_in_))
        table[:, columns_of_lists(trained_names(self), column) or slice(None)] = values
        return table


def _is_tuned(value: Any) -> bool:
    return isinstance(value, str) and value == "tuned"
