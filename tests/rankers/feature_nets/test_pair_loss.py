import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.rankers.feature_nets.rank_net import pair_loss
from localrank.rankers.listwise_net._nets import Nets, loss_and_slope

SIZES = np.array([4, 1, 6, 3])
WEIGHTS = np.array([0.5, 1.0, 2.0, 3.0])


@pytest.fixture
def lists(rng):
    """Scores of two nets; the last list has one level."""
    levels = rng.integers(0, 3, SIZES.sum()).astype(float)
    levels[-3:] = 1
    return rng.normal(size=(SIZES.sum(), 2)), levels


def naive_loss(scores, levels):
    total, begin = 0.0, 0
    for size, weight in zip(SIZES, WEIGHTS, strict=True):
        documents = range(begin, begin + size)
        losses = [
            np.log(1 + np.exp(scores[j] - scores[i]))
            for i in documents
            for j in documents
            if levels[i] > levels[j]
        ]
        total += weight * np.mean(losses) if losses else 0.0
        begin += size
    return total


def test_the_loss_is_that_of_a_loop_over_pairs(lists):
    scores, levels = lists
    values, _ = pair_loss(scores, SIZES, levels, WEIGHTS)
    assert_allclose(values, [naive_loss(net, levels) for net in scores.T], rtol=1e-12)


def test_slopes_are_those_of_finite_differences(lists):
    scores, levels = lists
    _, slopes = pair_loss(scores, SIZES, levels, WEIGHTS)
    step = 1e-6
    for row in range(len(scores)):
        above, below = scores.copy(), scores.copy()
        above[row] += step
        below[row] -= step
        rise = pair_loss(above, SIZES, levels, WEIGHTS)[0]
        rise -= pair_loss(below, SIZES, levels, WEIGHTS)[0]
        assert_allclose(slopes[row], rise / (2 * step), atol=1e-8)
    assert_allclose(slopes[-3:], 0.0)


def test_slopes_of_a_net_are_those_of_finite_differences(lists, rng):
    _, levels = lists
    nets = Nets.zeros(3, 1, 4, np.float64)
    nets.values[:] = rng.normal(size=len(nets.values))
    inputs = rng.normal(size=(len(levels), 3))

    def loss():
        kept = np.ones((len(levels), 4), bool)
        return loss_and_slope(nets, inputs, SIZES, levels, WEIGHTS, kept, loss=pair_loss)

    slope, step = loss()[1].values.copy(), 1e-6
    expected = np.empty_like(slope)
    for i in range(len(slope)):
        before = nets.values[i]
        nets.values[i] = before + step
        above = loss()[0].sum()
        nets.values[i] = before - step
        expected[i] = (above - loss()[0].sum()) / (2 * step)
        nets.values[i] = before
    assert_allclose(slope, expected, atol=1e-7)
    assert (slope != 0).all()


def test_far_scores_have_finite_losses_and_slopes():
    scores = np.array([[-1e4], [1e4]])
    values, slopes = pair_loss(scores, np.array([2]), np.array([1.0, 0.0]), np.ones(1))
    assert_allclose(values, 2e4)
    assert_allclose(slopes[:, 0], [-1.0, 1.0])
    values, slopes = pair_loss(-scores, np.array([2]), np.array([1.0, 0.0]), np.ones(1))
    assert_allclose(values, 0.0)
    assert_allclose(slopes, 0.0)


def test_slopes_have_the_precision_of_the_scores(lists):
    scores, levels = lists
    _, slopes = pair_loss(scores.astype(np.float32), SIZES, levels, WEIGHTS)
    assert slopes.dtype == np.float32
