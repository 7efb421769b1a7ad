"""What a ranking loses without a feature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged

from localrank.data import RankingDataset
from localrank.evaluation import permutation_importance
from localrank.evaluation.permutation import _orders_within_queries
from localrank.measures import NDCG, OrderErrorRate
from localrank.rankers import LGMML, BestFeature, LambdaMART, RankSVM


@pytest.fixture(scope="module")
def planted():
    """Labels follow the third feature of four; the last feature is constant."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 4))
    X[:, 3] = 7.0
    y = np.digitize(X[:, 2] + 0.3 * X[:, 0], [-0.5, 0.5])
    return RankingDataset.from_arrays(X, y, np.repeat(np.arange(60), 10))


@pytest.mark.parametrize("ranker", [RankSVM(), LambdaMART(30, min_leaf_documents=5)])
def test_a_planted_feature_dominates(ranker, planted):
    importance = permutation_importance(ranker.fit(planted), planted)
    assert importance.means.argmax() == 2
    assert importance.means[2] > 0.15
    assert importance.means[2] > 3 * np.delete(importance.means, 2).max()
    assert importance.means[2] > 5 * importance.standard_errors[2] > 0
    assert importance.means[3] == 0


def test_a_feature_that_is_not_used_loses_exactly_nothing(queries):
    ranker = BestFeature().fit(queries)
    importance = permutation_importance(ranker, queries, n_repeats=2)
    unused = np.arange(queries.n_features) != ranker.feature_
    assert_array_equal(importance.losses[unused], 0.0)
    assert_array_equal(importance.standard_errors[unused], 0.0)
    assert importance.means[ranker.feature_] > 0


def test_the_order_of_queries_and_documents_does_not_matter(queries):
    ranker = LambdaMART(10, min_leaf_documents=5).fit(queries)
    order = np.random.default_rng(0).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    one, other = (permutation_importance(ranker, data, n_repeats=2) for data in (queries, mixed))
    assert_array_equal(one.means, other.means)
    assert_array_equal(one.standard_errors, other.standard_errors)
    place = [queries.query_ids.tolist().index(query) for query in mixed.query_ids]
    assert_array_equal(one.losses[:, place], other.losses)


def test_mean_and_standard_error_are_those_of_the_queries(planted):
    importance = permutation_importance(RankSVM().fit(planted), planted, "map", n_repeats=1)
    assert importance.losses.shape == (4, 60)
    assert_allclose(importance.means, importance.losses.mean(axis=1))
    assert_allclose(importance.standard_errors, importance.losses.std(axis=1, ddof=1) / np.sqrt(60))


def test_values_stay_in_their_query(planted):
    for order in _orders_within_queries(planted, 3, 0):
        assert_array_equal(planted.query_index[order], planted.query_index)
        assert_array_equal(np.sort(order), np.arange(planted.n_documents))
        assert (order != np.arange(planted.n_documents)).mean() > 0.5


def test_a_query_of_one_document_loses_nothing(rng):
    X = rng.normal(size=(30, 2))
    train = RankingDataset.from_arrays(X, X[:, 0] > 0, np.repeat(np.arange(3), 10))
    alone = RankingDataset.from_arrays(X, X[:, 0] > 0, np.arange(30))
    importance = permutation_importance(RankSVM().fit(train), alone)
    assert_array_equal(importance.means, 0.0)


def test_a_measure_of_errors_counts_the_other_way(planted):
    importance = permutation_importance(RankSVM().fit(planted), planted, OrderErrorRate())
    assert importance.means.argmax() == 2
    assert importance.means[2] > 0.1


def test_queries_that_the_measure_skips_do_not_count(planted):
    labels = planted.labels.copy()
    labels[:100] = 0
    some = planted.replaced(relevance=labels)
    importance = permutation_importance(RankSVM().fit(some), some, "ndcg(empty=skip)@10")
    assert np.isnan(importance.losses[:, :10]).all()
    assert np.isfinite(importance.means).all()
    with pytest.raises(ValueError, match="skips every query"):
        permutation_importance(
            RankSVM().fit(some), some.select(np.arange(10)), "ndcg(empty=skip)@10"
        )


def test_seeds_and_jobs(planted):
    ranker = RankSVM().fit(planted)
    one = permutation_importance(ranker, planted, n_repeats=1, random_state=1)
    same = permutation_importance(ranker, planted, n_repeats=1, random_state=1, n_jobs=2)
    other = permutation_importance(ranker, planted, n_repeats=1, random_state=2)
    assert_array_equal(one.losses, same.losses)
    assert (one.losses != other.losses).any()


def test_every_ranker_has_them(queries):
    importance = permutation_importance(LGMML(n_metrics=5).fit(queries), queries, n_repeats=1)
    assert np.isfinite(importance.means).all()


def test_inputs_stay_unchanged_and_wrong_ones_are_refused(queries):
    ranker, before = RankSVM().fit(queries), queries.features.copy()
    importance = permutation_importance(ranker, queries, n_repeats=1)
    assert_array_equal(queries.features, before)
    assert importance.value == NDCG(10).mean(queries, ranker.predict(queries))
    with pytest.raises(ValueError, match="'n_repeats' argument must be .* Got 0 instead"):
        permutation_importance(ranker, queries, n_repeats=0)
    with pytest.raises(ValueError, match="was fitted on 8 features"):
        permutation_importance(ranker, queries.with_features(queries.features[:, :7]))


def test_it_prints_the_features_that_matter_most(queries):
    importance = permutation_importance(BestFeature().fit(queries), queries, n_repeats=1)
    lines = repr(importance).splitlines()
    assert lines[0].startswith("ndcg@10 is 0.")
    assert lines[4].split()[0] == queries.feature_names[importance.means.argmax()]


def test_the_plot_has_the_largest_bars_first(queries):
    importance = permutation_importance(RankSVM().fit(queries), queries, n_repeats=1)
    axes = importance.plot().axes[0]
    (bars,) = axes.containers
    assert_array_equal([bar.get_height() for bar in bars], np.sort(importance.means)[::-1])
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks[0] == importance.feature_names[importance.means.argmax()]


def test_the_frame_has_a_row_per_feature(queries):
    importance = permutation_importance(BestFeature().fit(queries), queries, n_repeats=1)
    frame = importance.to_frame("pandas")
    assert frame["feature"].tolist() == list(importance.feature_names)
    assert_array_equal(frame["mean"], importance.means)
