import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative, Groups, Neighbourhoods
from localrank.rankers import LambdaMART, RankSVM
from localrank.rankers._explaining import contribution_rows
from localrank.recipes import query_blend
from localrank.representations import Gaussian, Mean, PrincipalComponents, TopDocuments, base
from localrank.selection import LSH, NearestQueries, NearestQuery, nearest_queries
from localrank.selection.cells import some_by_content


@pytest.fixture(scope="module")
def clouds():
    """Training and test queries of two types, of 8 to 20 documents."""
    dataset, types = make_queries(90, n_documents=(8, 20), n_features=8, n_types=2)
    return dataset.select(range(60)), types[:60], dataset.select(range(60, 90))


def fitted(selector, train, labels, representation=None):
    representation = (representation or Mean()).fit(train)
    descriptions = representation.transform(train)
    return selector.fit(train, Groups.from_labels(labels), representation, descriptions)


def naive_weights(selector, test, k):
    """The formula, query by query."""
    representation, rows = selector.representation_, []
    described = representation.transform(test)
    for distances in representation.distances(described, selector.descriptions_):
        row = np.zeros(selector.n_groups_)
        for query in np.argsort(distances, kind="stable")[:k]:
            row[selector.home_[query]] += np.exp(-distances[query] / selector.bandwidth_)
        rows.append(row / row.sum())
    return np.array(rows)


@pytest.mark.parametrize(
    "representation", [Mean(), TopDocuments(3), PrincipalComponents(), Gaussian()], ids=repr
)
@pytest.mark.parametrize("k", [1, 7, 60, 500])
def test_weights_are_those_of_the_formula(clouds, representation, k):
    train, types, test = clouds
    selector = fitted(NearestQueries(k), train, types, representation)
    assert_allclose(selector.weights(test, []), naive_weights(selector, test, k), rtol=1e-9)


@pytest.mark.parametrize("grouping", [Agglomerative(3), Neighbourhoods(0), Neighbourhoods(15)])
@pytest.mark.parametrize("representation", [Mean(), PrincipalComponents()])
def test_one_query_is_the_nearest_query_to_the_last_bit(clouds, grouping, representation):
    train, _, test = clouds
    blend = LocalRanker(representation, grouping, RankSVM(), NearestQueries(1)).fit(train)
    nearest = LocalRanker(representation, grouping, RankSVM(), NearestQuery()).fit(train)
    assert_array_equal(blend.predict(test), nearest.predict(test))
    assert_array_equal(blend.contributions(test).values, nearest.contributions(test).values)


@pytest.mark.parametrize("index", ["lsh", LSH(6, 2), LSH(4, 3, rescore=False)], ids=repr)
def test_one_query_is_the_nearest_query_also_by_hashing(clouds, index):
    train, _, test = clouds
    parts = PrincipalComponents(), Neighbourhoods(5), RankSVM()
    blend = LocalRanker(*parts, NearestQueries(1, index=index)).fit(train)
    nearest = LocalRanker(*parts, NearestQuery(index)).fit(train)
    assert_array_equal(blend.predict(test), nearest.predict(test))


@pytest.mark.parametrize("k", [3, 12, 60, 99])
def test_one_hyperplane_finds_what_the_exact_search_finds(clouds, k):
    train, _, test = clouds
    every, components = np.arange(60), PrincipalComponents()
    exact = fitted(NearestQueries(k), train, every, components)
    hashed = fitted(NearestQueries(k, index=LSH(1, 2)), train, every, PrincipalComponents())
    assert hashed.bandwidth_ == pytest.approx(exact.bandwidth_, rel=1e-12)
    assert_allclose(hashed.weights(test, []), exact.weights(test, []), rtol=1e-9)


def test_hashing_weighs_what_it_finds_by_its_similarity(clouds):
    train, _, test = clouds
    selector = fitted(
        NearestQueries(4, 0.3, index=LSH(8, 1)), train, np.arange(60), PrincipalComponents()
    )
    described = selector.representation_.transform(test)
    neighbours, _ = selector.index_.neighbours(described, 4)
    missed = 0
    for U, nearest, weights in zip(described, neighbours, selector.weights(test, []), strict=True):
        distances = 1 - np.abs(np.sum(U * selector.descriptions_, axis=2)).mean(axis=1)
        expected = np.zeros(60)
        expected[nearest] = np.exp(-distances[nearest] / 0.3)
        assert_allclose(weights, expected / expected.sum(), rtol=1e-9)
        missed += set(nearest) != set(np.argsort(distances)[:4])
    assert missed


def test_hashing_refuses_points(clouds):
    train, types, _ = clouds
    with pytest.raises(ValueError, match="LSH needs queries described by PrincipalComponents"):
        fitted(NearestQueries(index="lsh"), train, types)


def test_saved_and_loaded_it_weighs_the_same(clouds, tmp_path):
    train, _, test = clouds
    parts = PrincipalComponents(), Agglomerative(3), RankSVM()
    model = LocalRanker(*parts, NearestQueries(4, index=LSH(3, 2))).fit(train)
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(test), model.predict(test))


