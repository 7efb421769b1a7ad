import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import localrank
from localrank.aggregation import ZScore
from localrank.data import RankingDataset, SampleWarning, make_queries
from localrank.rankers import ListwiseNet
from localrank.rankers.listwise_net import _net_ranker as net_ranker


@pytest.fixture(scope="module")
def queries():
    dataset, _ = make_queries(60, n_features=5, n_documents=(5, 12), random_state=3)
    return dataset


def small(**parameters):
    return ListwiseNet(n_nets=2, n_units=6, **parameters)


def test_the_score_is_the_mean_of_standardised_scores_of_the_nets(queries):
    ranker = small().fit(queries)
    inputs = ranker._inputs(queries)[: queries.n_documents]
    lists = [
        np.maximum(inputs @ ranker.hidden_[net].T + ranker.bias_[net], 0) @ ranker.output_[net]
        + inputs @ ranker.skip_[net]
        for net in range(2)
    ]
    expected = ZScore().aggregate_rows(queries, np.array(lists, np.float64))
    assert_allclose(queries.in_query_order(ranker.predict(queries)), expected, atol=1e-4)


@pytest.mark.parametrize("coordinates", [True, False])
def test_nets_learn_what_no_linear_ranker_can(coordinates, rng):
    # Documents near the middle of the query's values are relevant.
    features = rng.normal(size=(1200, 2))
    labels = (np.abs(features[:, 0]) < 0.4).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(60), 20))
    train, test = dataset.select(range(45)), dataset.select(range(45, 60))
    linear = localrank.rankers.ListwiseLinear().fit(train).score(test)
    assert ListwiseNet(coordinates=coordinates).fit(train).score(test) > max(0.8, linear + 0.2)


def test_coordinates_do_not_see_shifts_and_scales_of_a_query(queries, rng):
    factors = rng.uniform(0.5, 2, size=(queries.n_queries, 1))[queries.query_index]
    shifts = rng.normal(size=(queries.n_queries, 1))[queries.query_index]
    moved = queries.replaced(features=queries.features * factors + shifts)
    ranker = small().fit(queries)
    assert_allclose(ranker.predict(moved), ranker.predict(queries), atol=1e-4)
    plain = small(coordinates=False).fit(queries)
    assert np.abs(plain.predict(moved) - plain.predict(queries)).max() > 0.1


def test_queries_of_one_label_change_nothing(queries):
    labels = queries.labels.copy()
    same = queries.query_index < 20
    labels[same] = 1.0
    marked = queries.replaced(relevance=labels)
    rest = marked.select(range(20, 60))
    assert_array_equal(small().fit(marked).predict(queries), small().fit(rest).predict(queries))


def test_a_weight_of_zero_leaves_a_query_out(queries):
    weights = np.ones(queries.n_queries)
    weights[:15] = 0
    rest = queries.select(range(15, 60))
    weighted = small().fit(queries, query_weight=weights)
    assert_array_equal(weighted.predict(queries), small().fit(rest).predict(queries))


def test_only_the_ratio_of_weights_counts(queries, rng):
    weights = rng.integers(1, 5, size=queries.n_queries).astype(float)
    one, other = (small().fit(queries, query_weight=w) for w in (weights, 4 * weights))
    assert_array_equal(one.predict(queries), other.predict(queries))
    assert np.abs(one.predict(queries) - small().fit(queries).predict(queries)).max() > 1e-3


def test_features_that_training_queries_do_not_have_are_not_looked_at(queries, rng):
    silent = queries.features.copy()
    silent[:, 4] = 7.0
    ranker = small(coordinates=False).fit(queries.replaced(features=silent))
    before = ranker.predict(queries.replaced(features=silent))
    loud = silent.copy()
    loud[:, 4] = rng.normal(size=len(loud))
    assert_array_equal(ranker.predict(queries.replaced(features=loud)), before)


@pytest.mark.parametrize("coordinates", [True, False])
def test_contributions_add_up_to_the_score(queries, coordinates):
    ranker = small(coordinates=coordinates).fit(queries)
    contributions = ranker.contributions(queries)
    total = contributions.values.sum(axis=1) + contributions.together + contributions.base
    assert_allclose(total, ranker.predict(queries), atol=1e-5)
    if not coordinates:
        assert np.abs(contributions.values).max() > 0.1


def test_importances_are_shares_and_find_the_feature_that_decides(rng):
    features = rng.normal(size=(600, 3))
    labels = (features[:, 1] > 0.5).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(60), 10))
    for coordinates in (True, False):
        importances = ListwiseNet(coordinates=coordinates).fit(dataset).feature_importances_
        assert importances.argmax() == 1
        assert importances.sum() <= 1 + 1e-12


@pytest.mark.parametrize("coordinates", [True, False])
def test_a_saved_model_scores_the_same(queries, tmp_path, coordinates):
    ranker = small(coordinates=coordinates).fit(queries)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))


def test_missing_values_are_filled_and_told(queries, rng):
    features = queries.features.copy()
    features[rng.random(features.shape) < 0.2] = np.nan
    holed = queries.replaced(features=features)
    ranker = small().fit(holed)
    assert np.isfinite(ranker.predict(holed)).all()
    assert ranker.skip_.shape[1] == 2 * ranker.filling_.n_columns + 9
    with pytest.raises(ValueError, match="missing='refuse'"):
        small(missing="refuse").fit(holed)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_nets": 0}, "'n_nets' parameter of ListwiseNet must be"),
        ({"n_units": 1.5}, "'n_units' parameter of ListwiseNet must be"),
        ({"dropout": 1.0}, "'dropout' parameter of ListwiseNet must be"),
        ({"learning_rate": 0}, "'learning_rate' parameter of ListwiseNet must be"),
        ({"decay": -1}, "'decay' parameter of ListwiseNet must be"),
        ({"coordinates": "zpa"}, "'coordinates' parameter of ListwiseNet must be"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        ListwiseNet(**parameters).fit(queries)


def test_nets_learn_from_whole_lists_of_so_many_documents_in_any_order(monkeypatch, rng):
    dataset, _ = make_queries(60, n_documents=(8, 12), n_features=5, random_state=0)
    whole = ListwiseNet(1).fit(dataset).predict(dataset)
    monkeypatch.setattr(net_ranker, "MAX_DOCUMENTS", 200)
    with pytest.warns(SampleWarning):
        fewer = ListwiseNet(1).fit(dataset).predict(dataset)
    with pytest.warns(SampleWarning):
        again = ListwiseNet(1).fit(dataset.select(rng.permutation(60))).predict(dataset)
    assert_array_equal(again, fewer)
    assert not np.array_equal(fewer, whole)
    monkeypatch.setattr(net_ranker, "MAX_DOCUMENTS", dataset.n_documents)
    assert_array_equal(ListwiseNet(1).fit(dataset).predict(dataset), whole)
