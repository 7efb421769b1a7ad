import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from localrank.data import RankingDataset, make_queries
from localrank.grouping.base import Groups
from localrank.persistence.encoding import Reader, Writer
from localrank.representations import Gaussian, Mean, PrincipalComponents, Scaled, base
from localrank.selection import LSH, NearestQuery


@pytest.fixture(scope="module")
def clouds():
    """Training and test queries of two types, of 8 to 20 documents."""
    dataset, types = make_queries(90, n_documents=(8, 20), n_features=8, n_types=2)
    return dataset.select(range(60)), types[:60], dataset.select(range(60, 90))


def fitted(selector, train, labels, representation=None):
    representation = (representation or PrincipalComponents()).fit(train)
    descriptions = representation.transform(train)
    return selector.fit(train, Groups.from_labels(labels), representation, descriptions)


@pytest.mark.parametrize("index", ["exact", "lsh", LSH(1, 4), LSH(rescore=False)])
def test_every_training_query_finds_itself_and_its_group(clouds, index):
    train, types, _ = clouds
    selector = fitted(NearestQuery(index), train, types)
    assert_array_equal(selector.nearest(selector.descriptions_), np.arange(60))
    assert_array_equal(selector.weights(train, []), np.eye(2)[types])


def test_the_nearest_query_has_the_largest_similarity_of_the_paper(clouds):
    train, types, test = clouds
    selector = fitted(NearestQuery(), train, types)
    queries = selector.representation_.transform(test)
    P = queries.shape[1]
    for U, nearest in zip(queries, selector.nearest(queries), strict=True):
        sims = [sum(abs(U[p] @ V[p]) for p in range(P)) / P for V in selector.descriptions_]
        assert nearest == np.argmax(sims)


def test_one_hyperplane_finds_what_the_exact_search_finds(clouds):
    train, _, test = clouds
    weights = [
        fitted(NearestQuery(index), train, np.arange(60)).weights(test, [])
        for index in ("exact", LSH(1, 2))
    ]
    assert_array_equal(*weights)


@pytest.mark.parametrize("index", ["exact", "lsh"])
def test_among_equal_queries_the_first_is_taken(clouds, index):
    train, _, test = clouds
    half = train.select(range(30))
    features = np.concatenate([half.features, 1 - 2 * half.features])
    qid = np.concatenate([half.query_index, half.query_index + 30])
    doubled = RankingDataset.from_arrays(features, np.zeros(len(features)), qid)
    selector = fitted(NearestQuery(index), doubled, np.arange(60))
    queries = selector.representation_.transform(test)
    assert selector.nearest(queries).max() < 30
    assert_array_equal(selector.nearest(selector.descriptions_), np.tile(np.arange(30), 2))


def test_an_answer_depends_neither_on_blocks_nor_on_queries_asked_together(clouds, monkeypatch):
    train, types, test = clouds
    selector = fitted(NearestQuery(), train, types)
    queries = selector.representation_.transform(test)
    together = selector.nearest(queries)
    assert_array_equal([selector.nearest(query[None])[0] for query in queries], together)
    for size in (1, 60 * 7):
        monkeypatch.setattr(base, "_BLOCK", size)
        assert_array_equal(selector.nearest(queries), together)


def test_the_exact_search_takes_any_representation(clouds):
    train, types, test = clouds
    for representation in (Mean(), Gaussian(), Scaled(PrincipalComponents())):
        selector = fitted(NearestQuery(), train, types, representation)
        queries = selector.representation_.transform(test)
        distances = selector.representation_.distances(queries, selector.descriptions_)
        assert_array_equal(selector.nearest(queries), distances.argmin(axis=1))


def test_queries_may_be_described_otherwise_than_for_the_grouping(clouds):
    train, types, test = clouds
    selector = fitted(NearestQuery(representation=Mean()), train, types)
    assert_array_equal(
        selector.weights(test, []), fitted(NearestQuery(), train, types, Mean()).weights(test, [])
    )


def test_of_overlapping_groups_the_home_of_the_nearest_query_is_taken(clouds):
    train, _, _ = clouds
    representation = PrincipalComponents().fit(train)
    groups = Groups.from_lists([np.arange(60), np.arange(40)], np.repeat([1, 0], [5, 55]))
    descriptions = representation.transform(train)
    selector = NearestQuery().fit(train, groups, representation, descriptions)
    assert_array_equal(selector.weights(train, []).argmax(axis=1), groups.home)


def test_hashing_serves_scaled_components(clouds):
    train, types, _ = clouds
    selector = fitted(NearestQuery("lsh"), train, types, Scaled(PrincipalComponents()))
    assert_array_equal(selector.nearest(selector.descriptions_), np.arange(60))


@pytest.mark.parametrize("representation", [Mean(), Gaussian()])
def test_hashing_refuses_other_representations(clouds, representation):
    train, types, _ = clouds
    with pytest.raises(ValueError, match="LSH needs queries described by PrincipalComponents"):
        fitted(NearestQuery("lsh"), train, types, representation)


@pytest.mark.parametrize("index", ["hash", None, LSH, 3])
def test_an_unknown_index_is_refused(clouds, index):
    train, types, _ = clouds
    with pytest.raises(ValueError, match=r"must be 'auto', 'exact', 'lsh', 'cells', an LSH"):
        fitted(NearestQuery(index), train, types)


def test_an_index_that_is_passed_in_is_cloned(clouds):
    train, types, _ = clouds
    index = LSH(3, 7, random_state=4)
    selector = fitted(NearestQuery(index), train, types)
    assert not hasattr(index, "hyperplanes_")
    assert selector.index_.get_params() == index.get_params()
    assert clone(selector).get_params()["index__n_repeats"] == 7


@pytest.mark.parametrize("index", ["exact", LSH(3, 2)])
def test_saved_and_loaded_it_chooses_the_same(clouds, index):
    train, types, test = clouds
    selector = fitted(NearestQuery(index), train, types)
    writer = Writer()
    state = writer.encoded(selector)
    loaded = Reader(memoryview(writer.arrays()), []).decoded(state)
    assert_array_equal(loaded.weights(test, []), selector.weights(test, []))
