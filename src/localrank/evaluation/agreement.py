"""How groups of queries agree with categories that somebody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from localrank.arrays import Integers
from localrank.grouping import Groups
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
