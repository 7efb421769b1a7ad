"""Training of small nets with one hidden layer: Adam on the loss of whole lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank.data._offsets import rows_of

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
    weights : ndarray of shape (n_inputs, n_nets * n_units + n_nets)
        Hidden weights and skips side by side: one product computes both.
    hidden : ndarray of shape (n_inputs, n_nets * n_units)
    skip : ndarray of shape (n_inputs, n_nets)
    bias : ndarray of shape (n_nets * n_units,)
    output : ndarray of shape (n_nets, n_units)
    """

    values: Array
    weights: Array
    hidden: Array
    skip: Array
    bias: Array
    output: Array

    @classmethod
    def zeros(cls, n_inputs: int, n_nets: int, n_units: int, dtype: type = np.float32) -> Self:
        """All parameters 0."""
        n_hidden = n_nets * n_units
        shapes = [(n_inputs, n_hidden + n_nets), (n_hidden,), (n_nets, n_units)]
        ends = np.cumsum([np.prod(shape) for shape in shapes])
        values = np.zeros(ends[-1], dtype)
        blocks = np.split(values, ends[:-1])
        weights, bias, output = (b.reshape(s) for b, s in zip(blocks, shapes, strict=True))
        return cls(values, weights, weights[:, :n_hidden], weights[:, n_hidden:], bias, output)

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
    kept: Flags,
    boost: float = 1.0,
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
        Whether each hidden unit is kept.
    boost : float
        Factor on the values of units that are kept.
    loss : callable
    """
    factor = nets.values.dtype.type(boost)
    units, scores = inputs @ nets.weights, np.empty((len(inputs), len(nets.output)), inputs.dtype)
    _activate(units, nets.bias, nets.output, kept, factor, scores)
    value, excess = loss(scores, sizes, targets, weights)
    slope = nets.like()
    _go_back(units, np.ascontiguousarray(excess), nets.output, factor, slope.output, slope.bias)
    np.matmul(inputs.T, units, out=slope.weights)
    return value, slope


# Sums over units may be taken in another order, which lets them use vector instructions.
@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def _activate(
    units: Array, bias: Array, output: Array, kept: Flags, boost: float, scores: Array
) -> None:
    """Fill scores from products of inputs and weights, which become the values of units.

    Parameters
    ----------
    units : ndarray of shape (n_documents, n_nets * n_units + n_nets)
        Products of inputs and hidden weights, then those of inputs and skips.
    bias, output : ndarray of shape (n_nets * n_units,) and (n_nets, n_units)
    kept : ndarray of shape (n_documents, n_nets * n_units)
    boost : float
    scores : ndarray of shape (n_documents, n_nets)
    """
    n_nets, n_units = output.shape
    zero = units.dtype.type(0.0)
    for row in range(len(units)):
        for net in range(n_nets):
            score, begin = units[row, n_nets * n_units + net], net * n_units
            for unit in range(n_units):
                value = units[row, begin + unit] + bias[begin + unit]
                value = value * boost if (value > zero) & kept[row, begin + unit] else zero
                units[row, begin + unit] = value
                score += value * output[net, unit]
            scores[row, net] = score


@kernel(error_model="numpy", fastmath={"contract"})
def _go_back(
    units: Array, excess: Array, output: Array, boost: float, by_output: Array, by_bias: Array
) -> None:
    """Turn values of units into derivatives, and add up those by outputs and biases.

    Parameters
    ----------
    units : ndarray of shape (n_documents, n_nets * n_units + n_nets)
        Values of units, which become derivatives by the products that `_activate` got.
    excess : ndarray of shape (n_documents, n_nets)
        Derivatives by scores.
    output : ndarray of shape (n_nets, n_units)
    boost : float
    by_output, by_bias : ndarray of shape (n_nets, n_units) and (n_nets * n_units,)
    """
    n_nets, n_units = output.shape
    zero = units.dtype.type(0.0)
    for row in range(len(units)):
        for net in range(n_nets):
            slope, begin = excess[row, net], net * n_units
            inner = slope * boost
            for unit in range(n_units):
                value = units[row, begin + unit]
                by_output[net, unit] += value * slope
                derivative = inner * output[net, unit] if value > zero else zero
                by_bias[begin + unit] += derivative
                units[row, begin + unit] = derivative
            units[row, n_nets * n_units + net] = slope


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
    slope_mean, square_mean = nets.like().values, nets.like().values
    # A byte has 256 values. This many of them drop a unit.
    n_dropped = round(256 * dropout)
    boost = 256 / (256 - n_dropped)
    step = 0
    for _ in range(schedule.n_epochs):
        order = rng.permutation(schedule.n_lists)
        for begin in range(0, schedule.n_lists, schedule.batch):
            lists = order[begin : begin + schedule.batch]
            rows, batch_offsets = rows_of(offsets, lists)
            n_drawn = len(rows) * n_nets * n_units
            # Eight bytes at a time, which takes half the time of `rng.bytes`.
            words = rng.integers(2**64, size=-(-n_drawn // 8), dtype=np.uint64)
            kept = words.view(np.uint8)[:n_drawn].reshape(len(rows), -1) >= n_dropped
            share = weights[lists] / np.float32(len(lists))
            # OpenBLAS sometimes reports invalid values in products of finite numbers
            # (numpy/numpy#24067). Inputs are finite and Adam's steps are bounded.
            with np.errstate(invalid="ignore"):
                batch = (inputs[rows], np.diff(batch_offsets), targets[rows], share)
                _, slope = loss_and_slope(nets, *batch, kept, boost, loss)
            step += 1
            rate = learning_rate * schedule.rate(step)
            unbiased = rate / (1 - _MEAN_DECAY**step), 1 / (1 - _SQUARE_DECAY**step)
            _adam(nets.values, slope.values, slope_mean, square_mean, *unbiased)
            # Biases have no decay.
            nets.weights[:] *= np.float32(1 - rate * decay)
            nets.output[:] *= np.float32(1 - rate * decay)
            advance()
    return nets


@kernel(error_model="numpy", fastmath={"contract"})
def _adam(
    values: Array,
    slopes: Array,
    slope_mean: Array,
    square_mean: Array,
    rate: float,
    per_square: float,
) -> None:
    """One step of Adam. `rate` and `per_square` make up for means that begin with 0."""
    length, factor, tiny = np.float32(rate), np.float32(per_square), np.float32(_TINY)
    mean_decay, mean_share = np.float32(_MEAN_DECAY), np.float32(1 - _MEAN_DECAY)
    square_decay, square_share = np.float32(_SQUARE_DECAY), np.float32(1 - _SQUARE_DECAY)
    for i in range(len(values)):
        slope = slopes[i]
        slope_mean[i] = mean_decay * slope_mean[i] + mean_share * slope
        square_mean[i] = square_decay * square_mean[i] + square_share * slope * slope
        values[i] -= length * slope_mean[i] / (np.sqrt(square_mean[i] * factor) + tiny)
