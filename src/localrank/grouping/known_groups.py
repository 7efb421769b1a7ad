"""Groups of queries by categories that the user gives."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from localrank._base.arrays import Array
from localrank._base.rules import Rule, Rules, refuse
from localrank.data import RankingDataset
from localrank.data._feature_columns import column_of, known_columns, values_of_queries
from localrank.grouping._training import TrainingQueries, merge_small
from localrank.grouping.base import Grouping, Groups
from localrank.persistence.encoding import MAX_NUMBERED
from localrank.registry import declare
from localrank.representations.base import Representation

known_categories = Rule(
    lambda value, _: (
        (isinstance(value, dict) and len(value) > 0 and _can_be_saved(value))
        or (isinstance(value, int | np.integer | str) and not isinstance(value, bool))
    ),
    f"a column of the features, or a dict from query ids to categories, not empty, and with texts "
    f"as ids if it has more than {MAX_NUMBERED:,}",
)


@declare(
    "known-groups", "one group for each category of queries that you know", sample={"categories": 0}
)
class KnownGroups(Grouping):
    """One group for each category of queries that you know, such as shops and news.

    Every training query needs a category. Give queries without one a category such as "other". A
    category with too little to learn from is merged into its nearest group, as in other
    groupings. The selector `SameCategory` sends new queries to the group of their category. Use
    any other selector if the categories of new queries are not known.

    Parameters
    ----------
    categories : dict, int or str
        The category of each query. A dict: from query ids to categories. An int or str: a
        feature, by column or name, with one value for all documents of a query. Ids and
        categories are compared as texts.

    Examples
    --------
    >>> from localrank import LocalRanker
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> from localrank.representations import Mean
    >>> from localrank.selection import SameCategory
    >>> dataset, types = make_queries(60, n_types=3)
    >>> kinds = {query: f"kind {type}" for query, type in zip(dataset.query_ids, types)}
    >>> local = LocalRanker(Mean(), KnownGroups(kinds), RankSVM(), SameCategory(kinds))
    >>> bool((local.fit(dataset).groups_.home == types).all())
    True
    """

    _parameters: ClassVar[Rules] = {"categories": known_categories}

    def __init__(self, categories: dict[Any, Any] | int | str) -> None:
        self.categories = categories

    def _group(self, representation: Representation, descriptions: Array) -> NoReturn:
        raise ValueError(
            "KnownGroups groups queries by their ids or features, not by descriptions. It must be "
            "the grouping of a LocalRanker itself, not part of another grouping."
        )

    def group_training(
        self, training: TrainingQueries, representation: Representation, descriptions: Array
    ) -> Groups:
        dataset = training.dataset
        categories = categories_of(self.categories, category_column(self, dataset), dataset)
        if None in categories:
            missing = dataset.query_ids[[category is None for category in categories]]
            raise ValueError(
                f"KnownGroups needs a category for every training query. {len(missing):,} of "
                f"{dataset.n_queries:,} have none, query {missing[0]} among them."
            )
        groups = Groups.from_labels(np.array(categories))
        return merge_small(
            groups, training.teaches, training.min_queries, representation, descriptions
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
