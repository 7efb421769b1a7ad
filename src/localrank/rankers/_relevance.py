"""The base class of rankers that split documents into relevant and irrelevant ones."""

from __future__ import annotations

from typing import ClassVar

from localrank._base.arrays import Flags
from localrank._base.rules import Rules, number, optional
from localrank.data import RankingDataset
from localrank.rankers.base import Ranker


class RelevanceRanker(Ranker):
    """Base class of rankers that learn from queries with both relevant and irrelevant documents.

    A subclass has the parameter `relevance_level`, the smallest relevant label. None: any label
    above 0 is relevant.
    """

    _parameters: ClassVar[Rules] = {"relevance_level": optional(number(above=0))}

    relevance_level: float | None

    def learns_from(self, dataset: RankingDataset) -> Flags:
        n_relevant = dataset.count(self._relevant(dataset))
        return (n_relevant > 0) & (n_relevant < dataset.query_sizes)

    def _relevant(self, dataset: RankingDataset) -> Flags:
        level = self.relevance_level
        return dataset.labels > 0 if level is None else dataset.labels >= level

    def _lesson(self) -> str:
        level = self.relevance_level
        least = "above 0" if level is None else f"of {level:g} or more"
        return (
            f"both relevant documents (a label {least}, by relevance_level={level!r}) and "
            f"irrelevant ones"
        )
