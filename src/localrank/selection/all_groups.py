"""All groups, with the same weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection.base import Selector


@declare("all-groups", "all groups, with the same weight")
class AllGroups(Selector):
    """Gives every group the same weight for every query: fusion without a choice [1].

    The models' scores are standardised within the query before they are added. It is the control
    of a selector that blends: what that gains over this one is due to its weights.

    Parameters
    ----------
    representation : Representation, optional
        How explanations find the nearest training queries. None: use the grouping's
        representation.

    Notes
    -----
    Kuzi et al. [1] fuse the rankings of all clusters. Cremers, Kaur and Koesomo say that their own
    fusion, by the probabilities of a classifier, is defined in another way. The formula of Kuzi
    et al. was not at hand. Equal weights and standardised scores were settled here.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> dataset = RankingDataset.from_arrays([[0.0], [1.0], [5.0]], qid=["a", "b", "c"])
    >>> mean = Mean().fit(dataset)
    >>> groups = Groups.from_labels(np.array([0, 0, 1]))
    >>> selector = AllGroups().fit(dataset, groups, mean, mean.transform(dataset))
    >>> selector.weights(dataset.select([0]), [])
    array([[0.5, 0.5]])
    """

    standardises = True

    def __init__(self, *, representation: Representation | None = None) -> None:
        self.representation = representation

    def _fit(self, groups: Groups) -> None:
        """Nothing to learn."""

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        return np.full((dataset.n_queries, self.n_groups_), 1 / self.n_groups_)

    def _no_router(self) -> str:
        return "all groups rank each list"
