import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.query_coordinates import _first_component
from localrank.rankers.query_coordinates._first_component import CLOSE, MAX_STEPS, POWER

# They are compiled into kernels, and here by themselves.
_blend, _first_eigenvector, first_component = (
    numba.njit(getattr(_first_component, name))
    for name in ("_blend", "_first_eigenvector", "first_component")
)


def component(documents):
    """The scores of documents, one per row."""
    return counted(documents)[0]


def counted(documents):
    """The scores, and the number of steps they took."""
    rows = np.ascontiguousarray((documents - documents.mean(axis=0)).T)
    scores = np.full(len(documents), np.nan)
    n_steps = first_component(rows, scores)
    return scores, n_steps


def by_the_rule(documents):
    """The scores that the documented rule gives, from all eigenvectors."""
    centred = documents - documents.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    start = 1 + np.sin(np.arange(1, len(values) + 1.0) ** 2) / 2
    gaps = np.maximum(1 - values / values[-1], 0)
    loadings = vectors @ ((CLOSE / (CLOSE + gaps)) ** POWER * (vectors.T @ start))
    loadings *= np.sign(loadings.sum()) / np.linalg.norm(loadings)
    return centred @ loadings


def with_variances(variances, n, rng):
    """Documents whose principal components have these variances."""
    left = np.linalg.qr(rng.normal(size=(n, len(variances))))[0]
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.normal(size=(len(variances), len(variances))))[0]
    return (left * np.sqrt(variances)) @ right.T


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


@pytest.mark.parametrize("shape", [(200, 46), (500, 46), (1000, 46), (1000, 64), (3000, 20)])
@pytest.mark.parametrize("seed", range(3))
def test_long_lists_of_noise_take_no_more_steps_than_there_are_features(shape, seed):
    documents = np.random.default_rng(seed).normal(size=shape)
    scores, n_steps = counted(documents)
    assert n_steps <= shape[1]
    assert_allclose(scores, by_svd(documents)[0], rtol=0, atol=1e-8)


def rank_one(rng):
    return rng.normal(size=(300, 1)) * rng.normal(size=70)


ADVERSARIES = {
    "noise": lambda rng: rng.normal(size=(400, 150)),
    "wide noise": lambda rng: rng.normal(size=(100, 300)),
    "equal variances": lambda rng: with_variances(np.ones(80), 200, rng),
    "nearly equal variances": lambda rng: with_variances(1 - 1e-9 * np.arange(80), 200, rng),
    "a ladder of variances": lambda rng: with_variances(0.999 ** np.arange(100), 300, rng),
    "rank one": rank_one,
    "rank one and rounding": lambda rng: rank_one(rng) + 1e-15 * rng.normal(size=(300, 70)),
    "constant features": lambda rng: np.hstack([rng.normal(size=(90, 5)), np.ones((90, 80))]),
    "copies of features": lambda rng: np.repeat(rng.normal(size=(200, 10)), 10, axis=1),
    "copies of documents": lambda rng: np.repeat(rng.normal(size=(10, 100)), 20, axis=0),
    "one feature each": lambda rng: np.eye(90),
    "opposite features": lambda rng: np.kron(rng.normal(size=(90, 40)), [1.0, -1.0]),
    "two documents": lambda rng: rng.normal(size=(2, 200)),
    "huge": lambda rng: 1e30 * rng.normal(size=(200, 80)),
    "tiny": lambda rng: 1e-30 * rng.normal(size=(200, 80)),
    "of all sizes": lambda rng: rng.normal(size=(200, 80)) * 10.0 ** rng.uniform(-30, 30, 80),
}


@pytest.mark.parametrize("name", ADVERSARIES)
def test_any_data_take_at_most_so_many_steps(name, rng):
    documents = ADVERSARIES[name](rng)
    scores, n_steps = counted(documents)
    assert n_steps <= min(MAX_STEPS, *documents.shape)
    # No direction of length 1 has more variance than the first, and this one nearly as much.
    largest = np.linalg.norm(documents - documents.mean(axis=0), 2)
    assert np.linalg.norm(scores) == pytest.approx(largest, rel=2e-2)


