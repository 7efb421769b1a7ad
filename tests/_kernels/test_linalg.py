from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm

from localrank._kernels.linalg import geometric_mean, principal_axes


def axes_of(cloud, n_axes=None):
    """Shares and axes of a single query."""
    cloud = np.asarray(cloud)
    n_axes = cloud.shape[1] if n_axes is None else n_axes
    shares, axes = principal_axes(cloud, np.array([0, len(cloud)]), n_axes)
    return shares[0], axes[0]


def by_svd(cloud):
    """Shares and axes from a singular value decomposition of the centred documents."""
    _, spreads, axes = np.linalg.svd(cloud - cloud.mean(axis=0), full_matrices=False)
    return spreads**2 / (spreads**2).sum(), axes


def assert_same_directions(actual, expected, atol=1e-9):
    assert_allclose(np.abs((actual * expected).sum(axis=-1)), 1.0, rtol=0, atol=atol)


def spread_out(n_documents, n_features, rng):
    """Documents around an ellipsoid whose axes have different lengths, turned at random."""
    n_directions = min(n_documents - 1, n_features)
    scores = rng.normal(size=(n_documents, n_directions))
    scores, _ = np.linalg.qr(scores - scores.mean(axis=0))
    turn, _ = np.linalg.qr(rng.normal(size=(n_features, n_features)))
    return (scores * 0.8 ** np.arange(n_directions)) @ turn[:n_directions]


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=5),
    n_features=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_axes_and_shares_are_those_of_a_singular_value_decomposition(sizes, n_features, seed):
    rng = np.random.default_rng(seed)
    clouds = [spread_out(size, n_features, rng) + rng.normal(size=n_features) for size in sizes]
    offsets = np.cumsum([0, *sizes])
    shares, axes = principal_axes(np.vstack(clouds), offsets, n_features)
    for query, cloud in enumerate(clouds):
        rank = min(len(cloud) - 1, n_features)
        expected_shares, expected_axes = by_svd(cloud)
        assert_allclose(shares[query, :rank], expected_shares[:rank], rtol=1e-9)
        assert_same_directions(axes[query, :rank], expected_axes[:rank])
        assert not shares[query, rank:].any()
        assert not axes[query, rank:].any()


@pytest.mark.parametrize(("n_documents", "n_features"), [(5, 9), (9, 9), (10, 9), (30, 9)])
def test_documents_given_twice_do_not_change_the_axes(n_documents, n_features, rng):
    # Below 9 documents their products are decomposed, with twice as many those of the features.
    cloud = spread_out(n_documents, n_features, rng)
    shares, axes = axes_of(cloud)
    twice_shares, twice_axes = axes_of(np.vstack([cloud, cloud]))
    assert_allclose(twice_shares, shares, rtol=0, atol=1e-14)
    assert_allclose(twice_axes, axes, rtol=0, atol=1e-11)


def test_a_query_is_described_alike_alone_and_among_others(rng):
    sizes = [1, 30, 4, 2, 100, 7]
    features = rng.normal(size=(sum(sizes), 6))
    offsets = np.cumsum([0, *sizes])
    shares, axes = principal_axes(features, offsets, 3)
    for query, (begin, end) in enumerate(pairwise(offsets)):
        alone = axes_of(features[begin:end], 3)
        assert_array_equal(shares[query], alone[0])
        assert_array_equal(axes[query], alone[1])


def test_the_order_of_documents_does_not_matter(rng):
    cloud = spread_out(25, 6, rng) + 3.0
    shuffled = rng.permutation(cloud)
    for expected, actual in zip(axes_of(cloud), axes_of(shuffled), strict=True):
        assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_axes", [0, 1, 2, 3])
