import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize

from localrank.clicks import ClickLog, DescribedPositionBias, PositionBehaviour, simulate_clicks
from localrank.clicks.described_position_bias import (
    _derivatives,
    _likeliest_spread,
    _maximised,
    _shrunk,
)
from localrank.data import make_queries
from localrank.representations import Mean

DEPTH = 5


@pytest.fixture(scope="module")
def world():
    return make_queries(200, n_types=2, separation=4, random_state=0)


def log_of(world, etas, n_sessions=20_000, seed=0):
    """People who see position k of queries of a kind with the probability k^-eta."""
    dataset, kinds = world
    people = {str(kind): PositionBehaviour(eta=eta) for kind, eta in enumerate(etas)}
    return simulate_clicks(
        dataset, dataset.features[:, -1], people, n_sessions=n_sessions, depth=DEPTH, shuffle=1,
        groups=kinds.astype(str), random_state=seed,
    )  # fmt: skip


def error(bias, log, world, etas):
    """Mean absolute error of the logarithm of examination, over impressions."""
    dataset, kinds = world
    of_queries = dict(zip(dataset.query_ids.astype(str), np.array(etas)[kinds], strict=True))
    eta = np.array([of_queries[query] for query in log.query_ids.astype(str)])
    truth = -eta[log.session_queries[log.session_index]] * np.log(log.positions + 1.0)
    return np.abs(np.log(bias.examination_of(log)) - truth).mean()


def duels_at_random(n_queries=6, n_positions=4, n_described=2, seed=0):
    rng = np.random.default_rng(seed)
    duels = rng.random((n_queries, n_positions, n_positions)) * 5
    duels[:, np.arange(n_positions), np.arange(n_positions)] = 0
    heights = np.log(np.arange(n_positions) + 1.0)
    return duels, rng.normal(size=(n_queries, n_described)), heights


def likelihood(parameters, duels, described, heights):
    """The definition: the sum over queries of w[j, k] log(p[j] / (p[j] + p[k]))."""
    n_curve = len(heights) - 1
    total = 0.0
    for of_query, z in zip(duels, described, strict=True):
        theta = np.append(0.0, parameters[:n_curve]) + heights * (z @ parameters[n_curve:])
        p = np.exp(theta)
        total += (of_query * np.log(p[:, None] / (p[:, None] + p))).sum()
    return total


def test_derivatives_are_those_of_the_definition():
    duels = duels_at_random()
    parameters = np.random.default_rng(1).normal(size=5) / 3
    scores, information = _derivatives(parameters, *duels)
    expected = approx_fprime(parameters, likelihood, 1e-6, *duels)
    assert_allclose(scores.sum(axis=0), expected, rtol=1e-4, atol=1e-4)
    for place in range(5):
        moved = parameters.copy()
        moved[place] += 1e-6
        change = _derivatives(moved, *duels)[0].sum(axis=0) - scores.sum(axis=0)
        assert_allclose(information[place], -change / 1e-6, rtol=1e-3, atol=1e-3)


def test_no_other_parameters_are_more_likely():
    duels = duels_at_random()
    found = _maximised(np.zeros(5), np.ones(5, bool), *duels)
    best = minimize(lambda given: -likelihood(given, *duels), np.zeros(5), tol=1e-10)
    assert_allclose(found, best.x, atol=1e-4)
    held = _maximised(np.zeros(5), np.arange(5) < 3, *duels)
    assert (held[3:] == 0).all()


def test_coefficients_are_shrunk_by_their_errors():
    """With equal errors, all by the same share; the likeliest spread is that of the moments."""
    given = np.array([1.0, -1.0, 0.5, -0.5, 1.5, -1.5])
    spread = _likeliest_spread(given, 0.04 * np.eye(6))
    assert_allclose(spread**2, (given**2).mean() - 0.04, rtol=0.12)
    shrunk = _shrunk(given, 0.04 * np.eye(6), spread)
    assert_allclose(shrunk, given * spread**2 / (spread**2 + 0.04))
    # Little more than their errors is no evidence.
    for variance in (0.9, 1.5):
        assert _likeliest_spread(given, variance * np.eye(6)) == 0


