import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.listwise_net import _nets
from localrank.rankers.listwise_net._nets import Nets, Schedule, _adam, loss_and_slope, trained

SIZES = np.array([3, 1, 5])
# Factor on the units that are kept, a power of two so that it rounds nothing.
BOOST = 2.0


@pytest.fixture
def problem(rng):
    """Nets in double precision, and lists for them."""
    drawn = Nets.drawn(4, 2, 3, rng)
    nets = Nets.zeros(4, 2, 3, np.float64)
    nets.values[:] = drawn.values
    nets.bias[:] = rng.normal(size=6)
    nets.skip[:] = rng.normal(size=(4, 2))
    inputs = rng.normal(size=(9, 4))
    targets = rng.random(9)
    begins = np.cumsum(SIZES) - SIZES
    targets /= np.repeat(np.add.reduceat(targets, begins), SIZES)
    kept = rng.choice([False, True], size=(9, 6))
    return nets, inputs, targets, np.array([0.5, 1.0, 2.0]), kept


def naive_loss(nets, inputs, targets, weights, kept, net):
    """One document and one unit at a time."""
    n_units = nets.output.shape[1]
    total, begin = 0.0, 0
    for size, weight in zip(SIZES, weights, strict=True):
        scores = []
        for row in range(begin, begin + size):
            score = sum(inputs[row, i] * nets.skip[i, net] for i in range(inputs.shape[1]))
            for unit in range(n_units):
                place = net * n_units + unit
                value = nets.bias[place] + inputs[row] @ nets.hidden[:, place]
                score += max(value, 0.0) * BOOST * kept[row, place] * nets.output[net, unit]
            scores.append(score)
        log_total = np.log(sum(np.exp(score) for score in scores))
        for i, score in enumerate(scores):
            total -= weight * targets[begin + i] * (score - log_total)
        begin += size
    return total


def test_the_loss_is_that_of_a_loop_over_documents_and_units(problem):
    nets, inputs, targets, weights, kept = problem
    value, _ = loss_and_slope(nets, inputs, SIZES, targets, weights, kept, BOOST)
    expected = [naive_loss(nets, inputs, targets, weights, kept, net) for net in range(2)]
    assert_allclose(value, expected, rtol=1e-12)


def test_slopes_are_those_of_finite_differences(problem):
    nets, inputs, targets, weights, kept = problem
    _, slope = loss_and_slope(nets, inputs, SIZES, targets, weights, kept, BOOST)

    def loss():
        return loss_and_slope(nets, inputs, SIZES, targets, weights, kept, BOOST)[0].sum()

    step = 1e-6
    expected = np.empty_like(slope.values)
    for i in range(len(expected)):
        before = nets.values[i]
        nets.values[i] = before + step
        above = loss()
        nets.values[i] = before - step
        expected[i] = (above - loss()) / (2 * step)
        nets.values[i] = before
    assert_allclose(slope.values, expected, atol=1e-7)
    assert (slope.hidden != 0).any()
    assert (slope.bias != 0).any()


def test_a_list_of_one_document_teaches_nothing(problem):
    nets, inputs, targets, _, kept = problem
    value, slope = loss_and_slope(
        nets, inputs[3:4], np.array([1]), targets[3:4], np.ones(1), kept[3:4]
    )
    assert_allclose(value, 0, atol=1e-15)
    assert_allclose(slope.values, 0, atol=1e-15)


def test_nets_do_not_see_each_other(problem):
    nets, inputs, targets, weights, kept = problem
    before, _ = loss_and_slope(nets, inputs, SIZES, targets, weights, kept)
    nets.hidden[:, 3:] += 1.0
    nets.output[1] -= 1.0
    after, _ = loss_and_slope(nets, inputs, SIZES, targets, weights, kept)
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_inputs_and_nets_stay_as_they_are(problem):
    nets, inputs, targets, weights, kept = problem
    before = [array.copy() for array in (nets.values, inputs, targets, weights, kept)]
    loss_and_slope(nets, inputs, SIZES, targets, weights, kept, BOOST)
    after = (nets.values, inputs, targets, weights, kept)
    for one, other in zip(before, after, strict=True):
        assert_array_equal(one, other)


def test_adam_steps_are_those_of_its_paper(rng):
    values = rng.normal(size=37).astype(np.float32)
    expected, mean, square = values.astype(np.float64), np.zeros(37), np.zeros(37)
    slope_mean, square_mean = np.zeros((2, 37), np.float32)
    for step in range(1, 6):
        slopes = rng.normal(size=37).astype(np.float32)
        mean, square = 0.9 * mean + 0.1 * slopes, 0.999 * square + 0.001 * slopes**2.0
        unbiased = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        expected -= 0.01 * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        rate, per_square = 0.01 / (1 - 0.9**step), 1 / (1 - 0.999**step)
        _adam(values, slopes, slope_mean, square_mean, rate, per_square)
    assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dropout", [0.0, 0.3, 0.9])
