"""The position-based model is refused where people do not follow it, and hardly ever elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks import (
    CascadeBehaviour,
    ClickLog,
    DynamicBayesianBehaviour,
    PositionBehaviour,
    TrustBehaviour,
    check_position_model,
    simulate_clicks,
)
from localrank.data import make_queries


@pytest.fixture(scope="module")
def dataset():
    return make_queries(200, n_documents=(8, 15))[0]


def drawn(dataset, behaviour, seed=0, n_sessions=40_000):
    scores = dataset.labels + np.random.default_rng(0).normal(size=dataset.n_documents)
    return simulate_clicks(
        dataset, scores, behaviour, n_sessions=n_sessions, depth=6, shuffle=1, random_state=seed
    )


def test_a_log_of_the_model_is_not_refused(dataset):
    check = check_position_model(drawn(dataset, PositionBehaviour()))
    assert not check.is_refused
    assert str(check).startswith("Nothing speaks against the position-based model: swaps and EM")
    assert 0.95 < check.after_click < 1.05
    assert_allclose(check.methods.ratios, 1, atol=0.06)
    assert check.methods.positions.size == check.relevance.positions.size == 0


def test_a_cascade_is_noticed_by_clicks_below_a_click(dataset):
    check = check_position_model(drawn(dataset, CascadeBehaviour()))
    assert check.is_refused
    assert check.after_click == 0
    assert "below a click there are 0.00 times the expected clicks" in str(check)
    assert str(check).startswith("The position-based model is wrong for this log: ")


def test_trust_is_noticed_by_documents_that_are_clicked_often(dataset):
    check = check_position_model(drawn(dataset, TrustBehaviour()))
    assert check.is_refused
    assert check.relevance.p_value < 0.01
    # The better a document, the less its clicks fall with the position.
    assert (check.relevance.ratios[check.relevance.positions] > 1).all()
    assert "are seen more or less where documents are clicked often elsewhere" in str(check)
    assert check.p_after_click > 0.01


def test_people_who_leave_are_noticed(dataset):
    check = check_position_model(drawn(dataset, DynamicBayesianBehaviour(continuation=0.7)))
    assert check.is_refused
    assert check.p_after_click < 0.001


def test_people_with_different_patience_are_noticed(dataset):
    behaviours = {"a": PositionBehaviour(eta=0.1), "b": PositionBehaviour(eta=3)}
    check = check_position_model(drawn(dataset, behaviours))
    assert check.is_refused
    low, _ = check.after_click_interval
    assert low > 1


def test_clicks_below_a_click_are_those_of_a_loop(dataset):
    log = drawn(dataset, PositionBehaviour(), n_sessions=3000)
    check = check_position_model(log, n_bootstrap=20)
    p = check.swaps.examination_
    looks, clicks = np.zeros(log.n_pairs), np.zeros(log.n_pairs)
    for row in range(log.n_impressions):
        looks[log.pairs[row]] += p[log.positions[row]]
        clicks[log.pairs[row]] += log.clicks[row]
    observed = expected = 0.0
    for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        clicked = False
        for row in range(begin, end):
            if clicked:
                observed += log.clicks[row]
                pair = log.pairs[row]
                expected += p[log.positions[row]] * clicks[pair] / looks[pair]
            clicked |= log.clicks[row]
    assert_allclose(check.after_click, observed / expected)


def test_documents_at_two_positions_have_no_third_one():
    log = ClickLog.from_sessions(
        ["q", "r"] * 6,
        [["a", "b"], ["a", "b"], ["b", "a"], ["b", "a"]] * 3,
        [[0], [1], [0, 1], [0], [1], [0]] * 2,
    )
    check = check_position_model(log)
    assert np.isnan(check.relevance.p_value)
    assert "swaps and EM agree" in str(check)


@pytest.mark.slow
def test_a_right_model_is_refused_about_as_often_as_the_level_says(dataset):
    refused = [
        check_position_model(drawn(dataset, PositionBehaviour(), seed, 10_000)).is_refused
        for seed in range(100)
    ]
    # 5 of 100 are expected at most; more than 11 come by chance once in 200 times.
    assert sum(refused) <= 11
