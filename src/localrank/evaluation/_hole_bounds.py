"""How far documents that nobody judged could move a measure, and the difference of two runs.

An assignment gives each hole (a document that nobody judged) a grade. Queries do not share
documents, so the bounds of a mean are the means of the bounds of each query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.data import RankingDataset
from localrank.evaluation._places import Places
from localrank.measures import Measure


@dataclass(frozen=True, eq=False)
class HoleBounds(ABC):
    """Bounds of a measure over all grades that the holes could have.

    Attributes
    ----------
    dataset : RankingDataset
        Labels below 0: holes.
    measure : Measure
    grades : ndarray
        The grades that a hole may have besides 0, ascending.
    """

    dataset: RankingDataset
    measure: Measure
    grades: Floats

    @abstractmethod
    def is_exact(self, a: Places, b: Places) -> bool:
        """Whether assignments reach the bounds of the difference of two runs."""

    @abstractmethod
    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        """The smallest and the largest value of each query."""

    @abstractmethod
    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        """Bounds of the first run's value minus the second's, for each query."""

    @abstractmethod
    def if_relevant(self, places: Places) -> Floats:
        """For the row of each hole, its query's value if that hole alone had the highest grade."""

    @cached_property
    def is_hole(self) -> Flags:
        """Whether nobody judged a row."""
        flags: Flags = self.dataset.labels < 0
        return flags

    def per_query(self, values: Floats) -> Floats:
        """Sums over the rows of each query."""
        return np.add.reduceat(values, self.dataset.offsets[:-1])
