"""Linear rankers, and the scaling of features that they need."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset
from localrank.data.spread import spread_within_queries
from localrank.fitted import Kinds, floats, maybe
from localrank.kernels.rows import projections
from localrank.kernels.sorting import read_only
from localrank.parameters import Rules, one_of
from localrank.rankers.base import Ranker

Scaling = Literal["standard", "query"] | None


class LinearRanker(Ranker):
    """Scores documents by the inner product of a weight vector with the scaled features.

    A subclass has the parameter `scaling`, trains on `_scaled_training_features` and sets
    `coef_`. What the scaling learned is part of the model.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features.
    scale_ : ndarray of shape (n_features,)
        Under `scaling="standard"`: what each feature is divided by.
    """

    scaling: Scaling
    coef_: NDArray[np.float64]

    _parameters: ClassVar[Rules] = {"scaling": one_of("standard", "query", None)}

    _fitted: ClassVar[Kinds] = {
        "coef_": floats("n_features"),
        "scale_": maybe(floats("n_features", above=0)),
    }

    def _scaled_training_features(self, dataset: RankingDataset) -> NDArray[np.float64]:
        """Learn the scaling, and apply it."""
        self.__dict__.pop("scale_", None)
        if self.scaling == "standard":
            self.scale_ = spread_within_queries(dataset)
        return self._scaled(dataset)

    def _scaled(self, dataset: RankingDataset) -> NDArray[np.float64]:
        return scaled_features(dataset, self.scaling, getattr(self, "scale_", None))

    def _predict(self, dataset: RankingDataset) -> NDArray[Any]:
        if self.scaling == "query":
            features, weights = self._scaled(dataset), self.coef_
        else:
            features = dataset.features
            weights = self.coef_ / self.scale_ if self.scaling == "standard" else self.coef_
        # Not by BLAS, which rounds a row by where it stands: equal documents stay equal.
        return projections(read_only(features, np.float64), np.ascontiguousarray(weights))


def scaled_features(
    dataset: RankingDataset, scaling: Scaling, scale: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Features in double precision, scaled; `scale` is what "standard" divides by."""
    features = dataset.features.astype(np.float64, copy=False)
    if scaling == "standard":
        scaled: NDArray[np.float64] = features / np.asarray(scale)
        return scaled
    if scaling == "query":
        return scaled_by_query(features, dataset.offsets)
    return features


def scaled_by_query(
    features: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Each feature from 0 to 1 within each query, as in LETOR; 0 where it is constant there.

    Examples
    --------
    >>> scaled_by_query(np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]]), np.array([0, 3]))
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ]])
    """
    sizes = np.diff(offsets)
    low = np.minimum.reduceat(features, offsets[:-1])
    extent = np.maximum.reduceat(features, offsets[:-1]) - low
    # Where a query's values are all equal the difference below is 0, whatever it is divided by.
    extent[extent == 0] = 1.0
    scaled: NDArray[np.float64] = features - np.repeat(low, sizes, axis=0)
    scaled /= np.repeat(extent, sizes, axis=0)
    return scaled
