"""The mean of a query's top documents under one feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rules, integers, refuse, whole
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.data._feature_columns import column_of, known_columns
from localrank.measures import NDCG
from localrank.measures._single_features import measure_features
from localrank.registry import declare
from localrank.representations.base import Points
from localrank.representations.moments import query_means


@declare("top-documents", "the mean of its top documents under one feature")
class TopDocuments(Points):
    """Describes a query by the mean of its top documents under a reference feature [1, 2].

    Documents that tie at the cut share the remaining places, so the mean is the expected one over
    all orders of the tied documents.

    Parameters
    ----------
    n : int, default=10
        Number of top documents. A query with fewer documents uses all of them.
    feature : int or str, default="best"
        The reference feature, such as BM25, by column or name; larger values come first. "best":
        the feature with the highest mean NDCG@5 on the training queries, which then need labels.
    columns : sequence of int or str, optional
        The features that make up the description, by column or name. None: all of them.

    Attributes
    ----------
    feature_ : int
        Column of the reference feature; the first if several are equally good.
    columns_ : ndarray of int
        Columns of the description.

    References
    ----------
    1. Geng, Liu, Qin, Arnold, Li, Shum. Query Dependent Ranking Using K-Nearest Neighbor.
       SIGIR 2008.
    2. Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering.

    Examples
    --------
    The second and third documents share the second place.

    >>> X = [[0.9, 1.0], [0.5, 2.0], [0.5, 6.0], [0.1, 8.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=[1, 1, 1, 1], feature_names=["bm25", "age"])
    >>> TopDocuments(2, feature="bm25").fit(dataset).transform(dataset)
    array([[0.7, 2.5]])
    """

    _parameters: ClassVar[Rules] = {"n": whole(1)}

    _fitted: ClassVar[Rules] = {
        "columns_": integers(None, below="n_features"),
        "feature_": whole(0, below="n_features"),
    }

    def __init__(
        self,
        n: int = 10,
        *,
        feature: int | str = "best",
        columns: Sequence[int | str] | None = None,
    ) -> None:
        self.n = n
        self.feature = feature
        self.columns = columns

    def _fit(self, dataset: RankingDataset) -> None:
        self.columns_ = self._checked_columns(dataset)
        self.feature_ = reference_feature(self, dataset)

    def _transform(self, dataset: RankingDataset) -> Floats:
        weights = shares_of_places(dataset.features[:, self.feature_], dataset, self.n)
        return query_means(dataset.features, dataset.offsets, weights)[:, self.columns_]

    def _checked_columns(self, dataset: RankingDataset) -> Integers:
        if self.columns is None:
            return np.arange(dataset.n_features)
        # A string is a sequence too, but not a list of features.
        listed = isinstance(self.columns, Sequence | np.ndarray) and not isinstance(
            self.columns, str
        )
        columns = [column_of(dataset, value) for value in self.columns] if listed else []
        if not columns or min(columns) < 0:
            refuse(self, "columns", f"None or a list of features, each {known_columns(dataset)}")
        return np.array(columns)


def reference_feature(part: Any, dataset: RankingDataset) -> int:
    """The column of a representation's parameter `feature`."""
    if part.feature == "best":
        if dataset.relevance is None:
            raise ValueError(
                f"{type(part).__name__} with feature='best' finds the best feature by labels. The "
                f"dataset has none: give labelled training queries, or name a feature."
            )
        return int(measure_features(dataset, NDCG(5)).argmax())
    column = column_of(dataset, part.feature)
    if column < 0:
        refuse(part, "feature", f"'best' or {known_columns(dataset)}")
    return column


def shares_of_places(values: Array, dataset: RankingDataset, n: int) -> Floats:
    """The expected share of each document in the top n places, from 0 to 1.

    Tied documents share the remaining places equally.
    """
    begins, query = dataset.offsets[:-1], dataset.query_index
    n_places = np.minimum(n, dataset.query_sizes)
    order = argsort_descending(values, dataset.offsets)
    last = values[order[begins + n_places - 1]][query]
    above, tied = values > last, values == last
    n_left = n_places - dataset.count(above)
    shares: Floats = above + tied * (n_left / dataset.count(tied))[query]
    return shares