def test_as_many_units_are_kept_as_make_up_for_those_dropped(lists, dropout, monkeypatch):
    factors = []

    def recorded(*arguments):
        factors.append((arguments[5] * arguments[6]).mean())
        return loss_and_slope(*arguments)

    monkeypatch.setattr(_nets, "loss_and_slope", recorded)
    train(lists, dropout=dropout)
    assert_allclose(np.mean(factors), 1.0, atol=0.0 if dropout == 0 else 0.05)


@pytest.mark.parametrize(
    ("n_lists", "batch", "n_epochs"),
    [(1, 4, 300), (40, 4, 30), (100, 4, 12), (250, 10, 12), (600, 24, 12), (10_000, 24, 12)],
)
def test_steps_and_lists_per_step(n_lists, batch, n_epochs):
    schedule = Schedule.of(n_lists)
    assert (schedule.batch, schedule.n_epochs) == (batch, n_epochs)
    assert schedule.n_steps >= 300


def test_the_learning_rate_rises_to_its_highest_and_falls_to_zero():
    schedule = Schedule.of(500)
    rates = [schedule.rate(step) for step in range(1, schedule.n_steps + 1)]
    top = int(np.argmax(rates))
    assert rates[top] == 1
    assert top + 1 == schedule.n_steps // 10
    assert (np.diff(rates[: top + 1]) > 0).all()
    assert (np.diff(rates[top:]) < 0).all()
    assert_allclose(rates[-1], 0, atol=1e-12)


@pytest.fixture
def lists(rng):
    """Twenty lists in which the first input decides."""
    inputs = rng.normal(size=(100, 3)).astype(np.float32)
    offsets = np.arange(0, 101, 5)
    targets = np.zeros(100, np.float32)
    targets[[begin + inputs[begin : begin + 5, 0].argmax() for begin in offsets[:-1]]] = 1
    return inputs, offsets, targets


def train(lists, weights=None, **parameters):
    inputs, offsets, targets = lists
    weights = np.ones(len(offsets) - 1, np.float32) if weights is None else weights
    options = {"n_nets": 2, "n_units": 4, "dropout": 0.3, "learning_rate": 0.01, "decay": 0.02}
    options |= {"seed": 0, "advance": lambda: None, **parameters}
    return trained(inputs, offsets, targets, weights, **options)


def test_training_learns_what_decides(lists):
    inputs, offsets, targets = lists
    nets, all_kept = train(lists, dropout=0.0), np.ones((len(inputs), 8), bool)
    value, _ = loss_and_slope(
        nets, inputs, np.diff(offsets), targets, np.ones(20, np.float32) / 20, all_kept
    )
    assert (value < 0.5).all()
    start, _ = loss_and_slope(
        Nets.zeros(3, 2, 4),
        inputs,
        np.diff(offsets),
        targets,
        np.ones(20, np.float32) / 20,
        all_kept,
    )
    assert_allclose(start, np.log(5), rtol=1e-5)


def test_the_same_seed_gives_the_same_nets_and_another_gives_others(lists):
    assert_array_equal(train(lists).values, train(lists).values)
    assert (train(lists).values != train(lists, seed=1).values).any()


def test_weights_shrink_where_nothing_teaches_and_biases_do_not(lists):
    inputs, offsets, _ = lists
    # If targets are the softmax of equal scores, nets of zeros have no slope.
    even = np.full(len(inputs), 0.2, np.float32)
    kept, shrunk = (train((0 * inputs, offsets, even), decay=decay) for decay in (0.0, 0.5))
    schedule = Schedule.of(20)
    factor = np.prod([1 - 0.005 * schedule.rate(step + 1) for step in range(schedule.n_steps)])
    assert_allclose(shrunk.hidden, factor * kept.hidden, rtol=1e-4)
    assert_allclose(shrunk.output, factor * kept.output, rtol=1e-4)
    assert (kept.hidden != 0).all()


def test_every_step_is_told(lists):
    told = []
    train(lists, advance=lambda: told.append(1))
    assert len(told) == Schedule.of(20).n_steps


def test_dropping_units_changes_training(lists):
    assert (train(lists, dropout=0.0).values != train(lists, dropout=0.5).values).any()
