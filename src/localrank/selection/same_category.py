"""The group of the query's category."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, integers, one_of, optional, texts, whole
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.grouping.known_groups import categories_of, category_column, known_categories
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection.base import Selector

if TYPE_CHECKING:
    from localrank.formulas import Router


@declare(
    "same-category",
    "the group of the query's known category",
    sample={"categories": {1: "few", 1000: "none"}},
)
class SameCategory(Selector):
    """Chooses the group of the training queries with the query's category.

    Use it with `KnownGroups` and the same `categories`. A query is unseen if its category is not
    known, or if no training query has it.

    Parameters
    ----------
    categories : dict, int or str
        The category of each query, as in `KnownGroups`. A dict: from query ids, including those
        of new queries, to categories. An int or str: a feature, by column or name, with one value
        for all documents of a query.
    unseen : {"nearest", "refuse"}, default="nearest"
        What to do with an unseen query. "nearest": choose the group of its nearest training
        query. "refuse": raise an error.
    representation : Representation, optional
        How queries are described, to place unseen ones. None: use the grouping's representation.

    Attributes
    ----------
    categories_ : ndarray of str
        The categories of the training queries, ascending.
    category_groups_ : ndarray of shape (n_categories,)
        The group of each category.
    column_ : int or None
        Column of the feature that holds categories. None: `categories` is a dict.
    home_ : ndarray of shape (n_queries,)
        The group of each training query.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> X, qid = [[1.0], [2.0], [2.0], [8.0]], ["a", "b", "c", "d"]
    >>> dataset = RankingDataset.from_arrays(X, qid=qid)
    >>> mean = Mean().fit(dataset)
    >>> groups = Groups.from_labels(np.array([0, 1, 1, 0]))
    >>> selector = SameCategory({"a": "news", "b": "shops", "c": "shops", "d": "news"})
    >>> selector = selector.fit(dataset, groups, mean, mean.transform(dataset))
    >>> new = RankingDataset.from_arrays([[9.0], [8.5]], qid=["b", "e"])
    >>> selector.weights(new, [])
    array([[0., 1.],
           [1., 0.]])
    """

    _parameters: ClassVar[Rules] = {
        "categories": known_categories,
        "unseen": one_of("nearest", "refuse"),
    }

    _fitted: ClassVar[Rules] = {
        "categories_": texts("n_categories"),
        "category_groups_": integers("n_categories", below="n_groups"),
        "column_": optional(whole(0)),
        "home_": integers("n_queries", below="n_groups"),
    }

    refuses = True

    column_: int | None

    def __init__(
        self,
        categories: dict[Any, Any] | int | str,
        *,
        unseen: Literal["nearest", "refuse"] = "nearest",
        representation: Representation | None = None,
    ) -> None:
        self.categories = categories
        self.unseen = unseen
        self.representation = representation

    def fit(
        self,
        dataset: RankingDataset,
        groups: Groups,
        representation: Representation,
        descriptions: Array,
    ) -> Self:
        super().fit(dataset, groups, representation, descriptions)
        self.column_ = category_column(self, dataset)
        categories = categories_of(self.categories, self.column_, dataset)
        known = np.array([category is not None for category in categories])
        if not known.any():
            raise ValueError(
                "SameCategory needs the category of at least one training query. None is known."
            )
        self.categories_, first, kinds = np.unique(
            [category for category in categories if category is not None],
            return_index=True,
            return_inverse=True,
        )
        self.category_groups_ = groups.home[known][first]
        apart = self.category_groups_[kinds] != groups.home[known]
        if apart.any():
            kind = kinds[np.argmax(apart)]
            raise ValueError(
                f"SameCategory needs groups of whole categories, such as those of KnownGroups "
                f"with the same categories. Queries of category "
                f"{str(self.categories_[kind])!r} are in several groups."
            )
        return self

    def _fit(self, groups: Groups) -> None:
        self.home_ = groups.home

    def _check_fitted(self) -> None:
        n_features = self.representation_.n_features_in_
        known = self.column_ is None or self.column_ < n_features
        one_source = (self.column_ is None) == isinstance(self.categories, dict)
        # Instead of a trial, which may be refused: check the shape of a description.
        trial = RankingDataset(np.ones((2, n_features)), None, np.array([0, 2]), np.array([0]))
        alike = self.representation_.transform_rows(trial).shape[1:] == self.descriptions_.shape[1:]
        same = len(self.home_) == len(self.descriptions_) > 0
        check_together(self, holds=known and one_source and alike and same)

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        categories = categories_of(self.categories, self.column_, dataset)
        known = dict(zip(self.categories_.tolist(), self.category_groups_.tolist(), strict=True))
        groups = np.array([known.get(category, -1) for category in categories], np.int64)
        unseen = np.flatnonzero(groups < 0)
        if len(unseen) and self.unseen == "refuse":
            query, category = dataset.query_ids[unseen[0]], categories[unseen[0]]
            has = "no known category"
            if category is not None:
                has = f"category {category!r}, which no training query has"
            raise ValueError(
                f"Query {query} has {has}. With unseen='nearest' SameCategory sends it to the "
                f"group of its nearest training query."
            )
        if len(unseen):
            described = self.representation_.transform_rows(dataset.taken(unseen))
            nearest = self.representation_.nearest(described, self.descriptions_)
            groups[unseen] = self.home_[nearest]
        return self._all_on(groups)

    def router(self) -> Router:
        from localrank.formulas import CategoryRouter

        known = dict(zip(self.categories_.tolist(), self.category_groups_.tolist(), strict=True))
        groups: dict[float | str, int]
        if isinstance(self.categories, dict):
            kinds = {str(query): str(category) for query, category in self.categories.items()}
            groups = {query: known[kind] for query, kind in kinds.items() if kind in known}
        else:
            groups = {float(category): group for category, group in known.items()}
        return CategoryRouter(
            partial(self.weights, models=()), self.column_, groups, self.unseen == "refuse"
        )
