"""The base class of rankers that train another ranker on more columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import clone
from localrank._base.rules import (
    Rules,
    check_together,
    have_features,
    instance,
    parts_of,
    refuse,
)
from localrank.data import RankingDataset
from localrank.rankers._contribution_tables import N_MORE
from localrank.rankers._explaining import contribution_rows
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights

if TYPE_CHECKING:
    from localrank.formulas import Column, Formula


class Expanded(Ranker):
    """Base class of rankers that train another ranker on documents with more features.

    A subclass has the parameter `ranker` and implements four methods. `expanded` adds features to
    each query separately. `n_expanded` counts them. `columns` says how columns are made. `folded`
    assigns values of columns to the features that they are made of. Documents are scored in blocks
    of whole queries, so few of them are expanded at a time. Training does the same if the ranker
    reads its rows in blocks, as boosted trees do.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.
    """

    _parameters: ClassVar[Rules] = {"ranker": instance(Ranker, "a ranker")}
    _fitted: ClassVar[Rules] = {"ranker_": instance(Ranker)}

    needs = Needs(missing=True, order="given", trial=False)

    ranker: Ranker
    ranker_: Ranker

    @abstractmethod
    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents with more features."""

    @abstractmethod
    def n_expanded(self, n_features: int) -> int:
        """Number of features after the expansion of `n_features`."""

    @abstractmethod
    def folded(self, values: Floats, n_features: int) -> Floats:
        """Values of columns, added up by the features that the columns are made of.

        Parameters
        ----------
        values : ndarray of shape (..., n_expanded)
        n_features : int

        Returns
        -------
        ndarray of shape (..., n_features + 1)
            The last entry is for columns that are made of all features together.
        """

    @abstractmethod
    def columns(self, n_features: int) -> tuple[Column, ...]:
        """How `expanded` makes its columns from `n_features` features."""

    @property
    def n_models_(self) -> int:
        return self.ranker_.n_models_

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return self.ranker.learns_from(dataset)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self._refuse_monotone()
        held_out = None if valid is None else self._derived(valid)
        ranker: Ranker = clone(self.ranker)
        self.ranker_ = ranker.fit_rows(self._derived(dataset), query_weights, held_out)

    def _refuse_monotone(self) -> None:
        """Refuse constraints, which would hold for a feature and not for what is made of it."""
        for part in parts_of(self.ranker):
            if getattr(part, "monotone", None):
                refuse(
                    part,
                    "monotone",
                    f"None inside {type(self).__name__}, which makes more columns of each feature: "
                    f"the score could fall through them. Constrain a ranker on the features",
                )

    def _derived(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents with more features, which are made when they are read."""
        return dataset.view().derived(self.expanded)

    def _check_fitted(self) -> None:
        check_together(
            self, holds=have_features(self.n_expanded(self.n_features_in_), self.ranker_)
        )

    def _row_bytes(self) -> int:
        return self.ranker_._row_bytes()

    def _predict(self, dataset: RankingDataset) -> Array:
        return self.ranker_.score_block(self.expanded(dataset))

    def _formula(self) -> Formula:
        from localrank.formulas import OnColumns

        columns = self.columns(self.n_features_in_)
        return OnColumns(columns, self.ranker_.formula(), self.expanded)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        n_features = dataset.n_features
        table = np.empty((dataset.n_documents, n_features + N_MORE))
        end = 0
        for block in dataset.query_blocks(self._door.row_bytes):
            rows = slice(end, end := end + block.n_documents)
            block_table = contribution_rows(self.ranker_, self.expanded(block))
            table[rows, :-1] = self.folded(block_table[:, :-N_MORE], n_features)
            # The joint contribution of all columns stays joint, and the base stays the base.
            table[rows, -2] += block_table[:, -2]
            table[rows, -1] = block_table[:, -1]
        return table

    def _importances(self) -> Floats:
        return self.folded(self.ranker_.feature_importances_, self.n_features_in_)[:-1]
