from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.measures import AveragePrecision
from localrank.rankers.svm_map._average_precision_oracle import most_violated_rankings


@cache
def positions(n):
    """The position of each document in each ranking of n documents, from 1."""
    return np.array(list(permutations(range(1, n + 1))))


def misplaced(positions, a):
    """Whether relevant document r stands below irrelevant document i, for each ranking."""
    return positions[:, :a, None] > positions[:, None, a:]


def loss(positions, a):
    """1 - average precision, for each ranking."""
    relevant = np.sort(positions[:, :a], axis=1)
    return 1 - np.mean(np.arange(1, a + 1) / relevant, axis=1)


def violations(positions, a, scores):
    margins = scores[:a, None] - scores[None, a:]
    return loss(positions, a) - 2 * np.mean(misplaced(positions, a) * margins, axis=(1, 2))


def one_query(scores, a):
    losses, contributions = most_violated_rankings(
        scores, np.array([0, len(scores)]), np.array([a])
    )
    return losses[0], contributions


def ranking(contributions, a):
    """A ranking with these contributions, as the position of each document."""
    n = len(contributions)
    unit = 2 / (a * (n - a))
    result = np.empty(n, int)
    others_above = np.rint(-contributions[:a] / unit).astype(int)
    order = np.argsort(others_above, kind="stable")
    result[order] = others_above[order] + np.arange(1, a + 1)
    left = np.setdiff1d(np.arange(1, n + 1), result[:a])
    result[a + np.argsort(-contributions[a:], kind="stable")] = left
    return result


@st.composite
def lists(draw, longest=7):
    n = draw(st.integers(2, longest))
    a = draw(st.integers(1, n - 1))
    score = draw(st.sampled_from([st.floats(-3, 3), st.sampled_from([-0.5, 0.0, 0.25, 0.5])]))
    scale = draw(st.sampled_from([0.01, 0.3, 1.0, 10.0]))
    return scale * np.array(draw(st.lists(score, min_size=n, max_size=n))), a


@settings(max_examples=300)
@given(lists())
def test_no_ranking_is_violated_more(given_list):
    scores, a = given_list
    loss, contributions = one_query(scores, a)
    best = violations(positions(len(scores)), a, scores).max()
    assert_allclose(loss + contributions @ scores, best, atol=1e-12)


@pytest.mark.parametrize("n", range(2, 8))
def test_no_ranking_is_violated_more_whatever_is_relevant_and_tied(n, rng):
    for a in range(1, n):
        for scores in (rng.normal(0, 0.5, n), np.zeros(n), rng.integers(0, 2, n) / 4):
            loss, contributions = one_query(scores, a)
            best = violations(positions(n), a, scores).max()
            assert_allclose(loss + contributions @ scores, best, atol=1e-12)


@settings(max_examples=100)
@given(lists(longest=30))
def test_loss_and_contributions_are_those_of_one_ranking(given_list):
    scores, a = given_list
    n = len(scores)
    loss, contributions = one_query(scores, a)
    places = ranking(contributions, a)
    assert_array_equal(np.sort(places), np.arange(1, n + 1))
    wrong = misplaced(places[None], a)[0]
    unit = 2 / (a * (n - a))
    assert_allclose(contributions, unit * np.append(-wrong.sum(axis=1), wrong.sum(axis=0)))
    labels = np.arange(n) < a
    dataset = RankingDataset.from_arrays(np.zeros((n, 1)), labels, np.zeros(n))
    assert_allclose(loss, 1 - AveragePrecision()(dataset, -places)[0], atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(1, 400), (400, 1), (130, 300), (300, 130), (129, 129)])
@pytest.mark.parametrize("scale", [0.003, 0.1, 1.0])
def test_long_lists_agree_with_every_place_tried_for_every_document(a, b, scale, rng):
    scores = scale * rng.normal(size=a + b)
    loss, contributions = one_query(scores, a)
    relevant, irrelevant = -np.sort(-scores[:a]), -np.sort(-scores[a:])
    j, m = np.arange(1, b + 1)[:, None], np.arange(1, a + 1)
    terms = (m / (m + j - 1) - m / (m + j)) / a
    terms -= 2 / (a * b) * (relevant - irrelevant[:, None])
    best = np.maximum(np.cumsum(terms[:, ::-1], axis=1).max(axis=1), 0).sum()
    assert_allclose(loss + contributions @ scores, best, rtol=1e-10)


def test_equal_scores_are_ranked_worst():
    loss, contributions = one_query(np.zeros(5), 2)
    assert_allclose(loss, 1 - (1 / 4 + 2 / 5) / 2)
    assert_allclose(contributions, [-1, -1, 2 / 3, 2 / 3, 2 / 3])


def test_a_wide_margin_leaves_the_ideal_ranking():
    loss, contributions = one_query(np.array([50.0, 60.0, 0.0, 1.0]), 2)
    assert loss == 0
    assert_array_equal(contributions, 0)


def test_queries_do_not_influence_each_other(rng):
    sizes = np.array([2, 150, 9, 33, 2])
    n_relevant = np.array([1, 140, 3, 1, 1])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = rng.normal(0, 0.3, offsets[-1])
    losses, contributions = most_violated_rankings(scores, offsets, n_relevant)
    for query, (begin, end) in enumerate(pairwise(offsets)):
        alone, its = one_query(scores[begin:end], n_relevant[query])
        assert losses[query] == alone
        assert_array_equal(contributions[begin:end], its)


def test_a_common_shift_of_the_scores_changes_nothing(rng):
    scores = rng.integers(-8, 8, 40) / 8
    for shifted in (scores + 4, scores - 64):
        assert_array_equal(one_query(shifted, 11)[1], one_query(scores, 11)[1])
