"""What every aggregator promises."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from localrank.aggregation.kernels import counts_below
from localrank.data import RankingDataset


class Aggregator(BaseEstimator):
    """Makes one list of several lists of each query's documents.

    Lists come as scores, larger is better, one column for each list and one row for each
    document, in the order of the input; the result is one score per document in that order.
    Only the order within each list and query counts: any increasing transformation of a list
    leaves the result as it is, and lists that all agree are reproduced, with their ties.

    Documents with equal scores share their average rank. NaN and -inf say that a list does not
    hold a document: all of these share the ranks below the documents it holds. A list that
    holds no document of a query has no say in it.

    An aggregator implements `_aggregate` and, where it learns something from labelled queries,
    `_fit`. Without the latter it serves unfitted.
    """

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
        self.check_parameters()
        weights = None
        if query_weight is not None:
            weights = np.asarray(query_weight, dtype=np.float64)
            if weights.shape != (dataset.n_queries,):
                raise ValueError(
                    f"query_weight needs {dataset.n_queries} entries. "
                    f"Got shape {weights.shape} instead."
                )
        self._fit(dataset, _counts(dataset, scores), weights)
        return self

    def aggregate(self, dataset: RankingDataset, scores: ArrayLike) -> NDArray[np.float64]:
        """One score per document.

        Parameters
        ----------
        dataset : RankingDataset
            Says which documents are of the same query; its labels are not used.
        scores : array-like of shape (n_documents, n_lists)
        """
        self.check_parameters()
        return dataset.in_input_order(self._aggregate(_counts(dataset, scores), dataset.offsets))

    def check_parameters(self) -> None:
        """Refuse wrong parameters."""

    def _fit(
        self,
        dataset: RankingDataset,
        counts: NDArray[np.float64],
        query_weights: NDArray[np.float64] | None,
    ) -> None:
        """Learn from what `_aggregate` is given and the labels."""

    @abstractmethod
    def _aggregate(
        self, counts: NDArray[np.float64], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """One score per document, from how many documents each list puts below it.

        Parameters
        ----------
        counts : ndarray of shape (n_lists, n_documents)
            By query; tied documents count half. NaN where a list has no say in a query.
        offsets : ndarray of shape (n_queries + 1,)
        """


def _counts(dataset: RankingDataset, scores: Any) -> NDArray[np.float64]:
    lists = np.asarray(scores, dtype=np.float64)
    if lists.ndim != 2 or len(lists) != dataset.n_documents or lists.shape[1] < 1:
        raise ValueError(
            f"Lists need one row per document ({dataset.n_documents}) and one column per list. "
            f"Got shape {lists.shape} instead."
        )
    return counts_below(dataset.in_query_order(lists).T, dataset.offsets)
