from itertools import pairwise
from statistics import pstdev

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from localrank.aggregation import FixedScale, MeanScore, ZScore
from localrank.data import RankingDataset, concatenate


def of_sizes(*sizes):
    return RankingDataset.from_arrays(
        np.zeros((sum(sizes), 1)), qid=np.repeat(np.arange(len(sizes)), sizes)
    )


@pytest.fixture
def dataset(rng):
    return of_sizes(*rng.integers(1, 12, 40))


@pytest.fixture
def lists(dataset, rng):
    """Three lists in different units; the second is constant in a third of the queries."""
    lists = rng.normal(size=(dataset.n_documents, 3)) * [1.0, 50.0, 1e-3] + [0.0, 3.0, 1e3]
    lists[dataset.query_index % 3 == 0, 1] = 7.0
    return lists


def naive_scales(dataset, lists, weights=None):
    """The weighted mean of the deviations that are not 0."""
    weights = np.ones(dataset.n_queries) if weights is None else weights
    scales = []
    for scores in lists.T:
        parts = [scores[begin:end] for begin, end in pairwise(dataset.offsets)]
        pairs = [(w, pstdev(part)) for w, part in zip(weights, parts, strict=True)]
        kept = [(w, deviation) for w, deviation in pairs if deviation > 0]
        scales.append(sum(w * s for w, s in kept) / sum(w for w, _ in kept))
    return scales


def test_a_scale_is_the_mean_deviation_of_the_queries_in_which_a_list_varies(dataset, lists):
    fitted = FixedScale().fit(dataset, lists)
    assert_allclose(fitted.scales_, naive_scales(dataset, lists), rtol=1e-7)
    assert_allclose(fitted.scales_, [1.0, 50.0, 1e-3], rtol=0.3)


def test_queries_count_by_their_weights(dataset, lists, rng):
    weights = rng.uniform(0.5, 3, dataset.n_queries)
    weights[:5] = 0
    fitted = FixedScale().fit(dataset, lists, query_weight=weights)
    assert_allclose(fitted.scales_, naive_scales(dataset, lists, weights), rtol=1e-7)
    equal = FixedScale().fit(dataset, lists, query_weight=np.full(dataset.n_queries, 4.0))
    assert_array_equal(equal.scales_, FixedScale().fit(dataset, lists).scales_)


def test_scores_are_the_mean_of_the_lists_over_their_scales(dataset, lists):
    fitted = FixedScale().fit(dataset, lists)
    expected = (lists / fitted.scales_).mean(axis=1)
    assert_allclose(fitted.aggregate(dataset, lists), expected, rtol=1e-12)


def test_a_document_has_its_score_whatever_else_is_in_the_list(dataset, lists):
    fitted = FixedScale().fit(dataset, lists)
    alone = of_sizes(*[1] * dataset.n_documents)
    assert_array_equal(fitted.aggregate(alone, lists), fitted.aggregate(dataset, lists))


def test_queries_that_all_spread_alike_are_ranked_as_by_standardised_scores(rng):
    dataset = of_sizes(*[6] * 9)
    lists = ZScore().aggregate(dataset, rng.normal(size=(54, 1)))[:, None]
    lists = np.column_stack([20 * lists, rng.permuted(lists.reshape(9, 6), axis=1).ravel()])
    fitted = FixedScale().fit(dataset, lists)
    assert_allclose(fitted.scales_, [20, 1], rtol=1e-12)
    expected = ZScore().aggregate(dataset, lists)
    assert_allclose(fitted.aggregate(dataset, lists), expected, atol=1e-12)


def test_the_unit_of_a_list_does_not_matter(dataset, lists):
    scores = FixedScale().fit(dataset, lists).aggregate(dataset, lists)
    other = lists * [2.0**40, 2.0**-70, 1.0]
    assert_array_equal(FixedScale().fit(dataset, other).aggregate(dataset, other), scores)


@pytest.mark.parametrize("n_queries", [1, 3, 300])
def test_the_order_of_queries_and_documents_does_not_matter_to_the_last_bit(rng, n_queries):
    dataset = of_sizes(*rng.integers(2, 90, n_queries))
    lists = rng.normal(size=(dataset.n_documents, 12)) * 10 ** rng.uniform(-9, 9, 12)
    weights = rng.uniform(size=n_queries)
    expected = FixedScale().fit(dataset, lists, query_weight=weights).scales_
    for _ in range(5):
        queries, ranks = rng.permutation(n_queries), rng.random(dataset.n_documents)
        order = np.concatenate(
            [
                begin + np.argsort(ranks[begin:end])
                for begin, end in (dataset.offsets[q : q + 2] for q in queries)
            ]
        )
        mixed = of_sizes(*dataset.query_sizes[queries])
        fitted = FixedScale().fit(mixed, lists[order], query_weight=weights[queries])
        assert_array_equal(fitted.scales_, expected)


def test_a_list_that_never_varies_keeps_its_scores(dataset, lists):
    lists[:, 2] = 0.1 + 0.2
    lists[0, 2] = 0.3
    fitted = FixedScale().fit(dataset, lists)
    assert fitted.scales_[2] == 1
    assert_array_equal(FixedScale().fit(dataset, lists[:, 2:]).scales_, [1])


def test_weights_that_leave_no_query_leave_scores_as_they_are(dataset, lists):
    fitted = FixedScale().fit(dataset, lists, query_weight=np.zeros(dataset.n_queries))
    assert_array_equal(fitted.aggregate(dataset, lists), MeanScore().aggregate(dataset, lists))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_scales_of_tiny_and_huge_scores_are_right(dataset, lists, unit):
    expected = FixedScale().fit(dataset, lists).scales_
    assert_allclose(FixedScale().fit(dataset, lists * unit).scales_, expected * unit, rtol=1e-9)


def test_scores_too_close_to_divide_by_are_left_as_they_are(dataset, lists):
    fitted = FixedScale().fit(dataset, lists[:, :1] * 1e-300)
    assert fitted.scales_[0] == 1


def test_an_unfitted_one_cannot_aggregate(dataset, lists):
    with pytest.raises(NotFittedError):
        FixedScale().aggregate(dataset, lists)


def test_another_number_of_lists_is_refused(dataset, lists):
    fitted = FixedScale().fit(dataset, lists)
    with pytest.raises(ValueError, match="was fitted on 3 lists. Got 2 instead"):
        fitted.aggregate(dataset, lists[:, :2])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_list_without_a_score_for_a_document_is_refused(dataset, lists, value):
    lists[3, 1] = value
    with pytest.raises(ValueError, match=f"finite score .* List 1 has {value}"):
        FixedScale().fit(dataset, lists)


def test_learning_from_twice_the_same_queries_changes_nothing(dataset, lists):
    twice = concatenate([dataset, dataset.replaced(query_ids=dataset.query_ids + 1000)])
    fitted = FixedScale().fit(twice, np.concatenate([lists, lists]))
    assert_array_equal(fitted.scales_, FixedScale().fit(dataset, lists).scales_)


def test_weights_of_the_sum_are_shares_of_the_scales(dataset, lists):
    fitted = FixedScale().fit(dataset, lists)
    form = fitted.fixed_sum(3)
    assert not form.standardised
    assert_allclose(lists @ form.weights, fitted.aggregate(dataset, lists), rtol=1e-12)
