"""Reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, floats, number
from localrank.data import RankingDataset
from localrank.fusion._list_columns import learn_names, trained_names, values_of_lists
from localrank.fusion._list_ranker import ListRanker
from localrank.fusion._tuning import tuned_weights
from localrank.fusion.fusion import (
    are_fitted_weights,
    given_weights,
    judged_by,
    weights_rule,
)
from localrank.measures import Measure
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers.base import HeldOut, Needs, Weights
from localrank.registry import declare


@declare(
    "reciprocal-rank-fusion",
    "lists merged by 1 / (k + rank)",
    grid={"k": [5, 20, 60, 200], "weights": ["equal", "tuned"]},
)
class ReciprocalRankFusion(ListRanker):
    """Adds weight / (k + rank) over the lists that have a document [1].

    By default all weights are 1. It then learns nothing and needs no labels, and a list that is
    much better than the others counts no more than they do. Only ranks count. Documents with equal
    scores share their mean rank.

    Parameters
    ----------
    k : float, default=60
        The larger k is, the less the first ranks stand out.
    weights : {"equal", "tuned"} or sequence of float, default="equal"
        "tuned": the weights with the largest mean measure on the training queries, searched as in
        `Fusion`. A sequence: the weight of each list, in the order of the lists.
    measure : str or Measure, default="ndcg@10"
        The measure that tuning maximises.

    Attributes
    ----------
    weights_ : ndarray of shape (n_lists,)
        The weight of each list, in the order of `list_names_`. Their mean is 1.

    Notes
    -----
    The lists are those of `lists_dataset`. In any other dataset each feature is a list of scores;
    a missing value means that the list lacks the document.

    References
    ----------
    1. Cormack, Clarke, Büttcher. Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
       Learning Methods. SIGIR 2009.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"b": 0.8, "c": 0.7}}}
    >>> dataset = lists_dataset(lists)
    >>> ReciprocalRankFusion().fit(dataset).rank(dataset, library="dict")["document"]
    array(['b', 'a', 'c'], dtype='<U1')
    """

    needs = Needs(missing=True, trial=False, lists=True, labels=False)

    _parameters: ClassVar[Rules] = {
        "k": number(least=0),
        "weights": weights_rule,
        "measure": a_measure,
    }

    _fitted: ClassVar[Rules] = {"weights_": floats(None)}

    weights_: Floats

    def __init__(
        self,
        k: float = 60,
        *,
        weights: Literal["equal", "tuned"] | Sequence[float] = "equal",
        measure: str | Measure = "ndcg@10",
    ) -> None:
        self.k = k
        self.weights = weights
        self.measure = measure

    def _check_fitted(self) -> None:
        check_together(self, holds=are_fitted_weights(self.weights_, self.n_lists_))

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        learn_names(self, dataset)
        weights = given_weights(self, dataset)
        if weights is None:
            judged = judged_by(self, dataset, query_weights)
            weights, _ = tuned_weights(judged, self._reciprocals(judged.dataset))
        # Equal weights are exactly 1.
        equal = bool((weights == weights[0]).all())
        self.weights_ = np.ones(len(weights)) if equal else weights * len(weights)

    def _reciprocals(self, dataset: RankingDataset) -> Floats:
        """1 / (k + rank) in each list; 0 in a list that lacks the document."""
        names = trained_names(self)
        reciprocals: Floats = values_of_lists(dataset, "presence", names)
        reciprocals /= self.k + values_of_lists(dataset, "rank", names)
        return reciprocals

    def _terms(self, dataset: RankingDataset) -> Floats:
        """What each list adds to the score of each document."""
        return self._reciprocals(dataset) * self.weights_

    def _predict(self, dataset: RankingDataset) -> Array:
        # Not by a sum along an axis, which may round by the place of a row.
        terms = self._terms(dataset)
        scores = terms[:, 0].copy()
        for column in range(1, terms.shape[1]):
            scores += terms[:, column]
        return scores

    def _contributions(self, dataset: RankingDataset) -> Floats:
        return table_of(self._by_feature(self._terms(dataset), "rank"))

    def _importances(self) -> Floats:
        return shares(self._by_feature(self.weights_[None], "rank")[0])
