"""Categories of queries that the user gives: by query id, or as a column of the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.rules import Rule, refuse
from localrank.data import RankingDataset
from localrank.data._feature_columns import column_of, known_columns, values_of_queries
from localrank.persistence.encoding import MAX_NUMBERED

known_categories = Rule(
    lambda value, _: (
        (isinstance(value, dict) and len(value) > 0 and _can_be_saved(value))
        or (isinstance(value, int | np.integer | str) and not isinstance(value, bool))
    ),
    f"a column of the features, or a dict from query ids to categories, not empty, and with texts "
    f"as ids if it has more than {MAX_NUMBERED:,}",
)


def category_column(part: Any, dataset: RankingDataset) -> int | None:
    """The column of a part's `categories`; None if they are a dict."""
    if isinstance(part.categories, dict):
        return None
    column = column_of(dataset, part.categories)
    if column < 0:
        refuse(part, "categories", f"a dict from query ids or {known_columns(dataset)}")
    return column


def categories_of(categories: Any, column: int | None, dataset: RankingDataset) -> list[str | None]:
    """The category of each query as a text; None if it is not known.

    Ids and categories are compared by their text: 7 and "7" are the same.

    Parameters
    ----------
    categories : dict
        Category by query id. Only used if `column` is None.
    column : int or None
        The feature that holds the category. All documents of a query must have the same value. A
        missing value means that the category is not known.
    dataset : RankingDataset
        The queries.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[3.0], [3.0], [0.5]], qid=[7, 7, 8])
    >>> categories_of({7: "shoes"}, None, dataset), categories_of(None, 0, dataset)
    (['shoes', None], ['3', '0.5'])
    """
    if column is None:
        known = {str(query): str(category) for query, category in categories.items()}
        return [known.get(str(query)) for query in dataset.query_ids.tolist()]
    values = values_of_queries(dataset, np.array([column]), "the category of queries")
    return [None if np.isnan(value) else f"{value:.17g}" for value in values.ravel().tolist()]


def _can_be_saved(categories: dict[Any, Any]) -> bool:
    """Whether a model file may hold the keys: many numbers could be chosen to collide."""
    return len(categories) <= MAX_NUMBERED or all(type(query) is str for query in categories)
