"""A map of the training queries by group, and the features that each group's model uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker
from localrank.rankers._linear import LinearRanker
from localrank.rankers.boosted_trees._boosted_trees import SummedTrees

# Most queries on a map, taken evenly, and most features named for a group.
N_QUERIES, N_FEATURES = 600, 5


@dataclass(frozen=True)
class StrongFeature:
    """A feature that a model uses, and its signed share of all weight."""

    feature: str
    weight: float


@dataclass(frozen=True)
class MappedGroup:
    """A group's number of training queries, and the features its model uses most."""

    size: int
    strongest: list[StrongFeature]


@dataclass(frozen=True, repr=False)
class GroupMap(Printed):
    """Training queries in two dimensions, and facts about their groups.

    Attributes
    ----------
    x, y : list of float
        Coordinates of each query shown.
    group : list of int
        Group of each query shown.
    ids : list of str
    groups : list of MappedGroup
    """

    x: list[float]
    y: list[float]
    group: list[int]
    ids: list[str]
    groups: list[MappedGroup]

    def _shown(self) -> list[str | Table]:
        return [f"GroupMap: {len(self.ids):,} queries of {len(self.groups)} groups"]


def group_map(ranker: LocalRanker, dataset: RankingDataset) -> GroupMap:
    """Two coordinates of each training query, its group, and facts about the groups.

    The coordinates keep the distances between queries as well as two coordinates can (classical
    scaling). If descriptions are points, these are their first two principal components.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> result = group_map(local_rank(3).fit(dataset), dataset)
    >>> len(result.x), len(result.groups), result.groups[0].strongest[0].feature[0]
    (60, 3, 'f')
    """
    selector = ranker.selector_
    n = len(selector.descriptions_)
    shown = np.unique(np.linspace(0, n - 1, min(n, N_QUERIES)).astype(int))
    descriptions = selector.descriptions_[shown]
    x, y = coordinates(selector.representation_.distances(descriptions, descriptions))
    return GroupMap(
        x.tolist(),
        y.tolist(),
        ranker.groups_.home[shown].tolist(),
        [str(query) for query in ranker.training_query_ids_[shown]],
        [
            MappedGroup(int(size), strongest_features(model, dataset))
            for size, model in zip(ranker.groups_.sizes, ranker.models_, strict=True)
        ],
    )


def coordinates(distances: Floats) -> tuple[Floats, Floats]:
    """Two coordinates by classical scaling.

    Examples
    --------
    >>> x, y = coordinates(np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]]))
    >>> np.hypot(x[0] - x[2], y[0] - y[2]).round(6)
    np.float64(5.0)
    """
    squares = -0.5 * distances**2
    rows = squares.mean(axis=0)
    centred = squares - rows - rows[:, None] + rows.mean()
    values, vectors = np.linalg.eigh(centred)
    vectors = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    # The sign of an axis means nothing: the largest entry decides it.
    first = vectors[:, :2] if len(vectors) > 1 else np.zeros((len(vectors), 2))
    first = first * np.sign(first[np.abs(first).argmax(axis=0), [0, 1]])
    return first[:, 0], first[:, 1]


def strongest_features(model: Ranker, dataset: RankingDataset) -> list[StrongFeature]:
    """The features with the most weight, for linear rankers and boosted trees."""
    if isinstance(model, LinearRanker):
        weights = model.coef_
    elif isinstance(model, SummedTrees):
        weights = model.trees_.importances("gain")
    else:
        return []
    total = np.abs(weights).sum()
    if total == 0:
        return []
    order = np.argsort(-np.abs(weights), kind="stable")[:N_FEATURES]
    labels = model.column_labels(dataset)
    return [StrongFeature(labels[i], float(weights[i] / total)) for i in order.tolist()]
