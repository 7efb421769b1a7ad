import os
import subprocess
import sys

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from scipy.stats import spearmanr

from localrank.data import RankingDataset, folds, make_queries
from localrank.data._content_order import content_order
from localrank.measures import NDCG, parse_measure
from localrank.rankers import GBRT, CrossEntropyMART, LambdaMART, QueryCoordinates
from localrank.rankers._training import learn


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(160, random_state=3)
    return dataset.select(np.arange(100)), dataset.select(np.arange(100, 160))


KINDS = [LambdaMART, CrossEntropyMART, GBRT]


def test_trees_are_what_lightgbm_trains_on_the_same_rows(split):
    train, test = split
    ranker = CrossEntropyMART(10, random_state=5).fit(train)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    rows, order = content_order(train, seed)
    booster = lightgbm.train(
        {
            "objective": "rank_xendcg",
            "min_sum_hessian_in_leaf": 1e-3,
            "learning_rate": ranker.learning_rate,
            "num_leaves": ranker.n_leaves,
            "min_data_in_leaf": ranker.min_leaf_documents,
            "feature_fraction": ranker.feature_fraction,
            "lambda_l2": ranker.l2,
            "seed": seed,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(
            train.features[rows], train.relevance[rows], group=train.query_sizes[order]
        ),
        10,
    )
    assert_array_equal(ranker.predict(test), booster.predict(test.features))


def test_gbrt_approaches_the_labels_it_can_memorise(rng):
    features = rng.normal(size=(200, 3))
    labels = (features[:, 0] > 0) + 2.0 * (features[:, 1] > 0)
    dataset = RankingDataset.from_arrays(features, labels, np.arange(200) // 10)
    ranker = GBRT(200, learning_rate=0.2, min_leaf_documents=1, l2=0, feature_fraction=1)
    assert_allclose(ranker.fit(dataset).predict(dataset), labels, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_early_stopping_keeps_the_trees_that_do_best_on_validation_queries(kind, split):
    train, valid = split
    ranker = kind(120, learning_rate=0.3, patience=200, measure="ndcg@5").fit(train, valid=valid)
    curve = [
        NDCG(5).mean(valid, kind(n, learning_rate=0.3).fit(train).predict(valid))
        for n in range(max(1, ranker.n_trees_ - 3), ranker.n_trees_ + 4)
    ]
    kept = NDCG(5).mean(valid, ranker.predict(valid))
    assert kept == max(curve)
    assert ranker.n_trees_ < 120
    assert ranker.booster.num_trees() == ranker.n_trees_


def test_queries_without_relevant_documents_do_not_count_as_perfect(split):
    train, valid = split
    labels = valid.relevance.copy()
    labels[: valid.offsets[30]] = 0
    half_empty = valid.replaced(relevance=labels)
    record = []

    class Recorded(NDCG):
        def of_rows(self, dataset, scores):
            values = super().of_rows(dataset, scores)
            record.append(values.mean())
            return values

    LambdaMART(5, measure=Recorded(10)).fit(train, valid=half_empty)
    assert len(record) == 5
    # Thirty of the sixty queries have the value 0 by our measure. By LightGBM's they would have 1.
    assert max(record) <= 0.5


def test_labels_may_be_any_numbers(split):
    train, test = split
    steps = np.array([0.0, 0.25, 1.5, 7.0, 40.0])
    dataset = RankingDataset.from_arrays(
        train.features, steps[train.relevance.astype(int)], train.query_index
    )
    assert LambdaMART(20).fit(dataset).score(test) > 0.3


def test_gains_follow_the_labels_not_their_ranks(split):
    train, _ = split
    stretched = RankingDataset.from_arrays(train.features, 3 * train.relevance, train.query_index)
    one, other = LambdaMART(20).fit(train), LambdaMART(20).fit(stretched)
    assert not np.array_equal(one.predict(train), other.predict(train))


@pytest.mark.parametrize("kind", [LambdaMART, CrossEntropyMART])
def test_a_query_of_spam_alone_teaches_its_order(rng, kind):
    """Negative gains would make LightGBM's normaliser negative, and reverse the order."""
    labels = np.tile([0.0, -2.0], 200)
    features = labels[:, None] + 0.1 * rng.normal(size=(400, 1))
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(200), 2))
    scores = kind(20, min_leaf_documents=5).fit(dataset).predict(dataset)
    assert (scores[::2] > scores[1::2]).mean() > 0.95


@pytest.fixture
def long_list(rng):
    """A list of ten documents, and one that LightGBM's lambdarank refuses: longer than 10,000.

    The first feature is decisive.
    """
    labels = rng.integers(0, 3, 10_011)
    features = np.column_stack([labels + 0.3 * rng.normal(size=10_011), rng.normal(size=10_011)])
    return RankingDataset.from_arrays(features, labels, ["short"] * 10 + ["long"] * 10_001)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_longer_than_lightgbm_takes_is_learned_from(kind, long_list):
    model = kind(20).fit(long_list, valid=long_list)
    assert spearmanr(model.predict(long_list), long_list.labels).statistic > 0.6


def test_the_order_of_a_long_list_does_not_matter(long_list, rng):
    mixed = rearranged(long_list, rng.permutation(long_list.n_documents))
    one, other = (LambdaMART(5).fit(data).predict(long_list) for data in (long_list, mixed))
    assert_array_equal(one, other)
    reseeded = LambdaMART(5, random_state=1, feature_fraction=1.0)
    assert not np.array_equal(reseeded.fit(long_list).predict(long_list), one)


def test_a_long_list_of_columns_made_in_blocks_gives_the_same_model(long_list, monkeypatch):
    ranker = QueryCoordinates(LambdaMART(5))
    scores = ranker.fit(long_list).predict(long_list)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    assert_array_equal(ranker.fit(long_list).predict(long_list), scores)


@pytest.fixture
def graded(split):
    """Queries with labels 0, 1 and 2."""
    train, _ = split
    return train.replaced(relevance=np.minimum(train.labels, 2))


@pytest.mark.parametrize("kind", [LambdaMART, CrossEntropyMART])
@pytest.mark.parametrize("gain", [[0, 1, 3], (0, 1, 3, 7, 15), "exponential"])
def test_gains_of_two_to_the_label_are_the_default(kind, gain, graded):
    assert_array_equal(
        kind(20, gain=gain).fit(graded).predict(graded), kind(20).fit(graded).predict(graded)
    )


@pytest.mark.parametrize("kind", [LambdaMART, CrossEntropyMART])
def test_only_gains_count_where_they_are_given(kind, graded):
    """Labels 0, 1, 4 with a list of gains are the same as labels 0, 1, 2 with these gains."""
    spread = graded.replaced(relevance=np.where(graded.labels == 2, 4.0, graded.labels))
    gain = [0, 2, 2, 2, 9]
    one = learn(kind(20, gain=[0, 2, 9]), graded).predict(graded)
    assert_array_equal(learn(kind(20, gain=gain), spread).predict(graded), one)
    assert not np.array_equal(learn(kind(20), graded).predict(graded), one)


def test_the_unit_of_gains_does_not_matter_to_lambdamart(graded):
    one, other = (LambdaMART(20, gain=[0, k, 5 * k]).fit(graded).predict(graded) for k in (1, 4))
    assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [LambdaMART, CrossEntropyMART])
