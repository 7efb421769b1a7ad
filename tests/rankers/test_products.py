import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from localrank.rankers.duh_kirchhoff import kernel_values, row_products


@pytest.fixture
def rows(rng):
    return rng.normal(size=(37, 7))


@pytest.fixture
def points(rng):
    return rng.normal(size=(13, 7)) + 1


def test_products_are_matrix_products(rows, points):
    assert_allclose(row_products(rows, points.T), rows @ points.T, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_polynomials_are_those_of_scikit_learn(rows, points, degree):
    expected = polynomial_kernel(rows, points, degree=degree, gamma=0.3, coef0=1)
    assert_allclose(kernel_values(rows, points, "poly", degree, 0.3), expected, rtol=1e-11)


def test_gaussians_are_those_of_scikit_learn(rows, points):
    expected = rbf_kernel(rows, points, gamma=0.3)
    assert_allclose(kernel_values(rows, points, "rbf", 3, 0.3), expected, rtol=1e-11)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_row_has_the_same_bits_wherever_it_stands(rows, points, kernel, rng):
    def values(given):
        if kernel == "linear":
            return row_products(given, points.T)
        return kernel_values(given, points, kernel, 3, 0.3)

    together = values(rows)
    order = rng.permutation(len(rows))
    assert_array_equal(values(rows[order]), together[order])
    for row in range(len(rows)):
        assert_array_equal(values(rows[row : row + 1])[0], together[row])


def test_points_far_from_zero_lose_no_digits(rows, points):
    near = kernel_values(rows, points, "rbf", 3, 0.3)
    # Powers of 2, so that the shift itself causes little rounding.
    assert_allclose(kernel_values(rows + 2**20, points + 2**20, "rbf", 3, 0.3), near, rtol=1e-8)
