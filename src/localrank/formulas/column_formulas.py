"""Formulas on columns that are made of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.formulas.base import Formula

Kind = Literal[
    "feature",
    "product",
    "deviation",
    "percentile",
    "robust-deviation",
    "min-max",
    "min-max-zero",
    "rank-difference",
    "aggregate",
    "cut-deviation",
    "centred-percentile",
    "standard-aggregate",
    "filled",
    "missing",
]
# Kinds of columns that depend on one document alone.
BY_DOCUMENT = ("feature", "product", "missing")


@dataclass(frozen=True)
class Column:
    """How a column is made.

    Parameters
    ----------
    kind : str
        One of these:

        - "feature": the feature itself.
        - "product": the product of two features.
        - "deviation", "percentile", "robust-deviation", "min-max" and "rank-difference": the parts
          z, p, b, m and d of `QueryCoordinates`.
        - "aggregate": one of the nine aggregates of `QueryCoordinates`.
        - "min-max-zero": scaled to [0, 1] within the list, and 0 if all values are equal, as by
          rankers with `scaling="query"`.
        - "cut-deviation", "centred-percentile" and "standard-aggregate": the inputs of
          `ListwiseNet`. They are z cut at ±4, (p - 1/2) √12, and an aggregate less its mean over
          the list, divided by its standard deviation there.
        - "filled": the feature, or the median of the list if it is missing.
        - "missing": 1 if the feature is missing, else 0.
    feature : int
        Number of the feature, or of the aggregate.
    other : int, default=-1
        Number of the second feature of a product.

    Examples
    --------
    >>> Column("product", 0, 3)
    Column(kind='product', feature=0, other=3)
    """

    kind: Kind
    feature: int
    other: int = -1


@dataclass(frozen=True, eq=False)
class OnColumns(Formula):
    """A formula on columns that are made of the features.

    Parameters
    ----------
    columns : tuple of Column
        How each column is made.
    term : Formula
        The formula on the columns.
    make : callable
        Function that turns a dataset of features into one of columns: the ranker's own code.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import Quadratic, RankSVM
    >>> dataset, _ = make_queries(60, n_features=3, n_types=2)
    >>> formula = Quadratic(RankSVM()).fit(dataset).formula()
    >>> len(formula.columns), formula.columns[-1], formula.looks_at_list
    (9, Column(kind='product', feature=1, other=2), False)
    """

    columns: tuple[Column, ...]
    term: Formula
    make: Callable[[RankingDataset], RankingDataset]

    @property
    def members(self) -> tuple[Formula, ...]:
        return (self.term,)

    @property
    def looks_at_list(self) -> bool:
        kinds = {column.kind for column in self.columns}
        return self.term.looks_at_list or not kinds <= set(BY_DOCUMENT)

    def score(self, dataset: RankingDataset) -> Floats:
        return self.term.score(self.make(dataset))
