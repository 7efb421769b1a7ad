"""Formulas that combine or rescale other formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.formulas.base import Formula


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
