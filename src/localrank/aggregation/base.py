"""The bases of aggregators."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator
from localrank._base.rules import check_parameters
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only, sort_rows
from localrank.data import RankingDataset


@dataclass(frozen=True, eq=False)
class LinearForm:
    """An aggregate as a weighted sum of lists.

    Attributes
    ----------
    weights : ndarray of shape (n_lists, n_queries)
        Weight of each list in each query.
    centred : bool
        Whether each list's mean over the query is subtracted first.
    """

    weights: Floats
    centred: bool


@dataclass(frozen=True, eq=False)
class FixedSum:
    """An aggregate as a weighted sum of lists, with the same weights for every query.

    Attributes
    ----------
    weights : ndarray of shape (n_lists,)
        Weight of each list.
    standardised : bool
        Whether the scores of each list are standardised within the query first, as by `ZScore`.
    """

    weights: Floats
    standardised: bool


class Aggregator(Estimator):
    """Combines several lists of each query's documents into one.

    A list is given by its scores; larger is better. `fit` and `aggregate` check scores with one
    row per document, in the order of the input, and one column per list. `fit_rows` and
    `aggregate_rows` trust lists of shape (n_lists, n_documents) in the order of the rows. An
    aggregator implements `_aggregate`, and `_fit` if it learns from labelled queries. One that
    learns nothing works without `fit`.
    """

    # Whether `fit` has something to learn.
    learns: ClassVar[bool] = False
    # Whether scores are relative to the other documents of the query.
    relative: ClassVar[bool] = True

    def fit(
        self, dataset: RankingDataset, scores: ArrayLike, *, query_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from lists of labelled queries; most aggregators have nothing to learn.

        Parameters
        ----------
        dataset : RankingDataset
            Labelled queries.
        scores : array-like of shape (n_documents, n_lists)
            Scores of each document in each list.
        query_weight : array-like of shape (n_queries,), optional
            Weight of each query. None: equal weights.
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
        """Learn from checked lists in the order of the rows."""
        self._fit(dataset, lists, query_weights)
        return self

    def aggregate(self, dataset: RankingDataset, scores: ArrayLike) -> Floats:
        """One score per document.

        Parameters
        ----------
        dataset : RankingDataset
            The queries of the documents. Labels are not used.
        scores : array-like of shape (n_documents, n_lists)
            Scores of each document in each list.
        """
        check_parameters(self)
        return dataset.in_input_order(self.aggregate_rows(dataset, self._admitted(dataset, scores)))

    def aggregate_rows(self, dataset: RankingDataset, lists: Floats) -> Floats:
        """One score per row, from checked lists in the order of the rows."""
        return self._aggregate(lists, dataset.offsets)

    def _admitted(self, dataset: RankingDataset, scores: Any) -> Floats:
        """The caller's scores as checked lists, in the order of the rows."""
        lists = np.asarray(scores, dtype=np.float64)
        if lists.ndim != 2 or len(lists) != dataset.n_documents or lists.shape[1] < 1:
            raise ValueError(
                f"Lists need one row per document ({dataset.n_documents}) and one column per "
                f"list. Got shape {lists.shape} instead."
            )
        return np.ascontiguousarray(dataset.in_query_order(lists).T)

    def _fit(self, dataset: RankingDataset, lists: Floats, query_weights: Floats | None) -> None:
        """Learn from the lists and the labels."""

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm | None:
        """The result as a weighted sum of these lists; None if it is not one.

        Parameters
        ----------
        lists : ndarray of shape (n_lists, n_documents)
            The lists.
        offsets : ndarray of shape (n_queries + 1,)
            Start of each query's documents, and the end of the last.
        """
        return None

    def fixed_sum(self, n_lists: int) -> FixedSum | None:
        """The result as a sum with the same weights for any lists; None if it is not one.

        Parameters
        ----------
        n_lists : int
            Number of lists.
        """
        return None

    @abstractmethod
    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        """One score per row, from lists of shape (n_lists, n_documents)."""


class RankAggregator(Aggregator):
    """An aggregator that uses only the order of documents in each list.

    An increasing transformation of a list does not change the result. Lists that all agree give
    the same order, with the same ties. Documents with equal scores share their average rank. NaN
    or -inf means that a list does not hold a document. Such documents share the ranks below those
    that it holds. A list that holds no document of a query does not count in it.

    `_fit` and `_aggregate` get counts instead of scores: the number of documents of the query
    that each list puts below a document. Tied documents count half. NaN means that the list does
    not count in the query.
    """

    def fit_rows(
        self, dataset: RankingDataset, lists: Floats, query_weights: Floats | None = None
    ) -> Self:
        return super().fit_rows(dataset, counts_below(lists, dataset.offsets), query_weights)

    def aggregate_rows(self, dataset: RankingDataset, lists: Floats) -> Floats:
        return super().aggregate_rows(dataset, counts_below(lists, dataset.offsets))


class ScoreAggregator(Aggregator):
    """An aggregator that uses scores. Every list needs a score for every document."""

    def _admitted(self, dataset: RankingDataset, scores: Any) -> Floats:
        lists = super()._admitted(dataset, scores)
        if not np.isfinite(lists).all():
            number, row = np.argwhere(~np.isfinite(lists))[0]
            raise ValueError(
                f"{type(self).__name__} needs a finite score for every document in every list. "
                f"List {number} has {lists[number, row]} for a document of query "
                f"{dataset.query_ids[dataset.query_index[row]]}. Use Borda(), which accepts lists "
                f"without some documents."
            )
        return lists


def counts_below(lists: Array, offsets: Integers) -> Floats:
    """The number of documents that each list puts below a document; tied ones count half.

    A document's average rank is the number of its query's documents minus this count.

    Parameters
    ----------
    lists : ndarray of shape (n_lists, n_documents)
        Scores; larger is better. NaN for documents that a list does not hold: they are tied
        below those that it holds.
    offsets : ndarray of shape (n_queries + 1,)
        Start of each query's documents, and the end of the last.

    Returns
    -------
    ndarray of shape (n_lists, n_documents)
        The counts. NaN if a list holds no document of the query.

    Examples
    --------
    >>> counts_below(np.array([[0.3, 0.9, 0.3, np.nan, np.nan]]), np.array([0, 4, 5]))
    array([[1.5, 3. , 1.5, 0. , nan]])
    """
    values = np.where(np.isnan(lists), -np.inf, lists)
    counts: Floats = _counts_below(
        read_only(values, np.float64), read_only(offsets, np.int64), int(np.diff(offsets).max())
    )
    return counts


@kernel
def _counts_below(lists: Floats, offsets: Integers, longest: int) -> Floats:
    counts = np.empty(lists.shape)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for place in range(len(lists)):
        values = lists[place]
        for query in range(len(offsets) - 1):
            begin, end = offsets[query], offsets[query + 1]
            size = end - begin
            sort_rows(values, begin, end, order, spare)
            silent = values[order[0]] == -np.inf
            first = 0
            while first < size:
                last = first + 1
                while last < size and values[order[last]] == values[order[first]]:
                    last += 1
                # Those after the tie, and half of the others in it.
                count = np.nan if silent else (size - last) + (last - first - 1) / 2
                for i in range(first, last):
                    counts[place, order[i]] = count
                first = last
    return counts
