"""The base of selectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, clone
from localrank._base.rules import Rules, check_parameters, floats, instance, optional, whole
from localrank.data import RankingDataset
from localrank.data._content_order import keys_of_values
from localrank.grouping.base import Groups
from localrank.rankers import Ranker
from localrank.representations.base import Representation

if TYPE_CHECKING:
    from localrank.formulas import Router


class Selector(Estimator):
    """Weighs the groups of training queries for a new query.

    A selector has the parameter `representation` (None: use the grouping's representation). It
    implements `_fit`, which learns from the descriptions of the training queries, and `weights`.

    Attributes
    ----------
    representation_ : Representation
        The fitted representation that describes queries.
    descriptions_ : ndarray
        The descriptions of the training queries, along the first axis.
    n_groups_ : int
        Number of groups.
    """

    _fitted: ClassVar[Rules] = {
        "representation_": instance(Representation),
        "descriptions_": floats(),
        "n_groups_": whole(1, name="n_groups"),
    }

    # Whether weights use labels, so that new queries cannot be served.
    needs_labels: ClassVar[bool] = False

    # Whether it may refuse a query that can be described. A loaded model is then not tried out.
    refuses: ClassVar[bool] = False

    # Whether scores are standardised within a query that several models rank.
    standardises: ClassVar[bool] = False

    representation: Representation | None

    _parameters: ClassVar[Rules] = {
        "representation": optional(instance(Representation, "one of localrank.representations")),
    }

    def fit(
        self,
        dataset: RankingDataset,
        groups: Groups,
        representation: Representation,
        descriptions: Array,
    ) -> Self:
        """Learn from the training queries and their groups.

        Parameters
        ----------
        dataset : RankingDataset
            The training queries.
        groups : Groups
            Their groups.
        representation : Representation
            The fitted representation by which the queries were grouped.
        descriptions : ndarray
            The descriptions of the queries by that representation.
        """
        check_parameters(self)
        self.representation_, self.descriptions_ = representation, descriptions
        if self.representation is not None:
            self.representation_ = clone(self.representation).fit_rows(dataset)
            self.descriptions_ = self.representation_.transform_rows(dataset)
        if self.representation_.needs_labels and not self.needs_labels:
            raise ValueError(
                f"{type(self).__name__} cannot describe new queries by "
                f"{type(self.representation_).__name__}, which needs labels. Set its "
                f"'representation' to one without labels, such as TopDocuments()."
            )
        self.n_groups_ = len(groups)
        self._fit(groups)
        return self

    @abstractmethod
    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        """The weight of each group's model for each query, of shape (n_queries, n_groups)."""

    @property
    def blends(self) -> bool:
        """Whether more than one group may have a weight for a query."""
        return self.standardises

    def router(self) -> Router:
        """How the weights are computed, for an export.

        A selector that can states it as data. One that needs more, such as all training queries,
        returns a `ServiceRouter`: a service then has to compute the weights.
        """
        from localrank.formulas import ServiceRouter

        return ServiceRouter(partial(self.weights, models=()), self._no_router(), self.blends)

    def _no_router(self) -> str:
        """Why the choice needs the whole model, as a clause."""
        kind = type(self.representation_).__name__
        return f"{kind} describes a list by more than sums of its features"

    @abstractmethod
    def _fit(self, groups: Groups) -> None:
        """Learn from `descriptions_` and the groups."""

    def _content_order(self, home: Integers) -> Integers:
        """Positions of the training queries, in an order that depends only on their content.

        Sums in this order round alike for any order of the queries.
        """
        values = self.descriptions_.reshape(len(home), -1)
        return np.argsort(keys_of_values(values, home), kind="stable")

    def _check_points(self) -> None:
        """Refuse a representation that gives only distances."""
        if not self.representation_.points:
            raise ValueError(
                f"{type(self).__name__} needs queries that are points. "
                f"{type(self.representation_).__name__} gives only distances between them. Use "
                f"NearestQuery, or a representation such as TopDocuments or TopScores."
            )

    def _all_on(self, groups: Integers) -> Floats:
        """Weight 1 for one group per query."""
        weights = np.zeros((len(groups), self.n_groups_))
        weights[np.arange(len(groups)), groups] = 1.0
        return weights
