"""What rankers share that train another one on more columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank.arrays import Array, Flags, Floats
from localrank.data import RankingDataset
from localrank.data.deferred import DeferredDataset, query_blocks
from localrank.estimator import clone
from localrank.fitted import Kinds, check_together, have_features, part
from localrank.parameters import Rules, instance
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.rankers.contribution_tables import N_MORE

if TYPE_CHECKING:
    from localrank.formulas import Column, Formula

# Expansions of training queries that take no more bytes are made once and kept.
SMALL_BYTES = 2**26


class Expanded(Ranker):
    """Trains a ranker on documents with more features.

    A subclass has the parameter `ranker` and implements `expanded`, which looks at each query by
    itself, `n_expanded`, `columns`, which says how columns are made, and `folded`, which gives
    columns back to the features that they are made of. Documents are scored in blocks of whole
    queries, so that few are expanded at a time; so are those that a ranker learns from, where it
    reads them in blocks, as boosted trees do.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.
    """

    _parameters: ClassVar[Rules] = {"ranker": instance(Ranker, "a ranker")}
    _fitted: ClassVar[Kinds] = {"ranker_": part(Ranker)}

    _sees_missing = True

    ranker: Ranker
    ranker_: Ranker

    @abstractmethod
    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents with more features."""

    @abstractmethod
    def n_expanded(self, n_features: int) -> int:
        """How many features documents with so many have then."""

    @abstractmethod
    def folded(self, values: Floats, n_features: int) -> Floats:
        """What columns have, given to the features that they are made of.

        Parameters
        ----------
        values : ndarray of shape (..., n_expanded)
        n_features : int

        Returns
        -------
        ndarray of shape (..., n_features + 1)
            The last entry is that of columns that are made of all features together.
        """

    @abstractmethod
    def columns(self, n_features: int) -> tuple[Column, ...]:
        """How the features of `expanded` are made of so many."""

    @property
    def n_models_(self) -> int:
        return self.ranker_.n_models_

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return self.ranker.learns_from(dataset)

    def _order_seed(self) -> None:
        return None

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        held_out = None if valid is None else self._deferred(valid)
        ranker: Ranker = clone(self.ranker)
        self.ranker_ = ranker.fit_rows(self._deferred(dataset), query_weights, held_out)

    def _deferred(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents with more features, which exist once they are read."""
        like = self.expanded(dataset.taken(np.zeros(1, np.int64)))
        if dataset.n_documents * like.features[0].nbytes <= SMALL_BYTES:
            return self.expanded(dataset)
        return DeferredDataset.of(dataset, self._expanded_features, like)

    def _expanded_features(self, dataset: RankingDataset) -> Array:
        return self.expanded(dataset).features

    def _check_fitted(self) -> None:
        check_together(
            self, holds=have_features(self.n_expanded(self.n_features_in_), self.ranker_)
        )

    @property
    def _needs_trial(self) -> bool:
        return False

    def _row_bytes(self, dataset: RankingDataset) -> int:
        return self.ranker_.n_features_in_ * dataset.dtype.itemsize

    def _predict(self, dataset: RankingDataset) -> Array:
        return self.ranker_.predict_rows(self.expanded(dataset))

    def _formula(self) -> Formula:
        from localrank.formulas import OnColumns

        columns = self.columns(self.n_features_in_)
        return OnColumns(columns, self.ranker_.formula(), self.expanded)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        n_features = dataset.n_features
        table = np.empty((dataset.n_documents, n_features + N_MORE))
        end = 0
        for block in query_blocks(dataset, self._row_bytes(dataset)):
            rows = slice(end, end := end + block.n_documents)
            own = self.ranker_.contribution_rows(self.expanded(block))
            table[rows, :-1] = self.folded(own[:, :-N_MORE], n_features)
            # What the ranker has for its columns together stays so, and the base is the base.
            table[rows, -2] += own[:, -2]
            table[rows, -1] = own[:, -1]
        return table

    def _importances(self) -> Floats:
        return self.folded(self.ranker_.feature_importances_, self.n_features_in_)[:-1]
