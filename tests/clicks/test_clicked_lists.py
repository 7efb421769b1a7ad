"""Lists of single clicks: RankSVM on them minimises the propensity-weighted loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import ClickLog, PositionBehaviour, click_lists, simulate_clicks
from localrank.data import RankingDataset, make_queries
from localrank.rankers import RankSVM

CURVE = 1 / np.arange(1, 7)


@pytest.fixture(scope="module")
def dataset():
    return make_queries(20, n_documents=(7, 9), n_features=6, random_state=1)[0]


@pytest.fixture(scope="module")
def log(dataset):
    shown = dataset.features[:, -1]
    return simulate_clicks(
        dataset, shown, PositionBehaviour(), n_sessions=400, depth=6, shuffle=1.5
    )


def pairs_by_loops(dataset, log):
    """The weight of each pair of a clicked row and another row that its query has shown."""
    shown, weights = {}, {}
    for session in range(log.n_sessions):
        query = log.session_queries[session]
        for place, at in enumerate(range(*log.offsets[session : session + 2])):
            row = int(log.document_ids[log.pairs[at]])
            shown.setdefault(query, set()).add(row)
            if log.clicks[at]:
                weights[query, row] = weights.get((query, row), 0) + 1 / CURVE[place]
    return {
        (row, other): weight
        for (query, row), weight in weights.items()
        for other in shown[query] - {row}
    }


def test_every_click_asks_its_document_above_every_other(dataset, log):
    lists = click_lists(log, dataset, CURVE)
    rows = {tuple(values): row for row, values in enumerate(dataset.features)}
    found = {}
    for begin, end in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        members = [rows[tuple(values)] for values in lists.features[begin:end]]
        (one,) = np.flatnonzero(lists.labels[begin:end])
        assert np.ptp(lists.document_weights[begin:end]) == 0
        for place, row in enumerate(members):
            if place != one:
                found[members[one], row] = lists.document_weights[begin]
    expected = pairs_by_loops(dataset, log)
    assert found.keys() == expected.keys()
    assert_allclose([found[pair] for pair in expected], list(expected.values()))


def test_rank_svm_minimises_the_weighted_loss_of_clicks(dataset, log):
    ranker = RankSVM(C=2.0, scaling=None).fit(click_lists(log, dataset, CURVE))
    weighted = pairs_by_loops(dataset, log)
    total = sum(weighted.values())

    def objective(w):
        scores = dataset.features @ w
        losses = [
            weight * max(0, 1 - (scores[i] - scores[j])) ** 2 / 2
            for (i, j), weight in weighted.items()
        ]
        return w @ w / 2 + 2.0 / total * sum(losses)

    best = objective(ranker.coef_)
    assert_allclose(best, ranker.objective_, rtol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(ranker.coef_ + 0.01 * rng.normal(size=6)) > best


def test_rows_are_not_copied(dataset, log):
    table, rows = click_lists(log, dataset, CURVE).table_and_rows()
    assert table is dataset.features
    assert len(rows) > dataset.n_documents


def test_a_log_without_clicks_is_refused():
    log = ClickLog.from_sessions(["q"], [["a"]], [[]])
    rows = RankingDataset.from_arrays([[1]], qid=["q"], document_ids=["a"])
    with pytest.raises(ValueError, match="nothing to learn"):
        click_lists(log, rows)


def test_what_has_no_features_or_sessions_is_left_out():
    log = ClickLog.from_sessions(["p", "p"], [["a", "x", "b"], ["b", "a"]], [[0, 1], []])
    rows = RankingDataset.from_arrays(
        np.arange(4)[:, None], qid=["p", "p", "p", "q"], document_ids=["a", "b", "c", "a"]
    )
    lists = click_lists(log, rows)
    assert_array_equal(lists.document_ids, ["a", "b"])
    assert_array_equal(lists.labels, [1, 0])
