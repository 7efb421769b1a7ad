import math
from itertools import pairwise

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank._kernels import sums
from localrank._kernels.sums import order_free_means

# Compiled into kernels, and here by itself.
order_free_sum = numba.njit(sums.order_free_sum)

VALUES = {
    "ordinary": lambda rng, n: rng.normal(size=n),
    "of all sizes": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n),
    "that cancel": lambda rng, n: np.tile([1e100, -1e100, 0.1], n)[:n],
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-310,
    "zero": lambda rng, n: np.zeros(n),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("n", [1, 2, 3, 66, 1023, 1024, 5000])
def test_a_sum_is_the_same_in_any_order_and_nearly_exact(kind, n, rng):
    values = VALUES[kind](rng, n)
    total = order_free_sum(values, n)
    for _ in range(5):
        assert order_free_sum(rng.permutation(values), n) == total
    assert total == pytest.approx(math.fsum(values), rel=1e-15, abs=1e-20 * np.abs(values).max())


def test_huge_numbers_do_not_overflow_on_the_way():
    values = np.array([1e307, -1e307, 5e306])
    assert order_free_sum(values, 3) == 5e306


def test_means_are_the_same_in_any_order_of_the_rows(rng):
    values = rng.normal(size=(150, 7)) * 10.0 ** rng.integers(-9, 9, 7)
    weights = rng.random(150)
    offsets = np.array([0, 60, 61, 150])
    means = order_free_means(values, offsets, weights)
    order = np.concatenate([rng.permutation(60), [60], rng.permutation(np.arange(61, 150))])
    assert_array_equal(order_free_means(values[order], offsets, weights[order]), means)
    for query, (begin, end) in enumerate(pairwise(offsets)):
        expected = np.average(values[begin:end], axis=0, weights=weights[begin:end])
        np.testing.assert_allclose(means[query], expected, rtol=1e-12)


def test_rows_without_weight_have_mean_zero():
    means = order_free_means(np.ones((2, 1)), np.array([0, 2]), np.zeros(2))
    assert_array_equal(means, [[0.0]])
