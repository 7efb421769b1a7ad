import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.query_coordinates.first_component import _first_eigenvector, first_component


def component(documents):
    """The scores of documents, one per row."""
    rows = np.ascontiguousarray((documents - documents.mean(axis=0)).T)
    scores = np.full(len(documents), np.nan)
    first_component(rows, scores)
    return scores


def by_svd(documents):
    """The scores, and how far the first two variances lie apart, from LAPACK."""
    centred = documents - documents.mean(axis=0)
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    sign = np.sign(directions[0].sum())
    gap = 1 - (lengths[1] / lengths[0]) ** 2 if len(lengths) > 1 else 1.0
    return sign * (centred @ directions[0]), gap


@pytest.mark.parametrize(
    "shape", [(2, 1), (2, 40), (3, 2), (15, 46), (46, 46), (100, 46), (90, 136), (700, 9)]
)
def test_scores_are_those_of_the_singular_value_decomposition(shape, rng):
    documents = rng.normal(size=shape) + rng.normal(size=(shape[0], 1))
    expected, gap = by_svd(documents)
    assert gap > 0.1
    assert_allclose(component(documents), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", [(100, 46), (400, 150), (1000, 300)])
def test_noise_without_a_leading_direction_has_its_first_component_found(shape):
    rng = np.random.default_rng(1)
    documents = rng.normal(size=shape)
    expected, gap = by_svd(documents)
    assert gap < 0.15
    assert_allclose(component(documents), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_close_variances_are_told_apart(gap, rng):
    left = np.linalg.qr(rng.normal(size=(200, 40)))[0]
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    lengths = np.concatenate([[1.0, 1.0 - gap], np.linspace(0.9, 0.1, 38)])
    documents = (left * lengths) @ right.T
    expected = left[:, 0] * np.sign(right[:, 0].sum())
    assert_allclose(component(documents), expected, rtol=0, atol=1e-10 / gap)


@settings(deadline=None, max_examples=100)
@given(n=st.integers(2, 30), width=st.integers(1, 90), seed=st.integers(0, 10**6))
def test_the_loadings_are_an_eigenvector_with_the_largest_eigenvalue(n, width, seed):
    documents = np.random.default_rng(seed).normal(size=(n, width))
    centred = documents - documents.mean(axis=0)
    scores = component(documents)
    loadings = centred.T @ scores
    largest = np.linalg.norm(centred, 2) ** 2
    assert_allclose(centred.T @ (centred @ loadings), largest * loadings, atol=1e-9 * largest**1.5)
    assert_allclose(scores @ scores, largest, rtol=1e-9)
    assert loadings.sum() > 0


def test_loadings_with_sum_zero_have_the_first_of_the_largest_positive():
    line = np.array([-1.0, 0.0, 1.0])
    assert_allclose(component(np.column_stack([line, -line])), np.sqrt(2) * line, atol=1e-12)
    assert_allclose(component(np.column_stack([-line, line])), -np.sqrt(2) * line, atol=1e-12)


@pytest.mark.parametrize("before", range(6))
def test_rounding_does_not_decide_which_of_opposite_features_is_positive(before, rng):
    for _ in range(20):
        column = rng.normal(size=9)
        scores = component(np.column_stack([np.zeros((9, before)), column, -column]))
        assert_allclose(scores, np.sqrt(2) * (column - column.mean()), atol=1e-10)


def test_several_directions_of_the_largest_variance_give_one_for_any_order(rng):
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    scores = component(square)
    assert_allclose(scores @ scores, 4.0)
    for _ in range(10):
        order = rng.permutation(4)
        assert_allclose(component(square[order]), scores[order], atol=1e-12)


def test_equal_documents_have_equal_scores(rng):
    documents = rng.normal(size=(37, 46))
    twice = documents[rng.permutation(np.repeat(np.arange(37), 2))]
    scores = component(twice)
    _, same = np.unique(twice, axis=0, return_inverse=True)
    for i in range(37):
        assert len(set(scores[same.ravel() == i])) == 1


@settings(deadline=None, max_examples=200)
@given(size=st.integers(1, 30), spread=st.floats(1e-8, 1e2), seed=st.integers(0, 10**6))
def test_the_first_eigenvector_of_a_tridiagonal_matrix_is_lapacks(size, spread, seed):
    rng = np.random.default_rng(seed)
    diagonal, beside = rng.uniform(0, 1, size), spread * rng.uniform(0.1, 1, size)
    # The larger the first entry of the eigenvector the better; Lanczos' start has a part in it.
    diagonal[0] = 1.1
    matrix = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    values, vectors = np.linalg.eigh(matrix)
    found = np.full(size, np.nan)
    largest = _first_eigenvector(diagonal, beside, found)
    assert largest == pytest.approx(values[-1], rel=1e-11)
    assert_array_equal(found > 0, True)
    if vectors[0, -1] ** 2 > 1e-2:
        assert largest == pytest.approx(values[-1], rel=1e-13)
        assert_allclose(found, np.abs(vectors[:, -1]), rtol=0, atol=1e-10)
