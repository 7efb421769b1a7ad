"""The base class of rankers that train small nets."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.estimator import drawn_seed
from localrank._base.progress import progress
from localrank._base.rules import Rules, floats, optional
from localrank.data import RankingDataset
from localrank.data._offsets import n_first, rows_of
from localrank.rankers._inputs import MAX_DOCUMENTS
from localrank.rankers._training import learns_from_part
from localrank.rankers.base import Needs, Ranker, Weights
from localrank.rankers.listwise_net._nets import Loss, Schedule, cross_entropy, trained
from localrank.rankers.listwise_net._scoring import DOCUMENTS, MAX_INPUT, PackedNets, net_scores

if TYPE_CHECKING:
    from localrank.formulas import Net


class NetRanker(Ranker):
    """Base class of rankers that train nets with one hidden layer and a linear skip.

    Training is limited to lists with `MAX_DOCUMENTS` documents in all.

    Attributes
    ----------
    hidden_ : ndarray of shape (n_nets, n_units, n_inputs)
    bias_, output_ : ndarray of shape (n_nets, n_units)
    skip_ : ndarray of shape (n_nets, n_inputs)
    mean_, scale_ : ndarray of shape (n_features,)
        If the inputs are the features: mean and divisor of each feature.
    """

    _fitted: ClassVar[Rules] = {
        "hidden_": floats("n_nets", "n_units", "n_net_inputs"),
        "bias_": floats("n_nets", "n_units"),
        "output_": floats("n_nets", "n_units"),
        "skip_": floats("n_nets", "n_net_inputs"),
        "mean_": optional(floats("n_features")),
        "scale_": optional(floats("n_features", above=0)),
    }

    needs = Needs(blocks=True, trial=False)

    mean_: Floats
    scale_: Floats
    hidden_: Array
    bias_: Array
    output_: Array
    skip_: Array

    n_units: int
    learning_rate: float
    decay: float
    random_state: int | None

    @abstractmethod
    def _inputs(self, dataset: RankingDataset) -> Array:
        """Inputs of the nets, padded with rows of zeros to a multiple of six."""

    def _train(
        self,
        dataset: RankingDataset,
        query_weights: Weights,
        targets: Array,
        *,
        n_nets: int,
        dropout: float,
        loss: Loss = cross_entropy,
    ) -> None:
        """Learn from the lists that have something to learn."""
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        teaching = np.flatnonzero(self.learns_from(dataset) & (weights > 0))
        # Queries are in an order that is as good as random.
        lists = teaching[: n_first(dataset.query_sizes[teaching], MAX_DOCUMENTS)]
        learns_from_part(self, dataset, teaching, lists)
        rows, offsets = rows_of(dataset.offsets, lists)
        # A few queries at a time: coordinates are three times as wide as the features.
        blocks = dataset.taken(lists).query_blocks(24 * dataset.n_features)
        inputs = np.concatenate([self._inputs(block)[: block.n_documents] for block in blocks])
        with progress(type(self).__name__, Schedule.of(len(lists)).n_steps) as advance:
            nets = trained(
                inputs,
                offsets,
                targets[rows].astype(np.float32),
                (weights[lists] / weights[lists].mean()).astype(np.float32),
                n_nets=n_nets,
                n_units=self.n_units,
                dropout=dropout,
                learning_rate=self.learning_rate,
                decay=self.decay,
                seed=drawn_seed(self.random_state),
                advance=advance,
                loss=loss,
            )
        self.__dict__.pop("_packed", None)
        # An input that is always 0 in training keeps its random weights, which mean nothing.
        unused = ~inputs.any(axis=0)
        nets.hidden[unused] = 0
        nets.skip[unused] = 0
        self.hidden_ = np.ascontiguousarray(nets.hidden.T).reshape(
            *nets.output.shape, inputs.shape[1]
        )
        self.bias_ = nets.bias.reshape(nets.output.shape).copy()
        self.output_ = nets.output.copy()
        self.skip_ = np.ascontiguousarray(nets.skip.T)

    def _learn_standard(self, dataset: RankingDataset) -> None:
        features = dataset.features.astype(np.float64)
        mean, spread = features.mean(axis=0), features.std(axis=0)
        extent = np.ptp(features, axis=0)
        self.mean_ = np.where(extent > 0, mean, features[0])
        # The squares of tiny values are rounded to 0, and so is their standard deviation.
        self.scale_ = np.where(extent > 0, np.where(spread > 0, spread, extent), 1.0)

    def _standard(self, dataset: RankingDataset) -> Array:
        """Features less their mean, divided by their standard deviation, and cut at ±4."""
        n, width = dataset.features.shape
        inputs = np.zeros((n + -n % DOCUMENTS, width), np.float32)
        inputs[:n] = np.clip((dataset.features - self.mean_) / self.scale_, -MAX_INPUT, MAX_INPUT)
        return inputs

    def _scores(self, inputs: Array) -> Floats:
        """Scores of the rows by each net, of shape (n_nets, n_rows)."""
        return net_scores(inputs, self._packed)

    @cached_property
    def _packed(self) -> PackedNets:
        """The parameters of the nets, as the kernel takes them."""
        return PackedNets.of(self.hidden_, self.bias_, self.output_, self.skip_)

    def _net(self, number: int, mean: Floats, scale: Floats, most: float) -> Net:
        """The formula of a net, including how its inputs are scaled."""
        from localrank.formulas import Net

        return Net(
            hidden=self.hidden_[number],
            bias=self.bias_[number],
            output=self.output_[number],
            skip=self.skip_[number],
            mean=mean,
            scale=scale,
            most=most,
        )

    def _slopes(self, inputs: Floats, net: int) -> Floats:
        """The derivatives of a net's score by its inputs, at each row."""
        active = inputs @ self.hidden_[net].T + self.bias_[net] > 0
        slopes: Floats = (active * self.output_[net]) @ self.hidden_[net] + self.skip_[net]
        return slopes

    def _path_weights(self) -> Floats:
        """Sum of absolute weights along all paths from an input to the score, mean over nets."""
        paths = np.einsum("ku,kui->ki", np.abs(self.output_), np.abs(self.hidden_))
        mean: Floats = (paths + np.abs(self.skip_)).mean(axis=0, dtype=np.float64)
        return mean
