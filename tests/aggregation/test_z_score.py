import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import zscore

from localrank.aggregation import MeanScore, ZScore
from localrank.data import RankingDataset


def of_sizes(*sizes):
    return RankingDataset.from_arrays(
        np.zeros((sum(sizes), 1)), qid=np.repeat(np.arange(len(sizes)), sizes)
    )


def standard(scores, *sizes):
    return ZScore().aggregate(of_sizes(*sizes), np.asarray(scores)[:, None])


def test_each_list_is_standardised_in_each_query(rng):
    lists = rng.normal(size=(9, 3)) * [1, 100, 1e-3] + [0, 7, 1e3]
    expected = [zscore(part).mean(axis=1) for part in (lists[:4], lists[4:])]
    scores = ZScore().aggregate(of_sizes(4, 5), lists)
    assert_allclose(scores, np.concatenate(expected), rtol=1e-6)


@pytest.mark.parametrize("aggregator", [ZScore(), MeanScore()])
def test_documents_may_come_in_any_order(aggregator, rng):
    lists, order = rng.normal(size=(9, 3)), rng.permutation(9)
    dataset = of_sizes(4, 5)
    mixed = RankingDataset.from_arrays(dataset.features, qid=dataset.query_index[order])
    expected = aggregator.aggregate(dataset, lists)[order]
    assert_allclose(aggregator.aggregate(mixed, lists[order]), expected, atol=1e-12)


def test_a_constant_score_adds_nothing():
    scores = np.array([0.1 + 0.2, 0.3, 5.0, 5.0, 0.0, 0.0, -0.1 - 0.2, -0.3])
    assert_array_equal(standard(scores, 2, 2, 2, 2), 0)


def test_small_differences_between_large_scores_count():
    scores = standard(1e6 + np.array([1.0, 2.0, 4.0]), 3)
    assert_allclose(scores, zscore([1.0, 2.0, 4.0]), rtol=1e-6)


def test_tiny_and_huge_scores_are_standardised_alike():
    scores = np.array([1.0, 2.0, 4.0, 1.0, 2.0, 4.0]) * np.repeat([1e-200, 1e200], 3)
    standardised = standard(scores, 3, 3)
    assert_allclose(standardised[:3], standardised[3:])
    assert_allclose(standardised[:3], zscore([1.0, 2.0, 4.0]))


@pytest.mark.parametrize("aggregator", [ZScore(), MeanScore()])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_list_without_a_score_for_a_document_is_refused(aggregator, value):
    lists = np.ones((5, 2))
    lists[3, 1] = value
    message = f"finite score for every document in every list. List 1 has {value} .* of query 1"
    with pytest.raises(ValueError, match=message):
        aggregator.aggregate(of_sizes(2, 3), lists)
