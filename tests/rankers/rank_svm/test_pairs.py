from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank._kernels.rows import centred_rows, projections
from localrank._kernels.sorting import read_only
from localrank.rankers.rank_svm._pair_graphs import PairGraph, laplacian_factors, laplacian_product
from localrank.rankers.rank_svm._pairs import count_pairs, pair_losses

# Scores on a grid that avoids the margin of 1 and all knees: every pair is clearly on one side.
GRID = 0.3700001


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    n = sum(sizes)
    labels = draw(st.lists(st.integers(0, draw(st.integers(1, 8))), min_size=n, max_size=n))
    steps = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    scale = draw(st.sampled_from([0.01, 1.0]))
    knee = draw(st.sampled_from([np.inf, 1.7, 0.4, 0.05]))
    weights = draw(st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=len(sizes), max_size=99))
    return (
        np.array(steps) * GRID * scale,
        np.array(labels, dtype=np.float64),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array(weights[: len(sizes)]),
        knee,
    )


def pairs_of(labels, offsets):
    """Every (query, higher row, lower row)."""
    return [
        (query, i, j)
        for query in range(len(offsets) - 1)
        for i in range(offsets[query], offsets[query + 1])
        for j in range(offsets[query], offsets[query + 1])
        if labels[i] > labels[j]
    ]


def counted(labels, offsets):
    levels = np.empty(len(labels), np.int64)
    n_levels, n_pairs = np.empty((2, len(offsets) - 1), np.int64)
    count_pairs(
        read_only(labels, np.float64), read_only(offsets, np.int64), levels, n_levels, n_pairs
    )
    return levels, n_levels, n_pairs


def evaluated(scores, labels, offsets, weights, knee):
    levels, n_levels, _ = counted(labels, offsets)
    order = np.empty(len(scores), np.int64)
    gradient, degrees = np.empty((2, len(scores)))
    given = read_only(scores, np.float64), offsets, levels, n_levels, weights, knee, order
    return pair_losses(*given, gradient, degrees), gradient, (*given, degrees)


def laplacian(scores, labels, offsets, weights, knee):
    matrix = np.zeros((len(scores), len(scores)))
    for query, i, j in pairs_of(labels, offsets):
        if 0 < 1 - scores[i] + scores[j] < knee:
            matrix[[i, j], [i, j]] += weights[query]
            matrix[[i, j], [j, i]] -= weights[query]
    return matrix


@settings(max_examples=80)
@given(problems())
def test_levels_number_the_labels_of_each_query_and_pairs_are_counted(problem):
    _, labels, offsets, _, _ = problem
    levels, n_levels, n_pairs = counted(labels, offsets)
    for query, (begin, end) in enumerate(pairwise(offsets)):
        levels_of_query, ranks = np.unique(labels[begin:end], return_inverse=True)
        assert n_levels[query] == len(levels_of_query)
        assert_array_equal(levels[begin:end], ranks)
        assert n_pairs[query] == sum(pair[0] == query for pair in pairs_of(labels, offsets))


@settings(max_examples=150)
@given(problems())
def test_losses_and_derivatives_equal_a_loop_over_pairs(problem):
    scores, labels, offsets, weights, knee = problem
    loss = hinge = excess = 0.0
    gradient, degrees = np.zeros((2, len(scores)))
    for query, i, j in pairs_of(labels, offsets):
        z, weight = 1 - scores[i] + scores[j], weights[query]
        if z <= 0:
            continue
        hinge += weight * z
        if z < knee:
            loss += weight * z * z / 2
            excess += weight * z * (knee - z) if np.isfinite(knee) else 0.0
            degrees[[i, j]] += weight
        else:
            loss += weight * (knee * z - knee * knee / 2)
        gradient[i] -= weight * min(z, knee)
        gradient[j] += weight * min(z, knee)
    sums, slopes, (*_, counts) = evaluated(*problem)
    assert_allclose(sums, [loss, hinge, excess], rtol=1e-11, atol=1e-11)
    assert_allclose(slopes, gradient, rtol=1e-11, atol=1e-11)
    assert_allclose(counts, degrees, rtol=1e-12)