def test_the_linear_gain_of_counts_is_the_default(kind, graded):
    counts = graded.replaced(relevance=40 * graded.labels)
    one, other = (kind(20, gain=gain).fit(counts).predict(graded) for gain in (None, "linear"))
    assert_array_equal(one, other)


def test_labels_of_equal_gain_are_not_told_apart(graded):
    """With gains 0, 0 and 1, labels 0 and 1 count as the same label."""
    merged = graded.replaced(relevance=np.maximum(graded.labels - 1, 0))
    one = learn(LambdaMART(20, gain=[0, 0, 1]), graded).predict(graded)
    assert_array_equal(one, learn(LambdaMART(20), merged).predict(graded))


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_and_two_give_the_same_trees(kind, split):
    train, _ = split
    one, two = (kind(30, n_jobs=jobs).fit(train).trees_ for jobs in (1, 2))
    for name, values in one.__getstate__().items():
        assert_array_equal(values, getattr(two, name))


def test_another_seed_gives_another_model(split):
    train, _ = split
    one, two = (LambdaMART(10, random_state=seed).fit(train).predict(train) for seed in (0, 1))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("kind", KINDS)
def test_query_weights_move_the_model_towards_heavy_queries(kind):
    dataset, types = make_queries(200, n_types=2, random_state=0)
    weights = np.where(types == 0, 20.0, 1.0)
    plain, weighted = kind(60).fit(dataset), kind(60).fit(dataset, query_weight=weights)
    heavy = dataset.select(types == 0)
    assert weighted.score(heavy) > plain.score(heavy)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_trees", 0),
        ("learning_rate", 0),
        ("n_leaves", 1),
        ("min_leaf_documents", 0),
        ("feature_fraction", 1.5),
        ("l2", -1),
        ("patience", 0),
        ("truncation_level", 0),
    ],
)
def test_impossible_parameters_are_refused_by_name(parameter, value, queries):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of LambdaMART.* Got '?{value}"):
        LambdaMART(**{parameter: value}).fit(queries)


