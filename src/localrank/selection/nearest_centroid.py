"""The group whose centre is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, check_together, floats
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.representations.base import Representation
from localrank.selection.base import Selector


@declare("nearest-centroid", "the group with the nearest centre")
class NearestCentroid(Selector):
    """Chooses the group with the nearest centre, the mean of its queries' descriptions [1]_.

    Parameters
    ----------
    representation : Representation, optional
        How queries are described, as points. None: use the grouping's representation.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_groups, ...)

    References
    ----------
    .. [1] Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.representations import Mean
    >>> dataset, types = make_queries(30, separation=3.0)
    >>> mean = Mean().fit(dataset)
    >>> selector = NearestCentroid()
    >>> selector = selector.fit(dataset, Groups.from_labels(types), mean, mean.transform(dataset))
    >>> bool((selector.weights(dataset, []).argmax(axis=1) == types).all())
    True
    """

    _fitted: ClassVar[Kinds] = {"centroids_": floats()}

    def __init__(self, *, representation: Representation | None = None) -> None:
        self.representation = representation

    def _fit(self, groups: Groups) -> None:
        self._check_points()
        self.centroids_ = np.array([self.descriptions_[own].mean(axis=0) for own in groups])

    def _check_fitted(self) -> None:
        one = self.descriptions_.shape[1:] == self.centroids_.shape[1:]
        check_together(self, holds=one and len(self.centroids_) == self.n_groups_)

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        descriptions = self.representation_.transform_rows(dataset)
        distances = self.representation_.distances(descriptions, self.centroids_)
        return self._all_on(np.argmin(distances, axis=1))
