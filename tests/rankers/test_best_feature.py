import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.measures import NDCG, parse_measure
from localrank.rankers import BestFeature


def test_it_finds_the_feature_that_orders_the_labels(queries, rng):
    features = rng.normal(size=queries.features.shape)
    features[:, 5] = queries.relevance
    ranker = BestFeature().fit(queries.with_features(features))
    assert ranker.feature_ == 5
    assert ranker.values_[5] == NDCG(5).mean(queries, queries.relevance)


def test_its_values_are_the_mean_measure_of_each_feature(queries):
    ranker = BestFeature("map").fit(queries)
    expected = [parse_measure("map").mean(queries, column) for column in queries.features.T]
    assert_allclose(ranker.values_, expected)
    assert ranker.feature_ == np.argmax(expected)


def test_scores_are_the_feature_itself(queries):
    ranker = BestFeature().fit(queries)
    assert_array_equal(ranker.predict(queries), queries.features[:, ranker.feature_])


@pytest.mark.parametrize("both", [False, True])
def test_a_feature_that_ranks_backwards_works_in_both_directions_only(queries, rng, both):
    features = rng.normal(size=queries.features.shape)
    features[:, 2] = -queries.relevance
    ranker = BestFeature(both_directions=both).fit(queries.with_features(features))
    assert (ranker.feature_ == 2 and ranker.direction_ == -1) is both
    if both:
        assert_array_equal(ranker.predict(queries.with_features(features)), queries.relevance)


def test_the_first_of_equal_features_is_taken():
    dataset = RankingDataset.from_arrays(np.ones((4, 3)), [0, 1, 0, 1], [1, 1, 2, 2])
    assert BestFeature().fit(dataset).feature_ == 0


def test_the_order_of_lines_is_no_feature():
    # Lines sorted by label and a constant feature: ties in line order would look perfect.
    labels = np.tile([2, 1, 0, 0, 0, 0, 0], 20)
    noisy = labels + np.random.default_rng(0).normal(scale=0.5, size=140)
    features = np.column_stack([np.zeros(140), noisy])
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(20), 7))
    assert BestFeature().fit(dataset).feature_ == 1


def test_query_weights_decide_which_queries_count():
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    dataset = RankingDataset.from_arrays(features, [1, 0, 0, 1], ["a", "a", "b", "b"])
    assert BestFeature().fit(dataset, query_weight=[2, 1]).feature_ == 0
    assert BestFeature().fit(dataset, query_weight=[1, 2]).feature_ == 1


def test_a_measure_that_is_better_when_smaller_is_minimised(queries):
    ranker = BestFeature("oer").fit(queries)
    assert ranker.feature_ == np.argmin(ranker.values_)


def test_an_unknown_measure_is_refused(queries):
    with pytest.raises(ValueError, match="ndgc"):
        BestFeature("ndgc@5").fit(queries)


def test_skipped_queries_are_left_out_of_the_mean():
    # One of the three queries has no relevant document.
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    dataset = RankingDataset.from_arrays(features, [1, 0, 0, 0, 1, 0], np.repeat([1, 2, 3], 2))
    ranker = BestFeature("mrr(empty=skip)").fit(dataset, query_weight=[1, 5, 3])
    assert_allclose(ranker.values_, [1.0, 0.5])
