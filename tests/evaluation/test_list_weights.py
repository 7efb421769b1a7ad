"""Weights of lists for each query: the best in hindsight, and the control."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import RankingDataset
from localrank.evaluation import paired_test, per_query_weights
from localrank.evaluation.list_weights import _weights, in_hindsight
from localrank.fusion import Fusion, lists_dataset
from localrank.measures import parse_measure

N_QUERIES, N_DOCUMENTS = 80, 30


def two_lists(rng, weights):
    """Lists that tell relevance with a weight for each query, by noise of their own."""
    labels = np.zeros((N_QUERIES, N_DOCUMENTS))
    labels[:, :5] = 1
    scores = rng.normal(size=(2, N_QUERIES, N_DOCUMENTS))
    scores += 2 * labels * np.array([weights, 1 - weights])[:, :, None]
    return RankingDataset.from_arrays(
        scores.reshape(2, -1).T, labels.ravel(), np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    )


@pytest.fixture(scope="module")
def alike():
    """Both lists are equally good for every query."""
    return two_lists(np.random.default_rng(0), np.full(N_QUERIES, 0.5))


@pytest.fixture(scope="module")
def different():
    """One list is good for half of the queries, the other for the other half."""
    return two_lists(np.random.default_rng(1), np.arange(N_QUERIES) % 2)


def test_hindsight_is_the_maximum_over_a_grid_of_weights(alike):
    found = per_query_weights(alike, "map", n_controls=1)
    measure = parse_measure("map")
    by_weight = np.array(
        [
            measure(alike, Fusion([step / 50, 1 - step / 50]).fit(alike).predict(alike))
            for step in range(51)
        ]
    )
    assert_allclose(found.values, by_weight.max(axis=0))
    assert found.one.mean() == pytest.approx(by_weight.mean(axis=1).max())
    assert found.weights.sum() == pytest.approx(1)


def test_neither_hindsight_nor_its_control_is_below_one_weight(alike, different):
    for data in (alike, different):
        found = per_query_weights(data, n_controls=2)
        assert (found.values >= found.one).all()
        assert (found.control >= found.one).all()


def test_where_no_query_needs_its_own_weight_the_control_gains_as_much(alike):
    found = per_query_weights(alike, n_controls=5)
    assert found.values.mean() > found.one.mean() + 0.02
    assert found.test.sign <= 0
    assert f"The lists themselves account for {found.test.mean_difference:+.4f}" in found.sentence


def test_where_queries_need_other_lists_hindsight_gains_more(different):
    found = per_query_weights(different, n_controls=5)
    assert found.test.sign == 1
    assert found.test.mean_difference > 0.05


def test_the_control_deals_differences_out_within_each_query(alike):
    """Where the lists are the same, there is no difference to deal out."""
    twice = alike.with_features(alike.features[:, [0, 0]], ["a", "b"])
    found = per_query_weights(twice, n_controls=2)
    assert_allclose(found.values, found.one)
    assert_allclose(found.control, np.array([found.one] * 2))


def test_differences_are_dealt_out_among_documents_side_by_side():
    rng = np.random.default_rng(4)
    values, offsets, given = rng.normal(size=(65, 2)), np.array([0, 40, 65]), []

    def by_query(scores):
        given.append(scores)
        return np.zeros(2)

    weights, *_ = in_hindsight(by_query, values, offsets, 1, 0)
    fused, last = values @ weights, given[-1]
    assert len(given) == 2 * 51
    differences, moved = values[:, 0] - values[:, 1], last - fused
    share = np.abs(moved).max() / np.abs(differences).max()
    assert not np.allclose(moved, share * differences)
    for begin, end in pairwise(offsets):
        order = begin + np.argsort(-fused[begin:end])
        for place in range(0, len(order), 10):
            block = order[place : place + 10]
            assert_allclose(
                np.sort(np.abs(moved[block])), share * np.sort(np.abs(differences[block]))
            )


def test_the_test_is_that_of_hindsight_against_the_mean_control(different):
    found = per_query_weights(different, n_controls=3)
    expected = paired_test(found.values, found.control.mean(axis=0))
    assert found.test.p == expected.p


def test_the_same_seed_gives_the_same_control(alike):
    one, same, other = (
        per_query_weights(alike, n_controls=1, random_state=seed).control for seed in (0, 0, 1)
    )
    assert_allclose(one, same)
    assert not np.allclose(one, other)


def test_units_of_lists_do_not_matter(alike):
    scaled = alike.with_features(alike.features * [1000.0, 0.5] + [3.0, -2.0], ["a", "b"])
    one, other = (per_query_weights(data, n_controls=1) for data in (alike, scaled))
    assert_allclose(one.values, other.values)
    assert_allclose(one.control, other.control)


def test_lists_are_named_and_printed():
    bm25 = {"q1": {"a": 9.0, "b": 7.0, "c": 1.0}, "q2": {"a": 3.0, "b": 2.0}}
    dense = {"q1": {"b": 0.8, "c": 0.7}, "q2": {"b": 0.9, "a": 0.1}}
    data = lists_dataset({"bm25": bm25, "dense": dense}, {"q1": {"b": 1}, "q2": {"b": 1}})
    found = per_query_weights(data, n_controls=1)
    assert found.list_names == ("bm25", "dense")
    shown = str(found)
    assert "one for all queries: bm25" in shown
    assert "in random directions (1 draw)" in shown
    assert "Weights for each query, chosen in hindsight, gain" in shown


@pytest.mark.parametrize(("n_lists", "n_choices"), [(2, 51), (3, 66), (4, 56)])
def test_weights_cover_the_simplex_once_from_its_middle(n_lists, n_choices):
    weights = _weights(n_lists)
    assert len(weights) == n_choices == len(np.unique(weights.round(9), axis=0))
    assert_allclose(weights.sum(axis=1), 1)
    assert weights.min() == 0
    distances = ((weights - 1 / n_lists) ** 2).sum(axis=1)
    assert (np.diff(distances) > -1e-9).all()


def test_one_list_or_no_control_is_refused(alike):
    alone = alike.with_features(alike.features[:, :1], ["a"])
    with pytest.raises(ValueError, match="need two lists or more"):
        per_query_weights(alone)
    with pytest.raises(ValueError, match="'n_controls' argument must be 1 or larger. Got 0"):
        per_query_weights(alike, n_controls=0)
