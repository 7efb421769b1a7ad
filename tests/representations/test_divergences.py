import numpy as np
import pytest
from numpy.linalg import slogdet, solve
from numpy.testing import assert_allclose, assert_array_equal

from localrank.representations.gaussian import (
    bhattacharyya_exponents,
    inverse_factors,
    scatters,
)


def gaussians(n, d, rng):
    clouds = rng.normal(size=(n, 2 * d, d))
    return rng.normal(size=(n, d)), np.linalg.cholesky(clouds.swapaxes(1, 2) @ clouds / d)


def test_scatters_are_the_products_of_each_querys_rows(queries):
    parts = np.split(queries.features, queries.offsets[1:-1])
    sums = scatters(queries.features, queries.offsets)
    assert_allclose(sums, [part.T @ part for part in parts], atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_inverse_factors_times_factors_are_the_identity(d, rng):
    _, factors = gaussians(4, d, rng)
    inverses = inverse_factors(factors)
    assert_allclose(inverses @ factors, np.broadcast_to(np.eye(d), factors.shape), atol=1e-10)
    assert_array_equal(np.triu(inverses, 1), 0)


# Rows are reduced four at a time: every remainder.
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 8, 9, 21])
def test_exponents_are_bhattacharyyas_distance(d, rng):
    means_a, factors_a = gaussians(3, d, rng)
    means_b, factors_b = gaussians(5, d, rng)
    exponents = bhattacharyya_exponents(means_a, factors_a, means_b, factors_b)
    assert exponents.shape == (3, 5)
    for a in range(3):
        for b in range(5):
            S_a, S_b = factors_a[a] @ factors_a[a].T, factors_b[b] @ factors_b[b].T
            S, m = (S_a + S_b) / 2, means_a[a] - means_b[b]
            determinants = slogdet(S)[1] - (slogdet(S_a)[1] + slogdet(S_b)[1]) / 2
            assert_allclose(exponents[a, b], m @ solve(S, m) / 8 + determinants / 2, rtol=1e-10)


def test_one_set_with_itself_is_the_same_as_with_a_copy(rng):
    means, factors = gaussians(6, 5, rng)
    exponents = bhattacharyya_exponents(means, factors, means, factors)
    assert_array_equal(exponents, bhattacharyya_exponents(means, factors, means.copy(), factors))
    assert_array_equal(exponents, exponents.T)


def test_views_and_copies_share_one_compiled_kernel(rng):
    from localrank.representations.gaussian import _half_way, _inverse_factors

    descriptions = np.concatenate([part.reshape(2, -1, 3) for part in gaussians(2, 3, rng)], axis=1)
    means, factors = descriptions[:, 0], descriptions[:, 1:]
    bhattacharyya_exponents(means, factors, means.copy(), factors.copy())
    inverse_factors(factors)
    inverse_factors(factors.copy())
    assert len(_half_way.signatures) == len(_inverse_factors.signatures) == 1  # type: ignore[attr-defined]
