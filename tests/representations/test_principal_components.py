import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from localrank.data import RankingDataset
from localrank.representations.principal_components import PrincipalComponents


def as_dataset(*clouds):
    sizes = [len(cloud) for cloud in clouds]
    return RankingDataset.from_arrays(
        np.vstack(clouds), qid=np.repeat(np.arange(len(clouds)), sizes)
    )


def distance(first, second, n_components):
    dataset = as_dataset(first, second)
    representation = PrincipalComponents(n_components).fit(dataset)
    components = representation.transform(dataset)
    return representation.distances(components[:1], components[1:])[0, 0]


def ellipsoid(n_documents, n_features, rng):
    """A cloud whose axes differ in length, so that each one is determined."""
    scores = rng.normal(size=(n_documents, n_features))
    scores, _ = np.linalg.qr(scores - scores.mean(axis=0))
    turn, _ = np.linalg.qr(rng.normal(size=(n_features, n_features)))
    return (scores * 0.7 ** np.arange(n_features)) @ turn


@st.composite
def pairs_of_clouds(draw):
    n_features = draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    first, second = (
        ellipsoid(draw(st.integers(n_features + 1, 30)), n_features, rng) for _ in "ab"
    )
    return first, second, draw(st.integers(1, n_features)), rng


@settings(max_examples=40)
@given(pairs_of_clouds(), st.floats(-1e4, 1e4))
def test_distance_is_invariant_to_translation(pair, size):
    first, second, P, rng = pair
    moved = second + size * rng.uniform(-1, 1, size=second.shape[1])
    assert_allclose(distance(first, moved, P), distance(first, second, P), rtol=0, atol=1e-8)


