"""How groups of queries agree with categories that somebody knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from localrank.arrays import Integers
from localrank.data import RankingDataset
from localrank.data.feature_columns import column_of, known_columns
from localrank.evaluation.engine import MethodResult
from localrank.grouping import Groups
from localrank.grouping.categories import categories_of
from localrank.printing import Printed, Table


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Printed):
    """Groups and categories of the same queries, side by side.

    Attributes
    ----------
    adjusted_rand_index : float
        1 where groups and categories are the same partition, about 0 where they have nothing to
        do with each other, below 0 where they agree less than chance would make them [1]_.
    table : ndarray of shape (n_groups, n_categories)
        How many queries of each group are of each category.
    groups, categories : tuple of str
        What rows and columns stand for.

    References
    ----------
    .. [1] Hubert, Arabie. Comparing Partitions. Journal of Classification 2, 1985.
    """

    adjusted_rand_index: float
    table: Integers
    groups: tuple[str, ...]
    categories: tuple[str, ...]

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
        The `groups_` of a fitted `LocalRanker`, or a label for each query. Where groups overlap,
        the one that serves a query counts.
    categories : array-like of shape (n_queries,)
        Of the same queries in the same order, as in the ranker's `training_query_ids_`.

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
    own = groups.home if isinstance(groups, Groups) else np.asarray(groups)
    known = np.asarray(categories)
    if own.ndim != 1 or own.shape != known.shape or not len(own):
        raise ValueError(
            f"agreement needs one group and one category for each query. Got shapes {own.shape} "
            f"and {known.shape} instead."
        )
    rows, of_row = np.unique(own, return_inverse=True)
    columns, of_column = np.unique(known, return_inverse=True)
    table = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(table, (of_row, of_column), 1)
    # Groups of a ranker are numbered from 1 where they are shown.
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

    By method, where it has groups, and by fold: each fold makes groups of its own. Queries
    without a category are left out, and so are folds in which no query has one.

    Parameters
    ----------
    results : mapping from name to MethodResult
        None of them failed.
    categories : mapping
        From query ids, as `categories_by_query` finds them.
    """
    grouped = {n: r for n, r in results.items() if all(len(run.groups) for run in r.runs)}
    found: dict[str, dict[str, Agreement]] = {}
    for name, result in grouped.items():
        known = np.array(categories_of(categories, None, result.test), dtype=object)
        folds, groups = np.array(result.fold_names), np.concatenate([r.groups for r in result.runs])
        has_one = np.array([category is not None for category in known])
        found[name] = {
            run.fold: agreement(groups[own] + 1, known[own].astype(str))
            for run in result.runs
            if (own := has_one & (folds == run.fold)).any()
        }
    return found


def categories_by_query(
    tests: Iterable[RankingDataset], categories: Mapping[Any, Any] | int | str
) -> dict[Any, str]:
    """The category of each test query that has one; an error where none has.

    Parameters
    ----------
    tests : iterable of RankingDataset
        Read one at a time.
    categories : mapping, int or str
        From query ids to categories; or a feature by column or name, with one value for all
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
            f"Categories of queries must be those of the queries to compare on. Got none of "
            f"their {n_queries:,} instead."
        )
    return known


def _known(categories: Mapping[Any, Any] | int | str, dataset: RankingDataset) -> list[str | None]:
    """The category of each query, None where it is not known."""
    if isinstance(categories, Mapping):
        return categories_of(categories, None, dataset)
    column = column_of(dataset, categories)
    if column < 0:
        raise ValueError(
            f"Categories of queries must be a mapping from query ids, or "
            f"{known_columns(dataset)}. Got {categories!r} instead."
        )
    return categories_of(categories, column, dataset)


def _adjusted_rand_index(table: Integers) -> float:
    """(index - expected) / (largest - expected), of the pairs of queries that are together."""

    def pairs(counts: Integers) -> float:
        return float(np.sum(counts * (counts - 1.0) / 2))

    n = int(table.sum())
    together = pairs(table)
    in_groups, in_categories = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    largest = (in_groups + in_categories) / 2
    expected = in_groups * in_categories / max(n * (n - 1) / 2, 1)
    # Both put all queries together, or all apart: they agree.
    return 1.0 if largest == expected else (together - expected) / (largest - expected)
