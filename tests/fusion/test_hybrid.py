"""Ways to fuse lists, mixed by what judged queries say."""

from itertools import pairwise, product

import numpy as np
import pytest
from made_up_lists import made_lists
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.fusion import Fusion, Hybrid, NeighbourColumns, SmoothedFusion, lists_dataset
from localrank.fusion.hybrid import _folds, _weights
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import RankSVM
from localrank.recipes import hybrid


@pytest.fixture(scope="module")
def judged():
    lists, qrels, vectors = made_lists(50)
    return lists_dataset(lists, qrels, vectors)


@pytest.fixture(scope="module")
def fresh():
    lists, qrels, vectors = made_lists(50, seed=7)
    return lists_dataset(lists, qrels, vectors)


def average(dataset):
    return Fusion("equal").fit(dataset).predict(dataset)


@pytest.mark.parametrize("n", [0, 4])
def test_few_judged_queries_give_the_average(judged, n):
    labels = np.where(judged.query_index < n, judged.labels, 0.0)
    ranker = Hybrid().fit(judged.replaced(relevance=labels))
    assert_allclose(ranker.predict(judged), average(judged))
    assert f"at least 5 judged queries are needed to learn anything. Got {n}." in ranker.choice_
    assert len(ranker.rankers_) == 1


def test_neighbours_weigh_where_they_help(judged, fresh):
    ranker = Hybrid().fit(judged)
    assert list(ranker.gains_) == ["average", "tuned weights", "neighbours"]
    assert ranker.gains_["neighbours"]["weight"] > 0.4
    measure = NDCG(10)
    assert measure.mean(fresh, ranker.predict(fresh)) > measure.mean(fresh, average(fresh)) + 0.05
    assert ranker.choice_.startswith("A mixture: ")
    assert "of 50 judged queries by cross-validation: average: " in ranker.choice_


def test_without_vectors_nothing_needs_them(judged):
    bare = judged.with_vectors(None)
    ranker = Hybrid(RankSVM()).fit(bare)
    assert list(ranker.gains_) == ["average", "tuned weights", "all columns"]
    ranker.predict(bare)


def test_a_model_with_neighbours_refuses_documents_without_vectors(judged):
    ranker = Hybrid().fit(judged)
    with pytest.raises(ValueError, match="SmoothedFusion needs a vector for each document"):
        ranker.predict(judged.with_vectors(None))


def test_weights_are_all_multiples_of_a_fifth():
    for n_members in (1, 2, 3, 4):
        steps = range(6)
        by_loops = [w for w in product(steps, repeat=n_members) if sum(w) == 5]
        assert_allclose(_weights(n_members) * 5, by_loops)


@pytest.mark.parametrize("of_queries", [np.ones(50), np.geomspace(0.01, 3, 50)])
def test_weights_are_the_mean_by_exponential_weights(judged, of_queries):
    """By loops over the weights and the queries, from scores of models that have not seen them."""
    ranker = Hybrid(RankSVM(), n_folds=2).fit(judged, query_weight=of_queries)
    shares = of_queries / of_queries.sum()
    folds = _folds(judged, 2)
    members = [
        Fusion("equal"),
        Fusion(),
        SmoothedFusion("equal", share=1.0),
        NeighbourColumns(RankSVM()),
    ]
    unseen = np.empty((judged.n_documents, 4))
    for fold in (0, 1):
        train, test = judged.select(folds != fold), judged.select(folds == fold)
        rows = (folds == fold)[judged.query_index]
        for place, member in enumerate(members):
            member.fit(train, query_weight=shares[folds != fold])
            unseen[rows, place] = member.predict(test)
    for begin, end in pairwise(judged.offsets):
        unseen[begin:end] -= unseen[begin:end].mean(axis=0)
        unseen[begin:end] /= unseen[begin:end].std(axis=0)
    top, bottom = np.zeros(4), 0.0
    for steps in product(range(6), repeat=4):
        if sum(steps) != 5:
            continue
        weights = np.array(steps) / 5
        scores = unseen @ weights
        values = (NDCG(10)(judged, scores) + AveragePrecision()(judged, scores)) / 2
        value = 50 * (shares * values).sum()
        # Relative to a value that is never reached.
        top, bottom = (
            total + np.exp(5 * (value - 50)) * x for total, x in ((top, weights), (bottom, 1))
        )
    expected = (50 * top / bottom + 5 * np.eye(4)[0]) / 55
    assert_allclose(ranker.weights_, expected, rtol=1e-6)
    assert [facts["weight"] for facts in ranker.gains_.values()] == ranker.weights_.tolist()


def test_members_are_trained_with_the_weights_of_queries(judged):
    of_queries = np.geomspace(0.01, 3, 50)
    mixed = Hybrid(RankSVM()).fit(judged, query_weight=of_queries)
    for place, alone in ((1, Fusion()), (3, NeighbourColumns(RankSVM()))):
        even = alone.fit(judged).predict(judged)
        expected = alone.fit(judged, query_weight=of_queries / of_queries.sum()).predict(judged)
        assert not np.allclose(even, expected)
        assert_allclose(mixed.rankers_[place].predict(judged), expected, atol=1e-6)


def test_the_score_is_the_weighted_mean_of_standardised_scores(judged):
    ranker = Hybrid(RankSVM()).fit(judged)
    expected = np.zeros(judged.n_documents)
    for member, weight in zip(ranker.rankers_, ranker.weights_, strict=True):
        scores = member.predict(judged)
        for begin, end in pairwise(judged.offsets):
            of_query = scores[begin:end]
            expected[begin:end] += weight * (of_query - of_query.mean()) / of_query.std()
    assert_allclose(ranker.predict(judged), expected, atol=1e-9)