def test_cross_entropy_does_not_see_the_order_of_rows(split, rng):
    train, test = split
    order = rng.permutation(train.n_documents)
    mixed = rearranged(train, order)
    one, two = (CrossEntropyMART(30).fit(dataset) for dataset in (train, mixed))
    assert_array_equal(one.predict(test), two.predict(test))


def test_the_random_numbers_of_cross_entropy_follow_the_seed(split):
    train, _ = split
    one, again, other = (
        CrossEntropyMART(5, feature_fraction=1, random_state=seed).fit(train).predict(train)
        for seed in (0, 0, 1)
    )
    assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_cross_entropy_ranks_as_well_as_lambdarank(split):
    train, test = split
    pairs = LambdaMART(100).fit(train).score(test)
    assert CrossEntropyMART(100).fit(train).score(test) > pairs - 0.02


@pytest.mark.parametrize("factor", [0.01, 125])
def test_cross_entropy_takes_any_labels(split, factor):
    train, test = split
    other = RankingDataset.from_arrays(train.features, factor * train.labels, train.query_index)
    grades = CrossEntropyMART(50).fit(train).score(test)
    assert CrossEntropyMART(50).fit(other).score(test) > grades - 0.03


@pytest.mark.parametrize("label", [8, 30])
def test_cross_entropy_can_learn_lists_perfectly(rng, label):
    """LightGBM fails in leaves whose documents have next to no curvature left."""
    relevant = np.tile([1, 0], 200)
    features = relevant[:, None] + 0.01 * rng.normal(size=(400, 1))
    dataset = RankingDataset.from_arrays(features, label * relevant, np.repeat(np.arange(200), 2))
    ranker = CrossEntropyMART(300, min_leaf_documents=5).fit(dataset)
    assert ranker.score(dataset) == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_may_be_of_documents_that_teach_nothing(kind):
    """Queries of one label or without weight have no curvature, at which LightGBM fails."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels, qid = rng.integers(0, 2, 60), np.repeat(np.arange(6), 10)
        labels[qid < 2] = 1
        labels[[58, 59]] = 0, 1
        weights = np.array([1, 0, 1, 0, 1e-6, 3])
        ranker = kind(30, min_leaf_documents=1)
        ranker.fit(rng.normal(size=(60, 3)), labels, qid=qid, query_weight=weights)
        assert ranker.n_trees_ == 30


def test_patience_ends_training(split):
    train, valid = split
    few, many = (
        LambdaMART(150, learning_rate=0.3, patience=patience).fit(train, valid=valid)
        for patience in (2, 150)
    )
    assert few.n_trees_ < many.n_trees_


def test_a_measure_that_is_better_when_smaller_is_minimised(split):
    train, valid = split
    ranker = LambdaMART(30, learning_rate=0.5, patience=30, measure="oer").fit(train, valid=valid)
    curve = [
        parse_measure("oer").mean(valid, LambdaMART(n, learning_rate=0.5).fit(train).predict(valid))
        for n in range(1, 31)
    ]
    assert ranker.n_trees_ == 1 + int(np.argmin(curve)) < 30


def test_validation_queries_may_come_in_any_order(split, rng):
    train, valid = split
    order = rng.permutation(valid.n_documents)
    mixed = rearranged(valid, order)
    model = LambdaMART(60, learning_rate=0.3)
    assert model.fit(train, valid=mixed).n_trees_ == model.fit(train, valid=valid).n_trees_


def test_the_ridge_shrinks_the_leaves(split):
    train, _ = split
    free, held = (GBRT(5, l2=l2).fit(train).predict(train) for l2 in (0.0, 1e6))
    assert np.ptp(held) < 0.1 * np.ptp(free)


def test_ten_thousand_documents_are_not_too_many(rng):
    dataset = RankingDataset.from_arrays(
        rng.normal(size=(10_000, 2)), rng.integers(0, 2, 10_000), np.zeros(10_000)
    )
    assert LambdaMART(1).fit(dataset).n_trees_ == 1


def test_validation_without_a_value_of_the_measure_is_refused(split):
    train, valid = split
    with pytest.raises(ValueError, match="No validation query has a value"):
        LambdaMART(5, measure="map(rel=9,empty=skip)").fit(train, valid=valid)


def test_a_model_that_cannot_tell_documents_apart_is_said(split):
    train, _ = split
    with pytest.warns(UserWarning, match="try a min_leaf_documents smaller than 5000"):
        LambdaMART(3, min_leaf_documents=5000).fit(train)


@pytest.mark.parametrize("kind", KINDS)
def test_the_booster_made_of_the_trees_predicts_the_same(kind, split):
    train, test = split
    ranker = kind(20).fit(train)
    assert_array_equal(ranker.booster.predict(test.features), ranker.predict(test))
    assert ranker.booster.dump_model()["objective"] == ranker._objective_name


def test_refitting_replaces_the_booster(split):
    train, test = split
    ranker = LambdaMART(3).fit(train)
    assert ranker.booster.num_trees() == 3
    ranker.set_params(n_trees=4).fit(train)
    assert ranker.booster.num_trees() == 4
    assert_array_equal(ranker.booster.predict(test.features), ranker.predict(test))


def run_python(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_forked_after_predict_can_predict(split, tmp_path):
    """LightGBM's threads do not survive a fork: waiting for them would never end."""
    train, _ = split
    LambdaMART(10, n_jobs=2).fit(train).save(tmp_path / "model.localrank")
    program = """
import multiprocessing, sys
import numpy as np
import localrank
model = localrank.load(sys.argv[1])
rows = np.random.default_rng(0).normal(size=(2000, model.n_features_in_))
def predict(_):
    return model.predict(rows, qid=np.zeros(len(rows)))
before = predict(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for scores in pool.map_async(predict, range(4)).get(timeout=60):
        assert np.array_equal(scores, before)
print("done")
"""
    result = run_python(program, tmp_path / "model.localrank")
    assert result.stdout == "done\n", result.stderr


