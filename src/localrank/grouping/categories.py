"""Categories of queries that the user knows: by query id, or from a column of the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.data import RankingDataset
from localrank.data.feature_columns import column_of, known_columns, values_of_queries
from localrank.parameters import Rule, refuse
from localrank.persistence.encoding import MOST_NUMBERED

known_categories = Rule(
    lambda value: (
        (isinstance(value, dict) and len(value) > 0 and _can_be_saved(value))
        or (isinstance(value, int | np.integer | str) and not isinstance(value, bool))
    ),
    f"a column of the features, or a dict from query ids to categories, not empty, with texts as "
    f"ids where there are more than {MOST_NUMBERED:,}",
)


def category_column(part: Any, dataset: RankingDataset) -> int | None:
    """The column of a part's `categories`; None where they are a dict."""
    if isinstance(part.categories, dict):
        return None
    column = column_of(dataset, part.categories)
    if column < 0:
        refuse(part, "categories", f"a dict from query ids or {known_columns(dataset)}")
    return column


def categories_of(categories: Any, column: int | None, dataset: RankingDataset) -> list[str | None]:
    """The category of each query as a text; None where it is not known.

    Ids and categories are compared by their text: 7 and "7" are the same.

    Parameters
    ----------
    categories : dict
        From query ids, where `column` is None.
    column : int or None
        A feature that is the same for all documents of a query; where it is missing, the category
        is not known.
    dataset : RankingDataset

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
    """Whether a model file may hold the keys: many numbers could be made to collide."""
    return len(categories) <= MOST_NUMBERED or all(type(query) is str for query in categories)
