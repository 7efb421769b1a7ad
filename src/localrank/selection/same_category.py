"""The group of the query's own category."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, check_together, count, integers, maybe, texts
from localrank.grouping.base import Groups
from localrank.grouping.categories import categories_of, category_column, known_categories
from localrank.parameters import Rules, one_of
from localrank.rankers import Ranker
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
    """Chooses the group of the training queries that have the query's category.

    For groups by `KnownGroups` with the same `categories`. A query whose category is not known,
    or that no training query has, is unseen.

    Parameters
    ----------
    categories : dict, int or str
        From query ids to categories, new queries among them; or a feature by column or name,
        with one value for all documents of a query. As for `KnownGroups`.
    unseen : {"nearest", "refuse"}, default="nearest"
        An unseen query goes to the group of its nearest training query, or is an error.
    representation : Representation, optional
        How queries are described, for unseen ones. None: use the grouping's representation.

    Attributes
    ----------
    categories_ : ndarray of str
        Those of the training queries, ascending.
    category_groups_ : ndarray of shape (n_categories,)
        The group of each.
    column_ : int or None
        The feature that holds categories.
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

    _fitted: ClassVar[Kinds] = {
        "categories_": texts("n_categories"),
        "category_groups_": integers("n_categories", below="n_groups"),
        "column_": maybe(count(0)),
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
        found = categories_of(self.categories, self.column_, dataset)
        known = np.array([category is not None for category in found])
        if not known.any():
            raise ValueError("SameCategory knows the category of no training query.")
        own = np.array([category for category in found if category is not None])
        self.categories_, first, kinds = np.unique(own, return_index=True, return_inverse=True)
        self.category_groups_ = groups.home[known][first]
        apart = self.category_groups_[kinds] != groups.home[known]
        if apart.any():
            kind = kinds[np.argmax(apart)]
            raise ValueError(
                f"SameCategory needs groups that hold whole categories, such as those of "
                f"KnownGroups with the same categories. Queries of category "
                f"{str(self.categories_[kind])!r} are in several groups."
            )
        return self

    def _fit(self, groups: Groups) -> None:
        self.home_ = groups.home

    def _check_fitted(self) -> None:
        n_features = self.representation_.n_features_in_
        known = self.column_ is None or self.column_ < n_features
        one = (self.column_ is None) == isinstance(self.categories, dict)
        # In place of a trial, which may be refused: a query is described as those of training.
        trial = RankingDataset(np.ones((2, n_features)), None, np.array([0, 2]), np.array([0]))
        alike = self.representation_.transform_rows(trial).shape[1:] == self.descriptions_.shape[1:]
        same = len(self.home_) == len(self.descriptions_) > 0
        check_together(self, holds=known and one and alike and same)

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        found = categories_of(self.categories, self.column_, dataset)
        known = dict(zip(self.categories_.tolist(), self.category_groups_.tolist(), strict=True))
        groups = np.array([known.get(category, -1) for category in found], np.int64)
        unseen = np.flatnonzero(groups < 0)
        if len(unseen) and self.unseen == "refuse":
            query, category = dataset.query_ids[unseen[0]], found[unseen[0]]
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
