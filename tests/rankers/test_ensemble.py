import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorder import Recorder, Together
from scipy.stats import rankdata, zscore

from localrank.aggregation import Borda, FixedScale, MeanScore, WeightedBorda, ZScore
from localrank.data import RankingDataset
from localrank.rankers import (
    BestFeature,
    Ensemble,
    LambdaMART,
    ListwiseNet,
    QueryCoordinates,
    RankSVM,
    SVMMap,
)
from localrank.rankers._inputs import accepts_missing

PARTS = [RankSVM(), SVMMap(), LambdaMART(10, min_leaf_documents=5)]


@pytest.mark.parametrize(
    ("aggregator", "transform"),
    [
        (ZScore(), zscore),
        (MeanScore(), lambda scores: scores),
        (Borda(), lambda scores: len(PARTS) * (rankdata(scores) - 1)),
    ],
)
def test_scores_are_those_of_the_parts_aggregated_per_query(queries, aggregator, transform):
    ours = Ensemble(PARTS, aggregator=aggregator).fit(queries).predict(queries)
    expected = np.zeros(queries.n_documents)
    for part in PARTS:
        scores = part.fit(queries).predict(queries)
        for begin, end in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
            expected[begin:end] += transform(scores[begin:end]) / len(PARTS)
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)


def test_one_ranker_ranks_as_it_does_alone(queries):
    alone = RankSVM().fit(queries).predict(queries)
    for aggregator in (ZScore(), MeanScore(), FixedScale(), Borda()):
        scores = Ensemble([RankSVM()], aggregator=aggregator).fit(queries).predict(queries)
        for begin, end in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
            assert_array_equal(rankdata(scores[begin:end]), rankdata(alone[begin:end]))


def test_an_aggregator_that_learns_does_so_from_the_training_queries(queries):
    parts = [RankSVM(), BestFeature()]
    ensemble = Ensemble(parts, aggregator=WeightedBorda()).fit(queries)
    lists = np.column_stack([part.fit(queries).predict(queries) for part in parts])
    alone = WeightedBorda().fit(queries, lists)
    assert_array_equal(ensemble.aggregator_.units_, alone.units_)
    assert_array_equal(ensemble.predict(queries), alone.aggregate(queries, lists))
    assert not hasattr(ensemble.aggregator, "units_")


def test_fixed_scales_make_a_weighted_sum_of_the_rankers_scores(queries):
    weights = np.linspace(0.5, 2, queries.n_queries)
    train = queries.select(range(40))
    ensemble = Ensemble(PARTS, aggregator=FixedScale()).fit(train, query_weight=weights[:40])
    lists = [ranker.predict(train) for ranker in ensemble.rankers_]
    alone = FixedScale().fit(train, np.column_stack(lists), query_weight=weights[:40])
    assert_array_equal(ensemble.aggregator_.scales_, alone.scales_)
    scores = [ranker.predict(queries) for ranker in ensemble.rankers_]
    expected = sum(row / scale for row, scale in zip(scores, alone.scales_, strict=True)) / 3
    assert_allclose(ensemble.predict(queries), expected, rtol=1e-12)
    formula = ensemble.formula()
    assert not formula.looks_at_list
    assert_allclose(formula.score(queries), expected, rtol=1e-9)


def test_models_with_different_seeds_differ_and_average(queries):
    trees = [
        LambdaMART(10, min_leaf_documents=5, feature_fraction=0.3, random_state=seed)
        for seed in range(3)
    ]
    ensemble = Ensemble(trees).fit(queries)
    scores = [model.predict(queries) for model in ensemble.rankers_]
    assert (scores[0] != scores[1]).any()


def test_validation_queries_reach_every_ranker(queries):
    train, valid = queries.select(np.arange(40)), queries.select(np.arange(40, 60))
    trees = LambdaMART(60, min_leaf_documents=5, patience=3)
    ensemble = Ensemble([trees, RankSVM()]).fit(train, valid=valid)
    assert ensemble.rankers_[0].n_trees_ == trees.fit(train, valid=valid).n_trees_ < 60


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_rankers_stay_as_they_were_given(queries, n_jobs):
    given = RankSVM()
    ensemble = Ensemble([given, given], n_jobs=n_jobs).fit(queries)
    assert not hasattr(given, "coef_")
    assert ensemble.rankers_[0] is not ensemble.rankers_[1]


