"""Linear rankers, and how they scale features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.rules import (
    Rules,
    check_parameters,
    check_together,
    floats,
    one_of,
    optional,
)
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._feature_scales import spread_within_queries
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._training import admitted, learn, ordered
from localrank.rankers.base import Needs, Ranker

if TYPE_CHECKING:
    from localrank.formulas import Formula

Scaling = Literal["standard", "query"] | None
AnyLinear = TypeVar("AnyLinear", bound="LinearRanker")


class ScalingRanker(Ranker):
    """Base class of rankers that bring features to a common scale, which is part of the model.

    A subclass has the parameter `scaling` and trains on `_scaled_training_features`.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.
    """

    scaling: Scaling

    _parameters: ClassVar[Rules] = {"scaling": one_of("standard", "query", None)}

    _fitted: ClassVar[Rules] = {"scale_": optional(floats("n_features", above=0))}

    def _scaled_training_features(self, dataset: RankingDataset) -> Floats:
        """Learn the scaling and apply it."""
        self._learn_scaling(dataset)
        return self._scaled(dataset)

    def _learn_scaling(self, dataset: RankingDataset) -> None:
        self.__dict__.pop("scale_", None)
        if self.scaling == "standard":
            self.scale_ = spread_within_queries(dataset)

    def _scaled(self, dataset: RankingDataset) -> Floats:
        scaled = np.empty((dataset.n_documents, dataset.n_features))
        for rows, block in self._scaled_blocks(dataset):
            scaled[rows] = block
        return scaled

    def _scaled_blocks(self, dataset: RankingDataset) -> Iterator[tuple[slice, Floats]]:
        """Writable blocks of scaled features in double precision, a few queries at a time."""
        for rows, block in dataset.feature_blocks():
            features = block.astype(np.float64)
            if self.scaling == "standard":
                features /= self.scale_
            elif self.scaling == "query":
                first, last = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
                offsets = dataset.offsets[first : last + 1] - rows.start
                features = scaled_by_query(features, offsets)
            yield rows, features

    def _linear_formula(self, weights: Floats) -> Formula:
        """The formula of a weighted sum of the scaled features."""
        from localrank.formulas import Column, Linear, OnColumns

        if self.scaling == "standard":
            return Linear(weights / self.scale_)
        if self.scaling is None:
            return Linear(weights)
        columns = tuple(Column("min-max-zero", feature) for feature in range(len(weights)))
        return OnColumns(columns, Linear(weights), self._with_scaled)

    def _with_scaled(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.with_features(self._scaled(dataset), dataset.feature_names)


class LinearRanker(ScalingRanker):
    """Base class of rankers whose score is a weighted sum of the scaled features.

    A subclass sets `coef_`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features.
    """

    needs = Needs(trial=False)

    _fitted: ClassVar[Rules] = {"coef_": floats("n_features")}

    coef_: Floats

    def _check_fitted(self) -> None:
        scaled = self.scaling == "standard"
        check_together(self, holds=scaled == (getattr(self, "scale_", None) is not None))

    def _predict(self, dataset: RankingDataset) -> Array:
        weights = self.coef_ / self.scale_ if self.scaling == "standard" else self.coef_
        features = self._scaled(dataset) if self.scaling == "query" else dataset.features
        # Not by BLAS, which rounds a row by its position: equal documents must score the same.
        return projections(read_only(features, np.float64), read_only(weights, np.float64))

    def _formula(self) -> Formula:
        return self._linear_formula(self.coef_)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        return table_of(self._scaled(dataset) * self.coef_)

    def _importances(self) -> Floats:
        return shares(np.abs(self.coef_))


def fitted_path(ranker: AnyLinear, X: Any, y: Any, qid: Any, Cs: ArrayLike) -> list[AnyLinear]:
    """A fitted clone of a ranker for each C, in the order of `Cs`.

    They are fitted in ascending order of C. What one fit leaves in `carried` helps the next.
    """
    dataset, _ = ordered(ranker, admitted(ranker, X, y, qid)[0])
    values = np.asarray(Cs, dtype=np.float64).ravel().tolist()
    models = [clone(ranker).set_params(C=C) for C in values]
    for model in models:
        check_parameters(model)
    shared: dict[str, Any] = {}
    for model in sorted(models, key=lambda model: model.C):
        model._shared = shared
        try:
            learn(model, dataset)
        finally:
            del model._shared
    return models


def carried(ranker: LinearRanker) -> dict[str, Any]:
    """What the fits along a path share. Empty for a single fit."""
    shared: dict[str, Any] = getattr(ranker, "_shared", {})
    return shared


def scaled_by_query(features: Floats, offsets: Integers) -> Floats:
    """Each feature scaled to [0, 1] within each query, as in LETOR; 0 if constant in the query.

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
    # If all values of a query are equal, the difference below is 0, whatever the divisor.
    extent[extent == 0] = 1.0
    scaled: Floats = features - np.repeat(low, sizes, axis=0)
    scaled /= np.repeat(extent, sizes, axis=0)
    return scaled
