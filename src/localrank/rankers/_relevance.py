"""Documents split into relevant and irrelevant ones by the parameter `relevance_level`.

It is the smallest relevant label. None: any label above 0 is relevant.
"""

from __future__ import annotations

from localrank._base.arrays import Flags
from localrank._base.rules import number, optional
from localrank.data import RankingDataset

a_relevance_level = optional(number(above=0))


def relevant(dataset: RankingDataset, level: float | None) -> Flags:
    """Whether each document is relevant."""
    return dataset.labels > 0 if level is None else dataset.labels >= level


def has_both(dataset: RankingDataset, level: float | None) -> Flags:
    """Whether each query has both relevant and irrelevant documents."""
    n_relevant = dataset.count(relevant(dataset, level))
    return (n_relevant > 0) & (n_relevant < dataset.query_sizes)


def lesson_of_relevance(level: float | None) -> str:
    """What a query needs so that there is something to learn, for error messages."""
    least = "above 0" if level is None else f"of {level:g} or more"
    return (
        f"both relevant documents (a label {least}, by relevance_level={level!r}) and "
        f"irrelevant ones"
    )
