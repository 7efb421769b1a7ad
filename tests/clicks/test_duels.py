"""Positions compete for the clicks of documents that both of them showed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from localrank.clicks._duels import (
    comparable,
    count_duels,
    count_weighed_duels,
    duel_derivatives,
    strengths,
)
from localrank.clicks._slot_em import cells_of


@pytest.fixture
def counts():
    """Impressions and clicks of 40 documents at 5 positions, some without impressions."""
    rng = np.random.default_rng(3)
    shown = rng.integers(0, 6, (40, 5)) * (rng.random((40, 5)) < 0.7)
    return shown, rng.binomial(shown, 0.4)


def cells_from(shown, clicked):
    pairs, slots = np.nonzero(shown)
    times = shown[pairs, slots]
    clicks = np.concatenate(
        [np.arange(n) < c for n, c in zip(times, clicked[pairs, slots], strict=True)]
    )
    return cells_of(
        np.repeat(pairs, times), np.repeat(slots, times), clicks, len(shown), shown.shape[1]
    )


def test_duels_are_those_of_a_loop_over_documents_and_positions(counts):
    shown, clicked = counts
    units = np.arange(40) % 3
    expected = np.zeros((3, 5, 5))
    for d in range(40):
        for j in range(5):
            for k in range(5):
                n, m = shown[d, j], shown[d, k]
                if j != k and n and m:
                    expected[units[d], j, k] += clicked[d, j] * m / (n + m)
    assert_allclose(count_duels(cells_from(shown, clicked), units, 3), expected)


def test_weighed_duels_are_those_of_a_loop(counts):
    shown, clicked = counts
    p = np.array([1.0, 0.8, 0.5, 0.4, 0.2])
    expected = np.zeros((1, 5, 5))
    for d in range(40):
        for j in range(5):
            for k in range(5):
                n, m = shown[d, j], shown[d, k]
                third = [i for i in range(5) if i not in (j, k) and shown[d, i]]
                if j != k and n and m and third:
                    rate = clicked[d, third].sum() / (shown[d, third] * p[third]).sum()
                    expected[0, j, k] += rate * clicked[d, j] * m / (n + m)
    result = count_weighed_duels(cells_from(shown, clicked), np.zeros(40, np.int64), 1, p)
    assert_allclose(result, expected, atol=1e-12)


def test_strengths_maximise_the_likelihood_of_bradley_and_terry(counts):
    wins = count_duels(cells_from(*counts), np.zeros(40, np.int64), 1)[0]

    def loss(theta):
        p = np.exp(np.append(0, theta))
        return -sum(
            wins[j, k] * np.log(p[j] / (p[j] + p[k])) for j in range(5) for k in range(5) if j != k
        )

    best = minimize(loss, np.zeros(4), tol=1e-12)
    assert_allclose(strengths(wins[None])[0], np.append(0, best.x), atol=1e-5)


def test_strengths_of_two_positions_are_their_wins():
    wins = np.array([[[0.0, 7.0], [2.0, 0.0]], [[0.0, 1e-3], [9.0, 0.0]]])
    assert_allclose(np.exp(strengths(wins)[:, 1]), [2 / 7, 9000])


def test_true_strengths_are_found_where_wins_are_their_expectation():
    p = np.array([1.0, 0.7, 0.01, 1.4])
    shared = np.random.default_rng(0).random((4, 4))
    wins = p[:, None] * (shared + shared.T)
    np.fill_diagonal(wins, 0)
    assert_allclose(np.exp(strengths(wins[None])[0]), p)


def test_derivatives_are_those_of_the_likelihood():
    rng = np.random.default_rng(1)
    wins, theta = rng.random((4, 4)), rng.normal(size=4)
    np.fill_diagonal(wins, 0)

    def value(theta):
        return np.sum(wins * -np.log1p(np.exp(theta[None, :] - theta[:, None])))

    steps = 1e-5 * np.eye(4)
    gradient, curvature = duel_derivatives(wins, theta)
    assert_allclose(
        gradient, [(value(theta + s) - value(theta - s)) / 2e-5 for s in steps], atol=1e-7
    )
    for place, step in enumerate(steps):
        ahead, behind = (duel_derivatives(wins, theta + s)[0] for s in (step, -step))
        assert_allclose(curvature[place], -(ahead - behind) / 2e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ([[0, 1], [1, 0]], [True, True]),
        ([[0, 1], [0, 0]], [True, False]),  # the second never wins
        ([[0, 0], [1, 0]], [True, False]),  # the first never wins
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], [True, True, True]),  # round in a circle
        ([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], [True, True, False, False]),
    ],
)
def test_positions_are_comparable_by_chains_of_wins_both_ways(wins, expected):
    assert_array_equal(comparable(np.array(wins, float)), expected)


def test_a_long_chain_is_followed_to_its_end():
    wins = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    assert comparable(wins).all()


def test_a_draw_without_wins_of_a_position_has_a_small_estimate():
    everything = np.array([[0.0, 5.0], [2.0, 0.0]])
    drawn = np.array([[[0.0, 5.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    theta = strengths(drawn, everything)
    assert np.isfinite(theta).all()
    assert np.exp(theta[0, 1]) < 1e-5
    assert_allclose(np.exp(theta[1, 1]), 2 / 5)
