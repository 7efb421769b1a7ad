"""Examination by position: right where the model is, and silent where nothing is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import ClickLog, PositionBehaviour, PositionBias, simulate_clicks
from localrank.data import RankingDataset, make_queries
from localrank.rankers import GBRT

METHODS = ["swaps", "em"]
TRUE = np.arange(1, 6.0) ** -1


@pytest.fixture(scope="module")
def dataset():
    return make_queries(150, n_documents=(8, 15))[0]


@pytest.fixture(scope="module")
def log(dataset):
    """Lists by labels and noise, so that better documents are higher up."""
    scores = dataset.labels + np.random.default_rng(0).normal(size=dataset.n_documents)
    return simulate_clicks(
        dataset, scores, PositionBehaviour(eta=1), n_sessions=60_000, depth=5, shuffle=1
    )


def sessions_of(log):
    """What `from_sessions` needs for the same log."""
    queries = log.query_ids[log.session_queries]
    spans = list(zip(log.offsets[:-1], log.offsets[1:], strict=True))
    documents = [log.document_ids[log.pairs[a:b]] for a, b in spans]
    clicks = [np.flatnonzero(log.clicks[a:b]) for a, b in spans]
    return list(queries), documents, clicks


@pytest.mark.parametrize("method", METHODS)
def test_the_curve_is_found_although_better_documents_are_higher_up(log, method):
    naive = np.bincount(log.positions, log.clicks) / np.bincount(log.positions)
    assert (naive / naive[0] / TRUE)[1:].max() < 0.85
    bias = PositionBias(method).fit(log)
    assert_allclose(bias.examination_, TRUE, rtol=0.05)
    assert bias.examination_[0] == 1
    assert_array_equal(bias.intervals_[0], 1)
    assert (bias.intervals_[1:, 0] < bias.examination_[1:]).all()
    assert (bias.examination_[1:] < bias.intervals_[1:, 1]).all()
    assert bias.notes_ == ()


def test_regression_em_needs_no_swaps(dataset):
    ranking = np.random.default_rng(1).random(dataset.n_documents)
    log = simulate_clicks(dataset, ranking, PositionBehaviour(), n_sessions=60_000, depth=5)
    told = RankingDataset(
        dataset.labels[:, None],
        None,
        dataset.offsets,
        dataset.query_ids,
        document_ids=np.arange(dataset.n_documents).astype(str),
    )
    with pytest.raises(ValueError, match="No position can be compared with the first one"):
        PositionBias("em").fit(log)
    bias = PositionBias("em", ranker=GBRT(60, learning_rate=0.2)).fit(log, told)
    assert_allclose(bias.examination_, TRUE, rtol=0.08)
    assert bias.relevance_.shape == (log.n_pairs,)
    labels = dataset.labels[log.document_ids.astype(int)]
    assert bias.relevance_[labels == 4].mean() > 4 * bias.relevance_[labels == 1].mean()


def test_relevance_by_em_is_the_probability_of_a_click_on_what_is_seen(log, dataset):
    bias = PositionBias("em").fit(log)
    labels = dataset.labels[log.document_ids.astype(int)]
    shown = np.bincount(log.pairs)
    for label in (0, 2, 4):
        rows = (labels == label) & (shown > 200)
        expected = 0.1 + 0.9 * (2**label - 1) / 15
        assert_allclose(bias.relevance_[rows].mean(), expected, rtol=0.12)
    assert bias.relevance_.max() <= 1


@pytest.mark.parametrize("method", METHODS)
def test_order_of_sessions_and_names_do_not_matter(log, method):
    some = log.select(np.arange(3000))
    queries, documents, clicks = sessions_of(some)
    bias = PositionBias(method).fit(ClickLog.from_sessions(queries, documents, clicks))
    order = np.random.default_rng(0).permutation(len(queries))
    other = ClickLog.from_sessions(
        [f"new {queries[i]}" for i in order],
        [[f"d{document}" for document in documents[i][::1]] for i in order],
        [clicks[i] for i in order],
    )
    again = PositionBias(method).fit(other)
    assert_allclose(again.examination_, bias.examination_, rtol=1e-9)
    assert_array_equal(again.n_swapped_, bias.n_swapped_)


def test_a_log_twice_has_the_same_swaps(log):
    some = log.select(np.arange(3000))
    twice = log.select(np.tile(np.arange(3000), 2))
    once, again = PositionBias().fit(some), PositionBias().fit(twice)
    assert_allclose(again.examination_, once.examination_)
    assert_allclose(again.intervals_, once.intervals_)


@pytest.mark.parametrize("method", METHODS)
def test_more_sessions_make_narrower_intervals(log, method):
    def width(n):
        low, high = PositionBias(method).fit(log.select(np.arange(n))).intervals_[1:].T
        return np.log(high / low).mean()

    assert 2.4 < width(3000) / width(48_000) < 6


def test_two_documents_give_the_estimate_by_hand():
    # Document a: 2 of 3 clicks at the first position, 1 of 2 at the second; b: 1 of 2, 0 of 3.
    documents = [["a", "b"]] * 3 + [["b", "a"]] * 2
    clicks = [[0], [0], [], [0, 1], []]
    bias = PositionBias().fit(ClickLog.from_sessions(["q"] * 5, documents, clicks))
    first, second = 2 * 2 / 5 + 1 * 3 / 5, 1 * 3 / 5
    assert_allclose(bias.examination_, [1, second / first])
    assert_array_equal(bias.n_swapped_, [2, 2])


def test_one_query_has_no_interval():
    log = ClickLog.from_sessions(["q"] * 4, [["a", "b"], ["b", "a"]] * 2, [[0], [0, 1], [0], [1]])
    bias = PositionBias().fit(log)
    assert np.isnan(bias.intervals_[1]).all()
    assert np.isfinite(bias.examination_).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_position_that_nobody_swapped_is_unknown_and_named(method):
    lists = [["a", "b", "c"], ["b", "a", "c"]] * 10
    clicks = [[0, 1, 2], [0], [], [1]] * 5
    log = ClickLog.from_sessions(["q", "r"] * 10, [*lists[:10], *lists[::-1][:10]], clicks)
    bias = PositionBias(method).fit(log)
    assert np.isfinite(bias.examination_[:2]).all()
    assert np.isnan(bias.examination_[2])
    assert np.isnan(bias.intervals_[2]).all()
    assert bias.notes_ == ("Position 3 shows no document that was shown elsewhere.",)
    with pytest.raises(ValueError, match="Nothing is known of how much position 3 is seen"):
        bias.examination_of(log)
    pooled = PositionBias(method, n_positions=2).fit(log)
    assert len(pooled.examination_) == 2
    assert_allclose(pooled.examination_of(log)[:3], pooled.examination_[[0, 1, 1]])


def test_a_position_without_clicks_is_unknown_and_named():
    lists = [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]]
    log = ClickLog.from_sessions(["q"] * 6, lists * 2, [[0, 1], [0], [1], [0], [1], [0]])
    assert PositionBias().fit(log).notes_ == ("Position 3 has no click.",)
    lists = [[*one, *"defg"] for one in lists]
    log = ClickLog.from_sessions(["q"] * 6, lists * 2, [[0, 1], [0], [1], [0], [1, 4], [0]])
    assert PositionBias().fit(log).notes_ == (
        "Positions 3 to 4, 6 to 7 have no click.",
        "Position 5 shows no document that was shown elsewhere.",
    )


def test_clicks_at_one_of_two_positions_alone_compare_nothing():
    log = ClickLog.from_sessions(
        ["q"] * 3, [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]], [[0, 2], [1], []]
    )
    notes = PositionBias().fit(log).notes_
    assert notes == ("Position 3 has no clicks to compare with the first position.",)


@pytest.mark.parametrize(
    ("clicks", "message"),
    [
        ([[], []], "The log has no click"),
        ([[1], [1]], "Nothing was clicked at the first position"),
        ([[0], []], "No position can be compared with the first one"),
    ],
)
def test_logs_that_say_nothing_are_refused(clicks, message):
    log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["b", "a"]], clicks)
    if message.startswith("Nothing"):
        with pytest.raises(ValueError, match=message):
            PositionBias("em").fit(
                log,
                RankingDataset.from_arrays([[0.0], [1.0]], qid=["q", "q"], document_ids=["a", "b"]),
            )
    else:
        with pytest.raises(ValueError, match=message):
            PositionBias().fit(log)


@pytest.mark.parametrize("method", METHODS)
def test_lists_of_one_document_have_one_position(method):
    log = ClickLog.from_sessions(["q", "q", "r"], [["a"], ["b"], ["a"]], [[0], [], [0]])
    bias = PositionBias(method).fit(log)
    assert_array_equal(bias.examination_, [1])
    if method == "em":
        assert bias.relevance_[0] > bias.relevance_[1] > 0


def test_more_positions_than_fit_in_memory_are_refused():
    n = 200_000
    log = ClickLog.from_sessions(["q"] * 2, [range(n), range(n)], [[0], [1]])
    with pytest.raises(MemoryError, match="Give a smaller n_positions, so that late positions"):
        PositionBias().fit(log)


def test_a_log_without_sessions_is_refused(log):
    with pytest.raises(ValueError, match="The log has no session"):
        PositionBias().fit(log.select(np.array([], np.int64)))


def test_features_are_for_em(log, dataset):
    with pytest.raises(ValueError, match=r"Features are for PositionBias\(method='em'\)"):
        PositionBias().fit(log, dataset)
    other = RankingDataset.from_arrays([[0.0]], qid=["?"], document_ids=["?"])
    with pytest.raises(ValueError, match="no document in common"):
        PositionBias("em").fit(log, other)


def test_documents_without_features_are_left_out_and_counted(log, dataset):
    some = dataset.select(np.arange(100))
    ids = np.arange(dataset.n_documents).astype(str)[: some.n_documents]
    told = RankingDataset(some.features, None, some.offsets, some.query_ids, document_ids=ids)
    bias = PositionBias("em", ranker=GBRT(20, learning_rate=0.3)).fit(log, told)
    there = np.isin(log.query_ids, some.query_ids)[log.pair_queries]
    assert_array_equal(np.isnan(bias.relevance_), ~there)
    assert bias.notes_ == (f"{(~there).sum():,} documents of the log have no features: left out.",)


def test_parameters_are_checked(log):
    with pytest.raises(ValueError, match="'method' parameter of PositionBias must be 'swaps' or"):
        PositionBias("guess").fit(log)
    with pytest.raises(ValueError, match="'n_positions' parameter of PositionBias"):
        PositionBias(n_positions=0).fit(log)


def test_examination_of_a_log_is_that_of_its_positions(log):
    bias = PositionBias().fit(log)
    assert_allclose(bias.examination_of(log), bias.examination_[log.positions])
    longer = ClickLog.from_sessions(["q"], [range(7)], [[0]])
    with pytest.raises(ValueError, match="lists of up to 7 documents. This PositionBias knows 5"):
        bias.examination_of(longer)


def test_a_later_position_that_is_seen_most_has_1_in_a_log():
    bias = PositionBias()
    bias.examination_, bias.notes_ = np.array([1.0, 1.25, 0.5]), ()
    log = ClickLog.from_sessions(["q"], [["a", "b", "c"]], [[0]])
    assert_allclose(bias.examination_of(log), [0.8, 1, 0.4])


def test_the_seed_decides_the_draws(log):
    some = log.select(np.arange(3000))
    one, same, other = (PositionBias(random_state=seed).fit(some) for seed in (1, 1, 2))
    assert_array_equal(one.draws_, same.draws_)
    assert (one.draws_ != other.draws_).any()
    assert_array_equal(one.examination_, other.examination_)


def test_both_methods_draw_the_same_queries(log):
    some = log.select(np.arange(20_000))
    swaps, em = PositionBias().fit(some).draws_, PositionBias("em").fit(some).draws_
    assert np.corrcoef(np.log(swaps[:, 4]), np.log(em[:, 4]))[0, 1] > 0.8


def test_many_queries_are_resampled_in_sets():
    dataset, _ = make_queries(1500, n_documents=(5, 6))
    scores = np.random.default_rng(0).random(dataset.n_documents)
    log = simulate_clicks(
        dataset, scores, PositionBehaviour(), n_sessions=30_000, depth=5, shuffle=1
    )
    for method in METHODS:
        low, high = PositionBias(method).fit(log).intervals_[1:].T
        assert (low < 1.1 * TRUE[1:]).all()
        assert (high > 0.9 * TRUE[1:]).all()
        assert (np.log(high / low) < 0.4).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(dataset, method):
    scores = dataset.labels + np.random.default_rng(0).normal(size=dataset.n_documents)
    n, inside = 100, np.zeros(5)
    for seed in range(n):
        log = simulate_clicks(
            dataset, scores, PositionBehaviour(), n_sessions=5000, depth=5, shuffle=1,
            random_state=seed,
        )  # fmt: skip
        low, high = PositionBias(method, n_bootstrap=200).fit(log).intervals_.T
        inside += (low <= TRUE) & (high >= TRUE)
    # 95 of 100 are expected; 88 or fewer come by chance once in 250 times.
    assert (inside[1:] >= 89).all()
    assert inside[1:].mean() < 99