def test_as_many_axes_as_asked_for_are_returned(n_axes, rng):
    cloud = spread_out(20, 3, rng)
    all_shares, all_axes = axes_of(cloud)
    shares, axes = axes_of(cloud, n_axes)
    assert_array_equal(shares, all_shares)
    assert axes.shape == (n_axes, 3)
    assert_allclose(axes, all_axes[:n_axes], rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_documents", [1, 2, 3, 40])
def test_documents_that_are_all_equal_have_no_axes(n_documents):
    # Three times 0.1 over 3 is not 0.1.
    shares, axes = axes_of(np.tile([0.1, 1e6 / 3, -7.3], (n_documents, 1)))
    assert_array_equal(shares, np.zeros(3))
    assert_array_equal(axes, np.zeros((3, 3)))


@pytest.mark.parametrize("n_documents", [3, 30])
def test_features_constant_in_a_query_have_no_part_in_its_axes(n_documents, rng):
    cloud = 1e-9 * rng.normal(size=(n_documents, 6))
    cloud[:, [1, 4]] = 0.1, 1e6 / 3
    shares, axes = axes_of(cloud)
    rank = min(n_documents - 1, 4)
    assert_array_equal(axes[:, [1, 4]], 0.0)
    assert_array_equal(shares > 0, np.arange(6) < rank)
    varying = [0, 2, 3, 5]
    assert_array_equal(axes[:4, varying], axes_of(cloud[:, varying])[1])


@pytest.mark.parametrize("n_documents", [6, 50])
def test_a_large_offset_does_not_matter(n_documents, rng):
    # Multiples of a power of two, to which the offset can be added without rounding.
    cloud = np.round(spread_out(n_documents, 8, rng) * 2**20) / 2**30
    offset = 1e6 * np.arange(1, 9)
    assert ((cloud + offset) - offset == cloud).all()
    for expected, actual in zip(axes_of(cloud), axes_of(cloud + offset), strict=True):
        assert_allclose(actual, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_documents", [5, 7, 60])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_there_are_as_many_axes_as_independent_directions(n_documents, rank, rng):
    cloud = spread_out(n_documents, rank, rng) @ rng.normal(size=(rank, 6)) + 1e4
    shares, axes = axes_of(cloud)
    assert_array_equal(shares > 0, np.arange(6) < rank)
    assert_allclose(shares.sum(), 1.0)
    assert_allclose(axes[:rank] @ axes[:rank].T, np.eye(rank), rtol=0, atol=1e-9)
    assert not axes[rank:].any()


@pytest.mark.parametrize(("spread", "rank"), [(1e-5, 2), (1e-7, 1)])
def test_a_spread_below_a_millionth_of_the_widest_counts_as_none(spread, rank):
    shares, _ = axes_of([[1.0, 0.0], [-1.0, 0.0], [0.0, spread], [0.0, -spread]])
    assert np.count_nonzero(shares) == rank


def test_axes_of_equal_variance_are_orthogonal():
    cross = np.vstack([np.eye(5), -np.eye(5)])
    shares, axes = axes_of(cross)
    assert_allclose(shares, np.full(5, 0.2))
    assert_allclose(axes @ axes.T, np.eye(5), rtol=0, atol=1e-14)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e160, 1e305])
def test_any_unit_of_measurement_gives_the_same_axes(unit, rng):
    cloud = spread_out(9, 4, rng)
    for expected, actual in zip(axes_of(cloud), axes_of(unit * cloud), strict=True):
        assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("small", [1e-20, 1e-80, 1e-160, 1e-300])
@pytest.mark.parametrize("n_documents", [4, 30])
def test_features_in_very_different_units_do_not_disturb_each_other(n_documents, small, rng):
    cloud = spread_out(n_documents, 6, rng)
    cloud[:, [0, 3, 4]] *= small
    shares, axes = axes_of(cloud)
    large_shares, large_axes = axes_of(cloud[:, [1, 2, 5]])
    assert_allclose(shares[:3], large_shares, rtol=0, atol=1e-12)
    assert_allclose(axes[:3, [1, 2, 5]], large_axes, rtol=0, atol=1e-12)
    assert not axes[3:].any()


def test_the_largest_numbers_have_axes():
    largest = np.finfo(float).max
    shares, axes = axes_of([[largest, 0.0], [-largest, 0.0], [0.0, 0.0]])
    assert_array_equal(shares, [1.0, 0.0])
    assert_array_equal(axes, [[1.0, 0.0], [0.0, 0.0]])