@pytest.mark.parametrize("n", [4, 50])
def test_explanations_call_members_as_the_choice_does(judged, n):
    labels = np.where(judged.query_index < n, judged.labels, 0.0)
    ranker = Hybrid(RankSVM()).fit(judged.replaced(relevance=labels))
    told = ranker.explain(judged, "q7")
    names = ["average", "tuned weights", "neighbours", "all columns"]
    assert list(told.members) == (names if n == 50 else names[:1])
    assert all(name in str(told) for name in told.members)
    rows = slice(*judged.offsets[7:9])
    assert_array_equal(told.member_scores[:, 0], average(judged)[rows])
    assert "is -0. A" not in " ".join(str(told).split())


def test_a_model_file_whose_members_have_no_names_is_refused(judged, tmp_path):
    ranker = Hybrid().fit(judged)
    for wrong in ({"average": {}}, {}, ["a", "b", "c"]):
        ranker.gains_ = wrong
        ranker.save(tmp_path / "model.localrank")
        with pytest.raises(ValueError, match="Hybrid"):
            localrank.load(tmp_path / "model.localrank")


def test_few_judged_queries_stay_near_the_average_and_even(judged):
    few, many = Hybrid().fit(judged.select(np.arange(6))), Hybrid().fit(judged)
    assert few.weights_[0] > 5 / 11
    assert np.ptp(few.weights_[1:]) < np.ptp(many.weights_[1:])


def test_queries_without_weight_teach_nothing(judged):
    weights = np.where(np.arange(50) < 20, 2.0, 0.0)
    weighted = Hybrid(RankSVM()).fit(judged, query_weight=weights)
    alone = Hybrid(RankSVM()).fit(judged.select(np.arange(20)))
    assert_allclose(weighted.predict(judged), alone.predict(judged), atol=1e-6)
    few = Hybrid().fit(judged, query_weight=np.where(np.arange(50) < 4, 1.0, 0.0))
    assert "anything. Got 4." in few.choice_


def test_lists_that_say_the_same_give_the_average():
    lists, qrels, _ = made_lists(30)
    twins = {"one": lists["list0"], "two": {q: dict(d) for q, d in lists["list0"].items()}}
    with pytest.warns(UserWarning, match="the same"):
        dataset = lists_dataset(twins, qrels)
    ranker = Hybrid().fit(dataset)
    assert_allclose(ranker.predict(dataset), average(dataset), atol=1e-9)


def test_noise_is_not_shipped_below_the_average():
    """With ten judged queries and equally good lists, the loss beside the average is small."""
    losses = []
    lists, qrels, _ = made_lists(100, noise=(2.0, 2.0), seed=100)
    test = lists_dataset(lists, qrels)
    for seed in range(8):
        lists, qrels, _ = made_lists(10, noise=(2.0, 2.0), seed=seed)
        train = lists_dataset(lists, qrels)
        values = [
            NDCG(10).mean(test, ranker.fit(train).predict(test))
            for ranker in (Fusion("equal"), Fusion(), Hybrid())
        ]
        losses.append([values[0] - values[1], values[0] - values[2]])
    tuned, mixed = np.mean(losses, axis=0)
    assert mixed < 0.6 * tuned
    assert mixed < 0.01


def test_folds_depend_neither_on_the_order_nor_on_the_unit(judged):
    folds = _folds(judged, 5)
    assert np.bincount(folds).tolist() == [10] * 5
    order = np.random.default_rng(0).permutation(50)
    assert_array_equal(_folds(judged.select(order), 5), folds[order])
    names = judged.feature_names
    scaled = judged.with_features(
        judged.features * np.where([".score" in n for n in names], 3.7, 1), names
    )
    assert_array_equal(_folds(scaled, 5), folds)


def test_contributions_add_up_and_models_can_be_saved(judged, tmp_path):
    ranker = Hybrid().fit(judged)
    assert_allclose(ranker.contributions(judged).scores, ranker.predict(judged), atol=1e-9)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(judged), ranker.predict(judged))
    assert loaded.choice_ == ranker.choice_


def test_the_mixture_of_linear_fusions_is_a_formula(judged):
    ranker = Hybrid().fit(judged.with_vectors(None))
    assert_allclose(ranker.formula().score(judged), ranker.predict(judged), atol=1e-9)


@pytest.mark.slow
def test_the_recipe_learns_from_all_columns_with_neighbours(judged):
    ranker = hybrid(n_trees=10, min_leaf_documents=5, n_folds=2).fit(judged)
    assert list(ranker.gains_) == ["average", "tuned weights", "neighbours", "all columns"]
    assert isinstance(ranker.rankers_[-1], NeighbourColumns)
    assert all(np.isfinite(facts["error"]) for facts in ranker.gains_.values())


def test_members_have_the_parameters(judged):
    ranker = Hybrid(RankSVM(), measure="map", n_neighbours=4).fit(judged)
    _, tuned, near, learned = ranker.rankers_
    assert (tuned.measure, near.n_neighbours, learned.n_neighbours) == ("map", 4, 4)
    assert ranker.choice_.partition(". ")[2].startswith("Mean of map and map of 50 judged queries")


def test_importances_are_weighed_as_the_scores_are(judged):
    ranker = Hybrid().fit(judged)
    of_members = [member.feature_importances_ for member in ranker.rankers_]
    expected = sum(w * one for w, one in zip(ranker.weights_, of_members, strict=True))
    assert_allclose(ranker.feature_importances_, expected)
