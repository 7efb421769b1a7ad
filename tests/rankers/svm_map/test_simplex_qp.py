import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.rankers.svm_map._simplex_qp import minimise_over_simplex


def minimum(A, b):
    """Shares x that minimise ||A'x||² / 2 - b'x."""
    x = np.zeros(len(b))
    x[0] = 1.0
    minimise_over_simplex(A @ A.T, b, x, 1e-12)
    return x


def assert_optimal(A, b, x, tol=1e-7):
    """x is on the simplex. Where x is not 0, the gradient has its minimum."""
    assert x.min() >= 0
    assert_allclose(x.sum(), 1)
    gradient = A @ (A.T @ x) - b
    scale = np.abs(gradient).max() + np.abs(b).max()
    assert (gradient[x > 0] - gradient.min() <= tol * scale).all()


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("n_features", [1, 3, 30])
def test_no_feasible_direction_goes_down(n, n_features, rng):
    for _ in range(5):
        A, b = rng.normal(size=(n, n_features)), rng.normal(size=n)
        assert_optimal(A, b, minimum(A, b))


def test_without_a_quadratic_part_the_largest_entry_takes_all():
    x = minimum(np.zeros((4, 2)), np.array([0.1, 0.5, 0.9, 0.3]))
    assert_allclose(x, [0, 0, 1, 0])


@pytest.mark.parametrize("scale", [1e-10, 1e-4, 1e4])
def test_equal_rows_and_a_row_of_zeros_do_no_harm(scale, rng):
    A = scale * rng.normal(size=(12, 4))
    A[3] = A[7] = A[2]
    A[0] = 0
    b = rng.uniform(size=12)
    b[3] = b[2]
    b[0] = 0
    assert_optimal(A, b, minimum(A, b))


def test_the_start_does_not_matter(rng):
    A, b = rng.normal(size=(10, 20)), rng.normal(size=10)
    x = np.full(10, 0.1)
    minimise_over_simplex(A @ A.T, b, x, 1e-12)
    assert_allclose(x, minimum(A, b), atol=1e-9)
