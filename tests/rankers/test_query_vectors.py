import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import localrank
from localrank import LocalRanker
from localrank.data import ColumnWarning, RankingDataset
from localrank.grouping import Agglomerative
from localrank.rankers._query_vectors import QueryVectorRanker
from localrank.representations import Mean
from localrank.selection import NearestCentroid


class Nearest(QueryVectorRanker):
    """Ranks documents by their distance to the query: there is nothing to learn."""

    def __init__(self, query_vectors=None, *, relevance_level=None):
        self.query_vectors = query_vectors
        self.relevance_level = relevance_level

    def _fit(self, dataset, query_weights, valid):
        self._displaced(dataset)

    def _predict(self, dataset):
        displaced = self._displaced(dataset)
        assert self._n_displaced == displaced.n_features
        return -np.sum(displaced.features.astype(float) ** 2, axis=1)


NAMES = ["x", "y", "query x", "query y"]


@pytest.fixture(scope="module")
def points():
    """Documents of six queries in the plane, and the queries' vectors."""
    rng = np.random.default_rng(0)
    documents, labels = rng.normal(size=(30, 2)), np.tile([1, 0, 0, 1, 0], 6)
    qid = np.repeat(np.arange(6), 5)
    return RankingDataset.from_arrays(documents, labels, qid), rng.normal(size=(6, 2))


@pytest.fixture(scope="module")
def wide(points):
    """The same with the query's vector in extra columns."""
    dataset, vectors = points
    columns = np.column_stack([dataset.features, vectors[dataset.query_index]])
    return dataset.with_features(columns, NAMES)


def distances(dataset, vectors):
    return np.sum((dataset.features - vectors[dataset.query_index]) ** 2, axis=1)


def test_without_vectors_features_are_documents_less_their_query(points):
    dataset, vectors = points
    shifted = dataset.with_features(dataset.features - vectors[dataset.query_index])
    assert_allclose(-Nearest().fit(shifted).predict(shifted), distances(dataset, vectors))


@pytest.mark.parametrize("columns", [["query x", "query y"], (2, 3), [2, "query y"]])
def test_columns_hold_the_query(points, wide, columns):
    ranker = Nearest(columns).fit(wide)
    assert_allclose(-ranker.predict(wide), distances(*points))


def test_columns_of_the_query_pair_with_the_others_in_order(points, wide):
    dataset, vectors = points
    order = [3, 0, 2, 1]
    mixed = wide.with_features(wide.features[:, order], [NAMES[column] for column in order])
    ranker = Nearest(["query x", "query y"]).fit(mixed)
    assert_allclose(-ranker.predict(mixed), distances(dataset, vectors))
    swapped = Nearest(["query y", "query x"]).fit(mixed)
    assert_allclose(-swapped.predict(mixed), distances(dataset, vectors[:, ::-1]))


def test_names_of_training_data_work_for_data_without_names(points, wide):
    ranker = Nearest(["query x", "query y"]).fit(wide)
    with pytest.warns(ColumnWarning, match="these have none"):
        scores = ranker.predict(wide.features, qid=wide.query_index)
    assert_allclose(-scores, distances(*points))


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("vector", [list, tuple, np.array])
def test_a_dict_holds_the_queries_by_the_text_of_their_ids(points, kind, vector):
    dataset, vectors = points
    ranker = Nearest(
        {kind(query): vector(coordinates) for query, coordinates in enumerate(vectors)}
    ).fit(dataset)
    assert_allclose(-ranker.predict(dataset), distances(dataset, vectors))


def test_the_features_given_stay_as_they_are(points, wide):
    before = wide.features.copy()
    Nearest((2, 3)).fit(wide).predict(wide)
    assert_array_equal(wide.features, before)
    dataset, vectors = points
    before = dataset.features.copy()
    Nearest(dict(enumerate(vectors))).fit(dataset).predict(dataset)
    assert_array_equal(dataset.features, before)


