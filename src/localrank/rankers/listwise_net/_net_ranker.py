"""The base class of rankers that train small nets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank._base.progress import progress
from localrank._base.rules import Rules, floats, optional
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._offsets import n_first, rows_of
from localrank.rankers._inputs import MAX_DOCUMENTS
from localrank.rankers._training import learns_from_part
from localrank.rankers.base import Needs, Ranker, Weights
from localrank.rankers.listwise_net._scoring import DOCUMENTS, MAX_INPUT, net_scores

if TYPE_CHECKING:
    from localrank.formulas import Net

# Adam's decay of the mean slope and of the mean square, and the number that keeps a step finite.
_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
# The share of the steps in which the learning rate rises.
_WARM_UP = 0.1
# Least number of training steps, and least number of passes over the lists.
LEAST_STEPS, LEAST_EPOCHS = 300, 12

# A function of scores of shape (n_documents, n_nets), sizes of lists, a target for each document
# and a weight for each list. It returns the loss of each net and its derivatives by the scores.
Loss = Callable[[Array, Integers, Array, Array], tuple[Floats, Array]]


@dataclass(frozen=True)
class Nets:
    """The parameters of nets with one hidden layer and a linear skip, as views of one array.

    With inputs x, net j scores a document `output_j · max(0, hidden_j x + bias_j) + skip_j · x`.

    Attributes
    ----------
    values : ndarray of shape (n_parameters,)
    hidden : ndarray of shape (n_inputs, n_nets * n_units)
    bias : ndarray of shape (n_nets * n_units,)
    output : ndarray of shape (n_nets, n_units)
    skip : ndarray of shape (n_inputs, n_nets)
    """

    values: Array
    hidden: Array
    bias: Array
    output: Array
    skip: Array

    @classmethod
    def zeros(cls, n_inputs: int, n_nets: int, n_units: int, dtype: type = np.float32) -> Self:
        """All parameters 0."""
        shapes = [
            (n_inputs, n_nets * n_units),
            (n_nets * n_units,),
            (n_nets, n_units),
            (n_inputs, n_nets),
        ]
        ends = np.cumsum([np.prod(shape) for shape in shapes])
        values = np.zeros(ends[-1], dtype)
        blocks = np.split(values, ends[:-1])
        return cls(values, *(b.reshape(s) for b, s in zip(blocks, shapes, strict=True)))

    @classmethod
    def drawn(cls, n_inputs: int, n_nets: int, n_units: int, rng: np.random.Generator) -> Self:
        """Random nets whose units and scores have about the variance of an input."""
        nets = cls.zeros(n_inputs, n_nets, n_units)
        nets.hidden[:] = rng.standard_normal(nets.hidden.shape) / np.sqrt(n_inputs)
        nets.output[:] = rng.standard_normal(nets.output.shape) / np.sqrt(n_units)
        return nets

    def like(self) -> Self:
        """Nets of the same shape, with all parameters 0."""
        n_nets, n_units = self.output.shape
        return self.zeros(len(self.hidden), n_nets, n_units, self.values.dtype.type)

    def decays(self) -> Array:
        """1 for each parameter with weight decay, 0 for biases, which have none."""
        result = self.like()
        result.values[:] = 1
        result.bias[:] = 0
        return result.values


def cross_entropy(
    scores: Array, sizes: Integers, targets: Array, weights: Array
) -> tuple[Floats, Array]:
    """-Σ_q w_q Σ_i t_i log softmax(s)_i of each net, and its derivatives by the scores.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_nets)
        Scores of the documents. They are overwritten.
    sizes : ndarray of shape (n_lists,)
    targets : ndarray of shape (n_documents,)
        Target of each document. The targets of a list sum to 1.
    weights : ndarray of shape (n_lists,)
    """
    begins, query = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    scores -= np.maximum.reduceat(scores, begins)[query]
    shares = np.exp(scores)
    totals = np.add.reduceat(shares, begins)
    shares /= totals[query]
    log_shares = scores - np.log(totals)[query]
    weight = weights[query, None]
    value = -np.sum(weight * targets[:, None] * log_shares, axis=0)
    return value, weight * (shares - targets[:, None])


def loss_and_slope(
    nets: Nets,
    inputs: Array,
    sizes: Integers,
    targets: Array,
    weights: Array,
    kept: Array,
    loss: Loss = cross_entropy,
) -> tuple[Floats, Nets]:
    """The loss of each net, and its derivatives.

    Parameters
    ----------
    nets : Nets
    inputs : ndarray of shape (n_documents, n_inputs)
    sizes : ndarray of shape (n_lists,)
        Number of documents of each list.
    targets : ndarray of shape (n_documents,)
    weights : ndarray of shape (n_lists,)
    kept : ndarray of shape (n_documents, n_nets * n_units)
        Factor on the value of each hidden unit: 0 if it is dropped.
    loss : callable
    """
    n_nets, n_units = nets.output.shape
    # One product with a matrix that has one column of outputs per net.
    by_net = np.zeros((n_nets, n_units, n_nets), nets.values.dtype)
    numbers = np.arange(n_nets)
    by_net[numbers, :, numbers] = nets.output
    outputs = by_net.reshape(-1, n_nets)
    units = inputs @ nets.hidden
    units += nets.bias
    kept = kept * (units > 0)
    units *= kept
    value, excess = loss(units @ outputs + inputs @ nets.skip, sizes, targets, weights)
    slope = nets.like()
    slope.output[:] = (units.T @ excess).reshape(n_nets, n_units, n_nets)[numbers, :, numbers]
    slope.skip[:] = inputs.T @ excess
    inner = excess @ outputs.T
    inner *= kept
    slope.bias[:] = inner.sum(axis=0)
    slope.hidden[:] = inputs.T @ inner
    return value, slope


@dataclass(frozen=True)
class Schedule:
    """The number of training steps, and the number of lists in each.

    Every step uses a part of the lists. If there are few lists, training makes more passes over
    them, until it has made 300 steps: with fewer, nets do not finish learning on sixty queries.

    Examples
    --------
    >>> Schedule.of(1000)
    Schedule(n_lists=1000, batch=24, n_epochs=12)
    >>> Schedule.of(60)
    Schedule(n_lists=60, batch=4, n_epochs=20)
    """

    n_lists: int
    batch: int
    n_epochs: int

    @classmethod
    def of(cls, n_lists: int) -> Self:
        """The schedule for a number of lists."""
        batch = min(max(n_lists // 25, 4), 24)
        n_batches = -(-n_lists // batch)
        return cls(n_lists, batch, max(LEAST_EPOCHS, -(-LEAST_STEPS // n_batches)))

    @property
    def n_steps(self) -> int:
        """Number of steps in all epochs."""
        return self.n_epochs * -(-self.n_lists // self.batch)

    def rate(self, step: int) -> float:
        """The learning rate at a step, as a share of the highest: a linear rise, a fall to 0.

        Examples
        --------
        >>> schedule = Schedule.of(60)
        >>> [round(schedule.rate(step), 2) for step in (1, 30, 165, 300)]
        [0.03, 1.0, 0.5, 0.0]
        """
        rising = max(int(_WARM_UP * self.n_steps), 1)
        if step <= rising:
            return step / rising
        return 0.5 * (1 + float(np.cos(np.pi * (step - rising) / (self.n_steps - rising))))


def trained(
    inputs: Array,
    offsets: Integers,
    targets: Array,
    weights: Array,
    *,
    n_nets: int,
    n_units: int,
    dropout: float,
    learning_rate: float,
    decay: float,
    seed: int,
    advance: Callable[[], None],
    loss: Loss = cross_entropy,
) -> Nets:
    """Nets trained by Adam, with decoupled decay, on lists drawn without replacement.

    All nets see the same lists at the same time. They differ in their start and in the dropped
    units.

    Parameters
    ----------
    inputs : ndarray of shape (n_documents, n_inputs)
    offsets : ndarray of shape (n_lists + 1,)
    targets : ndarray of shape (n_documents,)
    weights : ndarray of shape (n_lists,)
        Weights of the lists, with mean 1.
    n_nets, n_units : int
    dropout : float
        Share of the hidden units that are dropped in a step.
    learning_rate, decay : float
    seed : int
    advance : callable
        Called after each step.
    loss : callable
    """
    rng = np.random.default_rng(seed)
    schedule = Schedule.of(len(weights))
    nets = Nets.drawn(inputs.shape[1], n_nets, n_units, rng)
    decays, slope_mean, square_mean = nets.decays(), nets.like().values, nets.like().values
    # A byte has 256 values. This many of them drop a unit.
    n_dropped = round(256 * dropout)
    boost = np.float32(256 / (256 - n_dropped))
    step = 0
    for _ in range(schedule.n_epochs):
        order = rng.permutation(schedule.n_lists)
        for begin in range(0, schedule.n_lists, schedule.batch):
            lists = order[begin : begin + schedule.batch]
            rows, batch_offsets = rows_of(offsets, lists)
            drawn = np.frombuffer(rng.bytes(len(rows) * n_nets * n_units), np.uint8)
            kept = (drawn >= n_dropped).reshape(len(rows), -1) * boost
            share = weights[lists] / np.float32(len(lists))
            # OpenBLAS sometimes reports invalid values in products of finite numbers
            # (numpy/numpy#24067). Inputs are finite and Adam's steps are bounded.
            with np.errstate(invalid="ignore"):
                _, slope = loss_and_slope(
                    nets, inputs[rows], np.diff(batch_offsets), targets[rows], share, kept, loss
                )
            step += 1
            slope_mean *= _MEAN_DECAY
            slope_mean += (1 - _MEAN_DECAY) * slope.values
            square_mean *= _SQUARE_DECAY
            square_mean += (1 - _SQUARE_DECAY) * slope.values**2
            rate = learning_rate * schedule.rate(step)
            size = np.sqrt(square_mean / (1 - _SQUARE_DECAY**step)) + _TINY
            nets.values[:] -= rate / (1 - _MEAN_DECAY**step) * slope_mean / size
            nets.values[:] *= 1 - rate * decay * decays
            advance()
    return nets


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
        """Inputs of the nets, padded with rows of zeros to a multiple of four."""

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
        self.__dict__.pop("_weights", None)
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
        scores = np.empty((len(self.output_), len(inputs)))
        net_scores(read_only(inputs, np.float32), *self._weights, scores)
        return scores

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array, Array]:
        """The parameters of the nets, as the kernel takes them."""
        return (
            read_only(self.hidden_, np.float32),
            read_only(self.bias_, np.float32),
            read_only(self.output_, np.float32),
            read_only(self.skip_, np.float32),
        )

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
