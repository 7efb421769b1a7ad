"""The base class of all formulas, and the error of what cannot be exported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from localrank._base.arrays import Floats
from localrank.data import RankingDataset


class NotExportable(ValueError):  # noqa: N818 - says what the model is
    """Raised if a target cannot compute a model or step exactly. Says what can be exported.

    Parameters
    ----------
    what : str
        The model or step that cannot be exported.
    reason : str
        Why not: a clause without a full stop.
    instead : str
        The nearest thing that can be exported: a sentence.

    Examples
    --------
    >>> raise NotExportable("DuhKirchhoff", "it trains a model for each query", "Use RankSVM.")
    Traceback (most recent call last):
    localrank.formulas.base.NotExportable: DuhKirchhoff cannot be exported: it trains a model for
    each query. Use RankSVM.
    """

    def __init__(self, what: str, reason: str, instead: str) -> None:
        super().__init__(f"{what} cannot be exported: {reason}. {instead}")
        self.what = what
        self.reason = reason
        self.instead = instead


class Formula(ABC):
    """The score of a document, from its features and maybe those of its list.

    A formula is a tree of steps. Exporters read the steps, and must reproduce `score`.
    """

    @property
    def members(self) -> tuple[Formula, ...]:
        """The formulas that this one is made of."""
        return ()

    @property
    def looks_at_list(self) -> bool:
        """Whether a document's score depends on the other documents of its list."""
        return any(member.looks_at_list for member in self.members)

    @abstractmethod
    def score(self, dataset: RankingDataset) -> Floats:
        """One score per row of the dataset, in double precision."""

    def walk(self) -> Iterator[Formula]:
        """The formula itself and all formulas inside it."""
        yield self
        for member in self.members:
            yield from member.walk()
