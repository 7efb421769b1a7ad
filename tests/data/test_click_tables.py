"""Tables of impressions, beside a reader that goes session by session."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.clicks import ClickLog
from localrank.data import read, read_click_table

ROWS = {
    "session": ["s", "s", "t", "t", "t"],
    "query": ["tea", "tea", "mate", "mate", "mate"],
    "document": ["b", "a", "c", "a", "b"],
    "position": [2, 1, 3, 1, 2],
    "click": [True, False, False, False, True],
}
AS_SESSIONS = [("tea", ["a", "b"], [1]), ("mate", ["a", "b", "c"], [1])]


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


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_all_libraries_are_the_same_log(library):
    assert sessions_of(read_click_table(library(ROWS))) == AS_SESSIONS


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".tsv", ".arrow"])
def test_files_of_all_kinds_are_the_same_log(tmp_path, suffix):
    path, frame = tmp_path / f"log{suffix}", pd.DataFrame(ROWS)
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".arrow":
        frame.to_feather(path)
    else:
        frame.to_csv(path, sep="\t" if suffix == ".tsv" else ",", index=False)
    log = read(path)
    assert isinstance(log, ClickLog)
    assert sessions_of(log) == AS_SESSIONS


def test_columns_may_have_other_names(tmp_path):
    names = {name: f"my {name}" for name in ROWS}
    frame = pd.DataFrame(ROWS).rename(columns=names).assign(user="somebody")
    assert sessions_of(read_click_table(frame, **names)) == AS_SESSIONS
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert sessions_of(read(tmp_path / "log.csv", **names)) == AS_SESSIONS


def test_positions_begin_at_0_or_at_1():
    frame = pd.DataFrame(ROWS)
    assert sessions_of(read_click_table(frame.assign(position=frame.position - 1))) == AS_SESSIONS
    with pytest.raises(ValueError, match="must begin at 0 or at 1. Its lowest position is 11"):
        read_click_table(frame.assign(position=frame.position + 10))


def test_numbers_of_clicks_are_clicks():
    frame = pd.DataFrame(ROWS).assign(click=[3, 0, 0, 0, 1])
    assert sessions_of(read_click_table(frame)) == AS_SESSIONS


def test_ids_of_files_are_as_they_are_written(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("session,query,document,position,click\n1,7,007,1,0\n1,7,008,2,1\n")
    assert sessions_of(read(path)) == [(7, ["007", "008"], [1])]
    path.write_text("session,query,document,position,click\n1,7,70,1,0\n1,7,8,2,1\n")
    assert sessions_of(read(path)) == [(7, [70, 8], [1])]
    names = "session,query,document,position,click,ranker,group"
    path.write_text(f"{names}\n01,007,a,1,0,010,00\n1,07,a,1,1,1e1,0\n")
    log = read_click_table(path)
    assert sessions_of(log) == [("007", ["a"], []), ("07", ["a"], [0])]
    assert (log.ranker_names, log.group_names) == (("010", "1e1"), ("0", "00"))


def test_sessions_keep_their_rankers_and_groups():
    names = ["c", "a", "d", "b"]
    frame = pd.DataFrame({"session": range(4), "query": "q", "document": "a", "position": 1})
    log = read_click_table(frame.assign(click=0, ranker=names, group=names[::-1]))
    assert [log.ranker_names[number] for number in log.rankers] == names
    assert [log.group_names[number] for number in log.groups] == names[::-1]


@pytest.mark.parametrize(
    "header",
    [
        "\ufeffsession,query,document,position,click",
        '"session","query","document","position","click"',
    ],
)
def test_a_table_is_recognised_as_spreadsheets_write_it(tmp_path, header):
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n1,q,a,1,0\n1,q,b,2,1\n", encoding="utf-8")
    assert sessions_of(read(path)) == [("q", ["a", "b"], [1])]


@pytest.mark.parametrize(
    "times",
    [
        [60, 30, 9, 9, 9],
        ["1970-01-01T00:01Z", "1970-01-01T00:00:30Z", *["1970-01-01T00:00:09"] * 3],
        pd.to_datetime([60, 30, 9, 9, 9], unit="s"),
        pd.to_datetime([60, 30, 9, 9, 9], unit="s").tz_localize("UTC").tz_convert("Asia/Tokyo"),
    ],
)
def test_the_time_of_a_session_is_its_earliest(times):
    log = read_click_table(pd.DataFrame(ROWS).assign(time=times))
    assert log.times.tolist() == [30, 9]


def test_days_are_times():
    days = [datetime.date(1970, 1, 2)] * 5
    assert read_click_table(pl.DataFrame(ROWS | {"time": days})).times.tolist() == [86400, 86400]


def test_what_is_known_of_sessions_is_read():
    frame = pd.DataFrame(ROWS).assign(
        ranker=list("YYXXX"), device=[1, 1, 2, 2, 2], propensity=[0.5, 1, 0.25, 0.75, 1]
    )
    log = read_click_table(frame, group="device")
    assert [log.ranker_names[number] for number in log.rankers] == ["Y", "X"]
    assert [log.group_names[number] for number in log.groups] == ["1", "2"]
    assert log.propensities.tolist() == [1, 0.5, 0.75, 1, 0.25]


@pytest.mark.parametrize(
    ("changed", "message", "fault"),
    [
        (
            {"position": [2, 1, 4, 1, 2]},
            "session t: its positions are 1, 2, 4. They must count up from 1, without a gap.",
            "sessions with missing or repeated positions",
        ),
        (
            {"position": [2, 1, 1, 1, 2]},
            "session t: its positions are 1, 1, 2. They must",
            "sessions with missing or repeated positions",
        ),
        (
            {"document": ["b", "a", "c", "b", "b"]},
            "session t: the document b is shown twice",
            "sessions with a document twice",
        ),
        (
            {"query": ["tea", "tea", "mate", "tea", "mate"]},
            "session t: it has several values in the column 'query'",
            "sessions of several queries, rankers or groups",
        ),
        (
            {"ranker": list("xxxyx")},
            "session t: it has several values in the column 'ranker'",
            "sessions of several queries, rankers or groups",
        ),
        (
            {"propensity": [1, 1, 1, 1, 1.5]},
            "session t: a propensity must be above 0, and at most 1. Got 1.5",
            "sessions with wrong propensities",
        ),
    ],
)
def test_damage_is_refused_or_counted(tmp_path, changed, message, fault):
    frame = pd.DataFrame(ROWS | changed)
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(ValueError, match="log.csv: session t: ") as caught:
        read(tmp_path / "log.csv")
    assert str(caught.value).startswith(f"{tmp_path / 'log.csv'}: {message}")
    log = read_click_table(frame, bad="drop")
    assert (sessions_of(log), log.left_out) == (AS_SESSIONS[:1], {fault: 1})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"position": [1, 2, 1, 2, None]}, "'position' must not have missing or infinite values"),
        ({"position": [1, 2, 1, 2, 1.5]}, "'position' must hold whole numbers. Row 5 has 1.5"),
        ({"position": list("12345")}, "'position' must hold numbers. It holds String instead"),
        ({"click": [1, 0, 0, 0, -1]}, "'click' must hold flags or numbers of clicks. Row 5 has -1"),
        ({"click": [1, 0, 0, 0.02, 0]}, "'click' must hold flags or numbers of clicks. Row 4 has"),
        ({"click": [1, 0, 0, 0, None]}, "'click' must not have missing or infinite values. Row 5"),
        ({"query": ["a", "a", "b", "b", None]}, "'query' must not have missing values. Row 5"),
        ({"document": ["a", "b", "c", "d", ""]}, "an id in the column 'document' must be a string"),
        ({"time": [1, 2, 3, 4, None]}, "'time' must not have missing or infinite values. Row 5"),
        ({"time": list("abcde")}, "the time must be a number of seconds since 1970"),
    ],
)
def test_bad_columns_are_refused(changed, message):
    with pytest.raises(ValueError, match="column|time") as caught:
        read_click_table(pl.DataFrame(ROWS | changed, strict=False))
    assert message in str(caught.value)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="there is no column 'session'. The columns are") as caught:
        read_click_table(pd.DataFrame(ROWS).rename(columns={"session": "visit"}))
    assert str(caught.value).endswith("Name the right one with session='...'.")


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="the table has no rows"):
        read_click_table(pd.DataFrame(ROWS).iloc[:0])


def test_a_table_of_documents_with_labels_is_no_log(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("qid,label,position,click\n1,0,1,0\n1,1,2,1\n")
    assert read(path).feature_names == ("position", "click")


@settings(max_examples=150, deadline=None)
@given(
    sessions=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    ),
    random=st.randoms(use_true_random=False),
    texts=st.booleans(),
)
def test_rows_in_any_order_are_the_sessions(sessions, random, texts):
    rows = [
        (f"s{number}", query, document, position, click)
        for number, (query, shown) in enumerate(sessions)
        for position, (document, click) in enumerate(shown)
    ]
    random.shuffle(rows)
    if texts:
        rows = [(one, f"q{query}", f"d{document}", *more) for one, query, document, *more in rows]
    frame = pl.DataFrame(rows, schema=list(ROWS), orient="row")
    good = {}
    for number, (query, shown) in enumerate(sessions):
        documents = [document for document, _ in shown]
        if len(set(documents)) == len(documents):
            clicked = [position for position, (_, click) in enumerate(shown) if click]
            if texts:
                query, documents = f"q{query}", [f"d{one}" for one in documents]
            good[f"s{number}"] = (query, documents, clicked)
    if not good:
        with pytest.raises(ValueError, match="no session is left"):
            read_click_table(frame, bad="drop")
        return
    # Sessions are in the order of their first rows.
    order = [one for one in dict.fromkeys(row[0] for row in rows) if one in good]
    assert sessions_of(read_click_table(frame, bad="drop")) == [good[one] for one in order]


def test_a_sorted_table_and_a_shuffled_one_are_the_same_sessions():
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "session": np.repeat(np.arange(n), 4),
            "query": np.repeat(rng.integers(0, 9, n), 4),
            "document": np.argsort(rng.random((n, 4)), axis=1).ravel(),
            "position": np.tile(np.arange(4), n),
            "click": rng.random(4 * n) < 0.3,
        }
    )
    log = read_click_table(frame)
    shuffled = read_click_table(frame.sample(frac=1, random_state=1))
    assert sorted(sessions_of(log)) == sorted(sessions_of(shuffled))
    assert_array_equal(log.clicks, frame["click"])