@settings(max_examples=40)
@given(pairs_of_clouds(), st.floats(1e-200, 1e90), st.sampled_from([1, -1]))
def test_distance_is_invariant_to_scaling(pair, factor, sign):
    first, second, P, _ = pair
    scaled = sign * factor * second
    assert_allclose(distance(first, scaled, P), distance(first, second, P), rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(pairs_of_clouds())
def test_distance_is_invariant_to_the_order_of_documents(pair):
    first, second, P, rng = pair
    shuffled = rng.permutation(second)
    assert_allclose(distance(first, shuffled, P), distance(first, second, P), rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(pairs_of_clouds())
def test_distance_is_invariant_to_the_signs_of_components(pair):
    first, second, P, rng = pair
    representation = PrincipalComponents(P).fit(as_dataset(first, second))
    components = representation.transform(as_dataset(first, second))
    flipped = components * rng.choice([-1.0, 1.0], size=(2, P, 1))
    expected = representation.distances(components, components)
    assert_allclose(representation.distances(flipped, components), expected, rtol=0, atol=1e-15)


@settings(max_examples=40)
@given(pairs_of_clouds())
def test_a_cloud_of_full_rank_has_similarity_1_to_itself(pair):
    first, _, P, _ = pair
    assert_allclose(distance(first, first, P), 0.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_documents", [1, 2, 3, 4, 5, 20])
def test_a_cloud_with_too_few_directions_has_their_share_as_similarity_to_itself(n_documents, rng):
    cloud = rng.normal(size=(n_documents, 6))
    cloud[:, 4:] = 0.1
    P, rank = 5, min(n_documents - 1, 4)
    assert_allclose(distance(cloud, cloud, P), 1 - rank / P, rtol=0, atol=1e-15)


def test_components_are_those_of_scikit_learn(queries):
    P = 2
    components = PrincipalComponents(P).fit(queries).transform(queries)
    assert components.shape == (queries.n_queries, P, queries.n_features)
    for query, (begin, end) in enumerate(pairwise(queries.offsets)):
        expected = PCA(P).fit(queries.features[begin:end]).components_
        assert_allclose(np.abs((components[query] * expected).sum(axis=1)), 1.0, atol=1e-9)


def test_distances_are_the_formula_of_the_paper(queries):
    P = 4
    clouds = [queries.features[b:e] for b, e in pairwise(queries.offsets) if e - b > P]
    U = [PCA(P).fit(cloud).components_ for cloud in clouds]
    expected = np.empty((len(U), len(U)))
    for i in range(len(U)):
        for j in range(len(U)):
            expected[i, j] = 1 - sum(abs(U[i][p] @ U[j][p]) for p in range(P)) / P
    representation = PrincipalComponents(P).fit(queries)
    components = representation.transform(as_dataset(*clouds))
    actual = representation.distances(components, components)
    assert_allclose(actual, expected, rtol=0, atol=1e-9)


def test_similarity_is_one_less_the_distance(queries):
    representation = PrincipalComponents(3).fit(queries)
    components = representation.transform(queries)
    distances = representation.distances(components[:4], components)
    first_pair = sum(abs(components[0, p] @ components[1, p]) for p in range(3)) / 3
    assert_allclose(representation.similarities(distances)[0, 1], first_pair, rtol=1e-12)


@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (1, 300_000), (700, 600), (0, 5)])
def test_many_distances_are_those_of_the_pairs(n_first, n_second, rng):
    # Several blocks of rows and of columns, the last ones not full.
    A, B = rng.normal(size=(n_first, 2, 3)), rng.normal(size=(n_second, 2, 3))
    A /= np.linalg.norm(A, axis=2, keepdims=True)
    B /= np.linalg.norm(B, axis=2, keepdims=True)
    expected = 1 - np.abs(np.einsum("ipd,jpd->pij", A, B)).mean(axis=0)
    actual = PrincipalComponents().distances(A, B)
    assert actual.shape == (n_first, n_second)
    assert_allclose(actual, expected, rtol=0, atol=1e-15)


def test_distances_lie_between_0_and_1(queries):
    representation = PrincipalComponents().fit(queries)
    components = representation.transform(queries)
    distances = representation.distances(components, components)
    assert distances.min() >= 0
    assert distances.max() <= 1


def test_float32_descriptions_give_float64_distances(queries):
    representation = PrincipalComponents(3).fit(queries)
    components = representation.transform(queries)
    small = components.astype(np.float32)
    expected = representation.distances(components, components)
    for other in (small, components):
        distances = representation.distances(small, other)
        assert distances.dtype == np.float64
        assert distances.min() >= 0
        assert_allclose(distances, expected, rtol=0, atol=1e-6)


def test_float32_features_are_described_like_float64_ones(queries):
    single = queries.with_features(queries.features.astype(np.float32))
    double = queries.with_features(single.features.astype(np.float64))
    representation = PrincipalComponents().fit(double)
    assert_array_equal(representation.transform(single), representation.transform(double))
    assert_array_equal(PrincipalComponents().fit(single).explained_, representation.explained_)


def cross(*spreads):
    """Documents at ±spread along each feature: the variances are in proportion to spread²."""
    return np.vstack([np.diag(spreads), -np.diag(spreads)])


# Shares of variance 0.9, 0.1 and 0.6, 0.4: 0.75, 0.25 on average.
TWO_CLOUDS = cross(3.0, 1.0), cross(2.0, np.sqrt(6.0))


@pytest.mark.parametrize(
    ("share", "n_components"), [(1e-9, 1), (0.7, 1), (0.75, 1), (0.7501, 2), (0.8, 2), (1.0, 2)]
)
def test_a_share_is_reached_by_the_average_training_cloud(share, n_components):
    representation = PrincipalComponents(share).fit(as_dataset(*TWO_CLOUDS))
    assert_allclose(representation.explained_, [0.75, 0.25])
    assert representation.n_components_ == n_components


def test_clouds_without_variance_do_not_count_in_the_average():
    single, equal = np.array([[5.0, 7.0]]), np.full((4, 2), 0.1)
    representation = PrincipalComponents(0.75).fit(as_dataset(single, *TWO_CLOUDS, equal))
    assert_allclose(representation.explained_, [0.75, 0.25])
    assert representation.n_components_ == 1


def test_all_variance_takes_as_many_components_as_the_cloud_with_most_directions():
    clouds = cross(1.0, 2.0, 3.0, 0.0), np.eye(4)[:2]
    assert PrincipalComponents(1.0).fit(as_dataset(*clouds)).n_components_ == 3


@pytest.mark.parametrize("n_components", [1, 2, np.int64(2)])
def test_an_int_is_the_number_of_components(n_components):
    representation = PrincipalComponents(n_components).fit(as_dataset(*TWO_CLOUDS))
    assert representation.n_components_ == n_components
    assert_allclose(representation.explained_, [0.75, 0.25])


@pytest.mark.parametrize("n_components", [0.8, 1.0, 2])
def test_queries_without_variance_agree_with_nothing(n_components):
    dataset = as_dataset(np.ones((1, 3)), np.full((5, 3), 0.1))
    representation = PrincipalComponents(n_components).fit(dataset)
    assert representation.n_components_ == (2 if n_components == 2 else 1)
    assert_array_equal(representation.explained_, np.zeros(3))
    components = representation.transform(dataset)
    assert_array_equal(components, np.zeros((2, representation.n_components_, 3)))
    assert_array_equal(representation.distances(components, components), np.ones((2, 2)))


def test_a_direction_that_only_one_query_has_agrees_with_nothing():
    line, plane = cross(2.0, 0.0, 0.0), cross(2.0, 1.0, 0.0)
    assert_allclose(distance(line, plane, 1), 0.0, atol=1e-15)
    assert_allclose(distance(line, plane, 2), 0.5)
    assert_allclose(distance(line, plane, 3), 2 / 3)


def test_new_queries_have_as_many_components_as_training_queries(rng):
    representation = PrincipalComponents(3).fit(as_dataset(rng.normal(size=(20, 5))))
    small = as_dataset(rng.normal(size=(1, 5)), rng.normal(size=(2, 5)), rng.normal(size=(9, 5)))
    components = representation.transform(small)
    assert_array_equal(np.linalg.norm(components, axis=2) > 0.5, [[0, 0, 0], [1, 0, 0], [1, 1, 1]])


@pytest.mark.parametrize("value", [0, -1, 9, 0.0, 1.5, 2.0, -0.5, np.nan, True, "2", None])
def test_a_number_of_components_that_cannot_be_is_refused(queries, value):
    rule = "must be an int from 1 to the number of features, 8, or a float above 0, at most 1. Got "
    with pytest.raises(ValueError, match=rule):
        PrincipalComponents(value).fit(queries)


def test_distances_take_little_memory_beside_the_result(rng):
    A, B = rng.normal(size=(2, 2000, 1, 2))
    tracemalloc.start()
    distances = PrincipalComponents().distances(A, B)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - distances.nbytes < distances.nbytes / 4


def directions(n_queries, n_components, n_features, rng):
    turns, _ = np.linalg.qr(rng.normal(size=(n_queries, n_features, n_features)))
    return turns[:, :n_components]


def test_a_query_alone_is_its_own_centre(rng):
    (one,) = components = directions(1, 3, 5, rng)
    representation = PrincipalComponents(3)
    centre = representation.centroid(components)
    assert_allclose(np.abs(np.sum(centre * one, axis=1)), 1, rtol=1e-12)
    assert_allclose(representation.distances(components, centre[None]), 0, atol=1e-12)
    assert_allclose(np.linalg.norm(centre, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("n_queries", [2, 4, 30])
def test_centres_are_the_first_eigenvectors_of_the_mean_projectors(n_queries, rng):
    components = directions(n_queries, 3, 6, rng)
    centre = PrincipalComponents(3).centroid(components)
    for p in range(3):
        projector = sum(np.outer(query[p], query[p]) for query in components) / n_queries
        values, vectors = np.linalg.eigh(projector)
        assert values[-1] - values[-2] > 1e-3
        assert_allclose(abs(vectors[:, -1] @ centre[p]), 1, rtol=1e-10)
        turned = directions(1000, 1, 6, rng)[:, 0]
        assert centre[p] @ projector @ centre[p] >= np.max((turned @ projector) * turned)


def test_a_centre_depends_neither_on_signs_nor_on_the_order_of_queries(rng):
    components = directions(7, 2, 5, rng)
    centre = PrincipalComponents(2).centroid(components)
    signs = rng.choice([-1, 1], size=(7, 2, 1))
    other = PrincipalComponents(2).centroid((signs * components)[rng.permutation(7)])
    assert_allclose(other, centre, atol=1e-12)


def test_a_centre_turns_with_the_features(rng):
    components = directions(7, 2, 5, rng)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    representation = PrincipalComponents(2)
    centre = representation.centroid(components) @ turn
    other = representation.centroid(components @ turn)
    assert_allclose(np.abs(np.sum(centre * other, axis=1)), 1, rtol=1e-10)


def test_undetermined_directions_do_not_move_a_centre(rng):
    components = directions(5, 2, 4, rng)
    more = np.concatenate([components, np.zeros((3, 2, 4))])
    representation = PrincipalComponents(2)
    assert_allclose(representation.centroid(more), representation.centroid(components), atol=1e-12)
    more[:, 1] = 0
    assert_array_equal(representation.centroid(more)[1], np.zeros(4))
