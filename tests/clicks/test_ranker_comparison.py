"""Rankers are compared on queries of a log that they have not learned from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks import PositionBehaviour, compare_rankers, ranking_value, simulate_clicks
from localrank.clicks.naming import fitted_bias
from localrank.data import RankingDataset, make_queries
from localrank.measures import NDCG
from localrank.rankers import BestFeature, RankSVM
from localrank.rankers.base import Ranker


@pytest.fixture(scope="module")
def dataset():
    return make_queries(60, n_documents=(6, 6), random_state=0)[0]


@pytest.fixture(scope="module")
def log(dataset):
    shown = dataset.features[:, -1]
    return simulate_clicks(dataset, shown, PositionBehaviour(), n_sessions=8000, shuffle=2)


@pytest.fixture(scope="module")
def compared(dataset, log):
    return compare_rankers(log, dataset, {"one": BestFeature(), "all": RankSVM()}, baseline="one")


def test_nothing_is_judged_on_queries_that_taught(dataset, log):
    """A ranker that remembers its training queries sees that none comes back."""
    seen = []

    class Watching(Ranker):
        def _fit(self, dataset, query_weights, valid):
            seen.append({*dataset.query_ids.tolist()})

        def _predict(self, dataset):
            seen.append({*dataset.query_ids.tolist()})
            return np.arange(dataset.n_documents, dtype=float)

    result = compare_rankers(log, dataset, {"watching": Watching()})
    learned, judged = seen
    assert not learned & judged
    assert (len(learned), len(judged)) == (result.n_train, result.n_test) == (42, 18)


def test_values_are_those_of_the_sessions_of_the_test_queries(dataset, log, compared):
    drawn = np.random.default_rng(0).permutation(60)
    whole = RankingDataset(
        dataset.features,
        dataset.labels,
        dataset.offsets,
        dataset.query_ids,
        np.arange(dataset.n_documents).astype(str),
        dataset.feature_names,
    )
    test = whole.select(np.sort(drawn[:18]))
    sessions = log.select(np.isin(log.query_ids[log.session_queries], test.query_ids))
    bias = fitted_bias("pbm", sessions)
    for name, ranker in compared.rankers.items():
        scores = ranker.predict(test)
        value = ranking_value(sessions, scores, bias, features=test, unit="query")
        assert_allclose(compared.values[name].value, value.value)
        assert_allclose(compared.judged[name]["ndcg@10"], np.nanmean(NDCG(10)(test, scores)))
    assert_allclose(compared.shown, sessions.n_clicks / sessions.n_sessions)


def test_differences_are_to_the_baseline(compared):
    assert list(compared.differences) == ["all"]
    values = compared.values
    expected = values["all"].value - values["one"].value
    assert_allclose(compared.differences["all"].difference, expected)
    assert "lists that were shown brought" in str(compared)
    assert "less one" in str(compared)


def test_without_labels_there_are_no_judgments(dataset, log):
    unlabelled = dataset.replaced(relevance=None)
    assert compare_rankers(log, unlabelled, {"one": BestFeature()}).judged == {}


def test_a_ranking_that_the_log_does_not_show_is_refused_in_words(dataset):
    shown = dataset.features[:, -1]
    people = PositionBehaviour()
    short = simulate_clicks(dataset, shown, people, n_sessions=8000, depth=2, shuffle=0.5)
    result = compare_rankers(short, dataset, {"all": RankSVM()}, max_unseen=0.01)
    assert not result.values
    assert "was never shown" in result.refused["all"]
    assert "all: The log says too little" in result.sentence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bias": "none"}, "'none' does not say how much is seen"),
        ({"bias": "pmb"}, "Did you mean 'pbm'"),
        ({"baseline": "two"}, "'two' is not among the rankers: one"),
        ({"test_share": 1.0}, "must leave queries to learn from and to judge by, of 60"),
    ],
)
def test_wrong_arguments_are_refused(dataset, log, options, message):
    with pytest.raises(ValueError, match=message):
        compare_rankers(log, dataset, {"one": BestFeature()}, **options)
