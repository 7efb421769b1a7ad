"""Iterations that never go downhill."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks._maximisation import _extrapolated, maximise


def slow(x):
    """A step that covers a hundredth of the way to 0.4."""
    return -float(((x - 0.4) ** 2).sum()), x + 0.01 * (0.4 - x)


def test_slow_steps_arrive_early():
    found, objectives = maximise(slow, np.array([0.9, 0.2]), max_iter=100, tol=1e-14)
    assert_allclose(found, 0.4, atol=1e-4)
    assert len(objectives) < 60
    assert 0.5 * 0.99 ** len(objectives) > 0.2  # plain steps would be halfway


def test_what_is_worse_is_never_returned():
    tried = []

    def step(x):
        """Worse wherever nobody came by plain steps."""
        known = not tried or any(np.array_equal(x, one) for one in tried)
        tried.append(0.9 * x + 0.05)
        return (float(-abs(x[0] - 0.5)) if known else -1e9), tried[-1]

    _, objectives = maximise(step, np.array([0.9]), max_iter=30, tol=0)
    assert (np.diff(objectives) >= 0).all()
    assert objectives[-1] > -0.2


def test_it_stops_when_two_steps_gain_little():
    found, objectives = maximise(slow, np.array([0.5]), max_iter=1000, tol=1.0)
    assert len(objectives) == 2
    assert_array_equal(found, slow(slow(np.array([0.5]))[1])[1])


def test_it_takes_no_more_steps_than_asked():
    assert len(maximise(slow, np.array([0.9]), max_iter=6, tol=0)[1]) == 6


def test_probabilities_stay_between_0_and_1():
    def down(x):
        return -float(x.sum()), x * np.array([0.5, 1.0])

    found, _ = maximise(down, np.array([0.9, 0.7]), max_iter=40, tol=0)
    assert 0 < found[0] < 1e-3
    assert found[1] == pytest.approx(0.7)


@pytest.mark.parametrize("mirrored", [False, True])
def test_an_extrapolation_does_not_lose_a_small_probability(mirrored):
    """Three points nearly on a line lead far below 0, from where it would take long to return."""
    points = [np.array([x, 0.5 + 0.1 * x]) for x in (0.5, 0.4, 0.301)]
    if mirrored:
        points = [1 - point for point in points]
    ahead = _extrapolated(*points)
    found, last = (1 - ahead[0], 1 - points[2][0]) if mirrored else (ahead[0], points[2][0])
    assert found == pytest.approx(0.2 * last)
