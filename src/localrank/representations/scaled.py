"""Any representation, on features scaled to equal spread."""

from __future__ import annotations

from typing import ClassVar

from localrank._base.arrays import Array, Floats
from localrank._base.estimator import clone
from localrank._base.rules import Rules, floats, instance
from localrank.data import RankingDataset
from localrank.data._feature_scales import spread_within_queries
from localrank.registry import declare
from localrank.representations.base import Representation


@declare(
    "scaled",
    "another representation, on features scaled to equal spread",
    sample={"representation": "mean"},
)
class Scaled(Representation):
    """Another representation, on features divided by their spread within training queries.

    The spread of a feature is its standard deviation around the mean of its query, over all
    documents. Scaled features count alike even if their units differ. `Gaussian` needs no
    scaling, because its distances do not depend on units.

    Parameters
    ----------
    representation : Representation
        The representation to use on the scaled features.

    Attributes
    ----------
    spread_ : ndarray of shape (n_features,)
        Spread of each feature, by which it is divided.
    representation_ : Representation
        The representation, fitted on the scaled features.

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

    _parameters: ClassVar[Rules] = {
        "representation": instance(Representation, "one of localrank.representations"),
    }

    _fitted: ClassVar[Rules] = {
        "spread_": floats("n_features", above=0),
        "representation_": instance(Representation),
    }

    def __init__(self, representation: Representation) -> None:
        self.representation = representation

    @property
    def needs_labels(self) -> bool:
        return self.representation.needs_labels

    @property
    def points(self) -> bool:
        return self.representation.points

    def _fit(self, dataset: RankingDataset) -> None:
        self.spread_ = spread_within_queries(dataset)
        self.representation_ = clone(self.representation).fit_rows(self._scaled(dataset))

    def _transform(self, dataset: RankingDataset) -> Array:
        return self.representation_.transform_rows(self._scaled(dataset))

    def centroid(self, descriptions: Array) -> Array:
        return self.representation_.centroid(descriptions)

    def distances(self, A: Array, B: Array) -> Floats:
        return self.representation_.distances(A, B)

    def similarities(self, distances: Floats) -> Floats:
        return self.representation_.similarities(distances)

    def _scaled(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.derived(self._divided)

    def _divided(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.replaced(features=dataset.features / self.spread_)
