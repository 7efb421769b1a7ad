import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.svm_map._query_planes import (
    centre_by_query,
    lowest_between,
    store_planes,
    sum_of_highest,
)


def test_constant_features_are_exactly_zero_after_centring():
    features = np.column_stack([np.full(7, 0.1), np.full(7, 1e8 / 3), np.arange(7.0)])
    centred = features.copy()
    centre_by_query(centred, np.array([0, 3, 7]))
    assert_array_equal(centred[:, :2], 0)
    assert_allclose(centred[:, 2], [-1, 0, 1, -1.5, -0.5, 0.5, 1.5])


def test_a_new_plane_takes_the_slot_used_longest_ago():
    features, offsets = np.eye(4), np.array([0, 2, 4])
    slopes, intercepts = np.zeros((3, 2, 4)), np.zeros((3, 2))
    last_used = np.array([[5, 5], [4, 9], [6, 8]])
    contributions, heights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.7])
    queries = np.array([0, 1])
    store_planes(features, offsets, contributions, heights, queries, slopes, intercepts, last_used)
    assert_array_equal(slopes[1, 0], [1, 2, 0, 0])
    assert_array_equal(slopes[0, 1], [0, 0, 3, 4])
    assert_array_equal(intercepts, [[0, 0.7], [0.5, 0], [0, 0]])


def test_the_sum_of_highest_planes_touches_the_sum_of_maxima(rng):
    slopes, intercepts = rng.normal(size=(3, 5, 2)), rng.normal(size=(3, 5))
    weights, w, last_used = rng.uniform(size=5), rng.normal(size=2), np.zeros((3, 5), int)
    heights = slopes @ w + intercepts
    slope, intercept = sum_of_highest(heights, weights, slopes, intercepts, last_used, 4)
    assert_allclose(slope @ w + intercept, weights @ heights.max(axis=0))
    assert_array_equal(last_used, 4 * (heights == heights.max(axis=0)))


def test_the_lowest_point_of_a_segment_is_found(rng):
    shares = np.linspace(0, 1, 2001)
    for _ in range(20):
        start, end, weights = rng.normal(size=(3, 9)), rng.normal(size=(3, 9)), rng.uniform(size=9)
        linear, quadratic = rng.normal(), rng.uniform(0, 4)
        heights = start + shares[:, None, None] * (end - start)
        values = linear * shares + quadratic * shares**2 / 2 + heights.max(axis=1) @ weights
        t = lowest_between(start, end, weights, linear, quadratic, 30)
        assert abs(t - shares[values.argmin()]) < 1e-3
