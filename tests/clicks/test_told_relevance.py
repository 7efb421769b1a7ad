"""Features tell the relevance of a query's documents from clicks on other queries."""

import numpy as np
import pytest

from localrank.clicks import ClickLog
from localrank.clicks._told_relevance import Described
from localrank.data import RankingDataset
from localrank.rankers import GBRT

N = 120
RANKER = GBRT(40, learning_rate=0.3, min_leaf_documents=5)


@pytest.fixture
def log():
    """A session of three documents for each query."""
    return ClickLog.from_sessions(
        [f"q{query}" for query in range(N)], [["a", "b", "c"]] * N, [[0]] * N
    )


def described(log, values):
    """One feature, a value for each pair of the log, in rows of another order."""
    order = np.random.default_rng(0).permutation(log.n_pairs)
    features = RankingDataset.from_arrays(
        values[order, None],
        qid=log.query_ids[log.pair_queries][order],
        document_ids=log.document_ids[order],
    )
    return Described.of(log, features, RANKER)


def test_each_pair_has_what_its_own_features_tell(log):
    values = np.random.default_rng(1).random(log.n_pairs)
    rates = np.where(values > 0.5, 0.8, 0.2)
    used = np.arange(log.n_pairs) % 5 > 0
    told = described(log, values).means(used)(rates[used], np.ones(used.sum()))
    assert np.abs(told - rates[used]).mean() < 0.05


def test_rates_tell_by_their_weights(log):
    values = np.random.default_rng(1).random(log.n_pairs)
    sure = np.arange(log.n_pairs) % 2 > 0
    rates = np.where(sure, 0.8, 0.2) * np.where(values > 0.5, 1.0, 0.5)
    used = np.ones(log.n_pairs, np.bool_)
    told = described(log, values).means(used)(rates, np.where(sure, 1.0, 0.05))
    # Without weights, 0.5 and 0.25.
    assert 0.7 < told[values > 0.5].mean() < 0.82
    assert 0.35 < told[values < 0.5].mean() < 0.41


def test_a_query_does_not_tell_of_itself(log):
    values = log.pair_queries.astype(float)
    rates = np.random.default_rng(2).random(N)[log.pair_queries]
    rates += 1e-3 * (np.arange(log.n_pairs) % 3)
    used = np.ones(log.n_pairs, np.bool_)
    told = described(log, values).means(used)(rates, np.ones(log.n_pairs))
    assert np.corrcoef(told, rates)[0, 1] < 0.4


def test_pairs_without_features_have_no_row(log):
    features = RankingDataset.from_arrays(
        [[0.0], [1.0]], qid=["q0", "other"], document_ids=["b", "a"]
    )
    rows = Described.of(log, features, RANKER).rows
    assert rows.tolist() == [-1, 0, *[-1] * (log.n_pairs - 2)]


def test_relevance_is_above_zero(log):
    values = np.random.default_rng(1).random(log.n_pairs)
    rates = np.where(values > 0.5, 1.0, 0.0)
    used = np.ones(log.n_pairs, np.bool_)
    assert described(log, values).means(used)(rates, np.ones(log.n_pairs)).min() > 0
