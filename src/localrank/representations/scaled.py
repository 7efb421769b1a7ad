"""Any representation on features of equal spread."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from localrank.data import RankingDataset
from localrank.data.spread import spread_within_queries
from localrank.parameters import refuse
from localrank.representations.base import Representation


class Scaled(Representation):
    """Another representation on features divided by their spread within the training queries.

    The spread of a feature is its standard deviation around the mean of its query, over all
    documents; so features of very different units count alike. `Gaussian` needs no scaling: it
    brings its own.

    Parameters
    ----------
    representation : Representation

    Attributes
    ----------
    spread_ : ndarray of shape (n_features,)
        What each feature is divided by.
    representation_ : Representation
        Fitted on the scaled features.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> X = [[0.0, 300.0], [4.0, 100.0], [5.0, 900.0], [9.0, 700.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=[1, 1, 2, 2])
    >>> Scaled(Mean()).fit(dataset).transform(dataset)
    array([[1. , 2. ],
           [3.5, 8. ]])
    """

    representation_: Representation

    def __init__(self, representation: Representation) -> None:
        self.representation = representation

    @property
    def needs_labels(self) -> bool:
        return self.representation.needs_labels

    @property
    def points(self) -> bool:
        return self.representation.points

    def fit(self, dataset: RankingDataset) -> Self:
        if not isinstance(self.representation, Representation):
            refuse(self, "representation", "one of localrank.representations")
        return super().fit(dataset)

    def _fit(self, dataset: RankingDataset) -> None:
        self.spread_ = spread_within_queries(dataset)
        self.representation_ = clone(self.representation).fit(self._scaled(dataset))

    def _transform(self, dataset: RankingDataset) -> NDArray[Any]:
        return self.representation_.transform(self._scaled(dataset))

    def distances(self, A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
        return self.representation_.distances(A, B)

    def similarities(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.representation_.similarities(distances)

    def _scaled(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.with_features(dataset.features / self.spread_, dataset.feature_names)