def test_an_unknown_query_is_named(points):
    dataset, vectors = points
    ranker = Nearest(dict(enumerate(vectors)))
    ranker.fit(dataset)
    new = RankingDataset.from_arrays(dataset.features[:2], qid=["new", "other"])
    with pytest.raises(ValueError, match=r"no vector for 2 of 2 queries, query new among them"):
        ranker.predict(new)
    with pytest.raises(ValueError, match=r"no vector for 1 of 6 queries, query 5 among them"):
        Nearest(dict(enumerate(vectors[:5]))).fit(dataset)


def test_queries_may_be_added_to_a_fitted_ranker(points):
    dataset, vectors = points
    known, new = dict(enumerate(vectors)), {"new": [0.0, 0.0]}
    ranker = Nearest(known).fit(dataset).set_params(query_vectors=known | new)
    assert_array_equal(ranker.predict([[3.0, 4.0]], qid=["new"]), [-25.0])
    ranker.set_params(query_vectors=known | {"new": [0.0]})
    with pytest.raises(ValueError, match="vectors of 2 numbers"):
        ranker.predict([[3.0, 4.0]], qid=["new"])
    ranker.set_params(query_vectors=known | {"new": [0.0, np.nan]})
    with pytest.raises(ValueError, match="vectors of finite numbers"):
        ranker.predict([[3.0, 4.0]], qid=["new"])


def test_a_column_that_differs_within_a_query_holds_no_query(wide):
    with pytest.raises(ValueError, match="x cannot be a coordinate of queries: query 0 has the"):
        Nearest(["x", "query y"]).fit(wide)


@pytest.mark.parametrize(
    "vectors",
    [[3], [2, 2], [2, 4], [-1, -2], ["query x", "z"], [1, 2, 3], {0: [1.0]}, {0: [1.0] * 5}],
    ids=str,
)
def test_vectors_that_do_not_fit_the_documents_are_refused(wide, vectors):
    message = (
        r"The 'query_vectors' parameter of Nearest must be half of the 4 columns of the dataset, "
        r"each once, or vectors of 4 numbers. Got .* instead"
    )
    with pytest.raises(ValueError, match=message):
        Nearest(vectors).fit(wide)


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        {},
        "query x",
        2,
        [True, 3],
        [0.5, 1.5],
        {0: "a"},
        {0: [np.nan] * 4},
        {0: [[1.0] * 4]},
        {query: [0.0] * 4 for query in range(1001)},
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_vector_or_column_is_refused(wide, vectors):
    with pytest.raises(ValueError, match="must be None, a list of columns, or a dict from query"):
        Nearest(vectors).fit(wide)


def test_missing_values_are_filled_before_the_query_is_taken_off(points, wide):
    holed = wide.features.copy()
    holed[0, 0] = np.nan  # becomes the median of the query's documents
    holed[6, 2] = np.nan  # the other documents of the query have the coordinate
    ranker = Nearest(["query x", "query y"]).fit(wide.with_features(holed, NAMES))
    expected = distances(*points)
    dataset, vectors = points
    x = np.median(dataset.features[1:5, 0])
    expected[0] = np.sum(([x, dataset.features[0, 1]] - vectors[0]) ** 2) + 1  # its indicator
    expected[6] += 1
    scores = ranker.predict(wide.with_features(holed, NAMES))
    assert_allclose(-scores, expected)


@pytest.mark.parametrize("kind", ["names", "numbers", "ids"])
def test_a_saved_ranker_knows_its_queries(points, wide, tmp_path, kind):
    dataset, vectors = points
    known = {str(query): vector for query, vector in enumerate(vectors)}
    given = {"names": ["query x", "query y"], "numbers": (2, 3), "ids": known}[kind]
    data = dataset if kind == "ids" else wide
    ranker = clone(Nearest(given)).fit(data)
    local = LocalRanker(Mean(), Agglomerative(1), Nearest(given), NearestCentroid()).fit(data)
    for model in (ranker, local):
        model.save(tmp_path / "model.localrank")
        loaded = localrank.load(tmp_path / "model.localrank", classes=[Nearest])
        assert_array_equal(loaded.predict(data), model.predict(data))
