"""What every aggregator promises."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank.aggregation.kernels import counts_below
from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.estimator import Estimator
from localrank.parameters import check_parameters


@dataclass(frozen=True, eq=False)
class LinearForm:
    """An aggregate as a weighted sum of lists.

    Attributes
    ----------
    weights : ndarray of shape (n_lists, n_queries)
        Of each list for the documents of each query.
    centred : bool
        Whether the mean over the query is taken from each list first.
    """

    weights: Floats
    centred: bool


@dataclass(frozen=True, eq=False)
class FixedSum:
    """An aggregate as a weighted sum of lists, with the same weights for every query.

    Attributes
    ----------
    weights : ndarray of shape (n_lists,)
    standardised : bool
        Whether the scores of each list are standardised within the query first, as by `ZScore`.
    """

    weights: Floats
    standardised: bool


class Aggregator(Estimator):
    """Makes one list of several lists of each query's documents.

    Lists come as scores, larger is better. `fit` and `aggregate` are the doors, with one row for
    each document in the order of the input and one column for each list. Behind them `fit_rows`
    and `aggregate_rows` trust lists of shape (n_lists, n_documents) in the order of the rows. An
    aggregator implements `_aggregate` and, where it learns something from labelled queries,
    `_fit`. One that learns nothing serves unfitted.
    """

    # Whether `fit` has something to learn.
    learns: ClassVar[bool] = False

    def fit(
        self, dataset: RankingDataset, scores: ArrayLike, *, query_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from lists of labelled queries; most aggregators have nothing to learn.

        Parameters
        ----------
        dataset : RankingDataset
        scores : array-like of shape (n_documents, n_lists)
        query_weight : array-like of shape (n_queries,), optional
            What each query counts.
        """
        check_parameters(self)
        weights = None
        if query_weight is not None:
            weights = np.asarray(query_weight, dtype=np.float64)
            if weights.shape != (dataset.n_queries,):
                raise ValueError(
                    f"query_weight needs {dataset.n_queries} entries. "
                    f"Got shape {weights.shape} instead."
                )
        return self.fit_rows(dataset, self._admitted(dataset, scores), weights)

    def fit_rows(
        self, dataset: RankingDataset, lists: Floats, query_weights: Floats | None = None
    ) -> Self:
        """Learn from lists in the order of the rows that a door has checked."""
        self._fit(dataset, self._prepared(lists, dataset.offsets), query_weights)
        return self

    def aggregate(self, dataset: RankingDataset, scores: ArrayLike) -> Floats:
        """One score per document.

        Parameters
        ----------
        dataset : RankingDataset
            Says which documents are of the same query; its labels are not used.
        scores : array-like of shape (n_documents, n_lists)
        """
        check_parameters(self)
        return dataset.in_input_order(self.aggregate_rows(dataset, self._admitted(dataset, scores)))

    def aggregate_rows(self, dataset: RankingDataset, lists: Floats) -> Floats:
        """One score per row, of lists in the order of the rows that a door has checked."""
        return self._aggregate(self._prepared(lists, dataset.offsets), dataset.offsets)

    def _admitted(self, dataset: RankingDataset, scores: Any) -> Floats:
        """Lists as callers have them, checked, in the order of the rows."""
        lists = np.asarray(scores, dtype=np.float64)
        if lists.ndim != 2 or len(lists) != dataset.n_documents or lists.shape[1] < 1:
            raise ValueError(
                f"Lists need one row per document ({dataset.n_documents}) and one column per "
                f"list. Got shape {lists.shape} instead."
            )
        return np.ascontiguousarray(dataset.in_query_order(lists).T)

    def _prepared(self, lists: Floats, offsets: Integers) -> Floats:
        """What `_fit` and `_aggregate` are given for the lists."""
        return lists

    def _fit(self, dataset: RankingDataset, lists: Floats, query_weights: Floats | None) -> None:
        """Learn from what `_aggregate` is given and the labels."""

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm | None:
        """How the result is a weighted sum of these lists; None where it is not one.

        Parameters
        ----------
        lists : ndarray of shape (n_lists, n_documents)
        offsets : ndarray of shape (n_queries + 1,)
        """
        return None

    def fixed_sum(self, n_lists: int) -> FixedSum | None:
        """How the result is a weighted sum of any such lists; None where it is not one.

        Parameters
        ----------
        n_lists : int
        """
        return None

    @abstractmethod
    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        """One score per row, from lists of shape (n_lists, n_documents)."""


class RankAggregator(Aggregator):
    """An aggregator to which only the order within each list and query counts.

    Any increasing transformation of a list leaves the result as it is, and lists that all agree
    are reproduced, with their ties. Documents with equal scores share their average rank. NaN and
    -inf say that a list does not hold a document: all of these share the ranks below the
    documents it holds. A list that holds no document of a query has no say in it.

    Instead of scores `_fit` and `_aggregate` get how many documents of the query each list puts
    below a document; tied ones count half, and NaN says that a list has no say in a query.
    """

    def _prepared(self, lists: Floats, offsets: Integers) -> Floats:
        return counts_below(lists, offsets)


class ScoreAggregator(Aggregator):
    """An aggregator of the scores themselves, of which every list needs one for each document."""

    def _admitted(self, dataset: RankingDataset, scores: Any) -> Floats:
        lists = super()._admitted(dataset, scores)
        if not np.isfinite(lists).all():
            number, row = np.argwhere(~np.isfinite(lists))[0]
            raise ValueError(
                f"{type(self).__name__} needs a finite score for every document in every list. "
                f"List {number} has {lists[number, row]} for a document of query "
                f"{dataset.query_ids[dataset.query_index[row]]}: take Borda(), to which a list "
                f"may lack documents."
            )
        return lists
