from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged

from localrank.data import RankingDataset, concatenate, make_queries
from localrank.measures import parse_measure
from localrank.rankers import BestFeature
from localrank.rankers.rank_boost.rank_boost import RankBoost


def pairs_of(dataset, query_weights=None):
    """Upper rows, lower rows and weights of all pairs, the weights with sum 1."""
    pairs = []
    for query, (begin, end) in enumerate(pairwise(dataset.offsets)):
        weight = 1.0 if query_weights is None else query_weights[query]
        rows = range(begin, end)
        y = dataset.relevance
        pairs += [(i, j, weight) for i in rows for j in rows if y[i] > y[j]]
    upper, lower, weights = (np.array(column) for column in zip(*pairs, strict=True))
    return upper, lower, weights / weights.sum()


def loss_of(dataset, scores, query_weights=None):
    upper, lower, weights = pairs_of(dataset, query_weights)
    return np.sum(weights * np.exp(scores[lower] - scores[upper]))


def naive_rank_boost(dataset, n_rounds, query_weights=None):
    """Every pair and every distinct value as a threshold, in plain loops."""
    upper, lower, weights = pairs_of(dataset, query_weights)
    scores = np.zeros(dataset.n_documents)
    stumps, losses = [], []
    for _ in range(n_rounds):
        D = weights * np.exp(scores[lower] - scores[upper])
        D /= D.sum()
        best, stump = 0.0, None
        for feature, column in enumerate(dataset.features.T):
            for threshold in np.unique(column):
                h = (column > threshold).astype(float)
                r = abs(np.sum(D * (h[upper] - h[lower])))
                if r > best + 1e-12:
                    best, stump = r, (feature, threshold)
        feature, threshold = stump
        h = (dataset.features[:, feature] > threshold).astype(float)
        right, wrong = D[h[upper] > h[lower]].sum(), D[h[upper] < h[lower]].sum()
        alpha = np.log(max(right, 1e-6) / max(wrong, 1e-6)) / 2
        scores += alpha * h
        stumps.append((feature, threshold, alpha))
        losses.append(np.sum(weights * np.exp(scores[lower] - scores[upper])))
    return (*map(np.array, zip(*stumps, strict=True)), np.array(losses))