def test_scores_are_standardised_by_default(queries):
    standard = Ensemble([RankSVM()], aggregator=ZScore()).fit(queries).predict(queries)
    assert_array_equal(Ensemble([RankSVM()]).fit(queries).predict(queries), standard)


def test_query_weights_reach_every_ranker(queries):
    Recorder.seen = []
    weights = np.linspace(1.0, 2.0, queries.n_queries)
    Ensemble([Recorder(), Recorder()]).fit(queries, query_weight=weights)
    assert [seen[1].tolist() for seen in Recorder.seen] == [weights.tolist()] * 2


def test_rankers_are_trained_at_the_same_time(queries):
    assert len(Ensemble([Together(), Together()], n_jobs=2).fit(queries).rankers_) == 2


def test_a_query_teaches_where_every_ranker_learns_from_it():
    # Average precision treats labels 1 and 2 the same.
    dataset = RankingDataset.from_arrays(np.zeros((4, 1)), [1, 2, 0, 1], [1, 1, 2, 2])
    for parts in ([RankSVM(), SVMMap()], [SVMMap(), RankSVM()]):
        assert_array_equal(Ensemble(parts).learns_from(dataset), [False, True])
    assert_array_equal(Ensemble([RankSVM()]).learns_from(dataset), [True, True])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rankers": {RankSVM()}}, "'rankers' parameter of Ensemble must be a list of rankers"),
        ({"rankers": []}, "'rankers' parameter of Ensemble must be a list of rankers, not empty"),
        ({"rankers": ["RankSVM"]}, "must be a list of rankers"),
        ({"rankers": [BestFeature()], "aggregator": "median"}, "'aggregator' parameter of Ense"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        Ensemble(**parameters).fit(queries)


def test_missing_values_are_taken_where_every_part_takes_them():
    assert accepts_missing(Ensemble([LambdaMART(), LambdaMART()]))
    assert accepts_missing(Ensemble([LambdaMART(), RankSVM()]))
    assert not accepts_missing(Ensemble([LambdaMART(), RankSVM(missing="refuse")]))


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 2), (1, 2), (2, 1)])
def test_members_keep_their_threads_where_one_is_trained_at_a_time(queries, n_jobs, expected):
    ensemble = Ensemble([RankSVM(), LambdaMART(5, n_jobs=2)], n_jobs=n_jobs).fit(queries)
    assert ensemble.rankers_[1].n_jobs == expected
    assert ensemble.rankers[1].n_jobs == 2


def test_members_of_members_have_one_thread_beside_others(queries):
    inner = QueryCoordinates(Ensemble((LambdaMART(5, n_jobs=2),), n_jobs=2))
    ensemble = Ensemble([inner, RankSVM()], n_jobs=2).fit(queries)
    trained = ensemble.rankers_[0].ranker_
    assert (trained.n_jobs, trained.rankers_[0].n_jobs) == (1, 1)
    assert (inner.ranker.n_jobs, inner.ranker.rankers[0].n_jobs) == (2, 2)


def test_validation_queries_stop_members_unless_they_are_kept_from_them(queries):
    train, valid = queries.select(range(40)), queries.select(range(40, 60))
    trees = LambdaMART(60, learning_rate=0.3)
    stopped = Ensemble([trees]).fit(train, valid=valid)
    whole = Ensemble([trees], stop_early=False).fit(train, valid=valid)
    assert stopped.rankers_[0].n_trees_ < whole.rankers_[0].n_trees_ == 60
    assert_array_equal(whole.predict(valid), Ensemble([trees]).fit(train).predict(valid))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shared_coordinates_change_no_score(queries, dtype):
    queries = queries.with_features(queries.features.astype(dtype))
    nets, trees = ListwiseNet(2, n_units=8), LambdaMART(10, min_leaf_documents=5)
    parts = [nets, QueryCoordinates(trees), QueryCoordinates(trees, parts="zp")]
    ours = Ensemble(parts, aggregator=MeanScore()).fit(queries).predict(queries)
    alone = [part.fit(queries).predict(queries) for part in parts]
    assert_array_equal(ours, np.sum(alone, axis=0) / len(parts))
