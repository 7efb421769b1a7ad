"""Formulas that depend on one document alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.formulas.base import Formula
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

    Let v be the features less `mean`, divided by `scale`, and cut at ±`most`. The score is
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
