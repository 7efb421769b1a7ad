import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from recorder import Recorder, Together
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

import localrank
from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative, Neighbourhoods, Refined
from localrank.measures import AveragePrecision
from localrank.rankers import LambdaMART, RankSVM, SVMMap
from localrank.rankers._explaining import contribution_rows
from localrank.representations import (
    Gaussian,
    Mean,
    PrincipalComponents,
    RelevantMean,
    TopDocuments,
    TopScores,
)
from localrank.selection import Clairvoyant, NearestCentroid, NearestQueries, NearestQuery


@pytest.fixture(scope="module")
def typed():
    """Training and test queries of three types that differ much."""
    dataset, types = make_queries(90, n_types=3, n_features=12, separation=2.0, random_state=2)
    return dataset.select(range(60)), dataset.select(range(60, 90)), types


TWO_MEANS = KMeans(2, n_init=5, random_state=0)


def by_means(ranker, grouping=TWO_MEANS, **parameters):
    return LocalRanker(Mean(), grouping, ranker, NearestCentroid(), **parameters)


def by_components(n_clusters=3, **parameters):
    return LocalRanker(
        PrincipalComponents(), Agglomerative(n_clusters), RankSVM(), NearestQuery(), **parameters
    )


def test_a_query_is_scored_by_the_model_of_its_nearest_training_querys_group(typed):
    train, test, _ = typed
    local = by_components().fit(train)
    components = PrincipalComponents().fit(train)
    D = components.distances(components.transform(test), components.transform(train))
    scores = local.predict(test)
    for query in range(test.n_queries):
        group = local.groups_.home[np.argmin(D[query])]
        members = np.flatnonzero(local.groups_.home == group)
        expected = RankSVM().fit(train.select(members)).predict(test.select([query]))
        assert_allclose(scores[test.offsets[query] : test.offsets[query + 1]], expected, rtol=1e-12)


@pytest.mark.parametrize("n_weights", [1, 7 * 60])
@pytest.mark.parametrize("selector", [NearestQuery(), NearestQueries(5)], ids=repr)
def test_scores_do_not_depend_on_how_many_queries_are_weighed_at_once(
    typed, monkeypatch, selector, n_weights
):
    train, test, _ = typed
    local = LocalRanker(Mean(), Neighbourhoods(10), RankSVM(), selector).fit(train)
    scores, table = local.predict(test), contribution_rows(local, test)
    asked = []
    weights = type(selector).weights
    monkeypatch.setattr(
        type(selector),
        "weights",
        lambda self, data, models: asked.append(data.n_queries) or weights(self, data, models),
    )
    monkeypatch.setattr("localrank.local_ranker._N_WEIGHTS", n_weights)
    assert_array_equal(local.predict(test), scores)
    assert asked == ([1] * 30 if n_weights == 1 else [7, 7, 7, 7, 2])
    assert_array_equal(contribution_rows(local, test), table)


@pytest.mark.parametrize("ranker", [RankSVM(), SVMMap(), LambdaMART(10, min_leaf_documents=5)])
@pytest.mark.parametrize("scattered", [False, True])
def test_one_group_is_the_global_model(typed, ranker, scattered):
    train, test, _ = typed
    if scattered:
        order = np.random.default_rng(0).permutation(train.n_documents)
        train = rearranged(train, order)
    test = RankingDataset.from_arrays(test.features, test.labels, test.query_index)
    train = RankingDataset.from_arrays(
        train.features, train.labels, train.query_ids[train.query_index]
    )
    local = LocalRanker(PrincipalComponents(), Agglomerative(1), ranker, NearestQuery()).fit(train)
    assert_array_equal(local.predict(test), ranker.fit(train).predict(test))


def test_every_training_query_lands_in_its_own_group(typed):
    train, _, _ = typed
    local = by_components(8).fit(train)
    weights = local.selector_.weights(train, local.models_)
    assert_array_equal(weights.argmax(axis=1), local.groups_.home)
    assert_array_equal(np.sort(weights, axis=1)[:, :-1], 0)


def test_the_result_does_not_depend_on_the_number_of_jobs(typed):
    train, test, _ = typed
    one = by_components(n_jobs=1).fit(train).predict(test)
    assert_array_equal(by_components(n_jobs=2).fit(train).predict(test), one)


class TogetherAlways(Together):
    """Scores only beside another one, too."""

    def _predict(self, dataset):
        self.meeting.wait(timeout=20)
        return super()._predict(dataset)


