"""What every representation of queries promises."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.rules import Rule, Rules, check_parameters, n_features, optional
from localrank._kernels.rows import distances
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._filling import Filling
from localrank.data._parts import over_parts

# Distances that are held at a time.
_BLOCK = 1 << 22
# Equal distances may differ by this much after rounding, relative to 1 and to the distance.
_TIE = 1e-12


_filling = Rule(
    lambda value, sizes: (
        isinstance(value, Filling)
        and len(value.values) == sizes["n_features"]
        and not len(value.indicators)
    ),
    "a Filling of all features, without indicators",
)


class Representation(Estimator):
    """Describes a query by its documents, and measures the distance between descriptions.

    The descriptions of several queries are one array with a query along the first axis. They can
    be indexed, concatenated and saved like any array. A representation implements `_transform`
    and `distances`. It also implements `_fit` if it learns from the training queries, and
    `centroid` if one description can stand for several queries. `fit` and `transform` check what
    they are given.

    A missing value is filled with the median of the query. If the whole query lacks the feature,
    it is filled with the median of the training queries (`Filling`).

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    filling_ : Filling
        What fills missing values. Exists only if the training queries have missing values.
    """

    _fitted: ClassVar[Rules] = {"n_features_in_": n_features, "filling_": optional(_filling)}

    # Whether `_fit` and `_transform` get missing values as NaN instead of filled.
    _sees_missing: ClassVar[bool] = False

    @property
    def needs_labels(self) -> bool:
        """Whether descriptions use labels, so that new queries cannot be described."""
        return False

    @property
    def points(self) -> bool:
        """Whether each description is a point, with Euclidean distance between points."""
        return False

    def fit(self, dataset: RankingDataset) -> Self:
        """Learn what the descriptions need from the training queries."""
        check_parameters(self)
        self._check_values(dataset)
        return self.fit_rows(dataset)

    def fit_rows(self, dataset: RankingDataset) -> Self:
        """Learn from training queries that are already checked."""
        filling = None
        if not self._sees_missing:
            filling = Filling.learned(dataset, indicators=False)
        self._fit(dataset if filling is None else filling.filled(dataset))
        self.n_features_in_ = dataset.n_features
        self.__dict__.pop("filling_", None)
        if filling is not None:
            self.filling_ = filling
        return self

    def transform(self, dataset: RankingDataset) -> Array:
        """One description per query, along the first axis."""
        check_is_fitted(self, "n_features_in_")
        if dataset.n_features != self.n_features_in_:
            raise ValueError(
                f"{type(self).__name__} was fitted on {self.n_features_in_} features. "
                f"The dataset has {dataset.n_features}."
            )
        self._check_values(dataset)
        return self.transform_rows(dataset)

    def transform_rows(self, dataset: RankingDataset) -> Array:
        """Describe the queries of a dataset that is already checked."""
        parts = over_parts(self._described, dataset, description="Descriptions")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _described(self, dataset: RankingDataset) -> Array:
        if not self._sees_missing:
            learned: Filling | None = getattr(self, "filling_", None)
            dataset = (learned or Filling.unlearned(dataset.n_features)).filled(dataset)
        return self._transform(dataset)

    @abstractmethod
    def _transform(self, dataset: RankingDataset) -> Array:
        """Describe queries."""

    @abstractmethod
    def distances(self, A: Array, B: Array) -> Floats:
        """Distances between descriptions, of shape (len(A), len(B))."""

    def centroid(self, descriptions: Array) -> Array:
        """One description that stands for several queries; not every representation has one."""
        raise ValueError(
            f"{type(self).__name__} gives only distances between queries, and no centre of "
            f"several. Use NearestQuery, or a representation such as PrincipalComponents, "
            f"TopDocuments or TopScores."
        )

    def nearest(self, asked: Array, known: Array) -> Integers:
        """The position of the known description nearest to each asked one; the first if tied."""
        n_rows = max(_BLOCK // len(known), 1)
        nearest = np.empty(len(asked), np.int64)
        for row in range(0, len(asked), n_rows):
            block = slice(row, row + n_rows)
            nearest[block] = nearest_columns(self.distances(asked[block], known), 1)[:, 0]
        return nearest

    def neighbours(self, asked: Array, known: Array, k: int) -> tuple[Integers, Floats]:
        """The k known descriptions nearest to each asked one; the first if tied.

        Returns
        -------
        positions : ndarray of shape (len(asked), k)
            Ascending. All positions if k is at least their number.
        distances : ndarray of shape (len(asked), k)
        """
        k = min(k, len(known))
        n_rows = max(_BLOCK // len(known), 1)
        positions, apart = np.empty((len(asked), k), np.int64), np.empty((len(asked), k))
        for row in range(0, len(asked), n_rows):
            block = slice(row, row + n_rows)
            distances = self.distances(asked[block], known)
            positions[block] = nearest_columns(distances, k)
            apart[block] = np.take_along_axis(distances, positions[block], axis=1)
        return positions, apart

    def similarities(self, distances: Floats) -> Floats:
        """Similarity in (0, 1], for display."""
        similarities: Floats = 1.0 / (1.0 + distances)
        return similarities

    def _fit(self, dataset: RankingDataset) -> None:
        """Learn. Features may be in files; `over_parts` reads one file at a time."""

    def _check_values(self, dataset: RankingDataset) -> None:
        if self.needs_labels and dataset.relevance is None:
            raise ValueError(
                f"{type(self).__name__} describes queries by their labels. The dataset has none."
            )
        for name in dataset.categories or ():
            raise ValueError(
                f"{type(self).__name__} describes queries by numbers, and the feature {name!r} "
                f"holds categories. Make columns of 0 and 1 of them first: dataset.one_hot()."
            )


def nearest_columns(distances: Floats, k: int) -> Integers:
    """The columns of the k smallest distances in each row, ascending; the first if tied.

    How a matrix product rounds depends on its size. Without a margin, ties would be broken
    differently depending on which queries are asked together.

    Examples
    --------
    >>> nearest_columns(np.array([[3.0, 1.0, 2.0, 1.0]]), 3)
    array([[1, 2, 3]])
    """
    if k == 1:
        least = distances.min(axis=1, keepdims=True)
        first: Integers = np.argmax(distances <= least + _TIE * (1 + least), axis=1)
        return first[:, None]
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    # Distances within the margin of the last one are ties.
    margin = _TIE * (1 + last)
    beyond = (distances >= last - margin).astype(np.int8) + (distances > last + margin)
    return np.sort(np.argsort(beyond, axis=1, kind="stable")[:, :k], axis=1)


class Points(Representation):
    """A representation that describes each query as a point, with Euclidean distances."""

    @property
    def points(self) -> bool:
        return True

    def centroid(self, descriptions: Array) -> Floats:
        """The mean of the points."""
        mean: Floats = descriptions.mean(axis=0)
        return mean

    def distances(self, A: Array, B: Array) -> Floats:
        # Pair by pair, so that a distance does not depend on the other queries asked with it.
        result: Floats = distances(read_only(A, np.float64), read_only(B, np.float64))
        return result
