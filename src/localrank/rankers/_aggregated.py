"""Rankers that merge the lists of other rankers into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.estimator import clone
from localrank._base.rules import (
    Rules,
    check_together,
    have_features,
    instance,
    instances,
    optional,
)
from localrank.aggregation import Aggregator
from localrank.data import RankingDataset
from localrank.persistence import rank_example
from localrank.rankers._contribution_tables import N_MORE, centred_rows, no_contributions
from localrank.rankers._explaining import contribution_rows
from localrank.rankers.base import Needs, Ranker, Weights, lists_of
from localrank.rankers.query_coordinates._coordinates import SharedCoordinates

if TYPE_CHECKING:
    from localrank.formulas import Formula

an_aggregator = instance(Aggregator, "one of localrank.aggregation, such as Borda(), or None")


class Aggregated(Ranker):
    """Base class of rankers that train others and aggregate their lists of a query's documents.

    A subclass has the parameter `aggregator`, and passes the rankers it trained to `_keep`.

    Attributes
    ----------
    rankers_ : list of Ranker
    aggregator_ : Aggregator
    """

    _parameters: ClassVar[Rules] = {"aggregator": optional(an_aggregator)}

    _fitted: ClassVar[Rules] = {"rankers_": instances(Ranker), "aggregator_": instance(Aggregator)}

    needs = Needs(missing=True, order="given", trial=False)

    rankers_: list[Ranker]
    aggregator_: Aggregator

    @property
    def n_models_(self) -> int:
        return sum(ranker.n_models_ for ranker in self.rankers_)

    def _keep(
        self,
        rankers: list[Ranker],
        aggregator: Aggregator,
        dataset: RankingDataset,
        query_weights: Weights = None,
    ) -> None:
        """Store trained rankers and a clone of the aggregator, fitted if it learns."""
        fitted: Aggregator = clone(aggregator)
        if fitted.learns:
            fitted.fit_rows(dataset, lists_of(rankers, dataset), query_weights)
        self.rankers_, self.aggregator_ = rankers, fitted

    def _check_fitted(self) -> None:
        check_together(self, holds=have_features(self.n_features_in_, *self.rankers_))
        if self.aggregator_.learns:
            # It may have learned from another number of lists.
            rank_example(self)

    def _row_bytes(self) -> int:
        return max([ranker._row_bytes() for ranker in self.rankers_])

    def _predict(self, dataset: RankingDataset) -> Array:
        with SharedCoordinates():
            lists = np.array([ranker.score_block(dataset) for ranker in self.rankers_])
        return self.aggregator_.aggregate_rows(dataset, lists)

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable, Standardised, WeightedSum

        form = self.aggregator_.fixed_sum(len(self.rankers_))
        if form is None:
            kind = type(self.aggregator_).__name__
            raise NotExportable(
                f"{type(self).__name__} with {kind}",
                f"{kind} merges lists by the positions of documents, and no search engine adds up "
                f"positions",
                "Give it an aggregator that adds up scores, such as ZScore() or MeanScore().",
            )
        terms = tuple(ranker.formula() for ranker in self.rankers_)
        if form.standardised:
            terms = tuple(map(Standardised, terms))
        return WeightedSum(terms, form.weights)

    def _members(self) -> Sequence[Ranker]:
        return self.rankers_

    def _contributions(self, dataset: RankingDataset) -> Floats:
        lists = lists_of(self.rankers_, dataset)
        form = self.aggregator_.linear_form(lists, dataset.offsets)
        if form is None:
            kind = type(self.aggregator_).__name__
            raise no_contributions(
                f"{type(self).__name__} with {kind}", f"{kind} does not add up scores"
            )
        table = np.zeros((dataset.n_documents, dataset.n_features + N_MORE))
        for ranker, weights in zip(self.rankers_, form.weights, strict=True):
            rows = contribution_rows(ranker, dataset)
            if form.centred:
                rows = centred_rows(rows, dataset.offsets)
            table += weights[dataset.query_index, None] * rows
        return table

    def _importances(self) -> Floats:
        weights = getattr(self.aggregator_, "weights_", None)
        return np.average(
            [ranker.feature_importances_ for ranker in self.rankers_], axis=0, weights=weights
        )