@settings(max_examples=80)
@given(problems(), st.integers(0, 99))
def test_the_laplacian_and_its_factors_equal_a_loop_over_pairs(problem, seed):
    rng = np.random.default_rng(seed)
    n, n_groups = len(problem[0]), len(problem[2]) - 1
    vector, product = rng.normal(size=n), np.empty(n)
    X = centred_rows(read_only(rng.normal(size=(n, 3)), np.float64), np.arange(n), problem[2])
    expected = laplacian(*problem)
    _, _, given = evaluated(*problem)
    laplacian_product(vector, PairGraph(*given), product)
    assert_allclose(product, expected @ vector, atol=1e-11)
    P, Q, R = np.empty((3, 2 * n, 3))
    n_scaled, n_higher = laplacian_factors(X, PairGraph(*given), 0, n_groups, P, Q, R)
    crossed = Q[:n_higher].T @ R[:n_higher]
    assert_allclose(
        P[:n_scaled].T @ P[:n_scaled] - crossed - crossed.T, X.T @ expected @ X, atol=1e-10
    )


@pytest.mark.parametrize("n_labels", [2, 3, 1000])
@pytest.mark.parametrize("knee", [np.inf, 0.3])
def test_a_long_query_sums_as_a_matrix_of_pairs_does(rng, n_labels, knee):
    scores = rng.normal(size=700)
    labels = rng.integers(0, n_labels, 700).astype(np.float64)
    offsets = np.array([0, 700])
    slack = np.maximum(1 - scores[:, None] + scores, 0) * (labels[:, None] > labels)
    slopes = np.minimum(slack, knee)
    sums, gradient, _ = evaluated(scores, labels, offsets, np.ones(1), knee)
    assert_allclose(sums[0], np.sum(slopes * (slack - slopes / 2)), rtol=1e-11)
    assert_allclose(sums[1], np.sum(slack), rtol=1e-11)
    assert_allclose(gradient, slopes.sum(axis=0) - slopes.sum(axis=1), atol=1e-9)


def test_rows_are_centred_in_their_groups(rng):
    X = rng.normal(size=(6, 3))
    centred = centred_rows(read_only(X, np.float64), np.array([5, 0, 2, 3]), np.array([0, 2, 4]))
    assert_allclose(centred[:2], X[[5, 0]] - X[[5, 0]].mean(axis=0), atol=1e-15)
    assert_allclose(centred[2:], X[[2, 3]] - X[[2, 3]].mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_a_projection_does_not_depend_on_where_the_row_stands(rng, n_features):
    X, direction = rng.normal(size=(9, n_features)), rng.normal(size=n_features)
    keys = projections(read_only(X, np.float64), direction)
    assert_allclose(keys, X @ direction, rtol=1e-12)
    order = rng.permutation(9)
    assert_array_equal(projections(read_only(X[order], np.float64), direction), keys[order])


@settings(max_examples=150)
@given(problems(), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_scores_that_are_no_numbers_stay_within_their_query(problem, value, data):
    scores, labels, offsets, weights, knee = problem
    query = data.draw(st.integers(0, len(offsets) - 2))
    rows = np.arange(offsets[query], offsets[query + 1])
    broken = scores.copy()
    broken[rows[: data.draw(st.integers(1, len(rows)))]] = value
    _, expected, _ = evaluated(*problem)
    _, gradient, (*_, order, _) = evaluated(broken, labels, offsets, weights, knee)
    for begin, end in pairwise(offsets):
        assert_array_equal(np.sort(order[begin:end]), np.arange(begin, end))
    others = np.delete(np.arange(len(scores)), rows)
    assert_array_equal(gradient[others], expected[others])


@settings(max_examples=20)
@given(st.integers(2, 400), st.integers(2, 5), st.integers(0, 1000))
def test_long_queries_of_scores_that_are_no_numbers_stay_within_their_rows(n, n_levels, seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n))
    labels, offsets = rng.integers(0, n_levels, n).astype(float), np.array([0, n])
    _, _, given = evaluated(scores, labels, offsets, np.ones(1), 0.5)
    graph = PairGraph(*given)
    laplacian_product(rng.normal(size=n), graph, np.empty(n))
    assert_array_equal(np.sort(graph.order), np.arange(n))
