"""Rankers that tell relevant documents from others by a level of the labels."""

from __future__ import annotations

from typing import ClassVar

from localrank.arrays import Flags
from localrank.data import RankingDataset
from localrank.parameters import Rules, number, optional
from localrank.rankers.base import Ranker


class RelevanceRanker(Ranker):
    """Learns from queries that have both relevant documents and irrelevant ones.

    A subclass has the parameter `relevance_level`, the smallest relevant label; None is any label
    above 0.
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
