"""Groups of queries: how they agree with known categories, and a map of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Floats, Integers
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._feature_columns import column_of, known_columns
from localrank.data._frames import FrameLibrary, frame_of
from localrank.grouping import Groups
from localrank.grouping.known_groups import categories_of
from localrank.local_ranker import LocalRanker
from localrank.rankers import Ranker
from localrank.rankers._linear import LinearRanker
from localrank.rankers.boosted_trees._boosted_trees import SummedTrees

if TYPE_CHECKING:
    from localrank.evaluation.runner import MethodResult


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Printed):
    """Groups and categories of the same queries, side by side.

    Attributes
    ----------
    adjusted_rand_index : float
        1: groups and categories are the same partition. About 0: they are unrelated. Below 0:
        they agree less than by chance [1].
    table : ndarray of shape (n_groups, n_categories)
        The number of queries of each group and category.
    groups, categories : tuple of str
        Names of the rows and columns.

    References
    ----------
    1. Hubert, Arabie. Comparing Partitions. Journal of Classification 2, 1985.
    """

    adjusted_rand_index: float
    table: Integers
    groups: tuple[str, ...]
    categories: tuple[str, ...]

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per group and category, with its number of queries.

        `library` is as in `RankingDataset.to_frame`.
        """
        columns = {
            "group": np.repeat(self.groups, len(self.categories)),
            "category": np.tile(self.categories, len(self.groups)),
            "n_queries": self.table.ravel(),
        }
        return frame_of(columns, library)

    def _shown(self) -> Sequence[str | Table]:
        rows = [
            [group, *(f"{number:,}" for number in counts), f"{sum(counts):,}"]
            for group, counts in zip(self.groups, self.table.tolist(), strict=True)
        ]
        return [
            Table("Queries of each group and category", ["group", *self.categories, "all"], rows),
            f"Adjusted Rand index {self.adjusted_rand_index:.3f}: 1 is the same partition, "
            f"0 is chance.",
        ]


def agreement(groups: Groups | ArrayLike, categories: ArrayLike) -> Agreement:
    """How groups of queries agree with known categories: adjusted Rand index, and a table.

    Parameters
    ----------
    groups : Groups or array-like of shape (n_queries,)
        The `groups_` of a fitted `LocalRanker`, or a label for each query. If groups overlap, a
        query counts in the group that serves it.
    categories : array-like of shape (n_queries,)
        The category of each query, in the same order: that of the ranker's
        `training_query_ids_`.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, types = make_queries(60, n_types=2, separation=3.0)
    >>> local = local_rank(2).fit(dataset)
    >>> agreement(local.groups_, np.where(types == 0, "shoes", "books"))
    Queries of each group and category
    <BLANKLINE>
     group  books  shoes  all
     ────────────────────────
     1         30      0   30
     2          0     30   30
    <BLANKLINE>
    Adjusted Rand index 1.000: 1 is the same partition, 0 is chance.
    """
    labels = groups.home if isinstance(groups, Groups) else np.asarray(groups)
    known = np.asarray(categories)
    if labels.ndim != 1 or labels.shape != known.shape or not len(labels):
        raise ValueError(
            f"agreement needs one group and one category for each query. Got shapes "
            f"{labels.shape} and {known.shape} instead."
        )
    rows, of_row = np.unique(labels, return_inverse=True)
    columns, of_column = np.unique(known, return_inverse=True)
    table = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(table, (of_row, of_column), 1)
    # Groups of a ranker are shown with numbers from 1.
    names = rows + 1 if isinstance(groups, Groups) else rows
    return Agreement(
        _adjusted_rand_index(table),
        table,
        tuple(map(str, names.tolist())),
        tuple(map(str, columns.tolist())),
    )


def agreements(
    results: Mapping[str, MethodResult], categories: Mapping[Any, Any]
) -> dict[str, dict[str, Agreement]]:
    """How the groups that serve the test queries agree with their categories.

    The result goes from methods with groups to folds, because each fold makes its own groups.
    Queries without a category are left out, and so are folds without a category.

    Parameters
    ----------
    results : mapping from name to MethodResult
        Results of methods that did not fail.
    categories : mapping
        The category of each query id, from `categories_by_query`.
    """
    grouped = {n: r for n, r in results.items() if all(len(run.groups) for run in r.runs)}
    by_method: dict[str, dict[str, Agreement]] = {}
    for name, result in grouped.items():
        known = np.array(categories_of(categories, None, result.test), dtype=object)
        folds, groups = np.array(result.fold_names), np.concatenate([r.groups for r in result.runs])
        has_category = np.array([category is not None for category in known])
        by_method[name] = {
            run.fold: agreement(groups[queries] + 1, known[queries].astype(str))
            for run in result.runs
            if (queries := has_category & (folds == run.fold)).any()
        }
    return by_method


def categories_by_query(
    tests: Iterable[RankingDataset], categories: Mapping[Any, Any] | int | str
) -> dict[Any, str]:
    """The category of each test query that has one. It is an error if none has.

    Parameters
    ----------
    tests : iterable of RankingDataset
        Read one at a time.
    categories : mapping, int or str
        A mapping from query ids; or the column or name of a feature that has one value for all
        documents of a query.
    """
    known: dict[Any, str] = {}
    n_queries = 0
    for test in tests:
        n_queries += test.n_queries
        pairs = zip(test.query_ids.tolist(), _known(categories, test), strict=True)
        known |= {query: category for query, category in pairs if category is not None}
    if not known:
        raise ValueError(
            f"The categories must be of the queries to compare on. None of these "
            f"{n_queries:,} queries has a category."
        )
    return known


def _known(categories: Mapping[Any, Any] | int | str, dataset: RankingDataset) -> list[str | None]:
    """The category of each query. None: it is not known."""
    if isinstance(categories, Mapping):
        return categories_of(categories, None, dataset)
    column = column_of(dataset, categories)
    if column < 0:
        raise ValueError(
            f"Categories must be a mapping from query ids, or "
            f"{known_columns(dataset)}. Got {categories!r} instead."
        )
    return categories_of(categories, column, dataset)


def _adjusted_rand_index(table: Integers) -> float:
    """(index - expected) / (largest - expected), of pairs of queries in the same group."""

    def pairs(counts: Integers) -> float:
        return float(np.sum(counts * (counts - 1.0) / 2))

    n = int(table.sum())
    together = pairs(table)
    in_groups, in_categories = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    largest = (in_groups + in_categories) / 2
    expected = in_groups * in_categories / max(n * (n - 1) / 2, 1)
    # Both put all queries together, or all apart: they agree.
    return 1.0 if largest == expected else (together - expected) / (largest - expected)


# At most this many queries stand on a map, taken evenly, and features are named for a group.
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
