"""Groups of queries by categories that the user gives."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from localrank._base.arrays import Array
from localrank._base.rules import Rules
from localrank.grouping._categories import categories_of, category_column, known_categories
from localrank.grouping._training import TrainingQueries, merge_small
from localrank.grouping.base import Grouping, Groups
from localrank.registry import declare
from localrank.representations.base import Representation


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
