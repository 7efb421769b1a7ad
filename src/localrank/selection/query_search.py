"""Selectors that look for training queries near a query."""

from __future__ import annotations

from typing import ClassVar, Literal

from localrank.arrays import Array, Floats, Integers
from localrank.estimator import clone
from localrank.fitted import Kinds, check_together, integers, maybe, part
from localrank.grouping.base import Groups
from localrank.parameters import Rule, Rules
from localrank.selection.base import Selector
from localrank.selection.lsh.lsh import LSH

Index = Literal["exact", "lsh"] | LSH


class QuerySearch(Selector):
    """Finds near training queries, by all distances or by hashing.

    A selector of this kind has the parameter `index`.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH or None
        Fitted; None for the exact search.
    """

    index: Index
    index_: LSH | None

    _parameters: ClassVar[Rules] = {
        "index": Rule(
            lambda index: isinstance(index, LSH) or index in ("exact", "lsh"),
            "'exact', 'lsh' or an LSH(...)",
        ),
    }

    _fitted: ClassVar[Kinds] = {
        "home_": integers("n_queries", below="n_groups"),
        "index_": maybe(part(LSH)),
    }

    def _fit(self, groups: Groups) -> None:
        self.home_, self.index_ = groups.home, None
        if isinstance(self.index, LSH):
            self.index_ = clone(self.index)
        elif self.index == "lsh":
            self.index_ = LSH()
        if self.index_ is not None:
            self.index_.fit(self.descriptions_)

    def _check_fitted(self) -> None:
        known = self.index_ is None or self.index_.descriptions_.shape == self.descriptions_.shape
        check_together(self, holds=known and len(self.home_) == len(self.descriptions_))

    def nearest(self, descriptions: Array) -> Integers:
        """Positions of the nearest training queries, for queries with these descriptions."""
        if self.index_ is not None:
            return self.index_.nearest(descriptions)
        return self.representation_.nearest(descriptions, self.descriptions_)

    def neighbours(self, descriptions: Array, k: int) -> tuple[Integers, Floats]:
        """Positions of the k nearest training queries, ascending, and their distances."""
        if self.index_ is not None:
            return self.index_.neighbours(descriptions, k)
        return self.representation_.neighbours(descriptions, self.descriptions_, k)
