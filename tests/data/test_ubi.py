"""Searches and events of User Behavior Insights, beside a reader that goes event by event."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrank.data import read, read_ubi


def search(query_id="1", user_query="tea", hits=("a", "b", "c"), **more):
    return {
        "query_id": query_id,
        "user_query": user_query,
        "client_id": "somebody",
        "query_response_hit_ids": list(hits),
        **more,
    }


def event(query_id="1", object_id="b", action="click", **more):
    return {
        "query_id": query_id,
        "action_name": action,
        "client_id": "somebody",
        "event_attributes": {
            "object": {"object_id": object_id, "object_id_field": "sku"},
            "position": {"ordinal": 99},
        },
        **more,
    }


@pytest.fixture
def written(tmp_path):
    def write(*records, name="ubi.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


def sessions_of(log):
    ids = log.document_ids[log.pairs].tolist()
    return [
        (
            log.query_ids[log.session_queries[session]].item(),
            ids[log.offsets[session] : log.offsets[session + 1]],
            np.flatnonzero(log.clicks[log.offsets[session] : log.offsets[session + 1]]).tolist(),
        )
        for session in range(log.n_sessions)
    ]


def test_a_click_is_where_its_document_was_among_the_hits(written):
    path = written(
        event(object_id="c"),
        search(),
        search("2", "mate", ("b", "c")),
        event("2", "b"),
        event("1", "a"),
        event("1", "a"),
        event("2", "c", action="hover"),
    )
    expected = [("tea", ["a", "b", "c"], [0, 2]), ("mate", ["b", "c"], [0])]
    assert sessions_of(read_ubi(path)) == expected
    log = read_ubi(path, actions=["click", "hover"])
    assert sessions_of(log) == [expected[0], ("mate", ["b", "c"], [0, 1])]


def test_searches_and_events_may_be_in_files_of_their_own(written):
    queries = written(search(), search("2", "mate"), name="queries.ndjson")
    events = written(event("2"), event(object_id="c"), name="events.ndjson")
    for paths in ([queries, events], [events, queries]):
        assert sessions_of(read(paths)) == [
            ("tea", ["a", "b", "c"], [2]),
            ("mate", ["a", "b", "c"], [1]),
        ]


def test_hits_of_a_search_and_bodies_of_bulk_requests_are_unwrapped(written):
    plain = [search(), event()]
    hits = [{"_index": "ubi", "_id": "x", "_source": one} for one in plain]
    bulk = [line for one in plain for line in ({"index": {"_index": "ubi"}}, one)]
    for records in (plain, hits, bulk):
        assert sessions_of(read(written(*records))) == [("tea", ["a", "b", "c"], [1])]


@pytest.mark.parametrize(
    "name",
    ["query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids"],
)
def test_hits_are_known_by_the_names_of_all_versions(written, name):
    record = {"query_id": "1", "user_query": "tea", name: ["a", "b"]}
    assert sessions_of(read(written(record, event()))) == [("tea", ["a", "b"], [1])]


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("2025-01-23T13:18:22.274+0000", 1737638302.274),
        ("2018-11-13T20:20:39+00:00", 1542140439),
        (1737638302274, 1737638302.274),
        (1737638302, 1737638302),
    ],
)
def test_timestamps_of_all_kinds_are_seconds(written, timestamp, seconds):
    log = read_ubi(written(search(timestamp=timestamp), event()))
    assert log.times.tolist() == [seconds]


def test_searches_without_hits_and_clicks_without_a_search_are_counted(written):
    path = written(
        search(),
        search("2", hits=()),
        {"query_id": "3", "user_query": "tea", "query_response_hit_ids": None},
        event(),
        event("2"),
        event("9"),
        event(None),
        {"query_id": "1", "action_name": "click", "event_attributes": {}},
        {"query_id": "1", "action_name": "click"},
    )
    said: list[str] = []
    log = read(path, format="ubi", say=said.append)
    assert sessions_of(log) == [("tea", ["a", "b", "c"], [1])]
    assert log.left_out == {
        "clicks of searches that are not in the log": 2,
        "clicks on no document": 2,
        "sessions without a document": 2,
    }
    assert said[0] == f"{path}: 2 clicks of searches that are not in the log are left out"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [search(), event(), event(object_id="z")],
            ":1: the click on 'z' (PATH:3) is on none of its hits.",
        ),
        ([search(hits="aba"), event()], ":1: the document a is shown twice"),
        ([search(), search(), event()], ":2: the query_id '1' is that of an earlier search, too"),
        ([search(), search("2", None), event()], ":2: the query must be a string"),
        ([search(), search(None), event()], ":2: the query_id of a search must be a string"),
        ([search(), search("2", hits=[1.5]), event()], ":2: 'documents' must be a list of ids"),
        ([search(), event(), event(object_id=[])], ":3: the object_id must be a string"),
        ([search(), event(), event([])], ":3: the query_id of an event must be a string"),
        ([search(), event(), event(action=[])], ":3: the action_name must be a string"),
        ([search(), event(), {"query_id": "7", "x": 1}], ":3: the line is neither a search, with"),
        ([search(), event(), search("2", timestamp=5)], ":3: the line has a 'time', and the first"),
    ],
)
def test_damage_is_refused_or_counted(written, records, message):
    path = written(*records)
    with pytest.raises(ValueError, match=r"ubi.jsonl:\d") as caught:
        read_ubi(path)
    assert str(caught.value).startswith(f"{path}{message}".replace("PATH", str(path)))
    assert "\n" not in str(caught.value)


def test_damaged_sessions_are_left_out_and_counted(written):
    path = written(
        search(), event(), search("2"), event("2", "z"), search("3", hits="aa"), search("1"), 7
    )
    log = read_ubi(path, bad="drop")
    assert sessions_of(log) == [("tea", ["a", "b", "c"], [1])]
    assert log.left_out == {
        "lines that cannot be read": 2,
        "sessions with a click on something that was not shown": 1,
        "sessions with a document twice": 1,
    }


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([search()], "has searches and no events. Give the events of ubi_events, too"),
        ([event()], "has no sessions"),
        ([search(), event(action="view")], "no event of the action 'click' on a document. Its"),
        ([search(), event(action="view")], "Its actions are 'view' (1). Name those"),
        ([search(), event("9")], ":2: none of the 1 clicks has the query_id of a search"),
        (
            [search(), event(object_id="x"), event(object_id="y")],
            ":1: the click on 'x' (PATH:2) is on none of its hits, and so are all 2 clicks",
        ),
    ],
)
@pytest.mark.parametrize("bad", ["refuse", "drop"])
def test_records_that_do_not_belong_together_are_refused(written, records, message, bad):
    path = written(*records)
    with pytest.raises(ValueError, match=r"ubi\.jsonl") as caught:
        read_ubi(path, bad=bad)
    assert message.replace("PATH", str(path)) in str(caught.value)


def test_one_name_as_text_is_no_sequence_of_actions(written):
    with pytest.raises(ValueError, match="must be a sequence of names. Got the string 'click'"):
        read_ubi(written(search(), event()), actions="click")


SEARCHES = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 4), max_size=4)), min_size=1, max_size=5
)
EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)


@settings(max_examples=200, deadline=None)
@given(searches=SEARCHES, events=EVENTS, random=st.randoms())
def test_a_file_says_what_its_records_say_one_by_one(searches, events, random, tmp_path_factory):
    records = [search(number, query, hits) for number, (query, hits) in enumerate(searches)]
    clicks = [event(*one) for one in events]
    # Events may stand anywhere; searches keep their order.
    for one in clicks:
        records.insert(random.randint(0, len(records)), one)
    path = tmp_path_factory.getbasetemp() / "made-up.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    expected, matched = [], 0
    for number, (query, hits) in enumerate(searches):
        wanted = [document for known, document in events if known == number]
        matched += sum(document in hits or not hits for document in wanted)
        if hits and len(set(hits)) == len(hits) and set(wanted) <= set(hits):
            expected.append((query, hits, sorted({hits.index(one) for one in wanted})))
    if not matched or not expected:
        with pytest.raises(ValueError, match=r"made-up\.jsonl"):
            read_ubi(path, bad="drop")
    else:
        assert sessions_of(read_ubi(path, bad="drop")) == expected
