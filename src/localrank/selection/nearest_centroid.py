"""The group whose centre is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, check_together, floats
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Router


@declare("nearest-centroid", "the group with the nearest centre")
class NearestCentroid(Selector):
    """Chooses the group with the nearest centre; the first if tied.

    The centre of queries that are points is their mean [1]. The centre of queries described by
    `PrincipalComponents` is the directions that agree best with theirs. So a group takes the
    space of one query, and a query is compared with the groups instead of all training queries.
    The authors of LocalRank name this as an open problem [2].

    Parameters
    ----------
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_groups, ...)
        The centre of each group.

    References
    ----------
    1. Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.
    2. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009. Section 5.

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

    _fitted: ClassVar[Rules] = {"centroids_": floats()}

    def __init__(self, *, representation: Representation | None = None) -> None:
        self.representation = representation

    def _fit(self, groups: Groups) -> None:
        centroid = self.representation_.centroid
        order = self._content_order(groups.home)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.centroids_ = np.array(
            [
                centroid(self.descriptions_[members[np.argsort(place[members])]])
                for members in groups
            ]
        )

    def _check_fitted(self) -> None:
        same_shape = self.descriptions_.shape[1:] == self.centroids_.shape[1:]
        check_together(self, holds=same_shape and len(self.centroids_) == self.n_groups_)

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        descriptions = self.representation_.transform_rows(dataset)
        return self._all_on(self.representation_.nearest(descriptions, self.centroids_))

    def router(self) -> Router:
        from localrank.formulas import CentreRouter, Description

        description = Description.of(self.representation_)
        if description is None:
            return super().router()
        return CentreRouter(partial(self.weights, models=()), description, self.centroids_)