def test_descriptions_that_tell_nothing_do_not_hide_the_others():
    given = np.array([1.0, -1.0, 0.5, -0.5, 1.5, -1.5])
    alone = _likeliest_spread(given, 0.04 * np.eye(6))
    with_constants = np.diag([0.04] * 6 + [0.0] * 9)
    assert _likeliest_spread(np.append(given, np.zeros(9)), with_constants) == alone > 0


def test_queries_that_differ_by_their_description_have_their_own_curves(world):
    etas = 1.5, 0.5
    log = log_of(world, etas)
    bias = DescribedPositionBias(Mean()).fit(log, world[0])
    assert bias.p_value_ <= 0.01
    assert error(bias, log, world, etas) < 0.3 * error(bias.common_, log, world, etas)
    exponents = np.array([*bias.exponents_.values()])
    assert_allclose(exponents[world[1] == 0].mean(), -0.5, atol=0.1)
    assert_allclose(exponents[world[1] == 1].mean(), 0.5, atol=0.1)


def test_where_queries_do_not_differ_the_curve_is_the_common_one(world):
    etas = 1.0, 1.0
    log = log_of(world, etas, n_sessions=50_000)
    bias = DescribedPositionBias(Mean()).fit(log, world[0])
    assert bias.spread_ == 0
    assert bias.p_value_ > 0.05
    assert set(bias.exponents_.values()) == {0.0}
    assert_allclose(bias.examination_, bias.common_.examination_, rtol=1e-6)
    assert_allclose(bias.examination_of(log), bias.common_.examination_of(log), rtol=1e-6)


@pytest.mark.slow
def test_alarms_are_as_rare_as_they_say_and_little_is_lost(world):
    etas, n_logs = (1.0, 1.0), 100
    alarms, errors = 0, np.zeros(2)
    for seed in range(n_logs):
        log = log_of(world, etas, n_sessions=10_000, seed=seed)
        bias = DescribedPositionBias(Mean(), n_permutations=99).fit(log, world[0])
        alarms += bias.p_value_ <= 0.05
        errors += [error(bias, log, world, etas), error(bias.common_, log, world, etas)]
    assert alarms <= 12
    assert errors[0] < 1.2 * errors[1]


def test_queries_without_features_have_the_curve_of_an_average_query(world):
    dataset, _ = world
    log = log_of(world, (1.5, 0.5))
    bias = DescribedPositionBias(Mean()).fit(log, dataset.select(range(150)))
    assert len(bias.exponents_) == 150
    unknown = np.isin(log.query_ids, dataset.query_ids[150:])[log.session_queries]
    rows = unknown[log.session_index]
    assert_allclose(bias.examination_of(log)[rows], bias.examination_[log.positions[rows]])


def test_the_order_of_queries_and_the_scale_of_features_do_not_matter(world):
    dataset, _ = world
    log = log_of(world, (1.5, 0.5))
    bias = DescribedPositionBias(Mean()).fit(log, dataset)
    order = np.random.default_rng(0).permutation(dataset.n_queries)
    other = dataset.select(order)
    scaled = other.replaced(features=1000 * other.features + 7)
    again = DescribedPositionBias(Mean()).fit(log, scaled)
    assert_allclose(again.examination_of(log), bias.examination_of(log), rtol=1e-6)


def test_what_cannot_be_learned_from_is_refused(world):
    dataset, _ = world
    log = log_of(world, (1.0, 1.0), n_sessions=2000)
    renamed = ClickLog.from_sessions(
        [f"x{query}" for query in log.session_queries],
        np.split(log.document_ids[log.pairs], log.offsets[1:-1]),
        [np.flatnonzero(part) for part in np.split(log.clicks, log.offsets[1:-1])],
    )
    with pytest.raises(ValueError, match="need two queries in common whose documents were shown"):
        DescribedPositionBias(Mean()).fit(renamed, dataset)
    with pytest.raises(ValueError, match="The 'representation' parameter"):
        DescribedPositionBias("mean").fit(log, dataset)
    one = ClickLog.from_sessions(["1"] * 4, [["a"]] * 4, [[0], [], [0], []])
    with pytest.raises(ValueError, match="The log has only one position"):
        DescribedPositionBias(Mean()).fit(one, dataset)
