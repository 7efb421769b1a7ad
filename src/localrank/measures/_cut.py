"""Measures of the top of a list."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank._base.rules import refuse
from localrank.measures.base import Measure, is_number


@dataclass(frozen=True, repr=False)
class CutMeasure(Measure):
    """A measure of the top `cutoff` documents of each list. None: all documents."""

    cutoff: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cutoff is None:
            return
        if not is_number(self.cutoff) or self.cutoff < 1 or self.cutoff != int(self.cutoff):
            refuse(self, "cutoff", "a positive integer or None")
        object.__setattr__(self, "cutoff", int(self.cutoff))

    @property
    def depth(self) -> int:
        """The cutoff as a number; larger than any list if there is no cutoff."""
        return self.cutoff or np.iinfo(np.int64).max

    def _among(self) -> str:
        return f" among the first {self.cutoff}" if self.cutoff else ""


@dataclass(frozen=True, repr=False)
class RelevanceMeasure(CutMeasure):
    """A measure that tells only relevant documents from others, by their labels."""

    relevance_level: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        level = self.relevance_level
        if level is None:
            return
        if not is_number(level) or level <= 0:
            refuse(self, "relevance_level", "a number above 0 or None")
        object.__setattr__(self, "relevance_level", float(level))

    @property
    def threshold(self) -> float:
        """The smallest relevant label."""
        if self.relevance_level is None:
            return float(np.finfo(np.float64).tiny)
        return self.relevance_level

    def _relevant(self) -> str:
        if self.relevance_level is None:
            return "Relevant: label > 0."
        return f"Relevant: label >= {self.relevance_level:g}."
