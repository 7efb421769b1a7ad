"""Formulas of several groups of queries, and what chooses between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.formulas.base import Formula


class Router(ABC):
    """Weighs the groups of training queries for a list of documents."""

    @abstractmethod
    def weights(self, dataset: RankingDataset) -> Floats:
        """The weight of each group for each list, of shape (n_queries, n_groups)."""


@dataclass(frozen=True, eq=False)
class Routed(Formula):
    """A formula for each group of queries, weighed for each list.

    Parameters
    ----------
    router : Router
    groups : tuple of Formula
    """

    router: Router
    groups: tuple[Formula, ...]

    @property
    def members(self) -> tuple[Formula, ...]:
        return self.groups

    @property
    def looks_at_list(self) -> bool:
        return True

    def score(self, dataset: RankingDataset) -> Floats:
        weights = self.router.weights(dataset)
        total = np.zeros(dataset.n_documents)
        for shares, formula in zip(weights.T, self.groups, strict=True):
            if shares.any():
                total += shares[dataset.query_index] * formula.score(dataset)
        return total
