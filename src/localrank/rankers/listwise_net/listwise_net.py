"""Small nets trained on the cross entropy of whole lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.rules import Rules, check_together, flag, number, whole
from localrank._kernels.sorting import read_only
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.rankers._contribution_tables import N_MORE, centred_rows, shares
from localrank.rankers._gains import (
    Gain,
    a_gain,
    check_gains,
    differ_in_gain,
    lesson_of_gain,
    targets,
)
from localrank.rankers._inputs import filling_of
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.listwise_net._net_ranker import NetRanker
from localrank.rankers.listwise_net._scoring import DOCUMENTS, MAX_INPUT, fill_inputs
from localrank.rankers.query_coordinates._coordinates import (
    N_AGGREGATES,
    coordinates,
    shared_coordinates,
)
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

# The parts of the query coordinates that the nets see.
_PARTS = "zpa"


@declare(
    "listwise-net",
    "small nets in the query's coordinates, from whole lists",
    kind="local",
    grid={"n_units": [32, 64], "dropout": [0.3, 0.5]},
    sample={"n_nets": 2, "n_units": 8},
)
class ListwiseNet(NetRanker):
    """Small nets whose softmax over a query's documents approximates the gains of the labels.

    Each net has one hidden layer and a linear skip. A document with inputs x gets the score

        output · max(0, hidden x + bias) + skip · x

    The nets minimise the loss of `ListwiseLinear`, -Σ_i t_i log softmax(scores)_i, with targets
    t_i proportional to the gains of the labels. Scores of a net are standardised within the query.
    The score of a document is their mean over the nets.

    The inputs are the document's coordinates within its query (`QueryCoordinates`): z, cut at ±4,
    and (p - 1/2) √12 of each feature, and the nine aggregates, standardised within the query.
    Training is limited to lists with 250,000 documents in all, chosen by their content.

    Parameters
    ----------
    n_nets : int, default=8
        Number of nets. They are trained together, on the same lists, from different starts.
    n_units : int, default=64
        Units in the hidden layer of each net.
    coordinates : bool, default=True
        Whether the inputs are query coordinates. False: the inputs are the features minus their
        mean over all training documents, divided by their standard deviation, and cut at ±4.
    dropout : float, default=0.3
        Share of the hidden units that each training step leaves out.
    learning_rate : float, default=0.002
        Highest learning rate. The rate rises over the first tenth of the steps, and then falls
        to 0 along a cosine.
    decay : float, default=0.02
        Weight decay: in each step, weights shrink by this share times the learning rate.
    gain : {"exponential", "linear"}, list of float or None, default=None
        Gain of a label y. "exponential": 2^y - 1. "linear": y. A list: the gains of the labels 0,
        1, 2 and so on, which must not fall. None: chosen by the size of the labels, as in
        `ListwiseLinear`.
    random_state : int or None, default=0
        Seed of the starts, the order of lists and the dropped units.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    hidden_ : ndarray of shape (n_nets, n_units, n_inputs)
    bias_, output_ : ndarray of shape (n_nets, n_units)
    skip_ : ndarray of shape (n_nets, n_inputs)
    mean_, scale_ : ndarray of shape (n_features,)
        Without coordinates: mean and divisor of each feature.

    Notes
    -----
    Training uses Adam with decoupled weight decay. A step uses 1/25 of the lists, at least 4 and
    at most 24 of them. Training makes 12 passes over the lists, or more, until it has made 300
    steps. Queries whose documents all have the same label are left out. A query's weight
    multiplies its loss; weights are scaled to mean 1.

    Contributions are exact: the slope of the score at the document times its inputs. The rest
    comes from the biases. It is assigned to all features together, as the aggregates are.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, n_features=5, random_state=0)
    >>> ranker = ListwiseNet(n_nets=2).fit(dataset)
    >>> ranker.hidden_.shape
    (2, 64, 19)
    """

    needs = replace(NetRanker.needs, lists=True)

    _parameters: ClassVar[Rules] = {
        "gain": a_gain,
        "n_nets": whole(1, 1000),
        "n_units": whole(1, 10_000),
        "coordinates": flag,
        "dropout": number(least=0, most=0.9),
        "learning_rate": number(above=0, most=1),
        "decay": number(least=0, most=1),
        "missing": missing_rule,
    }

    def __init__(
        self,
        n_nets: int = 8,
        *,
        n_units: int = 64,
        coordinates: bool = True,
        dropout: float = 0.3,
        learning_rate: float = 0.002,
        decay: float = 0.02,
        gain: Gain = None,
        random_state: int | None = 0,
        missing: Missing = "impute",
    ) -> None:
        self.n_nets = n_nets
        self.n_units = n_units
        self.coordinates = coordinates
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.decay = decay
        self.gain = gain
        self.random_state = random_state
        self.missing = missing

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return differ_in_gain(dataset, self.gain)

    def _lesson(self) -> str:
        return lesson_of_gain(self.gain)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        check_gains(self, dataset, query_weights)
        for name in ("mean_", "scale_"):
            self.__dict__.pop(name, None)
        if not self.coordinates:
            self._learn_standard(dataset)
        self._train(
            dataset,
            query_weights,
            targets(dataset, self.gain),
            n_nets=self.n_nets,
            dropout=self.dropout,
        )

    def _inputs(self, dataset: RankingDataset) -> Array:
        """Inputs of the nets, padded with rows of zeros to a multiple of six."""
        if not self.coordinates:
            return self._standard(dataset)
        n, width = dataset.features.shape
        offsets = read_only(dataset.offsets, np.int64)
        inputs = np.zeros((n + -n % DOCUMENTS, 2 * width + N_AGGREGATES), np.float32)
        features = dataset.features.astype(np.float64, copy=False)
        # Other rankers see the coordinates of single precision rounded, and nets do not.
        make = shared_coordinates if features is dataset.features else coordinates
        table = make(features, dataset.offsets, _PARTS)
        fill_inputs(read_only(table, np.float64), offsets, width, inputs)
        return inputs

    def _row_bytes(self) -> int:
        """Bytes of the coordinates in double precision."""
        return 8 * (3 * self.n_features_in_ + N_AGGREGATES)

    def _predict(self, dataset: RankingDataset) -> Array:
        lists = self._scores(self._inputs(dataset))[:, : dataset.n_documents]
        return ZScore().aggregate_rows(dataset, lists)

    def _check_fitted(self) -> None:
        names = ("mean_", "scale_")
        scaled = [getattr(self, name, None) is not None for name in names]
        n_columns = filling_of(self).n_columns
        expected = 2 * n_columns + N_AGGREGATES if self.coordinates else n_columns
        holds = self.skip_.shape[1] == expected and scaled == 2 * [not self.coordinates]
        check_together(self, holds=holds)

    def _formula(self) -> Formula:
        from localrank.formulas import Column, OnColumns, Standardised, WeightedSum

        n_nets, n_inputs = self.skip_.shape
        if self.coordinates:
            mean, scale, most = np.zeros(n_inputs), np.ones(n_inputs), np.inf
        else:
            mean, scale, most = self.mean_, self.scale_, MAX_INPUT
        nets = tuple(Standardised(self._net(number, mean, scale, most)) for number in range(n_nets))
        term = WeightedSum(nets, np.full(n_nets, 1 / n_nets))
        if not self.coordinates:
            return term
        features = range((n_inputs - N_AGGREGATES) // 2)
        columns = [Column("cut-deviation", i) for i in features]
        columns += [Column("centred-percentile", i) for i in features]
        columns += [Column("standard-aggregate", i) for i in range(N_AGGREGATES)]
        return OnColumns(tuple(columns), term, self._with_inputs)

    def _with_inputs(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.with_features(self._inputs(dataset)[: dataset.n_documents])

    def _contributions(self, dataset: RankingDataset) -> Floats:
        n, n_features = dataset.features.shape
        inputs = self._inputs(dataset)
        scores = self._scores(inputs)[:, :n]
        form = ZScore().linear_form(scores, dataset.offsets)
        inputs = inputs[:n].astype(np.float64)
        table = np.zeros((n, n_features + N_MORE))
        for net, weights in enumerate(form.weights):
            slopes = self._slopes(inputs, net)
            net_table = np.zeros_like(table)
            net_table[:, :-1] = self._folded(slopes * inputs, n_features)
            net_table[:, -2] += scores[net] - (slopes * inputs).sum(axis=1)
            table += weights[dataset.query_index, None] * centred_rows(net_table, dataset.offsets)
        return table

    def _importances(self) -> Floats:
        """Shares of the absolute weights along all paths from an input to the score."""
        weights = self._path_weights()
        n_inputs = len(weights)
        n_features = (n_inputs - N_AGGREGATES) // 2 if self.coordinates else n_inputs
        return self._folded(shares(weights), n_features)[:-1]

    def _folded(self, values: Floats, n_features: int) -> Floats:
        """Values of the inputs, added up by feature. The last column is for the aggregates."""
        result = np.zeros((*values.shape[:-1], n_features + 1))
        if not self.coordinates:
            result[..., :-1] = values
            return result
        z, p, a = np.split(values, [n_features, 2 * n_features], axis=-1)
        result[..., :-1] = z + p
        result[..., -1] = a.sum(axis=-1)
        return result
