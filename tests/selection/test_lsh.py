import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from localrank.data import folds
from localrank.persistence.encoding import Reader, Writer
from localrank.representations import PrincipalComponents
from localrank.selection import LSH


def components(rng, n, n_components=3, n_features=12):
    matrices = rng.normal(size=(n, n_features, n_components))
    return np.ascontiguousarray(np.linalg.qr(matrices)[0].transpose(0, 2, 1))


def perturbed(rng, training, size=0.2):
    """Copies with components turned a little, and of any sign."""
    noise = rng.normal(size=training.shape) * size / np.sqrt(training.shape[2])
    turned = np.linalg.qr((training + noise).transpose(0, 2, 1))[0].transpose(0, 2, 1)
    return turned * rng.choice([-1, 1], size=(*training.shape[:2], 1))


def similarities(queries, training):
    """Equation 5 of the paper."""
    return np.abs(np.einsum("apd,bpd->abp", queries, training)).mean(axis=2)


@pytest.fixture
def training(rng):
    return components(rng, 250)


def test_every_training_query_finds_itself_whatever_the_signs(rng, training):
    flipped = training * rng.choice([-1, 1], size=(250, 3, 1))
    for rescore in (False, True):
        assert_array_equal(LSH(rescore=rescore).fit(training).nearest(flipped), np.arange(250))


@pytest.mark.parametrize("rescore", [False, True])
def test_signs_of_training_and_new_queries_do_not_matter(rng, training, rescore):
    queries = components(rng, 40)
    nearest = LSH(rescore=rescore).fit(training).nearest(queries)
    index = LSH(rescore=rescore).fit(training * rng.choice([-1, 1], size=(250, 3, 1)))
    assert_array_equal(index.nearest(queries * rng.choice([-1, 1], size=(40, 3, 1))), nearest)


def test_one_hyperplane_and_enough_tables_make_it_exact(rng, training):
    # Each pair of queries meets in every table of one hyperplane, on the side of u or of -u.
    queries = components(rng, 100)
    exact = similarities(queries, training).argmax(axis=1)
    assert_array_equal(LSH(1, 3).fit(training).nearest(queries), exact)


def test_more_neighbours_than_are_usually_compared_are_found(rng):
    training, queries = components(rng, 700), components(rng, 5)
    values = similarities(queries, training)
    positions, distances = LSH(1, 3).fit(training).neighbours(queries, 300)
    assert_array_equal(positions, np.sort(np.argsort(-values, axis=1)[:, :300], axis=1))
    assert_allclose(distances, 1 - np.take_along_axis(values, positions, axis=1))


def test_similarity_among_candidates_is_at_least_that_of_the_highest_score(rng, training):
    queries = components(rng, 100)
    values, every = similarities(queries, training), np.arange(100)
    faithful = values[every, LSH(8, 6, rescore=False).fit(training).nearest(queries)]
    rescored = values[every, LSH(8, 6).fit(training).nearest(queries)]
    assert np.all(rescored >= faithful)
    assert rescored.mean() > faithful.mean() + 0.02


def test_more_tables_find_the_nearest_query_more_often(rng):
    training = components(rng, 3000)
    queries = perturbed(rng, training[:300], 1.0)
    nearest = similarities(queries, training).argmax(axis=1)
    recalls = [np.mean(LSH(14, m).fit(training).nearest(queries) == nearest) for m in (1, 4, 16)]
    assert recalls[0] + 0.1 < recalls[1] < recalls[2] - 0.1


@pytest.mark.parametrize("n", [2, 30, 3000])
def test_near_copies_are_found_by_default(rng, n):
    training = components(rng, n)
    queries = perturbed(rng, training[:300])
    for rescore in (False, True):
        nearest = LSH(rescore=rescore).fit(training).nearest(queries)
        assert_array_equal(nearest, np.arange(len(queries)))


def test_the_same_seed_gives_the_same_tables_and_another_one_others(rng, training):
    queries = components(rng, 100)
    one, two, other = (LSH(6, 2, random_state=s).fit(training) for s in (5, 5, 6))
    assert_array_equal(one.hyperplanes_, two.hyperplanes_)
    assert_array_equal(one.entries_, two.entries_)
    assert_array_equal(one.nearest(queries), two.nearest(queries))
    assert np.mean(one.nearest(queries) == other.nearest(queries)) < 0.9


@pytest.mark.parametrize("rescore", [False, True])
def test_an_answer_does_not_depend_on_queries_asked_together(rng, training, rescore):
    index, queries = LSH(rescore=rescore).fit(training), components(rng, 50)
    alone = [index.nearest(query[None])[0] for query in queries]
    assert_array_equal(index.nearest(queries), alone)
    assert index.nearest(queries[:0]).shape == (0,)


@pytest.mark.parametrize("rescore", [False, True])
def test_undetermined_components_agree_with_nothing(rng, training, rescore):
    training[:100] = 0
    index = LSH(2, rescore=rescore).fit(training)
    assert index.nearest(components(rng, 200)).min() >= 100
    queries = training[[150, 200]]
    queries[:, 1:] = 0
    assert_array_equal(index.nearest(queries), [150, 200])