def test_scores_on_a_public_collection_are_lightgbms(benchmark_data):
    fold = next(iter(folds(benchmark_data / "MQ2008")))
    ranker = LambdaMART(100, n_leaves=31).fit(fold.train, valid=fold.valid)
    for dtype in (np.float32, np.float64):
        features = fold.test.features.astype(dtype)
        rows = fold.test.with_features(features)
        assert_array_equal(ranker.predict(rows), ranker.booster.predict(features, num_threads=1))


@pytest.mark.parametrize("kind", [LambdaMART, CrossEntropyMART, GBRT])
def test_trees_follow_the_documents_that_weigh_more(rng, kind):
    """Half of the documents are labelled against the feature, and weigh a tenth."""
    features = rng.normal(size=(2000, 1))
    trusted = rng.random(2000) < 0.5
    labels = ((features[:, 0] > 0) == trusted).astype(float)
    weights = np.where(trusted, 1.0, 0.1)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(100), 20))
    scores = kind(30).fit(dataset, sample_weight=weights).predict(dataset)
    against = kind(30).fit(dataset, sample_weight=1.1 - weights).predict(dataset)
    above = features[:, 0] > 0
    assert scores[above].mean() > scores[~above].mean()
    assert against[above].mean() < against[~above].mean()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_values_may_be_split_from_all_others(rng, dtype):
    """LightGBM writes the threshold inf, as no present value lies above it."""
    labels = np.tile([1.0, 0.0, 0.0], 100)
    features = np.where(labels > 0, np.nan, rng.integers(0, 2, 300)).astype(dtype)[:, None]
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(100), 3))
    ranker = LambdaMART(5, min_leaf_documents=5).fit(dataset)
    assert ranker.trees_.thresholds.max() >= 1
    assert ranker.score(dataset) == 1.0
    expected = ranker.booster.predict(features, raw_score=True)
    assert_array_equal(ranker.predict(dataset), expected)
