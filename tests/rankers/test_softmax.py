import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from localrank._kernels.sorting import read_only
from localrank.rankers.listwise_linear import cross_entropy


def evaluated(features, offsets, targets, weights, direction):
    return cross_entropy(
        read_only(features, np.float64),
        read_only(offsets, np.int64),
        read_only(targets, np.float64),
        read_only(weights, np.float64),
        np.array(direction, dtype=float),
    )


@pytest.fixture
def lists(rng):
    """Four lists of 1 to 6 documents with targets that sum to 1, the third without weight."""
    offsets = np.array([0, 4, 5, 11, 14])
    targets = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(offsets)])
    return rng.normal(size=(14, 3)), offsets, targets, np.array([0.5, 0.2, 0.0, 0.3])


def test_the_value_is_the_weighted_cross_entropy_of_each_list(lists, rng):
    features, offsets, targets, weights = lists
    w = rng.normal(size=3)
    expected = 0.0
    for q, weight in enumerate(weights):
        rows = slice(offsets[q], offsets[q + 1])
        expected -= weight * targets[rows] @ log_softmax(features[rows] @ w)
    assert evaluated(features, offsets, targets, weights, w)[0] == pytest.approx(
        expected, rel=1e-13
    )


def test_the_gradient_agrees_with_finite_differences(lists, rng):
    features, offsets, targets, weights = lists
    w = rng.normal(size=3)
    numeric = approx_fprime(w, lambda v: evaluated(features, offsets, targets, weights, v)[0], 1e-7)
    gradient = evaluated(features, offsets, targets, weights, w)[1]
    assert_allclose(gradient, numeric, atol=1e-6)


def test_huge_scores_stay_finite():
    features = np.array([[1e4], [0.0], [-1e4]])
    value, gradient = evaluated(features, [0, 3], [0.0, 1.0, 0.0], [1.0], [1.0])
    assert value == 1e4
    assert_allclose(gradient, [1e4])


def test_lists_without_weight_are_passed_over(lists):
    features, offsets, targets, weights = lists
    features[5:11] = np.nan
    assert np.isfinite(evaluated(features, offsets, targets, weights, np.ones(3))[1]).all()
