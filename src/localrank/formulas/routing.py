"""Formulas of local models: one per group of queries, weighed by a router."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.formulas.base import Formula
from localrank.formulas.routers import Router


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