def test_a_query_is_ranked_by_the_weighted_mean_of_standardised_scores(clouds):
    train, _, test = clouds
    model = query_blend(4, bandwidth=0.5).fit(train)
    weights = naive_weights(model.selector_, test, 4)
    for query in range(test.n_queries):
        one, expected = test.select([query]), 0.0
        for group in np.flatnonzero(weights[query]):
            scores = model.models_[group].predict(one)
            expected = expected + weights[query, group] * (scores - scores.mean()) / scores.std()
        assert_allclose(model.predict(one), expected, atol=1e-9)


def test_the_unit_of_a_models_scores_does_not_matter(clouds):
    train, _, test = clouds
    model = query_blend(4).fit(train)
    before = model.predict(test)
    for factor, ranker in zip(np.geomspace(1, 1e6, len(model.models_)), model.models_, strict=True):
        ranker.coef_ = ranker.coef_ * factor
    assert_allclose(model.predict(test), before, atol=1e-9)


def test_neighbours_of_one_group_leave_its_scores_as_they_are(clouds):
    train, _, test = clouds
    local = LocalRanker(Mean(), Agglomerative(2), RankSVM(), NearestQueries(5)).fit(train)
    weights = local.selector_.weights(test, [])
    alone = np.flatnonzero((weights == 1).any(axis=1))
    assert 0 < len(alone) < test.n_queries
    for query in alone:
        one = test.select([query])
        model = local.models_[weights[query].argmax()]
        assert_array_equal(local.predict(one), model.predict(one))


def test_a_wide_bandwidth_weighs_alike_and_a_narrow_one_leaves_the_nearest(clouds):
    train, _, test = clouds
    every = np.arange(60)
    wide = fitted(NearestQueries(5, 1e9), train, every).weights(test, [])
    assert_allclose(np.sort(wide, axis=1)[:, -5:], 0.2, rtol=1e-6)
    narrow = fitted(NearestQueries(5, 1e-9), train, every).weights(test, [])
    assert_array_equal(narrow, fitted(NearestQuery(), train, every).weights(test, []))


def test_the_default_bandwidth_is_the_median_distance_to_the_kth_other_query(clouds):
    train, types, _ = clouds
    selector = fitted(NearestQueries(3), train, types)
    distances = selector.representation_.distances(selector.descriptions_, selector.descriptions_)
    np.fill_diagonal(distances, np.inf)
    assert selector.bandwidth_ == pytest.approx(np.median(np.sort(distances, axis=1)[:, 2]))


def test_of_many_training_queries_some_make_the_bandwidth(clouds, monkeypatch):
    train, types, _ = clouds
    monkeypatch.setattr(nearest_queries, "_SAMPLE", 7)
    selector = fitted(NearestQueries(3), train, types)
    distances = selector.representation_.distances(selector.descriptions_, selector.descriptions_)
    np.fill_diagonal(distances, np.inf)
    third = np.sort(distances, axis=1)[:, 2]
    some = some_by_content(selector.descriptions_, 7)
    assert len(set(some.tolist())) == 7
    assert selector.bandwidth_ == pytest.approx(np.median(third[some]))
    asked = []
    neighbours = NearestQueries.neighbours
    monkeypatch.setattr(
        NearestQueries,
        "neighbours",
        lambda self, described, k: asked.append(len(described)) or neighbours(self, described, k),
    )
    fitted(NearestQueries(3), train, types)
    assert asked == [7]


def test_equal_queries_weigh_alike():
    same = RankingDataset.from_arrays(np.ones((60, 8)), qid=np.arange(60))
    selector = fitted(NearestQueries(4), same, np.arange(60))
    assert selector.bandwidth_ == 1
    # The first of equals.
    assert_array_equal(selector.weights(same, [])[:, :4], 0.25)


def test_an_answer_depends_neither_on_blocks_nor_on_queries_asked_together(clouds, monkeypatch):
    train, _, test = clouds
    doubled = RankingDataset.from_arrays(
        np.concatenate([train.features, 1 - 2 * train.features]),
        qid=np.concatenate([train.query_index, train.query_index + 60]),
    )
    selector = fitted(NearestQueries(5), doubled, np.arange(120), PrincipalComponents())
    queries = selector.representation_.transform(test)
    neighbours = selector.representation_.neighbours
    positions, _ = neighbours(queries, selector.descriptions_, 5)
    alone = [neighbours(query[None], selector.descriptions_, 5)[0][0] for query in queries]
    assert_array_equal(alone, positions)
    for size in (1, 120 * 7):
        monkeypatch.setattr(base, "_BLOCK", size)
        assert_array_equal(neighbours(queries, selector.descriptions_, 5)[0], positions)


@pytest.mark.parametrize("ranker", [RankSVM(), LambdaMART(5, min_leaf_documents=5)], ids=repr)
def test_contributions_of_a_blend_sum_to_the_score(clouds, ranker):
    train, _, test = clouds
    model = query_blend(6, n_neighbours=10, ranker=ranker).fit(train)
    table = contribution_rows(model, test)
    assert_allclose(table.sum(axis=1), model.predict(test), atol=1e-9)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (NearestQueries(0), "'k' parameter of NearestQueries must be a whole number, 1 or larger"),
        (NearestQueries(2, 0.0), "'bandwidth' parameter .* must be a finite number above 0. Got 0"),
        (NearestQueries(2, np.inf), "'bandwidth' parameter .* must be a finite number above 0"),
    ],
)
def test_wrong_parameters_are_refused(clouds, selector, message):
    train, types, _ = clouds
    with pytest.raises(ValueError, match=message):
        fitted(selector, train, types)
