"""Clicks are drawn as the formulas of each behaviour say, on the lists of the rankers."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import (
    CascadeBehaviour,
    DynamicBayesianBehaviour,
    PositionBehaviour,
    TrustBehaviour,
    simulate_clicks,
)
from localrank.data import RankingDataset, make_queries
from localrank.rankers import RankSVM

BEHAVIOURS = [
    PositionBehaviour(eta=0.7, noise=0.2),
    TrustBehaviour(eta=0.5, trust=0.6),
    DynamicBayesianBehaviour(continuation=0.8, satisfaction=0.7, noise=0.1),
    CascadeBehaviour(noise=0.15),
]

BY_NAME = {"a": PositionBehaviour(), "b": CascadeBehaviour()}


@pytest.fixture(scope="module")
def dataset():
    return make_queries(12, n_documents=(3, 9))[0]


@pytest.fixture(scope="module")
def one_list():
    """A query with four documents, whose relevances are 1, 0, 1/3 and 1."""
    return RankingDataset.from_arrays(
        np.zeros((4, 1)), [2, 0, 1, 2], ["q"] * 4, document_ids=["a", "b", "c", "d"]
    )


def probability_of(behaviour, r, clicked):
    """The probability of exactly these clicks on a list, by adding up all that people could do."""
    n = len(r)
    if isinstance(behaviour, PositionBehaviour):
        rates = [
            (k + 1) ** -behaviour.eta * (behaviour.noise + (1 - behaviour.noise) * r[k])
            for k in range(n)
        ]
        return np.prod([p if c else 1 - p for p, c in zip(rates, clicked, strict=True)])
    if isinstance(behaviour, TrustBehaviour):
        rates = []
        for k in range(1, n + 1):
            high, low = 1 - min(k, 20) / 100 + 1 / 100, behaviour.trust / min(k, 10)
            rates.append(k**-behaviour.eta * (high * r[k - 1] + low * (1 - r[k - 1])))
        return np.prod([p if c else 1 - p for p, c in zip(rates, clicked, strict=True)])
    cascade = isinstance(behaviour, CascadeBehaviour)

    def rest(k):
        """The probability of the clicks from place k on, of people who see it."""
        if k == n:
            return 1.0
        a = behaviour.noise + (1 - behaviour.noise) * r[k]
        stops = float(not any(clicked[k + 1 :]))
        on = 1.0 if cascade else behaviour.continuation
        further = on * rest(k + 1) + (1 - on) * stops
        if not clicked[k]:
            return (1 - a) * further
        s = 1.0 if cascade else behaviour.satisfaction * r[k]
        return a * (s * stops + (1 - s) * further)

    return rest(0)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_probabilities_of_clicks_add_up_those_of_all_outcomes(behaviour):
    r = np.array([1.0, 0.0, 1 / 3, 0.8])
    outcomes = list(product([False, True], repeat=4))
    chances = np.array([probability_of(behaviour, r, one) for one in outcomes])
    assert_allclose(chances.sum(), 1)
    expected = [chances[[one[k] for one in outcomes]].sum() for k in range(4)]
    assert_allclose(behaviour.click_probabilities(r[None])[0], expected)


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_sessions_have_each_outcome_as_often_as_it_is_likely(behaviour, one_list):
    n = 200_000
    log = simulate_clicks(one_list, [4, 3, 2, 1], behaviour, n_sessions=n)
    clicked = log.clicks.reshape(n, 4)
    counts = np.bincount(clicked @ [8, 4, 2, 1], minlength=16)
    r = [1.0, 0.0, 1 / 3, 1.0]
    chances = np.array([probability_of(behaviour, r, c) for c in product([0, 1], repeat=4)])
    error = np.sqrt(n * chances * (1 - chances))
    assert (np.abs(counts - n * chances) <= 4.5 * error).all()


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_click_rates_by_position_are_those_of_the_formula(behaviour, dataset):
    scores = np.random.default_rng(1).random(dataset.n_documents)
    n, depth = 100_000, 5
    log = simulate_clicks(dataset, scores, behaviour, n_sessions=n, depth=depth)
    most = dataset.relevance.max()
    relevance = (2**dataset.relevance - 1) / (2**most - 1)
    expected, variance = np.zeros(depth), np.zeros(depth)
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        order = begin + np.argsort(-scores[begin:end])[:depth]
        rates = behaviour.click_probabilities(relevance[order][None])[0]
        expected[: len(rates)] += rates / dataset.n_queries
        variance[: len(rates)] += rates / dataset.n_queries
    rates = np.bincount(log.positions[log.clicks], minlength=depth) / n
    assert (np.abs(rates - expected) < 4.5 * np.sqrt(variance / n)).all()


def test_lists_are_those_of_the_ranker(dataset):
    ranker = RankSVM().fit(dataset)
    log = simulate_clicks(dataset, ranker, PositionBehaviour(), n_sessions=50, depth=4)
    scores = ranker.predict(dataset)
    rows = {str(row): row for row in range(dataset.n_documents)}
    for session in range(log.n_sessions):
        shown = log.pairs[log.offsets[session] : log.offsets[session + 1]]
        number = log.session_queries[session]
        assert_array_equal(log.pair_queries[shown], number)
        query = int(np.flatnonzero(dataset.query_ids == log.query_ids[number])[0])
        of_query = np.arange(dataset.offsets[query], dataset.offsets[query + 1])
        best = of_query[np.argsort(-scores[of_query], kind="stable")][:4]
        assert [rows[name] for name in log.document_ids[shown]] == best.tolist()


def test_ids_and_scores_follow_the_input_whatever_its_order():
    X, y, qid = np.zeros((4, 1)), [0, 1, 0, 1], ["b", "a", "b", "a"]
    dataset = RankingDataset.from_arrays(X, y, qid)
    behaviour = PositionBehaviour(eta=0, noise=0)
    log = simulate_clicks(dataset, [1, 2, 3, 4], behaviour, n_sessions=40)
    for session in range(log.n_sessions):
        shown = log.document_ids[log.pairs[log.offsets[session] : log.offsets[session + 1]]]
        query = log.query_ids[log.session_queries[session]]
        assert shown.tolist() == {"a": ["3", "1"], "b": ["2", "0"]}[query]
    assert set(log.document_ids[log.pairs[log.clicks]]) == {"1", "3"}


def test_shuffled_lists_keep_their_documents_and_move_them_by_about_the_given_positions():
    dataset, _ = make_queries(1, n_documents=(30, 30), n_types=1)
    scores = -np.arange(30.0)
    n = 4000
    log = simulate_clicks(dataset, scores, PositionBehaviour(), n_sessions=n, depth=30, shuffle=2)
    shown = log.document_ids[log.pairs].astype(int).reshape(n, 30)
    assert_array_equal(np.sort(shown, axis=1), np.broadcast_to(np.arange(30), shown.shape))
    moved = (shown - np.arange(30))[:, 10:20]
    # A document moves by its own noise and that of those it meets; both are about 2 positions.
    assert 1.8 < moved.std() < 2.3
    assert abs(moved.mean()) < 0.1


def test_shuffling_shows_documents_from_beyond_the_depth(dataset):
    scores = -np.arange(float(dataset.n_documents))
    plain = simulate_clicks(dataset, scores, PositionBehaviour(), n_sessions=500, depth=3)
    log = simulate_clicks(
        dataset, scores, PositionBehaviour(), n_sessions=500, depth=3, shuffle=1.0
    )
    assert plain.n_pairs == 3 * dataset.n_queries < log.n_pairs
    assert_array_equal(log.session_sizes, 3)


def test_several_rankers_have_about_equal_numbers_of_sessions(dataset):
    scores = np.random.default_rng(0).random(dataset.n_documents)
    log = simulate_clicks(
        dataset,
        {"up": scores, "down": -scores},
        PositionBehaviour(),
        n_sessions=10_000,
        depth=20,
    )
    assert log.ranker_names == ("up", "down")
    assert abs(np.mean(log.rankers) - 0.5) < 0.02
    first = log.document_ids[log.pairs[log.offsets[:-1]]].astype(int)
    last = log.document_ids[log.pairs[log.offsets[1:] - 1]].astype(int)
    assert_array_equal(scores[first] > scores[last], log.rankers == 0)


def test_each_group_clicks_by_its_own_behaviour(dataset):
    names = np.where(np.arange(dataset.n_queries) % 3 == 0, "phone", "desk")
    behaviours = {"desk": PositionBehaviour(eta=0, noise=1), "phone": PositionBehaviour(noise=0)}
    log = simulate_clicks(dataset, dataset.labels, behaviours, n_sessions=300, groups=names)
    of_sessions = np.array(log.group_names)[log.groups]
    asked = log.query_ids[log.session_queries]
    expected = dict(zip(dataset.query_ids.tolist(), names.tolist(), strict=True))
    assert of_sessions.tolist() == [expected[query] for query in asked.tolist()]
    assert log.clicks[(of_sessions == "desk")[log.session_index]].all()
    assert not log.clicks[(of_sessions == "phone")[log.session_index]].all()


def test_groups_are_drawn_whatever_the_query_is_where_none_are_given(dataset):
    behaviours = {"a": PositionBehaviour(), "b": PositionBehaviour(eta=2)}
    log = simulate_clicks(dataset, dataset.labels, behaviours, n_sessions=5000)
    table = np.histogram2d(log.session_queries, log.groups, (dataset.n_queries, 2))[0]
    assert (table > 100).all()


def test_the_seed_decides_the_log(dataset):
    def drawn(seed):
        return simulate_clicks(
            dataset, dataset.labels, PositionBehaviour(), n_sessions=100, random_state=seed
        )

    assert_array_equal(drawn(3).clicks, drawn(3).clicks)
    assert_array_equal(drawn(3).session_queries, drawn(3).session_queries)
    assert not np.array_equal(drawn(3).session_queries, drawn(4).session_queries)


def test_large_labels_do_not_overflow():
    dataset = RankingDataset.from_arrays(np.zeros((2, 1)), [3000, 0], [1, 1])
    behaviour = PositionBehaviour(eta=0, noise=0)
    log = simulate_clicks(dataset, [2, 1], behaviour, n_sessions=10)
    assert_array_equal(log.clicks.reshape(10, 2), [[True, False]] * 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_sessions": 0}, "'n_sessions' argument of simulate_clicks must be a whole number, 1"),
        ({"depth": 2.5}, "'depth' argument of simulate_clicks must be a whole number, 1 or larger"),
        ({"shuffle": -1}, "'shuffle' argument of simulate_clicks must be a finite number, 0"),
        ({"ranker": [1, 2]}, r"Scores need one number per document"),
        ({"ranker": {}}, "has no ranker"),
        ({"behaviour": "pbm"}, "must be a Behaviour, such as PositionBehaviour()"),
        ({"behaviour": {}}, "is empty. One is needed"),
        ({"groups": ["a"]}, "needs a mapping of groups to behaviours"),
        ({"behaviour": BY_NAME, "groups": ["a"]}, "must have one name per query: 12"),
        (
            {"behaviour": BY_NAME, "groups": ["x"] * 12},
            "The group of query 1 is 'x'. 'behaviour' has 'a', 'b'.",
        ),
    ],
)
def test_wrong_arguments_are_named(dataset, changes, message):
    arguments = {
        "ranker": dataset.labels,
        "behaviour": PositionBehaviour(),
        "n_sessions": 5,
        **changes,
    }
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        simulate_clicks(dataset, **arguments)


def test_labels_are_needed():
    dataset = RankingDataset.from_arrays(np.zeros((2, 1)), qid=[1, 1])
    with pytest.raises(ValueError, match="The dataset has none"):
        simulate_clicks(dataset, [1, 2], PositionBehaviour(), n_sessions=5)
    dataset = RankingDataset.from_arrays(np.zeros((2, 1)), [0, 0], [1, 1])
    with pytest.raises(ValueError, match="No document has a label above 0"):
        simulate_clicks(dataset, [1, 2], PositionBehaviour(), n_sessions=5)


def test_behaviours_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match="'noise' parameter of CascadeBehaviour must be a number"):
        CascadeBehaviour(noise=1.5)
    with pytest.raises(ValueError, match="'eta' parameter of PositionBehaviour must be a finite"):
        PositionBehaviour(eta=-1)