@pytest.mark.parametrize("n_folds", [None, 2])
def test_as_many_models_work_at_the_same_time_as_there_are_jobs(typed, n_folds):
    train, _, _ = typed
    refined = Refined(TWO_MEANS, rounds=2, n_folds=n_folds)
    local = by_means(TogetherAlways(), refined, n_jobs=2).fit(train)
    assert local.n_groups_ == 2


def test_every_step_has_one_thread(typed):
    threads = []

    class Watching(Mean):
        def _transform(self, dataset):
            threads.extend(pool["num_threads"] for pool in threadpool_info())
            return super()._transform(dataset)

    with threadpool_limits(2):
        by_means(RankSVM()).set_params(representation=Watching()).fit(typed[0])
    assert set(threads) == {1}


def test_parts_stay_as_they_were_given(typed):
    clusters = KMeans(2, random_state=0)
    parts = TopScores(), Refined(clusters, rounds=2), RankSVM(), NearestCentroid()
    LocalRanker(*parts).fit(typed[0])
    assert not [n for part in (*parts, clusters) for n in vars(part) if n.endswith("_")]


def test_groups_that_teach_nothing_are_merged_and_counted(typed):
    train, test, _ = typed
    labels = train.labels.copy()
    # The first group's queries get one label each, so that it has nothing to order.
    home = by_components(5).fit(train).groups_.home
    labels[home[train.query_index] == home[0]] = 1.0
    flat = RankingDataset.from_arrays(train.features, labels, train.query_index)
    local = by_components(5).fit(flat)
    assert (local.n_groups_, local.groups_.n_merged) == (4, 1)
    assert np.isfinite(local.predict(test.with_features(test.features))).all()


def test_groups_below_the_minimum_are_merged(typed):
    train, _, _ = typed
    local = by_components(30, min_queries=5).fit(train)
    assert local.groups_.sizes.min() >= 5
    assert local.n_groups_ + local.groups_.n_merged == 30


def test_a_ranker_says_itself_what_teaches_it():
    # A query of labels 1 and 2 orders nothing by average precision, which only knows above 0.
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.tile([0, 1], 20), [1, 2, 1, 2]])
    queries = np.repeat(np.arange(11), 4)
    dataset = RankingDataset.from_arrays(rng.normal(size=(44, 2)), labels, queries)
    assert_array_equal(SVMMap().learns_from(dataset), np.arange(11) < 10)
    local = LocalRanker(Mean(), Neighbourhoods(0), SVMMap(), NearestQuery()).fit(dataset)
    assert (local.n_groups_, local.groups_.n_merged) == (10, 1)


def test_equal_groups_are_one(typed):
    train, _, _ = typed
    local = LocalRanker(Mean(), Neighbourhoods(1000), RankSVM(), NearestQuery()).fit(train)
    assert local.n_groups_ == 1
    assert_array_equal(local.groups_.home, 0)


def test_query_weights_reach_the_models(typed):
    train, test, _ = typed
    weights = np.where(np.arange(train.n_queries) % 2, 1.0, 1e-3)
    plain = by_components().fit(train)
    weighted = by_components().fit(train, query_weight=weights)
    group = 0
    queries = weighted.groups_[group]
    alone = RankSVM().fit(train.select(queries), query_weight=weights[queries])
    assert_array_equal(weighted.models_[group].predict(test), alone.predict(test))
    assert (weighted.predict(test) != plain.predict(test)).any()


def test_refinement_trains_with_the_query_weights_too(typed, seen):
    train, _, _ = typed
    weights = np.linspace(1.0, 2.0, train.n_queries)
    by_means(Recorder(n_jobs=2), Refined(TWO_MEANS, rounds=2)).fit(train, query_weight=weights)
    assert len(seen) == 4
    for dataset, given, _, n_jobs in seen:
        assert_array_equal(given, weights[np.isin(train.query_ids, dataset.query_ids)])
        assert n_jobs == 1


def test_queries_of_no_weight_teach_nothing(typed):
    train, _, _ = typed
    home = by_components(4).fit(train).groups_.home
    local = by_components(4).fit(train, query_weight=(home != home[0]).astype(float))
    assert local.groups_.n_merged == 1


