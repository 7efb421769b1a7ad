"""One small net on the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, number, whole
from localrank.data import RankingDataset
from localrank.rankers._contribution_tables import N_MORE, shares
from localrank.rankers._inputs import filling_of
from localrank.rankers.base import missing_rule
from localrank.rankers.listwise_net._net_ranker import NetRanker
from localrank.rankers.listwise_net._scoring import MAX_INPUT

if TYPE_CHECKING:
    from localrank.formulas import Formula


class FeatureNet(NetRanker):
    """Base class of ListNet and RankNet: everything but the loss."""

    _parameters: ClassVar[Rules] = {
        "n_units": whole(0, 10_000),
        "learning_rate": number(above=0, most=1),
        "decay": number(least=0, most=1),
        "missing": missing_rule,
    }

    def _inputs(self, dataset: RankingDataset) -> Array:
        return self._standard(dataset)

    def _predict(self, dataset: RankingDataset) -> Array:
        return self._scores(self._inputs(dataset))[0, : dataset.n_documents]

    def _check_fitted(self) -> None:
        scaled = all(getattr(self, name, None) is not None for name in ("mean_", "scale_"))
        fits = self.skip_.shape == (1, filling_of(self).n_columns)
        check_together(self, holds=scaled and fits)

    def _formula(self) -> Formula:
        return self._net(0, self.mean_, self.scale_, MAX_INPUT)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        """The slope of the score at the document times its inputs; biases count together."""
        n, n_features = dataset.features.shape
        inputs = self._inputs(dataset)[:n].astype(np.float64)
        table = np.zeros((n, n_features + N_MORE))
        table[:, :-N_MORE] = self._slopes(inputs, 0) * inputs
        table[:, -N_MORE] = self._predict(dataset) - table.sum(axis=1)
        return table

    def _importances(self) -> Floats:
        return shares(self._path_weights())
