import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from localrank._base.rules import check_fitted
from localrank.data import RankingDataset, make_queries
from localrank.rankers import ListNet, RankNet
from localrank.rankers.feature_nets.list_net import top_one
from localrank.rankers.listwise_linear import CrossEntropy


@pytest.fixture(scope="module")
def queries():
    return make_queries(60, n_documents=(5, 12), n_features=5, n_types=1, random_state=3)[0]


@pytest.fixture(params=[ListNet, RankNet])
def kind(request):
    return request.param


def inputs_of(ranker, dataset):
    return np.clip((dataset.features - ranker.mean_) / ranker.scale_, -4, 4)


def trained(ranker, dataset, labels):
    """Train with other labels on rows in the same order: `fit` would order rows by labels too."""
    ranker._fit(dataset.replaced(relevance=labels), None, None)
    return ranker


def test_list_nets_targets_are_the_softmax_of_each_querys_labels(queries):
    for query in range(queries.n_queries):
        rows = slice(*queries.offsets[query : query + 2])
        assert_allclose(top_one(queries)[rows], softmax(queries.labels[rows]), rtol=1e-12)


def test_softmaxes_of_huge_labels_are_finite(queries):
    huge = queries.replaced(relevance=queries.labels * 1000 - 3000)
    assert_allclose(np.add.reduceat(top_one(huge), huge.offsets[:-1]), 1.0)


def test_a_linear_list_net_comes_near_the_minimum_of_its_loss(queries):
    ranker = ListNet(decay=0.0, learning_rate=0.03).fit(queries)
    inputs = inputs_of(ranker, queries)
    loss = CrossEntropy.of(
        inputs, queries.offsets, top_one(queries), ranker.learns_from(queries).astype(float)
    )
    lowest = loss.minimum(1e-9, 1e-8, 1000).objective
    start = loss.evaluate(np.zeros(5), 0.0)[0]
    reached = loss.evaluate(ranker.skip_[0].astype(float), 0.0)[0]
    assert lowest < reached < lowest + 0.02 * (start - lowest)


def test_the_score_is_that_of_the_formula(kind, queries):
    ranker = kind(4).fit(queries)
    inputs = inputs_of(ranker, queries)
    units = np.maximum(inputs @ ranker.hidden_[0].T + ranker.bias_[0], 0)
    expected = units @ ranker.output_[0] + inputs @ ranker.skip_[0]
    assert_allclose(ranker.predict(queries), expected, atol=1e-4)


def test_without_units_the_score_is_linear(kind, queries):
    ranker = kind(0).fit(queries)
    assert ranker.hidden_.shape == (1, 0, 5)
    expected = inputs_of(ranker, queries) @ ranker.skip_[0]
    assert_allclose(ranker.predict(queries), expected, atol=1e-4)


def test_hidden_units_learn_what_no_linear_ranker_can(kind, rng):
    features = rng.normal(size=(1200, 2))
    labels = (np.abs(features[:, 0]) < 0.4).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(60), 20))
    train, test = dataset.select(range(45)), dataset.select(range(45, 60))
    net, linear = (kind(n_units).fit(train).score(test) for n_units in (10, 0))
    assert net > max(0.7, linear + 0.2)


def test_rank_net_sees_only_the_order_of_labels(queries):
    assert_array_equal(
        trained(RankNet(3), queries, np.exp(3 * queries.labels) - 7).skip_,
        trained(RankNet(3), queries, queries.labels).skip_,
    )


def test_list_net_sees_differences_of_labels_and_not_their_level(queries):
    labels = queries.labels
    plain, shifted, doubled = (
        trained(ListNet(), queries, y).skip_ for y in (labels, labels + 4, 2 * labels)
    )
    assert_allclose(shifted, plain, atol=1e-4)
    assert np.abs(doubled - plain).max() > 0.1


def test_a_weight_of_zero_leaves_a_query_out(kind, queries):
    weights = np.ones(queries.n_queries)
    weights[:15] = 0
    left = kind().fit(queries, query_weight=weights)
    other = queries.replaced(relevance=np.where(queries.query_index < 15, 0, queries.labels))
    assert_array_equal(kind().fit(other).skip_, left.skip_)


def test_contributions_add_up_and_importances_find_what_decides(kind, rng):
    features = rng.normal(size=(600, 3))
    labels = (features[:, 1] > 0.5).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(60), 10))
    ranker = kind(5).fit(dataset)
    contributions = ranker.contributions(dataset)
    assert_allclose(contributions.scores, ranker.predict(dataset), atol=1e-9)
    assert np.abs(contributions.values).mean(axis=0).argmax() == 1
    assert ranker.feature_importances_.argmax() == 1


def test_a_model_whose_parts_do_not_fit_is_refused(kind, queries):
    ranker = kind(2).fit(queries)
    ranker.skip_ = ranker.skip_[:, :4]
    with pytest.raises(ValueError, match="do not fit each other|must be"):
        check_fitted(ranker)
