"""A query as the directions in which its relevant documents differ from the others."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number, optional, whole
from localrank._kernels.linalg import principal_axes
from localrank.data import RankingDataset
from localrank.data._parts import over_parts
from localrank.registry import declare
from localrank.representations.moments import query_means
from localrank.representations.principal_components import PrincipalComponents
from localrank.representations.top_documents import reference_feature, shares_of_places


class Contrast(PrincipalComponents):
    """The leading directions of the scatter between relevant documents and the others.

    Principal components are the eigenvectors of the sum of (x - x')(x - x')^T over all pairs of
    a query's documents. Here a pair is a relevant document x and a document x' that is not. With
    the means m, m' and covariances S, S' of the two kinds, the mean over the pairs is

        S + S' + (m - m')(m - m')^T.

    Similarity and distance are those of `PrincipalComponents`. A query whose documents are all of
    one kind has no direction, and is similar to no query. A subclass says which documents are
    relevant.
    """

    def _fit(self, dataset: RankingDataset) -> None:
        if not any(over_parts(self._has_both_kinds, dataset, description="Rules of documents")):
            raise ValueError(
                f"{self!r} needs a training query with documents of both kinds, relevant and not. "
                f"There is none."
            )
        super()._fit(dataset)

    def _has_both_kinds(self, dataset: RankingDataset) -> bool:
        """Whether a query has documents of both kinds."""
        relevance = self._relevance(dataset)
        totals = np.add.reduceat(relevance, dataset.offsets[:-1])
        others = np.add.reduceat(1 - relevance, dataset.offsets[:-1])
        return bool(((totals > 0) & (others > 0)).any())

    @abstractmethod
    def _relevance(self, dataset: RankingDataset) -> Floats:
        """The relevance of each document, from 0 to 1: its share in the relevant kind."""

    def _axes(self, dataset: RankingDataset, n_axes: int) -> tuple[Floats, Floats]:
        features, offsets = dataset.features.astype(np.float64, copy=False), dataset.offsets
        # Relative to the query's first document, so that rounding is relative to the spread.
        features = features - np.repeat(features[offsets[:-1]], dataset.query_sizes, axis=0)
        relevance = self._relevance(dataset)
        rows, means, query = [], [], dataset.query_index
        lacking = np.zeros(dataset.n_queries, np.bool_)
        for weights in (relevance, 1.0 - relevance):
            totals = np.add.reduceat(weights, offsets[:-1])
            lacking |= totals <= 0
            mean = query_means(features, offsets, weights)
            shares = weights / np.where(totals > 0, totals, 1.0)[query]
            rows.append(np.sqrt(shares)[:, None] * (features - mean[query]))
            means.append(mean)
        rows.append(means[0] - means[1])
        # Up to a factor, the matrix is the covariance of these rows and their opposites.
        cloud = np.concatenate([*rows, *(-block for block in rows)])
        owner = np.tile(np.concatenate([query, query, np.arange(dataset.n_queries)]), 2)
        cloud[lacking[owner]] = 0.0
        ends = np.cumsum(4 * dataset.query_sizes + 2)
        order = np.argsort(owner, kind="stable")
        return principal_axes(cloud[order], np.concatenate([[0], ends]), n_axes)


@declare(
    "relevant-contrast", "how its relevant documents differ from the others; training queries only"
)
class RelevantContrast(Contrast):
    """The leading directions in which a query's relevant documents differ from the others.

    The authors of LocalRank ask for such a representation of clouds that uses labels [1]. It
    can group training queries only. The selector needs another representation for new queries,
    such as `TopContrast`. See `Contrast` for the directions.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components (int) or share of the scatter between both kinds of documents
        (float), as in `PrincipalComponents`.
    relevance_level : float, optional
        The lowest label of a relevant document. None: every label above 0 is relevant.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    explained_ : ndarray of shape (n_features,)
        Mean share of each direction in the scatter of a training query.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009. Section 5.

    Examples
    --------
    Principal components follow the first feature, in which both kinds of documents are spread
    alike. The contrast follows the second feature, which separates the two kinds.

    >>> X = [[0.0, 4.0], [5.0, 4.0], [0.0, 0.0], [5.0, 0.0], [9.0, 4.0], [9.0, 0.0]]
    >>> dataset = RankingDataset.from_arrays(X, y=[1, 1, 0, 0, 1, 0], qid=[1] * 4 + [2] * 2)
    >>> PrincipalComponents(1).fit(dataset).transform(dataset)[0]
    array([[1., 0.]])
    >>> RelevantContrast(1).fit(dataset).transform(dataset)[0]
    array([[0., 1.]])
    """

    _parameters: ClassVar[Rules] = {"relevance_level": optional(number(above=0))}

    def __init__(self, n_components: float = 0.8, relevance_level: float | None = None) -> None:
        super().__init__(n_components)
        self.relevance_level = relevance_level

    @property
    def needs_labels(self) -> bool:
        return True

    def _relevance(self, dataset: RankingDataset) -> Floats:
        level = self.relevance_level
        relevant = dataset.labels > 0 if level is None else dataset.labels >= level
        return relevant.astype(np.float64)


@declare("top-contrast", "how its top documents under one feature differ from the others")
class TopContrast(Contrast):
    """The leading directions in which a query's top documents differ from the others.

    The top documents under a reference feature stand for the relevant ones. So new queries,
    which have no labels, can be compared with training queries. Documents that tie at the cut
    share the remaining places. See `Contrast` for the directions.

    Parameters
    ----------
    n_components : int or float, default=0.8
        Number of components (int) or share of the scatter between both kinds of documents
        (float), as in `PrincipalComponents`.
    n : int, default=5
        Number of top documents. A query with at most this many documents has no direction.
    feature : int or str, default="best"
        The reference feature, as in `TopDocuments`.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    explained_ : ndarray of shape (n_features,)
        Mean share of each direction in the scatter of a training query.
    feature_ : int
        Column of the reference feature.

    Examples
    --------
    >>> X = [[0.0, 4.0], [5.0, 4.0], [0.0, 0.0], [5.0, 0.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=[1, 1, 1, 1], feature_names=["age", "bm25"])
    >>> TopContrast(1, n=2, feature="bm25").fit(dataset).transform(dataset)
    array([[[0., 1.]]])
    """

    _parameters: ClassVar[Rules] = {"n": whole(1)}
    _fitted: ClassVar[Rules] = {"feature_": whole(0, below="n_features")}

    def __init__(
        self, n_components: float = 0.8, *, n: int = 5, feature: int | str = "best"
    ) -> None:
        super().__init__(n_components)
        self.n = n
        self.feature = feature

    def _fit(self, dataset: RankingDataset) -> None:
        self.feature_ = reference_feature(self, dataset)
        super()._fit(dataset)

    def _relevance(self, dataset: RankingDataset) -> Floats:
        return shares_of_places(dataset.features[:, self.feature_], dataset, self.n)