def test_a_query_without_any_component_gets_the_first(training):
    assert_array_equal(LSH().fit(training).nearest(np.zeros((2, 3, 12))), [0, 0])


def test_the_search_is_exact_where_no_table_has_a_candidate(rng, training):
    queries = components(rng, 100)
    exact = similarities(queries, training).argmax(axis=1)
    for rescore in (False, True):
        assert_array_equal(LSH(63, 1, rescore=rescore).fit(training).nearest(queries), exact)


def test_many_equal_queries_take_no_candidate_away_from_others(rng, training):
    # 72 tables with a bucket of 3,000 hold more than is read.
    crowd = np.repeat(components(rng, 1), 3000, axis=0)
    index = LSH(10, 24).fit(np.concatenate([crowd, training]))
    assert_array_equal(index.nearest(perturbed(rng, training)), 3000 + np.arange(250))
    assert_array_equal(index.nearest(crowd[:1]), [0])


def test_single_precision_is_kept_and_finds_the_same(rng, training):
    queries = components(rng, 100)
    single = LSH().fit(training.astype(np.float32))
    assert single.descriptions_.dtype == np.float32
    assert_array_equal(single.nearest(queries), LSH().fit(training).nearest(queries))
    assert_array_equal(single.nearest(training.astype(np.float32)), np.arange(250))


def test_the_number_of_hyperplanes_grows_with_the_training_queries(rng):
    numbers = [LSH().fit(components(rng, n, 1, 3)).n_hyperplanes_ for n in (1, 50, 1000, 20_000)]
    assert numbers == [1, 1, 7, 13]
    assert LSH(5).fit(components(rng, 50)).hyperplanes_.shape == (12, 5, 16)


def test_descriptions_are_neither_changed_nor_copied(training):
    before = training.copy()
    index = LSH().fit(training)
    index.nearest(training)
    assert index.descriptions_ is training
    assert_array_equal(training, before)


def test_saved_and_loaded_it_finds_the_same(rng, training):
    queries = components(rng, 50)
    index = LSH(40, 3, random_state=1).fit(training)
    writer = Writer()
    state = writer.encoded(index)
    loaded = Reader(memoryview(writer.arrays()), []).decoded(state)
    assert_array_equal(loaded.nearest(queries), index.nearest(queries))
    assert loaded.get_params() == index.get_params()
    assert_array_equal(clone(loaded).fit(training).entries_, index.entries_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_hyperplanes": 0}, "'n_hyperplanes' .* a whole number from 1 to 63. Got 0 instead"),
        ({"n_hyperplanes": 2.5}, "'n_hyperplanes' .* a whole number from 1 to 63. Got 2.5"),
        ({"n_hyperplanes": 64}, "'n_hyperplanes' .* from 1 to 63. Got 64 instead"),
        ({"n_repeats": 0}, "'n_repeats' parameter of LSH must be a whole number from 1 to 1024"),
        ({"rescore": 100}, "'rescore' parameter of LSH must be True or False. Got 100"),
    ],
)
def test_wrong_parameters_are_refused(training, parameters, message):
    with pytest.raises(ValueError, match=message):
        LSH(**parameters).fit(training)


@pytest.mark.parametrize(
    ("descriptions", "message"),
    [
        (np.ones((5, 3)), r"Got float64 of shape \(5, 3\) instead"),
        (np.ones((5, 3, 1), dtype=int), "Got int64 of shape"),
        (np.ones((0, 3, 4)), r"of shape \(0, 3, 4\) instead"),
        (np.full((5, 3, 4), 1.0), "Got length 2 instead"),
        (np.full((5, 3, 4), 0.25), "Got length 0.5 instead"),
        (np.full((5, 3, 4), np.nan), "Got length nan instead"),
    ],
)
def test_descriptions_that_are_no_directions_are_refused(descriptions, message):
    with pytest.raises(ValueError, match=f"LSH needs queries described by Princ.*{message}"):
        LSH().fit(descriptions)


def test_queries_of_another_shape_are_refused(training):
    index = LSH().fit(training)
    for queries in (training[:, :2], training[:, :, :5], training[0]):
        with pytest.raises(ValueError, match="fitted on queries of 3 components in 12 features"):
            index.nearest(queries)


def test_it_must_be_fitted_first(training):
    with pytest.raises(NotFittedError):
        LSH().nearest(training)


def test_it_finds_the_nearest_query_for_99_of_100_queries_of_mq2007(benchmark_data):
    n_found, faithful, n_queries = 0, 0, 0
    for fold in folds(benchmark_data / "MQ2007-85"):
        representation = PrincipalComponents().fit(fold.train)
        training, queries = map(representation.transform, (fold.train, fold.test))
        distances = representation.distances(queries, training)
        equal = distances <= distances.min(axis=1, keepdims=True) + 1e-12
        every = np.arange(len(queries))
        n_found += equal[every, LSH().fit(training).nearest(queries)].sum()
        faithful += equal[every, LSH(rescore=False).fit(training).nearest(queries)].sum()
        n_queries += len(queries)
    assert n_found >= 0.99 * n_queries
    # Far above chance, and far from enough: the reason for comparing similarities.
    assert 0.1 * n_queries < faithful < 0.5 * n_queries
