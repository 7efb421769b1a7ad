"""The steps that formulas are made of.

A step depends on one document alone (`Linear`, `TreeSum`, `Net`), or on other steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.formulas.base import Formula
from localrank.formulas.routers import Router
from localrank.trees import Trees


@dataclass(frozen=True, eq=False)
class Linear(Formula):
    """A weighted sum of the features.

    Features of weight 0 do not count, even if they are missing.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
    constant : float, default=0.0

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0, 2.0], [3.0, 4.0]], qid=[1, 1])
    >>> Linear(np.array([10.0, 1.0]), 0.5).score(dataset)
    array([12.5, 34.5])
    """

    weights: Floats
    constant: float = 0.0

    def score(self, dataset: RankingDataset) -> Floats:
        features = dataset.features
        if dataset.has_missing:
            features = np.where(self.weights == 0, 0.0, features)
        weights = read_only(self.weights, np.float64)
        scores: Floats = projections(read_only(features, np.float64), weights) + self.constant
        return scores


@dataclass(frozen=True, eq=False)
class TreeSum(Formula):
    """A sum of regression trees.

    Parameters
    ----------
    trees : Trees
        The trees. A document goes left if its value is at most the threshold, compared in double
        precision.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> LambdaMART(20).fit(dataset).formula().trees.n_trees
    20
    """

    trees: Trees

    def score(self, dataset: RankingDataset) -> Floats:
        return self.trees.score(dataset.features)


@dataclass(frozen=True, eq=False)
class Net(Formula):
    """A net with one hidden layer and a linear skip.

    Let v be the features minus `mean`, divided by `scale`, and cut at ±`most`. The score is
    output · max(hidden v + bias, 0) + skip · v.

    Parameters
    ----------
    hidden : ndarray of shape (n_units, n_features)
    bias, output : ndarray of shape (n_units,)
    skip : ndarray of shape (n_features,)
    mean, scale : ndarray of shape (n_features,)
    most : float

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [9.0]], qid=[1, 1])
    >>> one = np.ones(1)
    >>> Net(one[:, None], -one, 2 * one, one, mean=one, scale=2 * one, most=3.0).score(dataset)
    array([0., 7.])
    """

    hidden: Array
    bias: Array
    output: Array
    skip: Array
    mean: Floats
    scale: Floats
    most: float

    def score(self, dataset: RankingDataset) -> Floats:
        inputs = np.clip((dataset.features - self.mean) / self.scale, -self.most, self.most)
        inputs = read_only(inputs, np.float64)
        # Not by BLAS, which rounds a row by its position: equal documents must score the same.
        scores = projections(inputs, read_only(self.skip, np.float64))
        for weights, bias, output in zip(self.hidden, self.bias, self.output, strict=True):
            unit = projections(inputs, read_only(weights, np.float64)) + float(bias)
            scores = scores + float(output) * np.maximum(unit, 0.0)
        return scores


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
          `ListwiseNet`. They are z cut at ±4, (p - 1/2) √12, and an aggregate minus its mean over
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


@dataclass(frozen=True, eq=False)
class WeightedSum(Formula):
    """A weighted sum of other formulas.

    Parameters
    ----------
    terms : tuple of Formula
    weights : ndarray of shape (n_terms,)
    constant : float, default=0.0

    Examples
    --------
    >>> from localrank.formulas import Linear
    >>> dataset = RankingDataset.from_arrays([[1.0], [3.0]], qid=[1, 1])
    >>> one = Linear(np.ones(1))
    >>> WeightedSum((one, Standardised(one)), np.array([2.0, 10.0]), 0.5).score(dataset)
    array([-7.5, 16.5])
    """

    terms: tuple[Formula, ...]
    weights: Floats
    constant: float = 0.0

    @property
    def members(self) -> tuple[Formula, ...]:
        return self.terms

    def score(self, dataset: RankingDataset) -> Floats:
        total = np.full(dataset.n_documents, self.constant)
        for weight, term in zip(self.weights, self.terms, strict=True):
            total += weight * term.score(dataset)
        return total


@dataclass(frozen=True, eq=False)
class Standardised(Formula):
    """Scores of another formula, standardised within the list: mean 0, standard deviation 1.

    They are 0 if all documents of the list have the same score.

    Parameters
    ----------
    term : Formula
        The formula whose scores are standardised.

    Examples
    --------
    >>> from localrank.formulas import Linear
    >>> dataset = RankingDataset.from_arrays([[1.0], [3.0], [8.0]], qid=[1, 1, 2])
    >>> Standardised(Linear(np.ones(1))).score(dataset)
    array([-1.,  1.,  0.])
    """

    term: Formula

    @property
    def members(self) -> tuple[Formula, ...]:
        return (self.term,)

    @property
    def looks_at_list(self) -> bool:
        return True

    def score(self, dataset: RankingDataset) -> Floats:
        return ZScore().aggregate_rows(dataset, self.term.score(dataset)[None])


@dataclass(frozen=True, eq=False)
class Routed(Formula):
    """A formula for each group of queries, weighed for each list.

    Parameters
    ----------
    router : Router
    groups : tuple of Formula
    standardises : bool, default=False
        Whether scores are standardised within the list first, as by `Standardised`. This applies
        only to lists in which several groups weigh.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import pca_queries
    >>> dataset, _ = make_queries(60)
    >>> ranker = pca_queries(3).fit(dataset)
    >>> formula = ranker.formula()
    >>> [type(group).__name__ for group in formula.groups]
    ['Linear', 'Linear', 'Linear']
    >>> bool(np.allclose(formula.score(dataset), ranker.predict(dataset)))
    True
    """

    router: Router
    groups: tuple[Formula, ...]
    standardises: bool = False

    @property
    def members(self) -> tuple[Formula, ...]:
        return self.groups

    @property
    def looks_at_list(self) -> bool:
        return True

    def score(self, dataset: RankingDataset) -> Floats:
        weights = self.router.weights(dataset)
        lists = np.zeros((len(self.groups), dataset.n_documents))
        for scores, shares, formula in zip(lists, weights.T, self.groups, strict=True):
            if shares.any():
                scores[:] = formula.score(dataset)
        return routed_scores(dataset, weights, lists, standardises=self.standardises)


def routed_scores(
    dataset: RankingDataset, weights: Floats, lists: Floats, *, standardises: bool
) -> Floats:
    """One score per row, from the scores of each group.

    Parameters
    ----------
    dataset : RankingDataset
    weights : ndarray of shape (n_queries, n_groups)
    lists : ndarray of shape (n_groups, n_documents)
    standardises : bool
        Whether scores are standardised first, in lists in which several groups weigh.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "b"])
    >>> weights = np.array([[0.5, 0.5], [0.0, 1.0]])
    >>> lists = np.array([[1.0, 3.0, 5.0], [9.0, 8.0, 7.0]])
    >>> routed_scores(dataset, weights, lists, standardises=False)
    array([5. , 5.5, 7. ])
    >>> routed_scores(dataset, weights, lists, standardises=True)
    array([0., 0., 7.])
    """
    several = ((weights != 0).sum(axis=1) > 1)[dataset.query_index] & standardises
    total = np.zeros(dataset.n_documents)
    for shares, scores in zip(weights.T, lists, strict=True):
        if several.any():
            scores = np.where(several, ZScore().aggregate_rows(dataset, scores[None]), scores)
        total += shares[dataset.query_index] * scores
    return total
