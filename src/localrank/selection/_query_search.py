"""The base of selectors that search for training queries near a query."""

from __future__ import annotations

from typing import ClassVar, Literal

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.rules import Rule, Rules, check_together, integers, optional
from localrank.grouping.base import Groups
from localrank.selection.base import Selector
from localrank.selection.cells import Cells
from localrank.selection.lsh import LSH

Index = Literal["auto", "exact", "lsh", "cells"] | LSH | Cells

# At most this many training queries are searched exactly. Public collections have fewer.
MAX_EXACT = 20_000


class QuerySearch(Selector):
    """Finds near training queries by all distances, by hashing or by cells.

    A selector of this kind has the parameter `index`. "auto" computes all distances up to 20,000
    training queries, and searches in cells if there are more.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH, Cells or None
        The fitted index. None: exact search.
    """

    index: Index
    index_: LSH | Cells | None

    _parameters: ClassVar[Rules] = {
        "index": Rule(
            lambda index, _: (
                isinstance(index, LSH | Cells)
                or (isinstance(index, str) and index in ("auto", "exact", "lsh", "cells"))
            ),
            "'auto', 'exact', 'lsh', 'cells', an LSH(...) or Cells(...)",
        ),
    }

    _fitted: ClassVar[Rules] = {
        "home_": integers("n_queries", below="n_groups"),
        "index_": optional(
            Rule(lambda value, _: isinstance(value, LSH | Cells), "an LSH or Cells")
        ),
    }

    def _fit(self, groups: Groups) -> None:
        self.home_, self.index_ = groups.home, self._chosen_index()
        if isinstance(self.index_, LSH):
            self.index_.fit(self.descriptions_)
        elif self.index_ is not None:
            self.index_.fit(self.representation_, self.descriptions_)

    def _chosen_index(self) -> LSH | Cells | None:
        if isinstance(self.index, LSH | Cells):
            return clone(self.index)
        index = self.index
        if index == "auto":
            index = "cells" if len(self.descriptions_) > MAX_EXACT else "exact"
        return {"exact": None, "lsh": LSH(), "cells": Cells()}[index]

    def _check_fitted(self) -> None:
        n_queries, known = len(self.descriptions_), True
        if isinstance(self.index_, LSH):
            known = self.index_.descriptions_.shape == self.descriptions_.shape
        elif self.index_ is not None:
            known = len(self.index_.cells_) == n_queries
        check_together(self, holds=known and len(self.home_) == n_queries)

    def _no_router(self) -> str:
        n_queries = len(self.descriptions_)
        return f"{type(self).__name__} compares a list with {n_queries:,} training queries"

    def nearest(self, descriptions: Array) -> Integers:
        """The position of the training query nearest to each description."""
        if self.index_ is None:
            return self.representation_.nearest(descriptions, self.descriptions_)
        return self.neighbours(descriptions, 1)[0][:, 0]

    def neighbours(self, descriptions: Array, k: int) -> tuple[Integers, Floats]:
        """Positions of the k nearest training queries, ascending, and their distances."""
        if isinstance(self.index_, LSH):
            return self.index_.neighbours(descriptions, k)
        if self.index_ is not None:
            return self.index_.neighbours(self.representation_, self.descriptions_, descriptions, k)
        return self.representation_.neighbours(descriptions, self.descriptions_, k)