def graded(n_levels, seed, n_queries=12, n_features=5):
    """Small queries with ties in the features, duplicated documents and n_levels labels."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n_queries)
    labels = rng.integers(0, n_levels, sizes.sum())
    labels[:2] = 0, n_levels - 1
    features = rng.normal(size=(len(labels), n_features)) + 0.5 * labels[:, None]
    features[:, :2] = features[:, :2].round()
    qid = np.repeat(np.arange(n_queries), sizes)
    twice = rng.integers(0, len(labels), 10)
    return RankingDataset.from_arrays(
        np.concatenate([features, features[twice]]),
        np.concatenate([labels, labels[twice]]),
        np.concatenate([qid, qid[twice]]),
    )


def assert_same_model(one, other, rtol=0.0):
    assert_array_equal(one.features_, other.features_)
    assert_allclose(one.thresholds_, other.thresholds_, rtol=rtol)
    assert_allclose(one.alphas_, other.alphas_, rtol=rtol)
    assert_allclose(one.losses_, other.losses_, rtol=rtol)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_ten_rounds_equal_those_over_all_pairs(n_levels, seed):
    dataset = graded(n_levels, seed)
    features, thresholds, alphas, losses = naive_rank_boost(dataset, 10)
    ranker = RankBoost(10).fit(dataset)
    assert_array_equal(ranker.features_, features)
    assert_array_equal(ranker.thresholds_, thresholds)
    assert_allclose(ranker.alphas_, alphas, rtol=1e-9)
    assert_allclose(ranker.losses_, losses, rtol=1e-9)
    assert ranker.n_pairs_ == len(pairs_of(dataset)[0])


def test_real_labels_and_weighted_queries_equal_those_over_all_pairs(rng):
    dataset, _ = make_queries(6, n_documents=(3, 9), n_features=5, random_state=3)
    labels = dataset.relevance + rng.uniform(size=dataset.n_documents)
    dataset = RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)
    weights = rng.uniform(0.1, 5, 6)
    features, thresholds, alphas, losses = naive_rank_boost(dataset, 10, weights)
    ranker = RankBoost(10).fit(dataset, query_weight=weights)
    assert_array_equal(ranker.features_, features)
    assert_array_equal(ranker.thresholds_, thresholds)
    assert_allclose(ranker.alphas_, alphas, rtol=1e-9)
    assert_allclose(ranker.losses_, losses, rtol=1e-9)


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_the_loss_falls_in_every_round_and_bounds_the_misordered_pairs(n_levels, seed):
    dataset = graded(n_levels, seed)
    ranker = RankBoost(60).fit(dataset)
    assert (np.diff(ranker.losses_, prepend=1.0) < 0).all()
    scores = ranker.predict(dataset)
    assert_allclose(loss_of(dataset, dataset.in_query_order(scores)), ranker.losses_[-1], rtol=1e-9)
    upper, lower, weights = pairs_of(dataset)
    rows = dataset.in_query_order(scores)
    assert weights[rows[upper] <= rows[lower]].sum() <= ranker.losses_[-1] * (1 + 1e-9)


def test_each_alpha_minimises_the_loss_along_its_weak_ranker(queries):
    ranker = RankBoost(15).fit(queries)
    scores = np.zeros(queries.n_documents)
    for feature, threshold, alpha in zip(
        ranker.features_, ranker.thresholds_, ranker.alphas_, strict=True
    ):
        h = queries.features[:, feature] > threshold
        at = {step: loss_of(queries, scores + (alpha + step) * h) for step in (-1e-4, 0.0, 1e-4)}
        assert at[0.0] < min(at[-1e-4], at[1e-4])
        slope = (at[1e-4] - at[-1e-4]) / 2e-4
        assert abs(slope) < 1e-8
        scores += alpha * h


def test_a_weak_ranker_that_is_never_wrong_gets_a_bounded_weight():
    dataset = RankingDataset.from_arrays([[0.0], [1.0], [2.0]], [0, 0, 1], [1, 1, 1])
    ranker = RankBoost(1).fit(dataset)
    assert_allclose(ranker.alphas_, np.log(1e6) / 2)
    assert_array_equal(ranker.thresholds_, [1.0])
    assert_allclose(ranker.losses_, 1e-3)


def test_training_ends_when_every_pair_is_in_order_by_a_wide_margin():
    dataset = RankingDataset.from_arrays([[0.0], [1.0], [2.0]], [0, 0, 1], [1, 1, 1])
    ranker = RankBoost(1000).fit(dataset)
    assert ranker.losses_[-1] < 1e-12 <= ranker.losses_[-2]
    assert_allclose(ranker.losses_, 1e-3 ** np.arange(1, ranker.n_rounds_ + 1))


def test_rounds_equal_those_over_all_pairs_down_to_the_smallest_loss(rng):
    features = rng.normal(size=(12, 3))
    labels = np.argsort(np.argsort(features @ [3.0, 2.0, 1.0])) // 4
    dataset = RankingDataset.from_arrays(features, labels, np.zeros(12, int))
    ranker = RankBoost(500).fit(dataset)
    assert ranker.losses_[-1] < 1e-12
    naive, _, alphas, losses = naive_rank_boost(dataset, ranker.n_rounds_)
    assert_array_equal(ranker.features_, naive)
    assert_allclose(ranker.alphas_, alphas, rtol=1e-6)
    assert_allclose(ranker.losses_, losses, rtol=1e-6)


def test_training_ends_when_no_weak_ranker_helps():
    # One pair in order and one reversed, of equal weight, and the same again for -x.
    dataset = RankingDataset.from_arrays([[0.0], [1.0], [1.0], [0.0]], [0, 1, 0, 1], [1, 1, 2, 2])
    with pytest.warns(UserWarning, match="found no feature with a threshold"):
        ranker = RankBoost().fit(dataset)
    assert ranker.n_rounds_ == 0
    assert_array_equal(ranker.predict(dataset), np.zeros(4))


def test_constant_features_are_never_used(queries):
    features = queries.features.copy()
    features[:, [0, 4]] = 7.0
    ranker = RankBoost(100).fit(queries.with_features(features))
    assert not set(ranker.features_.tolist()) & {0, 4}
    alone = RankBoost(100).fit(queries.with_features(np.delete(features, [0, 4], axis=1)))
    assert_array_equal(ranker.thresholds_, alone.thresholds_)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_constant_features_alone_leave_nothing_to_learn_with():
    dataset = RankingDataset.from_arrays(np.ones((4, 2)), [0, 1, 0, 1], [1, 1, 2, 2])
    with pytest.warns(UserWarning, match="all documents get score 0"):
        RankBoost().fit(dataset, valid=dataset)


def test_one_feature_and_two_documents_are_enough():
    dataset = RankingDataset.from_arrays([[5.0], [3.0]], [0, 1], [1, 1])
    ranker = RankBoost(1).fit(dataset)
    assert ranker.alphas_[0] < 0
    better, worse = ranker.predict(dataset)[[1, 0]]
    assert better > worse


def test_scores_are_the_plain_sum_of_the_weak_rankers(queries):
    ranker = RankBoost(200).fit(queries)
    h = queries.features[:, ranker.features_] > ranker.thresholds_
    assert_allclose(ranker.predict(queries), h @ ranker.alphas_, rtol=1e-9, atol=1e-12)


def test_the_order_of_rows_changes_no_bit(queries, rng):
    order = rng.permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    assert_same_model(RankBoost(300).fit(mixed), RankBoost(300).fit(queries))


@pytest.mark.parametrize("n_thresholds", [4, 255, None])
def test_an_increasing_transformation_of_a_feature_changes_no_score(queries, n_thresholds):
    train, test = queries.select(range(40)), queries.select(range(40, 60))
    changes = [np.exp, np.cbrt, lambda x: 1e8 * x, lambda x: 1e-8 * x, lambda x: x - 9, np.arctan]

    def transformed(dataset):
        columns = [*dataset.features.T]
        for column, change in enumerate(changes):
            columns[column] = change(columns[column])
        return dataset.with_features(np.column_stack(columns))

    ranker = RankBoost(150, n_thresholds=n_thresholds)
    plain = ranker.fit(train).predict(test)
    # Rows are in another order, so sums are rounded differently.
    assert_allclose(ranker.fit(transformed(train)).predict(transformed(test)), plain, rtol=1e-12)


def test_a_reversed_feature_gives_the_reversed_weak_rankers():
    dataset = graded(3, 0)
    both = RankBoost(30).fit(dataset), RankBoost(30).fit(dataset.with_features(-dataset.features))
    assert_allclose(both[0].losses_[:5], both[1].losses_[:5], rtol=1e-9)
    assert_allclose(both[0].alphas_[:5], -both[1].alphas_[:5], rtol=1e-9)


def test_a_query_that_weighs_three_counts_as_three_queries():
    dataset = graded(3, 5)
    repeated = dataset.select([0, 1, 2])
    copies = [
        RankingDataset.from_arrays(
            repeated.features, repeated.relevance, repeated.query_index + 1000 * copy
        )
        for copy in (1, 2)
    ]
    weights = np.where(np.isin(np.arange(dataset.n_queries), [0, 1, 2]), 3.0, 1.0)
    weighted = RankBoost(40).fit(dataset, query_weight=weights)
    assert_same_model(weighted, RankBoost(40).fit(concatenate([dataset, *copies])), rtol=1e-9)


def test_the_scale_of_the_weights_does_not_matter():
    dataset = graded(3, 6)
    weights = np.linspace(1, 2, dataset.n_queries)
    small, large = (RankBoost(40).fit(dataset, query_weight=c * weights) for c in (1e-200, 1e200))
    assert_same_model(small, large, rtol=1e-9)


def test_a_query_that_weighs_next_to_nothing_counts_for_nothing():
    dataset = graded(3, 6)
    few = dataset.select(range(8))
    weights = np.where(np.arange(dataset.n_queries) < 8, 1e200, 1e-200)
    light = RankBoost(5, n_thresholds=None).fit(dataset, query_weight=weights)
    assert_allclose(light.losses_, RankBoost(5, n_thresholds=None).fit(few).losses_, rtol=1e-9)


def test_queries_of_weight_0_or_of_one_label_do_not_count(queries, rng):
    flat = RankingDataset.from_arrays(
        rng.normal(size=(6, 8)), [1, 1, 1, 0, 0, 0], [-1, -1, -1, -2, -2, -2]
    )
    plain = queries.with_features(queries.features)
    more = concatenate([flat, plain])
    weights = np.concatenate([[1, 1], np.ones(59), [0]])
    expected = RankBoost(50).fit(plain.select(range(59)))
    assert_same_model(RankBoost(50).fit(more, query_weight=weights), expected)


def test_few_thresholds_are_evenly_spaced_in_the_order_of_the_values():
    values = np.concatenate([np.zeros(50), np.arange(101.0)])[:, None]
    labels = np.arange(len(values)) % 2
    dataset = RankingDataset.from_arrays(values, labels, np.zeros(len(values), int))
    ranker = RankBoost(50, n_thresholds=4).fit(dataset)
    assert set(ranker.thresholds_.tolist()) <= {12.0, 37.0, 62.0, 87.0}


def test_every_distinct_value_may_be_a_threshold(rng):
    values = rng.permutation(600.0 * np.arange(600))
    dataset = RankingDataset.from_arrays(values[:, None], values > values[300], np.zeros(600, int))
    ranker = RankBoost(1, n_thresholds=None).fit(dataset)
    assert_array_equal(ranker.thresholds_, values[300])
    assert RankBoost(1, n_thresholds=1000).fit(dataset).thresholds_ == ranker.thresholds_


@pytest.mark.parametrize("measure", ["map", "ndcg@5", "oer"])
def test_the_number_of_rounds_that_does_best_on_the_validation_queries_is_kept(queries, measure):
    train, valid = queries.select(range(20)), queries.select(range(20, 60))
    chosen = RankBoost(60, patience=60, measure=measure).fit(train, valid=valid)
    full = RankBoost(60).fit(train)
    measure = parse_measure(measure)
    h = valid.features[:, full.features_] > full.thresholds_
    values = [measure.mean(valid, h[:, :n] @ full.alphas_[:n]) for n in range(1, 61)]
    best = max(values) if measure.higher_is_better else min(values)
    assert values[chosen.n_rounds_ - 1] == pytest.approx(best, rel=1e-12)
    assert 1 <= chosen.n_rounds_ < 60
    assert_array_equal(chosen.alphas_, full.alphas_[: chosen.n_rounds_])
    assert len(chosen.losses_) == len(chosen.features_) == chosen.n_rounds_


def test_of_equally_good_numbers_of_rounds_the_smallest_is_kept(queries):
    train = queries.select(range(20)).replaced(feature_names=None)
    valid = RankingDataset.from_arrays(np.zeros((2, 8)), [0, 1], [1, 1])
    assert RankBoost(30).fit(train, valid=valid).n_rounds_ == 1


def test_training_stops_when_patience_runs_out(queries):
    train, valid = queries.select(range(20)), queries.select(range(20, 60))
    curve = []
    for n in range(1, 41):
        ranker = RankBoost(n).fit(train)
        curve.append(parse_measure("map").mean(valid, ranker.predict(valid)))
    best = 0
    for n, value in enumerate(curve):
        if value > curve[best] + 1e-12:
            best = n
        if n - best == 5:
            break
    assert RankBoost(40, patience=5).fit(train, valid=valid).n_rounds_ == best + 1


def test_validation_queries_in_any_order_work(queries, rng):
    queries = queries.replaced(feature_names=None)
    train, valid = queries.select(range(20)), queries.select(range(20, 60))
    order = rng.permutation(valid.n_documents)
    mixed = (valid.features[order], valid.relevance[order], valid.query_index[order])
    one, other = (RankBoost(60).fit(train, valid=part) for part in (valid, mixed))
    assert one.n_rounds_ == other.n_rounds_


def test_hard_and_easy_queries_after_many_rounds_stay_finite(rng):
    # Separable except for one pair of equal documents: scores grow for as long as training lasts.
    easy = np.column_stack([np.arange(40.0), rng.normal(size=40)])
    features = np.concatenate([easy, [[0.0, 0.0], [0.0, 0.0]]])
    labels = np.concatenate([np.arange(40) // 10, [0, 1]])
    dataset = RankingDataset.from_arrays(features, labels, np.repeat([1, 2], [40, 2]))
    ranker = RankBoost(2000).fit(dataset)
    assert np.isfinite(ranker.predict(dataset)).all()
    assert (np.diff(ranker.losses_) < 0).all()
    # Only the pair of equal documents remains in the loss.
    assert_allclose(ranker.losses_[-1], 1 / ranker.n_pairs_, rtol=1e-3)


def test_it_ranks_better_than_the_best_feature(queries):
    train, test = queries.select(range(40)), queries.select(range(40, 60))
    assert RankBoost(50).fit(train).score(test) > BestFeature().fit(train).score(test)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"n_rounds": 0},
            "The 'n_rounds' parameter of RankBoost must be a whole number from 1 to 100000. Got 0",
        ),
        (
            {"n_thresholds": 0},
            "'n_thresholds' .* must be a whole number, 1 or larger. Got 0 instead",
        ),
        (
            {"patience": 0},
            "The 'patience' parameter of RankBoost must be a whole number, 1 or larger. Got 0 inst",
        ),
        ({"measure": "nonsense"}, "nonsense"),
    ],
)
def test_parameters_out_of_range_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        RankBoost(**parameters).fit(queries)


def test_validation_queries_in_single_precision_are_scored_as_they_are_served(queries):
    train = queries.select(range(20)).with_features(queries.select(range(20)).features.round(1))
    valid = queries.select(range(20, 60))
    valid = valid.with_features(valid.features.round(1).astype(np.float32))
    curve = [
        parse_measure("map").mean(valid, RankBoost(n).fit(train).predict(valid))
        for n in range(1, 31)
    ]
    chosen = RankBoost(30, patience=30).fit(train, valid=valid).n_rounds_
    assert curve[chosen - 1] == max(curve)
