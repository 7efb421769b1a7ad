"""What rankers of small nets share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.data.deferred import gathered
from localrank.data.offsets import n_first, rows_of
from localrank.estimator import drawn_seed
from localrank.fitted import Kinds, floats, maybe
from localrank.kernels.sorting import read_only
from localrank.progress import progress
from localrank.rankers.base import Ranker, Weights
from localrank.rankers.inputs import MOST_DOCUMENTS
from localrank.rankers.listwise_net.nets import Loss, Schedule, cross_entropy, trained
from localrank.rankers.listwise_net.scoring import DOCUMENTS, MOST, net_scores

if TYPE_CHECKING:
    from localrank.formulas import Net


class NetRanker(Ranker):
    """Trains nets with one hidden layer and a linear skip, and scores by them.

    They learn from lists with up to `MOST_DOCUMENTS` documents in all.

    Attributes
    ----------
    hidden_ : ndarray of shape (n_nets, n_units, n_inputs)
    bias_, output_ : ndarray of shape (n_nets, n_units)
    skip_ : ndarray of shape (n_nets, n_inputs)
    mean_, scale_ : ndarray of shape (n_features,)
        Where the inputs are the features: what is subtracted, and what each is then divided by.
    """

    _fitted: ClassVar[Kinds] = {
        "hidden_": floats("n_nets", "n_units", "n_net_inputs"),
        "bias_": floats("n_nets", "n_units"),
        "output_": floats("n_nets", "n_units"),
        "skip_": floats("n_nets", "n_net_inputs"),
        "mean_": maybe(floats("n_features")),
        "scale_": maybe(floats("n_features", above=0)),
    }

    _reads_blocks = True

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
        """What the nets see, with rows of zeros up to a multiple of four."""

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
        """Learn from the lists that teach something."""
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        teaching = np.flatnonzero(self.learns_from(dataset) & (weights > 0))
        # They are in an order that is as good as random.
        lists = teaching[: n_first(dataset.query_sizes[teaching], MOST_DOCUMENTS)]
        self._learns_from_part(dataset, teaching, lists)
        rows, offsets = rows_of(dataset.offsets, lists)
        inputs = self._inputs(gathered(dataset.taken(lists)))[: len(rows)]
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
        # An input that says nothing in training keeps its random weights, which mean nothing.
        silent = ~inputs.any(axis=0)
        nets.hidden[silent] = 0
        nets.skip[silent] = 0
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
        # The squares of tiny values are 0, and their spread is.
        self.scale_ = np.where(extent > 0, np.where(spread > 0, spread, extent), 1.0)

    def _standard(self, dataset: RankingDataset) -> Array:
        """Features less their mean, divided by their deviation, up to ±4, as inputs."""
        n, width = dataset.features.shape
        inputs = np.zeros((n + -n % DOCUMENTS, width), np.float32)
        inputs[:n] = np.clip((dataset.features - self.mean_) / self.scale_, -MOST, MOST)
        return inputs

    def _scores(self, inputs: Array) -> Floats:
        """Of each net, for each row of the inputs."""
        scores = np.empty((len(self.output_), len(inputs)))
        net_scores(
            read_only(inputs, np.float32),
            read_only(self.hidden_, np.float32),
            read_only(self.bias_, np.float32),
            read_only(self.output_, np.float32),
            read_only(self.skip_, np.float32),
            scores,
        )
        return scores

    def _net(self, number: int, mean: Floats, scale: Floats, most: float) -> Net:
        """The formula of a net, with what its inputs are made by."""
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

    def _ways(self) -> Floats:
        """The absolute weights along all ways from an input to the score, meaned over the nets."""
        ways = np.einsum("ku,kui->ki", np.abs(self.output_), np.abs(self.hidden_))
        mean: Floats = (ways + np.abs(self.skip_)).mean(axis=0, dtype=np.float64)
        return mean

    @property
    def _needs_trial(self) -> bool:
        return False
