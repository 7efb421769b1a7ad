"""What every representation of queries promises."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.data import RankingDataset
from localrank.data.filling import Filling
from localrank.data.passes import in_partitions, over_parts
from localrank.estimator import Estimator, check_is_fitted
from localrank.fitted import Kind, Kinds, maybe, n_features
from localrank.parameters import check_parameters

# Distances that are held at a time.
_BLOCK = 1 << 22
# By how much, relative to 1 and to the distance, rounding may part equal distances.
_TIE = 1e-12


_filling = Kind(
    lambda value, sizes: (
        isinstance(value, Filling)
        and len(value.values) == sizes["n_features"]
        and not len(value.indicators)
    ),
    "a Filling of all features, without indicators",
)


class Representation(Estimator):
    """Describes a query by its documents, and says how far two descriptions lie apart.

    Descriptions of several queries are one array, a query along the first axis, so that they can
    be indexed, concatenated and saved like any array. A representation implements
    `_transform`, `distances` and, where it learns something from the training queries, `_fit`;
    `centroid` where one description can stand for several queries.
    `fit` and `transform` are the doors, which check what they are given.

    A query is described by the values it has: a missing value is filled by the median of the
    query, or where all are missing by that of the training queries (`Filling`).

    Attributes
    ----------
    n_features_in_ : int
    filling_ : Filling
        Only where the training queries have missing values.
    """

    _fitted: ClassVar[Kinds] = {"n_features_in_": n_features, "filling_": maybe(_filling)}

    # Whether `_fit` and `_transform` see a missing value as NaN, not filled.
    _sees_missing: ClassVar[bool] = False

    @property
    def needs_labels(self) -> bool:
        """Whether descriptions are made of labels, so that new queries cannot be described."""
        return False

    @property
    def points(self) -> bool:
        """Whether each query is a point, with Euclidean distance between points."""
        return False

    def fit(self, dataset: RankingDataset) -> Self:
        """Learn what the descriptions need from the training queries."""
        check_parameters(self)
        self._check_values(dataset)
        return self.fit_rows(dataset)

    def fit_rows(self, dataset: RankingDataset) -> Self:
        """Learn from training queries that a door has checked."""
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
        """Describe the queries of a dataset that a door has checked."""
        if in_partitions(dataset):
            parts = over_parts(self.transform_rows, dataset, description="Descriptions")
            return np.concatenate(parts)
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
            f"{type(self).__name__} only gives distances between queries, and no centre of "
            f"several. Take NearestQuery, or a representation such as PrincipalComponents, "
            f"TopDocuments or TopScores."
        )

    def nearest(self, asked: Array, known: Array) -> Integers:
        """The position of the nearest known description for each asked one; the first of equals."""
        n_rows = max(_BLOCK // len(known), 1)
        nearest = np.empty(len(asked), np.int64)
        for row in range(0, len(asked), n_rows):
            block = slice(row, row + n_rows)
            distances = self.distances(asked[block], known)
            # A product of matrices rounds by its size: without a margin, equal distances would
            # part differently for different queries asked together.
            least = distances.min(axis=1, keepdims=True)
            nearest[block] = np.argmax(distances <= least + _TIE * (1 + least), axis=1)
        return nearest

    def neighbours(self, asked: Array, known: Array, k: int) -> tuple[Integers, Floats]:
        """The k nearest known descriptions for each asked one; the first of equals.

        Returns
        -------
        positions : ndarray of shape (len(asked), k)
            Ascending; all where k is not less than their number.
        distances : ndarray of shape (len(asked), k)
        """
        k = min(k, len(known))
        n_rows = max(_BLOCK // len(known), 1)
        positions, apart = np.empty((len(asked), k), np.int64), np.empty((len(asked), k))
        for row in range(0, len(asked), n_rows):
            block = slice(row, row + n_rows)
            distances = self.distances(asked[block], known)
            last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
            # As in `nearest`: what rounding parts from the last one is at the same distance.
            margin = _TIE * (1 + last)
            beyond = (distances >= last - margin).astype(np.int8) + (distances > last + margin)
            chosen = np.argsort(beyond, axis=1, kind="stable")[:, :k]
            positions[block] = np.sort(chosen, axis=1)
            apart[block] = np.take_along_axis(distances, positions[block], axis=1)
        return positions, apart

    def similarities(self, distances: Floats) -> Floats:
        """Similarity in (0, 1], for display."""
        similarities: Floats = 1.0 / (1.0 + distances)
        return similarities

    def _fit(self, dataset: RankingDataset) -> None:
        """Learn. The dataset may be in partitions: `over_parts` looks at them one by one."""

    def _check_values(self, dataset: RankingDataset) -> None:
        if self.needs_labels and dataset.relevance is None:
            raise ValueError(
                f"{type(self).__name__} describes queries by their labels. The dataset has none."
            )


class Points(Representation):
    """A representation that makes each query a point, with Euclidean distance between points."""

    @property
    def points(self) -> bool:
        return True

    def centroid(self, descriptions: Array) -> Floats:
        """Their mean."""
        mean: Floats = descriptions.mean(axis=0)
        return mean

    def distances(self, A: Array, B: Array) -> Floats:
        # Pair by pair, so that a distance does not depend on the other queries it is asked with.
        # Imported by those who need it: to load a model takes less.
        from scipy.spatial.distance import cdist

        distances: Floats = cdist(A, B)
        return distances
