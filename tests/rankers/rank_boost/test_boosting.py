import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.rank_boost._boosting import PairWeights, best_threshold


def pair_weights(labels, index, scores, log_weights):
    """Every pair (upper row, lower row) of a query and its weight."""
    rows = range(len(labels))
    pairs = [(i, j) for i in rows for j in rows if index[i] == index[j] and labels[i] > labels[j]]
    return {(i, j): np.exp(log_weights[index[i]] + scores[j] - scores[i]) for i, j in pairs}


def levels_of(labels, index) -> tuple[np.ndarray, np.ndarray]:
    """First row of each level, for sorted rows, and first level of each query."""
    keys = list(zip(index, labels, strict=True))
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    of_query = [index[i] for i in begins]
    queries = np.searchsorted(of_query, range(index[-1] + 2))
    return np.array([*begins, len(keys)]), queries


@st.composite
def scored_levels(draw):
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    labels = [sorted(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) for n in sizes]
    index = np.repeat(np.arange(len(sizes)), sizes)
    scores = draw(st.lists(st.floats(-20, 20), min_size=len(index), max_size=len(index)))
    bins = draw(st.lists(st.integers(0, 3), min_size=len(index), max_size=len(index)))
    log_weights = draw(st.lists(st.floats(-5, 0), min_size=len(sizes), max_size=len(sizes)))
    labels = np.concatenate(labels)
    return labels, index, np.array(scores), np.array(bins, np.uint8), np.array(log_weights)


@settings(max_examples=100)
@given(scored_levels())
def test_totals_potentials_and_splits_are_sums_over_the_pairs(case):
    labels, index, scores, bins, log_weights = case
    pairs = pair_weights(labels, index, scores, log_weights)
    weights = PairWeights(*levels_of(labels, index), log_weights)
    total = weights.update(scores)
    assert_allclose(total, sum(pairs.values()), rtol=1e-12)
    potentials = np.zeros(len(labels))
    for (i, j), weight in pairs.items():
        potentials[i] += weight
        potentials[j] -= weight
    assert_allclose(weights.potentials, potentials, rtol=1e-9, atol=1e-12 * total)
    for threshold in range(3):
        above = bins > threshold
        right = sum(w for (i, j), w in pairs.items() if above[i] and not above[j])
        wrong = sum(w for (i, j), w in pairs.items() if above[j] and not above[i])
        assert_allclose(weights.split(bins, threshold), (right, wrong), rtol=1e-12)


def test_scores_far_apart_neither_overflow_nor_lose_the_pairs_that_count():
    # Two pairs of neighbouring labels at far-away scores: each weighs exp(-1) and exp(1).
    scores = np.array([-5000.0, -4999.0, 3001.0, 3000.0])
    weights = PairWeights(np.arange(5), np.array([0, 4]), np.zeros(1))
    assert_allclose(weights.update(scores), np.exp(-1) + np.exp(1), rtol=1e-12)
    expected = [-np.exp(-1), np.exp(-1), -np.exp(1), np.exp(1)]
    assert_allclose(weights.potentials, expected, rtol=1e-12)
    right, wrong = weights.split(np.array([0, 1, 1, 0], np.uint8), 0)
    assert_allclose((right, wrong), (np.exp(-1), np.exp(1)), rtol=1e-12)


def test_a_second_update_forgets_the_first(rng):
    labels, index = np.array([0, 0, 1, 2, 0, 1]), np.array([0, 0, 0, 0, 1, 1])
    layout = levels_of(labels, index)
    scores = rng.normal(size=6)
    used, fresh = (PairWeights(*layout, np.zeros(2)) for _ in range(2))
    used.update(rng.normal(size=6))
    assert used.update(scores) == fresh.update(scores)
    assert_array_equal(used.potentials, fresh.potentials)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize("n_documents", [1, 2, 3, 4, 5, 50, 63])
def test_the_best_threshold_has_the_largest_sum_of_potentials_above_it(rng, n_documents, dtype):
    n_bins = np.array([1, 2, 5, 9])
    bins = np.array([rng.integers(0, n, n_documents) for n in n_bins]).astype(dtype)
    potentials = rng.normal(size=n_documents)
    potentials -= potentials.mean()
    sums = {
        (f, k): abs(potentials[bins[f] > k].sum()) for f in range(4) for k in range(n_bins[f] - 1)
    }
    best = best_threshold(bins, n_bins, potentials, 1e-12)
    if max(sums.values()) <= 1e-12:
        assert best == (-1, -1)
    else:
        assert sums[best] == pytest.approx(max(sums.values()), rel=1e-12)


def test_of_equal_sums_the_first_feature_and_threshold_is_taken(rng):
    # Bin 1 is empty and feature 2 repeats feature 1: four sums are equal up to rounding.
    bins = np.array([np.zeros(9), [0] * 4 + [2] * 5, [0] * 4 + [2] * 5], np.uint8)
    potentials = rng.normal(size=9)
    potentials -= potentials.mean()
    assert best_threshold(bins, np.array([1, 3, 3]), potentials, 1e-12) == (1, 0)


def test_without_a_sum_above_the_tolerance_there_is_no_threshold():
    bins = np.array([[0, 1, 0, 1]], np.uint8)
    assert best_threshold(bins, np.array([2]), np.array([1.0, 1, -1, -1]), 1e-12) == (-1, -1)
