"""JSON lines of sessions, beside a reader that goes line by line."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_click_logs import read_lines
from numpy.testing import assert_array_equal

from localrank.clicks import ClickLog
from localrank.data import read, read_click_log, write_click_log

LINE = {"query": "tea", "documents": ["a", "b"], "clicks": [1]}

IDS = st.sampled_from(["a", "b", "7", 7, "é", "x y"]) | st.integers(0, 3)
ODD = st.sampled_from([None, True, 1.0, "", "\ud800", "\0", [], {}, -1, 2**70, float("nan"), "NaN"])


def sessions(ids, odd):
    """Lines of sessions, of which some members are odd."""
    many = st.lists(ids, max_size=4)
    members = {
        "query": ids,
        "documents": many | odd,
        "clicks": st.lists(st.integers(-1, 4) | odd, max_size=3) | odd,
    }
    more = {
        "time": st.integers(-5, 5) | st.just("2026-03-01T12:00:00Z") | odd,
        "ranker": ids,
        "group": ids,
        "propensities": st.lists(st.floats(0, 1.5) | odd, max_size=4) | odd,
        "user": st.just("somebody"),
    }
    return st.fixed_dictionaries(members, optional=more)


TEXTS = st.lists(
    sessions(IDS, st.nothing()).map(json.dumps)
    | sessions(IDS | ODD, ODD).map(json.dumps)
    | st.sampled_from(["", " ", "{", "[]", "7", '"x"', "{}", '{"query": 1}', "nul", "[" * 200]),
    max_size=6,
).map("\n".join)


def plain(log):
    """The sessions of a log, as the naive reader has them; ids are texts."""
    result = []
    for session in range(log.n_sessions):
        rows = slice(log.offsets[session], log.offsets[session + 1])
        weights = None if log.propensities is None else log.propensities[rows].tolist()
        result.append(
            {
                "query": str(log.query_ids[log.session_queries[session]]),
                "documents": [str(one) for one in log.document_ids[log.pairs[rows]]],
                "clicks": np.flatnonzero(log.clicks[rows]).tolist(),
                "time": None if log.times is None else log.times[session],
                "ranker": None if log.rankers is None else log.ranker_names[log.rankers[session]],
                "group": None if log.groups is None else log.group_names[log.groups[session]],
                "propensities": weights,
            }
        )
    return result


@settings(max_examples=400, deadline=None)
@given(text=TEXTS)
def test_a_file_says_what_its_lines_say_one_by_one(text, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(text.encode())
    expected, counts = read_lines(text)
    if not expected:
        with pytest.raises(ValueError, match=r"lines.jsonl(: no session is left| has no sessions)"):
            read_click_log(path, bad="drop")
        return
    log = read_click_log(path, bad="drop")
    assert plain(log) == expected
    assert log.left_out == counts
    damaged = counts.keys() - {"sessions without a document"}
    if damaged:
        with pytest.raises(ValueError, match=r"lines.jsonl:\d+: "):
            read_click_log(path)
    else:
        assert plain(read_click_log(path)) == expected


@settings(max_examples=200, deadline=None)
@given(
    data=st.binary(max_size=80)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_sessions_or_one_error_that_names_the_file(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "bytes.jsonl"
    line = json.dumps(LINE).encode()
    path.write_bytes(line + b"\n" + data + b"\n" + line)
    error = None
    try:
        assert read_click_log(path).n_sessions >= 2
    except ValueError as caught:
        error = str(caught)
    assert error is None or (error.startswith(f"{path}:") and "\n" not in error)
    assert read_click_log(path, bad="drop").n_sessions >= 2


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("query", None, "the query must be a string or a whole number, not empty. Got None"),
        ("query", True, "the query must be a string or a whole number, not empty. Got True"),
        ("query", "", "the query must be a string or a whole number, not empty. Got ''"),
        ("documents", "ab", "'documents' must be a list of ids"),
        ("documents", ["a", 1.5], "'documents' must be a list of ids"),
        ("documents", ["a", ""], "a document must be a string or a whole number, not empty"),
        ("documents", ["a", "a"], "the document a is shown twice"),
        ("documents", ["a"], "a click is on position 1, but 1 documents are shown"),
        ("clicks", {}, "'clicks' must be a list of positions"),
        ("clicks", [True], "'clicks' must be a list of positions"),
        ("clicks", [2**63], "no list has a position 9223372036854775808"),
        ("clicks", [2], "a click is on position 2, but 2 documents are shown"),
        ("clicks", [-1], "a click is on position -1, but 2 documents are shown"),
        ("time", 1, "the line has a 'time', and the first line has none"),
        ("propensities", [1, 1], "the line has a 'propensities', and the first line has none"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, member, value, message):
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(LINE)}\n\n{json.dumps(LINE | {member: value})}\n")
    with pytest.raises(ValueError, match="log.jsonl:3: ") as caught:
        read_click_log(path)
    assert message in str(caught.value)
    assert read_click_log(path, bad="drop").n_sessions == 1


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"time": "yesterday"}, "the time must be a number of seconds since 1970, or a text such"),
        ({"time": True}, "the time must be a number"),
        ({"time": float("inf")}, "the time must be a number"),
        ({"ranker": []}, "the ranker must be a string"),
        ({"ranker": True}, "the ranker must be a string"),
        ({"group": 0.5}, "the group must be a string"),
        ({"propensities": [1]}, "it shows 2 documents and has 1 propensities"),
        ({"propensities": [1, 0]}, "a propensity must be above 0, and at most 1. Got 0.0"),
        ({"propensities": [1, float("nan")]}, "a propensity must be above 0, and at most 1"),
        ({"propensities": [1, 10**400]}, "a propensity must be above 0, and at most 1"),
        ({"propensities": [1, None]}, "'propensities' must be a list of numbers"),
        ({"propensities": 1}, "'propensities' must be a list of numbers"),
    ],
)
def test_a_fault_of_an_optional_member_is_named(tmp_path, members, message):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(LINE | members))
    with pytest.raises(ValueError, match="log.jsonl:1: ") as caught:
        read_click_log(path)
    assert message in str(caught.value)


def test_a_line_that_lacks_a_member_is_named(tmp_path):
    path = tmp_path / "log.jsonl"
    for name in LINE:
        path.write_text(json.dumps({key: value for key, value in LINE.items() if key != name}))
        with pytest.raises(ValueError, match=f"log.jsonl:1: a session has .* has no '{name}'; it"):
            read_click_log(path)
    path.write_text(json.dumps(LINE | {"time": 1}) + "\n" + json.dumps(LINE))
    with pytest.raises(ValueError, match="log.jsonl:2: the line has no 'time', and the first line"):
        read_click_log(path)


def test_the_second_file_is_named(tmp_path):
    good, bad = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    good.write_text(f"{json.dumps(LINE)}\n" * 5)
    bad.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE | {"clicks": [5]}))
    with pytest.raises(ValueError, match=r"b\.jsonl:2: a click"):
        read_click_log([good, bad])
    log = read_click_log([good, bad], bad="drop")
    assert log.n_sessions == 6
    assert log.n_queries == 1


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_a_log_is_read_as_it_was_written(tmp_path, suffix):
    log = ClickLog.from_sessions(
        ["tea", 'with "quotes"', "é\n"],
        [[3, 1], [2], [1, 2, 3]],
        [[1], [], [0, 2]],
        times=[0.1, 1e9 + 1 / 3, -5],
        rankers=["old", "new", "old"],
        groups=["phone", "phone", "desk"],
        propensities=[[1 / 3, 1], [0.1], [1, 1e-9, 0.5]],
    )
    path = tmp_path / f"log.jsonl{suffix}"
    write_click_log(log, path)
    back = read(path)
    assert isinstance(back, ClickLog)
    for name, value in vars(log).items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(back, name), value)
            assert getattr(back, name).dtype.kind == value.dtype.kind
        elif name in ("ranker_names", "group_names"):
            assert getattr(back, name) == value


def test_a_log_that_is_not_written_whole_does_not_replace_another(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    path.write_text("before")
    monkeypatch.setattr("localrank.data.click_lines._lines", lambda log: iter(["{", 7]))
    with pytest.raises(AttributeError):
        write_click_log(ClickLog.from_sessions([1], [[1]], [[0]]), path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["log.jsonl"]


def test_arguments_in_another_order_are_refused(tmp_path):
    log = ClickLog.from_sessions([1], [[1]], [[0]])
    with pytest.raises(TypeError, match=r"write_click_log\(log, path\)"):
        write_click_log(tmp_path / "log.jsonl", log)


def test_a_truncated_compressed_file_is_refused_also_if_damage_is_left_out(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(LINE)}\n".encode() * 999)[:-20])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_click_log(
            path,
            bad="drop",
        )


def test_a_last_line_that_was_cut_is_left_out_where_asked(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE)[:20])
    with pytest.raises(ValueError, match="log.jsonl:2: the line is not JSON"):
        read_click_log(path)
    log = read_click_log(path, bad="drop")
    assert (log.n_sessions, log.left_out) == (1, {"lines that cannot be read": 1})


def test_a_log_is_recognised_behind_damaged_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"query"\n7\n' + json.dumps(LINE))
    log = read(path, bad="drop")
    assert isinstance(log, ClickLog)
    assert log.left_out == {"lines that cannot be read": 2}


def test_clicks_that_are_added_up_are_no_sessions(tmp_path):
    path = tmp_path / "clicks.jsonl"
    path.write_text('{"query": "tea", "document": "a", "clicks": 3}\n')
    with pytest.raises(ValueError, match="is a feature log"):
        read(path)


def test_a_log_of_damaged_lines_alone_is_refused_with_their_number(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("{\n{\n")
    with pytest.raises(ValueError, match="no sessions: 2 lines that cannot be read are left out"):
        read_click_log(path, bad="drop")


def test_a_number_and_the_text_of_it_are_one_id(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"query": 1, "documents": [7, "x"], "clicks": []}\n'
        '{"query": "1", "documents": ["x", "7"], "clicks": []}\n'
    )
    log = read_click_log(path)
    assert (log.n_queries, log.n_pairs) == (1, 2)
    path.write_text('{"query": 1, "documents": [7, "7"], "clicks": []}\n')
    with pytest.raises(ValueError, match="the document 7 is shown twice"):
        read_click_log(path)


def test_lines_of_grades_without_documents_are_refused_in_words(benchmark_data):
    path = benchmark_data / "clicks" / "graded-sessions.jsonl.gz"
    if not path.exists():
        pytest.skip("no logs of clicks here")
    with pytest.raises(ValueError, match="jsonl.gz:1: a session has .* no 'documents'; it has"):
        read(path)


def test_a_real_log_says_what_its_lines_say(benchmark_data):
    path = benchmark_data / "clicks" / "swapped-sessions.jsonl.gz"
    if not path.exists():
        pytest.skip("no logs of clicks here")
    log = read(path, format="click-log")
    with gzip.open(path, "rt") as file:
        sessions, counts = read_lines(file.read())
    assert counts == {} == log.left_out
    assert log.n_sessions == len(sessions) == 35_064
    assert plain(log.select(np.arange(300))) == sessions[:300]
    clicked = [len(one["clicks"]) for one in sessions]
    assert_array_equal(np.add.reduceat(log.clicks, log.offsets[:-1], dtype=int), clicked)


def test_lines_with_other_names_are_told_those_of_a_log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"q": "tea", "docs": ["a"], "clicked": [0]}\n')
    with pytest.raises(ValueError, match="A line of a log of clicks has query, documents and"):
        read(path, labels="optional")


def test_a_file_of_flags_is_refused_by_its_name(tmp_path):
    path = tmp_path / "flags.jsonl"
    line = {"query": "tea", "documents": ["a", "b", "c"], "clicks": [1, 0, 1]}
    path.write_text(f"{json.dumps(line)}\n" * 10)
    with pytest.raises(ValueError, match="flags.jsonl: each session has as many clicks as doc"):
        read_click_log(path)