def test_validation_queries_go_to_the_group_that_serves_them(typed):
    train, valid, _ = typed
    trees = LambdaMART(60, min_leaf_documents=5, patience=5)
    local = LocalRanker(PrincipalComponents(), Agglomerative(2), trees, NearestQuery())
    local.fit(train, valid=valid)
    chosen = local.selector_.weights(valid, local.models_)
    for group, model in enumerate(local.models_):
        sent = valid.select(np.flatnonzero(chosen[:, group]))
        alone = LambdaMART(60, min_leaf_documents=5, patience=5)
        alone.fit(train.select(local.groups_[group]), valid=sent)
        assert model.n_trees_ == alone.n_trees_


def test_a_group_whose_validation_queries_decide_nothing_uses_all(seen):
    features, labels = np.repeat([0.0, 1.0, 10.0, 11.0], 2)[:, None], np.tile([0, 1], 4)
    train = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(4), 2))
    # The query near the second group has one label only.
    valid = RankingDataset.from_arrays(features[2:6], [0, 1, 1, 1], [7, 7, 8, 8])
    by_means(Recorder()).fit(train, valid=valid)
    used = {int(dataset.query_ids[0]): list(valid.query_ids) for dataset, _, valid, _ in seen}
    assert used == {0: [7], 2: [7, 8]}


def test_the_clairvoyant_choice_is_at_least_as_good_as_any(typed):
    train, test, _ = typed
    parts = PrincipalComponents(), Agglomerative(3), RankSVM()
    clairvoyant = LocalRanker(*parts, Clairvoyant("map")).fit(train)
    best = AveragePrecision()(test, clairvoyant.predict(test))
    nearest = LocalRanker(*parts, NearestQuery()).fit(train)
    assert (best >= AveragePrecision()(test, nearest.predict(test))).all()
    each = [AveragePrecision()(test, model.predict(test)) for model in nearest.models_]
    assert_array_equal(best, np.max(each, axis=0))


def test_a_clairvoyant_model_needs_labels_and_is_not_saved(typed, tmp_path):
    train, test, _ = typed
    local = LocalRanker(Mean(), KMeans(2, random_state=0), RankSVM(), Clairvoyant()).fit(train)
    with pytest.raises(ValueError, match="Clairvoyant chooses by labels. The dataset has none"):
        local.predict(test.replaced(relevance=None))
    with pytest.raises(ValueError, match="cannot be saved: it chooses by labels"):
        local.save(tmp_path / "model.localrank")
    assert not list(tmp_path.iterdir())


def test_a_representation_by_labels_needs_another_one_for_new_queries(typed):
    train, test, _ = typed
    grouping = KMeans(3, random_state=0)
    with pytest.raises(ValueError, match="NearestCentroid cannot describe new queries.*its 'repre"):
        LocalRanker(RelevantMean(), grouping, RankSVM(), NearestCentroid()).fit(train)
    selector = NearestCentroid(representation=TopDocuments(5))
    local = LocalRanker(RelevantMean(), grouping, RankSVM(), selector).fit(train)
    assert np.isfinite(local.predict(test.replaced(relevance=None))).all()


def test_distances_alone_give_no_centroids(typed):
    train, _, _ = typed
    local = LocalRanker(Gaussian(), Agglomerative(3), RankSVM(), NearestCentroid())
    with pytest.raises(ValueError, match="Gaussian gives only distances .* no centre of several"):
        local.fit(train)


def test_a_query_goes_to_the_cluster_whose_directions_agree_best(typed, tmp_path):
    train, test, _ = typed
    grouping = Agglomerative(3)
    local = LocalRanker(PrincipalComponents(2), grouping, RankSVM(), NearestCentroid()).fit(train)
    described = local.selector_.representation_.transform(test)
    for query, weights in zip(described, local.selector_.weights(test, []), strict=True):
        agreement = [
            sum(abs(query[p] @ centre[p]) for p in range(2)) / 2
            for centre in local.selector_.centroids_
        ]
        assert weights.argmax() == np.argmax(agreement)
    predicted = local.predict(test)
    alone = np.concatenate([local.predict(test.select([q])) for q in range(test.n_queries)])
    assert_array_equal(alone, predicted)
    local.save(tmp_path / "model.localrank")
    assert_array_equal(localrank.load(tmp_path / "model.localrank").predict(test), predicted)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"representation": "mean"}, "'representation' parameter of LocalRanker must be one of"),
        ({"ranker": None}, "'ranker' parameter of LocalRanker must be a ranker"),
        ({"selector": "nearest"}, "'selector' parameter of LocalRanker must be one of"),
        ({"grouping": 4}, "must be one of localrank.grouping or a clusterer"),
        ({"min_queries": 0}, "'min_queries' parameter of LocalRanker must be a whole number"),
        ({"ranker__C": -1.0}, "'C' parameter of RankSVM"),
    ],
)
def test_wrong_parts_are_refused(typed, parameters, message):
    with pytest.raises(ValueError, match=message):
        by_components().set_params(**parameters).fit(typed[0])


