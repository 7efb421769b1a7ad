"""What rankers share that train another one on more columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from localrank.arrays import Array, Flags
from localrank.data import RankingDataset
from localrank.fitted import Kinds, check_together, have_features, part
from localrank.parameters import Rules, instance
from localrank.rankers.base import HeldOut, Ranker, Weights


class Expanded(Ranker):
    """Trains a ranker on documents with more features.

    A subclass has the parameter `ranker` and implements `expanded`, which looks at each query by
    itself, and `n_expanded`. Documents are scored in blocks of whole queries, so that few are
    expanded at a time.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.
    """

    _parameters: ClassVar[Rules] = {"ranker": instance(Ranker, "a ranker")}
    _fitted: ClassVar[Kinds] = {"ranker_": part(Ranker)}

    # What the expansion of a block should take, unless one query takes more.
    block_bytes: ClassVar[int]

    ranker: Ranker
    ranker_: Ranker

    @abstractmethod
    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents with more features."""

    @abstractmethod
    def n_expanded(self, n_features: int) -> int:
        """How many features documents with so many have then."""

    @property
    def n_models_(self) -> int:
        return self.ranker_.n_models_

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return self.ranker.learns_from(dataset)

    def _order_seed(self) -> None:
        return None

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        held_out = None if valid is None else self.expanded(valid)
        ranker: Ranker = clone(self.ranker)
        self.ranker_ = ranker.fit_rows(self.expanded(dataset), query_weights, held_out)

    def _check_fitted(self) -> None:
        check_together(
            self, holds=have_features(self.n_expanded(self.n_features_in_), self.ranker_)
        )

    def _predict(self, dataset: RankingDataset) -> Array:
        row_bytes = self.ranker_.n_features_in_ * dataset.features.itemsize
        # A block is the queries that begin within one stretch of so many rows.
        block = dataset.offsets[:-1] // max(self.block_bytes // row_bytes, 1)
        if block[-1] == 0:
            return self.ranker_.predict_rows(self.expanded(dataset))
        scores = np.empty(dataset.n_documents)
        for queries in np.split(np.arange(dataset.n_queries), np.flatnonzero(np.diff(block)) + 1):
            rows = slice(dataset.offsets[queries[0]], dataset.offsets[queries[-1] + 1])
            # Not named, so that one block is gone before the next is made.
            scores[rows] = self.ranker_.predict_rows(self.expanded(dataset.taken(queries)))
        return scores