@pytest.mark.parametrize("name", ADVERSARIES)
def test_any_data_have_one_component_whatever_the_order_of_documents(name, rng):
    documents = ADVERSARIES[name](rng)
    scores, unit = component(documents), np.abs(documents).max()
    order = rng.permutation(len(documents))
    assert_allclose(component(documents[order]) / unit, scores[order] / unit, rtol=0, atol=1e-6)


@pytest.mark.parametrize("gap", [0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2])
@pytest.mark.parametrize("width", [2, 5, 40, 64])
def test_close_variances_are_weighed_by_the_rule(gap, width, rng):
    variances = np.concatenate([[1.0, 1.0 - gap], np.linspace(0.9, 0.1, width - 2)])
    documents = with_variances(variances, 100, rng)
    # Variances are known to about 1e-12, and weights of close ones change by 16 / 1e-6 times that.
    assert_allclose(component(documents), by_the_rule(documents), rtol=0, atol=1e-5)
    order = rng.permutation(100)
    assert_allclose(component(documents[order]), component(documents)[order], rtol=0, atol=1e-5)


def test_from_the_stated_gap_on_the_loadings_are_the_eigenvector(rng):
    documents = with_variances(np.concatenate([[1.0, 1 - 1e-5], np.linspace(0.9, 0, 38)]), 200, rng)
    centred = documents - documents.mean(axis=0)
    scores = component(documents)
    loadings = centred.T @ scores
    assert_allclose(centred.T @ (centred @ loadings), loadings, rtol=0, atol=1e-14)
    assert_allclose(scores, by_svd(documents)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-100, 2.0**-1, 2.0**100])
def test_scaling_all_features_scales_the_scores(factor, rng):
    documents = rng.normal(size=(70, 30))
    documents -= documents.mean(axis=0)
    assert_allclose(component(factor * documents), factor * component(documents), rtol=1e-9)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_close_variances_are_told_apart(gap, rng):
    left = np.linalg.qr(rng.normal(size=(200, 40)))[0]
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    lengths = np.concatenate([[1.0, 1.0 - gap], np.linspace(0.9, 0.1, 38)])
    documents = (left * lengths) @ right.T
    expected = left[:, 0] * np.sign(right[:, 0].sum())
    assert_allclose(component(documents), expected, rtol=0, atol=1e-10 / gap)


@settings(max_examples=100)
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


@settings(max_examples=200)
@given(
    size=st.integers(1, 30),
    spread=st.floats(1e-8, 1e2),
    guess=st.floats(0, 1e3) | st.just(np.inf),
    seed=st.integers(0, 10**6),
)
def test_the_first_eigenvector_of_a_tridiagonal_matrix_is_lapacks(size, spread, guess, seed):
    rng = np.random.default_rng(seed)
    diagonal, beside = rng.uniform(0, 1, size), spread * rng.uniform(0.1, 1, size)
    # A larger first entry of the eigenvector is better: it is the part in Lanczos' start.
    diagonal[0] = 1.1
    matrix = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    values, vectors = np.linalg.eigh(matrix)
    vector = np.full(size, np.nan)
    largest = _first_eigenvector(diagonal, beside, guess, vector)
    assert largest == pytest.approx(values[-1], rel=1e-11)
    assert_array_equal(vector > 0, True)
    if vectors[0, -1] ** 2 > 1e-2:
        assert largest == pytest.approx(values[-1], rel=1e-13)
        assert_allclose(vector, np.abs(vectors[:, -1]), rtol=0, atol=1e-10)


@settings(max_examples=100)
@given(size=st.integers(1, 30), spread=st.floats(1e-3, 1.0), seed=st.integers(0, 10**6))
def test_the_blend_is_a_power_of_the_inverse(size, spread, seed):
    rng = np.random.default_rng(seed)
    diagonal, beside = rng.uniform(0, 1, size), spread * rng.uniform(0.1, 1, size)
    matrix = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    values, vectors = np.linalg.eigh(matrix)
    # LAPACK's eigenvectors with a smaller part in the start are only rounding.
    assume(abs(vectors[0, -1]) > 1e-8)
    vector = np.full(size, np.nan)
    _blend(diagonal, beside, values[-1], vector)
    gaps = 1 - values / values[-1]
    expected = vectors @ ((CLOSE / (CLOSE + gaps)) ** POWER * vectors[0])
    assert_array_equal(vector >= 0, True)
    assert_allclose(vector, np.abs(expected) / np.linalg.norm(expected), rtol=0, atol=1e-6)
