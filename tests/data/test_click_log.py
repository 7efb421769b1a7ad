"""Sessions as arrays, beside lists of dictionaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.clicks import ClickLog

QUERIES, DOCUMENTS, CLICKS = ["a", "b", "a"], [["x", "y"], ["x"], ["z", "x"]], [[1], [], [0, 1]]

SESSIONS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.lists(st.integers(0, 5), unique=True, max_size=4).flatmap(
            lambda shown: st.tuples(
                st.just(shown),
                st.lists(st.integers(0, max(len(shown) - 1, 0)), max_size=3)
                if shown
                else st.just([]),
            )
        ),
    ),
    min_size=1,
).filter(lambda sessions: any(shown for _, (shown, _) in sessions))


def log_of(sessions, **more):
    return ClickLog.from_sessions(
        [query for query, _ in sessions],
        [shown for _, (shown, _) in sessions],
        [clicked for _, (_, clicked) in sessions],
        **more,
    )


def sessions_of(log):
    """What the log says, session by session: the query, the documents, the clicked positions."""
    ids = log.document_ids[log.pairs].tolist()
    return [
        (
            log.query_ids[query].item(),
            (ids[begin:end], np.flatnonzero(log.clicks[begin:end]).tolist()),
        )
        for query, begin, end in zip(
            log.session_queries, log.offsets[:-1], log.offsets[1:], strict=True
        )
    ]


def plain(sessions):
    return [(query, (shown, sorted(set(clicked)))) for query, (shown, clicked) in sessions if shown]


@given(sessions=SESSIONS)
def test_a_log_says_what_the_sessions_were(sessions):
    log = log_of(sessions)
    assert sessions_of(log) == plain(sessions)
    assert log.n_empty == sum(not shown for _, (shown, _) in sessions)


@given(sessions=SESSIONS)
def test_texts_make_the_same_log_as_numbers(sessions):
    texts = [(str(query), ([str(one) for one in shown], c)) for query, (shown, c) in sessions]
    numbers, log = log_of(sessions), log_of(texts)
    for name in ("offsets", "pairs", "clicks", "session_queries", "pair_offsets"):
        assert_array_equal(getattr(log, name), getattr(numbers, name))
    assert_array_equal(log.document_ids, numbers.document_ids.astype(str))


@given(sessions=SESSIONS)
def test_a_pair_is_a_document_of_one_query(sessions):
    log = log_of(sessions)
    shown = {(query, one) for query, (documents, _) in plain(sessions) for one in documents}
    queries = log.query_ids[log.pair_queries].tolist()
    pairs = list(zip(queries, log.document_ids.tolist(), strict=True))
    assert sorted(pairs) == sorted(shown)
    assert_array_equal(log.pair_queries[log.pairs], log.session_queries[log.session_index])


@given(sessions=SESSIONS, random=st.randoms())
def test_the_pairs_of_a_query_do_not_depend_on_the_order_of_sessions(sessions, random):
    log = log_of(sessions)
    shuffled = list(sessions)
    random.shuffle(shuffled)
    other = log_of(shuffled)
    for query, number in zip(log.query_ids, range(log.n_queries), strict=True):
        there = other.query_ids.tolist().index(query)
        assert_array_equal(
            log.document_ids[log.pair_offsets[number] : log.pair_offsets[number + 1]],
            other.document_ids[other.pair_offsets[there] : other.pair_offsets[there + 1]],
        )


@given(sessions=SESSIONS, data=st.data())
def test_a_log_in_pieces_is_the_log(sessions, data):
    cut = data.draw(st.integers(0, len(sessions)))
    parts = [part for part in (sessions[:cut], sessions[cut:]) if plain(part)]
    whole, joined = log_of(sessions), ClickLog.joined([log_of(part) for part in parts])
    assert sessions_of(joined) == sessions_of(whole)
    for name in ("offsets", "pairs", "clicks", "session_queries", "pair_offsets", "document_ids"):
        assert_array_equal(getattr(joined, name), getattr(whole, name))


def test_joined_logs_keep_what_is_known_of_sessions():
    one = ClickLog.from_sessions(
        ["a", "b"], [["x"], []], [[], []], times=[5, 6], rankers=["old", "old"], groups=["m", "d"],
        propensities=[[0.5], []],
    )  # fmt: skip
    other = ClickLog.from_sessions(
        ["c"], [["x"]], [[0]], times=[1], rankers=["new"], groups=["m"], propensities=[[1]]
    )
    log = ClickLog.joined([one, other])
    assert log.times.tolist() == [5, 1]
    assert [log.ranker_names[number] for number in log.rankers] == ["old", "new"]
    assert [log.group_names[number] for number in log.groups] == ["m", "m"]
    assert log.propensities.tolist() == [0.5, 1]
    assert log.left_out == {"sessions without a document": 1}


@pytest.mark.parametrize(
    "more", [{"times": [1]}, {"rankers": ["r"]}, {"groups": ["g"]}, {"propensities": [[1]]}]
)
def test_logs_of_which_some_have_more_are_not_joined(more):
    one = ClickLog.from_sessions(["a"], [["x"]], [[]])
    (name,) = more
    with pytest.raises(ValueError, match=f"Some of the logs have {name}, and some have not"):
        ClickLog.joined([one, ClickLog.from_sessions(["a"], [["x"]], [[]], **more)])


def test_logs_without_logs_are_refused():
    with pytest.raises(ValueError, match="nothing to join"):
        ClickLog.joined([])


def test_ids_of_numbers_and_of_texts_meet_as_texts():
    logs = [ClickLog.from_sessions([query], [[7]], [[]]) for query in (1, "1")]
    assert ClickLog.joined(logs).query_ids.tolist() == ["1"]


def test_a_damaged_session_is_refused_by_its_number():
    with pytest.raises(ValueError, match=r"^Session 1: a click is on position 1, but 1 documents"):
        ClickLog.from_sessions(QUERIES, DOCUMENTS, [[], [1], []])
    with pytest.raises(ValueError, match=r"^Session 2: a click is on position -1"):
        ClickLog.from_sessions(QUERIES, DOCUMENTS, [[], [], [1, -1]])
    with pytest.raises(ValueError, match=r"^Session 2: the document z is shown twice"):
        ClickLog.from_sessions(QUERIES, [["x"], [], ["z", "y", "z", "y"]], [[], [], []])
    with pytest.raises(ValueError, match=r"^Session 0: it shows 2 documents and has 1 prop"):
        ClickLog.from_sessions(QUERIES, DOCUMENTS, CLICKS, propensities=[[1], [1], [1, 1]])
    for wrong in (0, -0.5, 1.5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"^Session 2: a propensity .* Got {wrong}"):
            ClickLog.from_sessions(
                QUERIES, DOCUMENTS, CLICKS, propensities=[[1, 1], [1], [1, wrong]]
            )


def test_damaged_sessions_are_left_out_and_counted():
    log = ClickLog.from_sessions(
        list("abcdefg"),
        [["x", "y"], ["x", "x"], [], ["z"], ["z"], ["z"], ["y", "x"]],
        [[2], [0], [], [-1], [], [0], [1]],
        times=range(7),
        rankers=list("ABCDEFG"),
        propensities=[[1, 1], [1, 1], [], [1], [2], [0.5], [0.25, 0.75]],
        bad="drop",
    )
    assert sessions_of(log) == [("f", (["z"], [0])), ("g", (["y", "x"], [1]))]
    assert log.left_out == {
        "sessions with a click on something that was not shown": 2,
        "sessions with wrong propensities": 1,
        "sessions without a document": 1,
        "sessions with a document twice": 1,
    }
    assert log.times.tolist() == [5, 6]
    assert [log.ranker_names[number] for number in log.rankers] == ["F", "G"]
    assert log.propensities.tolist() == [0.5, 0.25, 0.75]
    assert repr(log).splitlines()[1:] == [
        "  2 sessions with a click on something that was not shown are left out",
        "  1 session with wrong propensities is left out",
        "  1 session without a document is left out",
        "  1 session with a document twice is left out",
    ]


def test_propensities_after_a_session_with_too_many_or_too_few_are_those_of_their_sessions():
    log = ClickLog.from_sessions(
        [1, 1, 1, 1],
        [["x"], ["y"], ["x", "y"], ["z", "w"]],
        [[]] * 4,
        propensities=[[0.1, 0.2], [0.3], [0.9], [0.4, 0.5]],
        bad="drop",
    )
    assert log.propensities.tolist() == [0.3, 0.4, 0.5]
    assert log.left_out == {"sessions with wrong propensities": 2}


def test_what_is_left_of_a_damaged_log_is_the_log_without_its_damaged_sessions():
    rng = np.random.default_rng(0)
    shown = [rng.integers(0, 6, rng.integers(0, 4)).tolist() for _ in range(300)]
    clicks = [rng.integers(0, 4, rng.integers(0, 2)).tolist() for _ in range(300)]
    queries = rng.integers(0, 5, 300).tolist()
    good = [
        i
        for i in range(300)
        if shown[i]
        and len(set(shown[i])) == len(shown[i])
        and max(clicks[i], default=-1) < len(shown[i])
    ]
    log = ClickLog.from_sessions(queries, shown, clicks, bad="drop")
    clean = ClickLog.from_sessions(*([one[i] for i in good] for one in (queries, shown, clicks)))
    assert sessions_of(log) == sessions_of(clean)
    assert sum(log.left_out.values()) == 300 - len(good)


def test_a_log_of_which_nothing_is_left_is_refused():
    with pytest.raises(ValueError, match="no session is left: 2 sessions with a document"):
        ClickLog.from_sessions([1, 1], [[1, 1], [2, 2]], [[], []], bad="drop")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"documents": []}, "needs a session with a document"),
        ({"documents": [[], [], []]}, "needs a session with a document"),
        ({"queries": ["a"]}, "'queries' must have one entry per session: 3"),
        ({"clicks": [[]]}, "'clicks' must have one entry per session: 3"),
        ({"times": [1]}, "'times' must have one entry per session: 3"),
        ({"times": [1, np.nan, 2]}, "'times' must be finite. Entry 1 is nan"),
        ({"groups": ["a", None, "b"]}, "'groups' must not be missing. Entry 1 is None"),
        ({"queries": ["a", "", "b"]}, "queries must not be missing"),
        ({"documents": [["x"], [None], ["x"]]}, "documents must not be missing"),
        ({"clicks": [[0.5], [], []]}, "whole numbers from 0. Got 0.5"),
        ({"clicks": [["x"], [], []]}, "whole numbers from 0. Got 'x'"),
        ({"clicks": [[True], [], []]}, "whole numbers from 0. Got True"),
        ({"clicks": [[0], [], [1, True]]}, "whole numbers from 0. Got True"),
        ({"clicks": [[0], [], [2**64]]}, "No list has a position 18446744073709551616"),
        ({"clicks": [0, 1, 2]}, "'clicks' must have a list for each session. Entry 0 is 0"),
        ({"clicks": [[0], "1", []]}, "whole numbers from 0. Got '1'"),
        ({"documents": [["x"], 7, ["y"]]}, "'documents' must have a list .* Entry 1 is 7"),
        ({"documents": [["x"], {"x"}, ["y"]]}, "'documents' must have a list .* Entry 1 is {'x'}"),
        ({"propensities": [1.0, 1.0, 1.0]}, "'propensities' must have a list for each session"),
        ({"bad": "ignore"}, "must be 'refuse' or 'drop'. Got 'ignore' instead"),
    ],
)
def test_bad_input_is_refused(changed, message):
    given_ = {"queries": QUERIES, "documents": DOCUMENTS, "clicks": CLICKS} | changed
    with pytest.raises(ValueError, match=message):
        ClickLog.from_sessions(**given_)


def test_flags_in_place_of_positions_are_refused():
    """Read as positions, each 0 would be a click on the first document."""
    shown, flags = [["x", "y", "z"]] * 10, [[0, 1, 0]] * 9 + [[0, 0, 0]]
    with pytest.raises(ValueError, match="These are flags, and clicks must be positions from 0"):
        ClickLog.from_sessions(["q"] * 10, shown, flags, bad="drop")
    # A session that clicks one document less may be clicks in their order.
    log = ClickLog.from_sessions(["q"] * 10, shown, [*flags[:9], [0, 1]])
    assert log.n_clicks == 20


def test_clicks_may_be_any_numbers_of_positions():
    for clicks in ([{1}, (), [0]], [np.array([1]), [], range(1)], [[np.int32(1)], [], [0]]):
        log = ClickLog.from_sessions(QUERIES, [["x", "y"]] * 3, clicks)
        assert log.clicks.tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": np.array([0, 1])}, "'offsets' must rise from 0"),
        ({"offsets": np.array([0, 1, 2])}, "'offsets' must rise from 0"),
        ({"offsets": np.array([0, 4, 3])}, "'offsets' must rise from 0"),
        ({"clicks": np.array([True])}, "'clicks' must have one entry per impression: 3"),
        ({"clicks": np.array([0, 2, 1])}, "'clicks' must be flags"),
        ({"times": np.array([1.0])}, "'times' must have one entry per session: 2"),
        ({"propensities": np.array([1.0])}, "'propensities' must have one entry per impression"),
    ],
)
def test_arrays_of_wrong_shape_are_refused(changed, message):
    given_ = {
        "queries": np.array([1, 2]),
        "offsets": np.array([0, 1, 3]),
        "documents": np.array([1, 1, 2]),
        "clicks": np.array([0, 1, 0]),
    }
    assert ClickLog.from_impressions(**given_).clicks.tolist() == [False, True, False]
    with pytest.raises(ValueError, match=message):
        ClickLog.from_impressions(**given_ | changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"queries": np.array([0, 2])}, "'queries' must be places among 2 ids, from 0. Got 2"),
        ({"queries": np.array([0, -1])}, "'queries' must be places among 2 ids, from 0. Got -1"),
        ({"documents": np.array([0, 1, 2])}, "'documents' must be places among 2 ids"),
        ({"documents": np.array([0, 1, -1])}, "'documents' must be places among 2 ids"),
        ({"query_ids": np.array(["a", "a"])}, "ids of 'queries' must differ. a occurs twice"),
        ({"document_ids": np.array([7, 7])}, "ids of 'documents' must differ. 7 occurs twice"),
    ],
)
def test_numbers_that_are_no_places_of_ids_are_refused(changed, message):
    given_ = {
        "query_ids": np.array(["a", "b"]),
        "queries": np.array([1, 0]),
        "offsets": np.array([0, 2, 3]),
        "document_ids": np.array([8, 7]),
        "documents": np.array([0, 1, 0]),
        "clicks": np.array([True, False, False]),
    }
    log = ClickLog.from_numbers(**given_)
    assert sessions_of(log) == [("b", ([8, 7], [0])), ("a", ([8], []))]
    with pytest.raises(ValueError, match=message):
        ClickLog.from_numbers(**given_ | changed)


def test_two_parts_have_all_sessions_once():
    log = ClickLog.from_sessions(range(100), [["x"]] * 100, [[]] * 100)
    one, other = log.split(0.7, random_state=3)
    assert (one.n_sessions, other.n_sessions) == (70, 30)
    assert_array_equal(np.sort(np.append(one.session_queries, other.session_queries)), range(100))
    assert one.n_queries == other.n_queries == 100
    assert_array_equal(log.split(0.7, random_state=3)[1].session_queries, other.session_queries)
    assert (
        log.split(0.7, random_state=4)[1].session_queries.tolist() != other.session_queries.tolist()
    )


def test_parts_by_time_are_earlier_and_later():
    times = np.random.default_rng(0).permutation(50)
    log = ClickLog.from_sessions(range(50), [["x"]] * 50, [[]] * 50, times=times)
    early, late = log.split(0.4, by_time=True)
    assert early.n_sessions == 20
    assert early.times.max() < late.times.min()


@pytest.mark.parametrize("share", [0, 1, -0.5, 0.01, np.nan])
def test_a_part_without_sessions_is_refused(share):
    log = ClickLog.from_sessions([1, 2, 3], [["x"]] * 3, [[]] * 3)
    with pytest.raises(ValueError, match="must leave sessions in both parts"):
        log.split(share)


def test_a_log_without_times_is_not_split_by_time():
    log = ClickLog.from_sessions([1, 2, 3], [["x"]] * 3, [[]] * 3)
    with pytest.raises(ValueError, match="The log has no times"):
        log.split(by_time=True)


def test_what_was_left_out_of_several_logs_is_added_up():
    logs = [
        ClickLog.from_sessions(["q"] * (1 + n), [["a"], *[[]] * n], [[0], *[[]] * n])
        for n in (2, 0, 3)
    ]
    assert ClickLog.joined(logs).left_out == {"sessions without a document": 5}