def test_the_largest_entry_of_an_axis_is_positive(rng):
    _, axes = axes_of(spread_out(40, 7, rng))
    assert (axes[np.arange(7), np.abs(axes).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_documents", [2, 12])
def test_of_equally_large_entries_the_first_is_positive(sign, n_documents, rng):
    steps = sign * rng.normal(size=(n_documents, 1))
    _, axes = axes_of(steps * [0.0, -1.0, 1.0, 0.5])
    assert_allclose(axes[0], [0.0, 2 / 3, -2 / 3, -1 / 3], rtol=0, atol=1e-14)


def test_float32_features_are_computed_with_in_float64(rng):
    cloud = (spread_out(30, 5, rng) + 100.0).astype(np.float32)
    for expected, actual in zip(axes_of(cloud.astype(float)), axes_of(cloud), strict=True):
        assert actual.dtype == np.float64
        assert_array_equal(actual, expected)


def test_features_are_left_as_they_were(rng):
    cloud = rng.normal(size=(10, 3))
    before = cloud.copy()
    axes_of(cloud)
    assert_array_equal(cloud, before)


def positive_definite(n, rng, condition=10.0):
    """A symmetric positive definite matrix in random directions."""
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return (turn * condition ** -rng.uniform(0, 1, n)) @ turn.T


@settings(max_examples=40)
@given(
    n=st.integers(1, 30),
    condition=st.sampled_from([10.0, 1e4, 1e8]),
    seed=st.integers(0, 1000),
)
def test_the_geometric_mean_solves_the_riccati_equation(n, condition, seed):
    rng = np.random.default_rng(seed)
    S, D = (positive_definite(n, rng, condition) for _ in range(2))
    M = geometric_mean(S, D)
    assert_allclose(M @ S @ M, D, rtol=0, atol=1e-8 * np.abs(D).max())
    assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_the_geometric_mean_is_that_of_its_textbook_formula(rng):
    S, D = positive_definite(12, rng), positive_definite(12, rng)
    root = sqrtm(S)
    inverse = np.linalg.inv(root)
    assert_allclose(geometric_mean(S, D), inverse @ sqrtm(root @ D @ root) @ inverse, rtol=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 1.0])
def test_matrices_with_the_same_axes_have_the_mean_of_their_values(t, rng):
    # Nearly singular: eigenvalues of a product of both would have lost half of their digits.
    turn, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    s, d = 10.0 ** rng.uniform(-8, 0, (2, 20))
    M = geometric_mean((turn * s) @ turn.T, (turn * d) @ turn.T, t)
    values = s ** (t - 1) * d**t
    assert_allclose(np.linalg.eigvalsh(M), np.sort(values), rtol=1e-6)
    assert_allclose(turn.T @ M @ turn, np.diag(values), rtol=1e-5, atol=1e-7 * values.max())


@pytest.mark.parametrize("t", [0.3, 0.5])
def test_swapping_the_matrices_turns_the_geodesic_round_and_inverts(t, rng):
    S, D = positive_definite(9, rng, 100), positive_definite(9, rng, 100)
    inverse = np.linalg.inv(geometric_mean(D, S, 1 - t))
    assert_allclose(geometric_mean(S, D, t), inverse, rtol=1e-9)


def test_the_ends_of_the_geodesic_are_the_inverse_and_the_other_matrix(rng):
    S, D = positive_definite(7, rng, 100), positive_definite(7, rng, 100)
    assert_allclose(geometric_mean(S, D, 0.0), np.linalg.inv(S), rtol=1e-9)
    assert_allclose(geometric_mean(S, D, 1.0), D, rtol=1e-9)


def test_a_change_of_coordinates_changes_the_geometric_mean_alike(rng):
    S, D = positive_definite(8, rng, 100), positive_definite(8, rng, 100)
    W = rng.normal(size=(8, 8)) + 3 * np.eye(8)
    inverse = np.linalg.inv(W)
    moved = geometric_mean(W @ S @ W.T, inverse.T @ D @ inverse, 0.3)
    expected = inverse.T @ geometric_mean(S, D, 0.3) @ inverse
    assert_allclose(moved, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_singular_matrix_has_no_geometric_mean():
    with pytest.raises(np.linalg.LinAlgError):
        geometric_mean(np.diag([1.0, 0.0]), np.eye(2))