def test_an_explanation_agrees_with_the_prediction(typed):
    train, test, _ = typed
    local = by_components().fit(train)
    explanation = local.explain(test, test.query_ids[4])
    rows = slice(test.offsets[4], test.offsets[5])
    assert_array_equal(explanation.scores, local.predict(test)[rows])
    assert_array_equal(explanation.group_scores @ explanation.weights, explanation.scores)
    assert_array_equal(explanation.labels, test.labels[rows])
    assert (np.diff(explanation.distances) >= 0).all()
    assert explanation.weights[explanation.neighbour_groups[0]] == 1
    assert explanation.group_sizes.sum() == train.n_queries
    nearest = [train.query_ids.tolist().index(query) for query in explanation.neighbours]
    assert_array_equal(local.groups_.home[nearest], explanation.neighbour_groups)
    # This representation's distance is 1 - the similarity.
    assert_allclose(explanation.similarities, 1 - explanation.distances, rtol=1e-12)
    assert len(local.explain(test, test.query_ids[4], n_neighbours=2).neighbours) == 2


def test_an_explanation_names_the_documents(typed):
    train, test, _ = typed
    names = [f"d{row}" for row in range(test.n_documents)]
    named = RankingDataset.from_arrays(
        test.features, test.labels, test.query_index, document_ids=names
    )
    local = by_means(RankSVM()).fit(train.with_features(train.features))
    rows = slice(test.offsets[4], test.offsets[5])
    assert_array_equal(local.explain(named, 4).document_ids, names[rows])


def test_documents_without_ids_have_one_number_in_lists_and_explanations(typed):
    train, test, _ = typed
    # The rows of every query lie apart in the input.
    order = np.random.default_rng(0).permutation(test.n_documents)
    queries = test.query_ids[test.query_index]
    mixed = RankingDataset.from_arrays(
        test.features[order],
        test.labels[order],
        queries[order],
        feature_names=test.feature_names,
    )
    local = by_means(RankSVM()).fit(train)
    query = test.query_ids[4]
    explanation = local.explain(mixed, query)
    assert_array_equal(explanation.document_ids, np.flatnonzero(queries[order] == query))
    best_first = explanation.document_ids[np.argsort(-explanation.scores, kind="stable")]
    lists = local.rank(mixed, library="dict")
    assert_array_equal(best_first, lists["document"][lists["query"] == query])
    assert re.search(rf"label +score.*\n.*\n +{best_first[0]} ", str(explanation))
    preference = local.contributions(mixed).why(*best_first[:2])
    assert (preference.above, preference.below) == tuple(best_first[:2])


def test_an_unknown_query_cannot_be_explained(typed):
    train, test, _ = typed
    with pytest.raises(ValueError, match="The data has no query 'x'. Its 30 queries are 61, 62, "):
        by_components().fit(train).explain(test, "x")
    with pytest.raises(ValueError, match=r"Its 3 queries are 61, 62, 63\.$"):
        by_components().fit(train).explain(test.select(range(3)), "x")


def test_a_loaded_model_explains_as_before(typed, tmp_path):
    train, test, _ = typed
    local = by_components().fit(train)
    local.save(tmp_path / "model.localrank")
    before = local.explain(test, test.query_ids[0])
    after = localrank.load(tmp_path / "model.localrank").explain(test, test.query_ids[0])
    assert_array_equal(after.neighbours, before.neighbours)
    assert_array_equal(after.group_scores, before.group_scores)


def test_another_selector_leaves_the_model_as_it_was(typed):
    train, test, _ = typed
    local = by_components().fit(train)
    before = local.predict(test)
    oracle = local.with_selector(Clairvoyant("map"), train)
    fitted = LocalRanker(
        PrincipalComponents(), Agglomerative(3), RankSVM(), Clairvoyant("map")
    ).fit(train)
    assert_array_equal(oracle.predict(test), fitted.predict(test))
    assert oracle.models_ is local.models_
    assert_array_equal(local.predict(test), before)
    with pytest.raises(ValueError, match="must hold the queries that the ranker was fitted on"):
        local.with_selector(Clairvoyant("map"), test)
