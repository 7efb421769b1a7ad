"""Formulas on columns that are made of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from localrank.arrays import Floats
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
# What looks at one document alone.
BY_DOCUMENT = ("feature", "product", "missing")


@dataclass(frozen=True)
class Column:
    """How a column is made.

    Parameters
    ----------
    kind : str
        "feature": as it is; "product": of two features; "deviation", "percentile",
        "robust-deviation", "min-max" and "rank-difference": z, p, b, m and d of
        `QueryCoordinates`; "aggregate": one of its nine aggregates; "min-max-zero": from 0 to 1
        within the list, and 0 where all values are equal, as of rankers with
        `scaling="query"`; "cut-deviation", "centred-percentile" and "standard-aggregate": the
        inputs of `ListwiseNet`, z up to ±4, (p - 1/2) √12, and an aggregate less its mean over
        the list, divided by its deviation there; "filled": the feature, or the median of the
        list where it is missing; "missing": 1 where the feature is missing, else 0.
    feature : int
        Number of the feature; of an aggregate its own number.
    other : int, default=-1
        Number of the other feature of a product.

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
    """Another formula, on columns made of the features.

    Parameters
    ----------
    columns : tuple of Column
    term : Formula
        Of the columns.
    make : callable
        Makes a dataset with the columns of one with the features: the ranker's own code.

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
