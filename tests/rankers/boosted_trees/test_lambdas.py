import lightgbm
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import folds, make_queries
from localrank.data._content_order import content_order
from localrank.measures import NDCG
from localrank.rankers import LambdaMART
from localrank.rankers.boosted_trees import _lambdas
from localrank.rankers.boosted_trees._boosted_trees import boosting_parameters
from localrank.rankers.boosted_trees._lambdas import lambda_gradient
from localrank.trees import read_lightgbm_text

# Numbers of 32 bits, of which a few hundred are added up.
TOLERANCE = 2e-6


def lists(seed, n_queries=12, longest=70, n_labels=4):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest, n_queries)
    return rng, 2.0 ** rng.integers(0, n_labels, sizes.sum()) - 1, sizes


def assert_near(values, expected):
    assert values.dtype == np.float32
    assert_allclose(values, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


@settings(max_examples=40)
@given(
    st.integers(0, 1000),
    st.sampled_from([1, 2, 5, 16, 30, 100]),
    st.sampled_from([0.0, 0.01, 1.0, 8.0]),
    st.sampled_from([1, 9]),
)
def test_derivatives_are_those_of_all_pairs_one_by_one(seed, truncation_level, scale, digits):
    rng, gains, sizes = lists(seed)
    scores = (scale * rng.normal(size=len(gains))).round(digits)
    found = lambda_gradient(gains, sizes, None, truncation_level, 1)(scores)
    for values, expected in zip(
        found, oracles.lambdas(gains, sizes, truncation_level, scores), strict=True
    ):
        assert_near(values, expected)


def lightgbm_sums(chosen, gains, sizes, truncation_level, scores, weights):
    """The sums of LightGBM's derivatives over some documents, by the leaf of a tree with two.

    The leaf is -g / (h + penalty): two penalties tell both.
    """
    labels = np.unique(gains, return_inverse=True)[1]
    leaves = []
    for penalty in (0.0, 1.0):
        parameters = {
            "objective": "lambdarank",
            "label_gain": np.unique(gains).tolist(),
            "lambdarank_truncation_level": truncation_level,
            "num_leaves": 2,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "lambda_l2": penalty,
            "learning_rate": 1.0,
            "verbosity": -1,
            "num_threads": 1,
        }
        data = lightgbm.Dataset(
            chosen[:, None].astype(float), labels, group=sizes, init_score=scores, weight=weights
        )
        booster = lightgbm.train(parameters, data, 1)
        leaves.append(booster.predict([[1.0]])[0])
    second = leaves[1] / (leaves[0] - leaves[1])
    return -leaves[0] * second, second


def table(ahead):
    """LightGBM's sigmoid, from a table."""
    bins = 2**20 / 50
    return 1 / (1 + np.exp(np.floor((ahead + 25) * bins) / bins - 25))


@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("truncation_level", [3, 30])
def test_derivatives_are_lightgbms(scale, truncation_level):
    """But for its table, which has four digits: of random halves of the documents, the sums."""
    rng, gains, sizes = lists(0, n_queries=5, longest=40)
    scores = scale * rng.normal(size=len(gains))
    weights = rng.uniform(0.5, 2, len(gains)).astype(np.float32)
    arguments = (gains, sizes, truncation_level, scores)
    ours = lambda_gradient(gains, sizes, weights, truncation_level, 1)(scores)
    by_table = oracles.lambdas(*arguments, table)
    for _ in range(10):
        chosen = rng.random(len(gains)) < 0.5
        for values, naive, expected in zip(
            ours, by_table, lightgbm_sums(chosen, *arguments, weights), strict=True
        ):
            size = np.abs(values[chosen]).sum()
            assert abs((weights * naive)[chosen].sum() - expected) < 1e-6 * size
            assert abs(values[chosen].sum() - expected) < 1e-4 * size


def test_the_gradient_of_a_query_adds_up_to_zero():
    rng, gains, sizes = lists(1)
    first, second = lambda_gradient(gains, sizes, None, 30, 1)(rng.normal(size=len(gains)))
    for query in np.split(first, np.cumsum(sizes)[:-1]):
        assert abs(query.sum()) < TOLERANCE * np.abs(query).sum() + 1e-30
    assert (second >= 0).all()


def test_the_best_document_is_pushed_up_and_the_worst_down():
    rng, gains, sizes = lists(2)
    first, _ = lambda_gradient(gains, sizes, None, 1000, 1)(rng.normal(size=len(gains)))
    for gain, values in zip(
        *(np.split(a, np.cumsum(sizes)[:-1]) for a in (gains, first)), strict=True
    ):
        if gain.min() < gain.max():
            assert (values[gain == gain.max()] < 0).all()
            assert (values[gain == gain.min()] > 0).all()


def test_a_query_of_one_gain_teaches_nothing():
    gains, sizes = np.array([3.0, 3, 3, 0, 0, 0, 1]), np.array([3, 3, 1])
    for values in lambda_gradient(gains, sizes, None, 30, 1)(np.arange(7.0)):
        assert_array_equal(values, 0)


def test_gains_of_any_size_are_told_apart():
    """Gains that differ little, and gains beyond a float of 32 bits."""
    sizes, scores = np.array([3]), np.array([0.3, 0.1, 0.7])
    for gains in ([1e7, 1e7 + 1, 1e7 + 3], [0, 1e99, 1e100], [0, 1e-99, 1e-100]):
        gains = np.array(gains)
        found = lambda_gradient(gains, sizes, None, 30, 1)(scores)
        for values, expected in zip(found, oracles.lambdas(gains, sizes, 30, scores), strict=True):
            assert_near(values, expected)


@pytest.mark.parametrize("distance", [24.9, 30.0, 1e3, 1e30])
def test_scores_far_apart_leave_finite_derivatives(distance):
    gains, sizes = np.array([1.0, 0, 0, 1]), np.array([4])
    first, second = lambda_gradient(gains, sizes, None, 30, 1)(
        np.array([0, distance, 0, -distance])
    )
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()
    assert first[1] >= 0 >= first[3]


def test_the_order_of_an_earlier_call_does_not_matter():
    """Documents are sorted from the order of the call before, whatever it was."""
    rng, gains, sizes = lists(3, longest=400)
    gradient = lambda_gradient(gains, sizes, None, 30, 1)
    scores = np.zeros(len(gains))
    for step in (0, 1e-3, 0.1, 10, 0.1, 0):
        scores = (scores + step * rng.normal(size=len(gains))).round(2)
        for again, anew in zip(
            gradient(scores), lambda_gradient(gains, sizes, None, 30, 1)(scores), strict=True
        ):
            assert_array_equal(again, anew)
    for values, expected in zip(
        gradient(np.round(scores)), oracles.lambdas(gains, sizes, 30, np.round(scores)), strict=True
    ):
        assert_near(values, expected)


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_share_the_queries(n_threads, monkeypatch):
    monkeypatch.setattr(_lambdas, "_PER_THREAD", 1)
    rng, gains, sizes = lists(4)
    scores = rng.normal(size=len(gains))
    alone = lambda_gradient(gains, sizes, None, 30, 1)(scores)
    for one, other in zip(
        alone, lambda_gradient(gains, sizes, None, 30, n_threads)(scores), strict=True
    ):
        assert_array_equal(one, other)


def test_scores_that_are_no_numbers_reach_no_other_memory():
    rng, gains, sizes = lists(5)
    scores = rng.normal(size=len(gains))
    gradient = lambda_gradient(gains, sizes, None, 30, 1)
    before = gradient(scores)
    gradient(np.where(rng.random(len(gains)) < 0.3, np.nan, scores))
    for one, other in zip(before, gradient(scores), strict=True):
        assert_array_equal(one, other)


def lightgbm_trees(ranker, dataset):
    """Trees that LightGBM trains on the same rows by its own gradient."""
    seed = np.random.RandomState(ranker.random_state).randint(2**31 - 1)
    rows, order = content_order(dataset, seed)
    parameters = boosting_parameters(ranker, "lambdarank")
    booster = lightgbm.train(
        parameters | {"lambdarank_truncation_level": ranker.truncation_level},
        lightgbm.Dataset(
            dataset.features[rows], dataset.labels[rows], group=dataset.query_sizes[order]
        ),
        ranker.n_trees,
    )
    return read_lightgbm_text(booster.model_to_string())


def test_the_first_trees_are_lightgbms():
    """Same splits, and leaves to four digits."""
    dataset, _ = make_queries(160, random_state=3)
    ranker = LambdaMART(6, random_state=5).fit(dataset)
    theirs = lightgbm_trees(ranker, dataset)
    assert_array_equal(ranker.trees_.split_features, theirs.split_features)
    assert_array_equal(ranker.trees_.thresholds, theirs.thresholds)
    assert_allclose(ranker.trees_.leaf_values, theirs.leaf_values, rtol=1e-3, atol=1e-6)


def test_rankings_of_a_public_collection_are_as_good_as_lightgbms(benchmark_data):
    fold = next(iter(folds(benchmark_data / "MQ2008")))
    ranker = LambdaMART(60).fit(fold.train)
    theirs = lightgbm_trees(ranker, fold.train).score(fold.test.features)
    values = [NDCG(10).mean(fold.test, scores) for scores in (ranker.predict(fold.test), theirs)]
    assert abs(values[0] - values[1]) < 0.005
