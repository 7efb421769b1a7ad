import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank._kernels import linalg

# Compiled into kernels, and here by itself.
leading_eigenvectors = numba.njit(linalg.leading_eigenvectors)


def with_eigenvalues(values, rng):
    Q, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return (Q * values) @ Q.T


def assert_decomposes(matrix):
    """All eigenvectors: orthonormal, of the eigenvalues that LAPACK finds, in descending order."""
    size, scale = len(matrix), np.abs(matrix).sum(axis=0).max()
    values, vectors = leading_eigenvectors(matrix.copy(), size)
    assert_allclose(matrix @ vectors, vectors * values, rtol=0, atol=1e-14 * size * scale)
    assert_allclose(vectors.T @ vectors, np.eye(size), rtol=0, atol=1e-14 * size)
    assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], rtol=0, atol=1e-14 * size * scale)


@settings(max_examples=100)
@given(
    values=st.lists(st.sampled_from([-2.0, 0.0, 1e-9, 1e-3, 1.0, 1.0 + 1e-12, 3.0]), min_size=1)
    | st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=50),
    seed=st.integers(0, 1000),
)
def test_symmetric_matrices_with_any_eigenvalues_are_decomposed(values, seed):
    assert_decomposes(with_eigenvalues(np.array([*values, 1.0]), np.random.default_rng(seed)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 150])
def test_matrices_of_products_of_any_size_are_decomposed(size, rng):
    X = rng.normal(size=(size + 3, size))
    assert_decomposes(X.T @ X)


SPECIAL = {
    "zeros": np.zeros((5, 5)),
    "identity": np.eye(6),
    "diagonal": np.diag([1.0, 5.0, -3.0, 5.0]),
    "ones": np.ones((8, 8)),
    "nearly identity": np.eye(4) + 1e-19,
    "nearly diagonal": np.diag([1.0, 2.0, 3.0, 4.0]) + 1e-160,
    "swap": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "path": np.eye(9, k=1) + np.eye(9, k=-1),
    "close pairs": np.diag(np.abs(np.arange(-10.0, 11.0))) + np.eye(21, k=1) + np.eye(21, k=-1),
    "graded": np.diag(10.0 ** -np.arange(20.0)),
    "sums": np.add.outer(np.arange(12.0), np.arange(12.0)),
    "Hilbert": 1.0 / np.add.outer(np.arange(1.0, 13.0), np.arange(12.0)),
}


@pytest.mark.parametrize("matrix", SPECIAL.values(), ids=SPECIAL)
def test_matrices_of_special_form_are_decomposed(matrix):
    assert_decomposes(matrix)
    assert_decomposes(matrix[::-1, ::-1].copy())


def test_the_first_vectors_do_not_depend_on_how_many_are_asked_for(rng):
    matrix = with_eigenvalues(np.arange(12.0), rng)
    values, vectors = leading_eigenvectors(matrix.copy(), 12)
    for n_vectors in range(12):
        fewer_values, fewer = leading_eigenvectors(matrix.copy(), n_vectors)
        assert_array_equal(fewer_values, values)
        assert_allclose(fewer, vectors[:, :n_vectors], rtol=0, atol=1e-15)


def test_what_stands_right_of_the_diagonal_is_not_read(rng):
    matrix = with_eigenvalues(np.arange(8.0), rng)
    lower = np.tril(matrix) + np.triu(np.full((8, 8), np.nan), 1)
    for expected, actual in zip(
        leading_eigenvectors(matrix, 3), leading_eigenvectors(lower, 3), strict=True
    ):
        assert_array_equal(actual, expected)
