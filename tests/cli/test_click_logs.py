"""Logs of clicks on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from localrank.clicks import ClickLog
from localrank.data import make_queries, write_click_log, write_letor

# Query 1 shows a and b in both orders; c is only seen third, d and e are at one place each.
SESSIONS = [
    (1, "abc", [0], "old"),
    (1, "bac", [0, 1], "new"),
    (2, "de", [], "old"),
    (2, "de", [1], "new"),
]


@pytest.fixture
def log():
    queries, shown, clicks, rankers = zip(*SESSIONS, strict=True)
    return ClickLog.from_sessions(queries, shown, clicks, rankers=rankers, times=range(4))


@pytest.fixture
def path(log, tmp_path):
    write_click_log(log, tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


def facts_of(run, *arguments):
    code, out, err = run("info", *arguments, "--json")
    assert code == 0, err
    return json.loads(out), err


def test_a_log_is_described(run, path):
    facts, _ = facts_of(run, path)
    assert (facts["n_sessions"], facts["n_queries"], facts["n_documents_of_queries"]) == (4, 2, 5)
    assert (facts["n_impressions"], facts["n_clicks"]) == (10, 4)
    assert facts["documents_per_session"] == {"min": 2, "median": 2.5, "max": 3}
    assert facts["sessions_without_a_click"] == 1
    assert facts["rankers"] == {"new": 2, "old": 2}
    assert facts["groups"] is None
    assert facts["times"] == ["1970-01-01T00:00:00+00:00", "1970-01-01T00:00:03+00:00"]
    assert facts["left_out"] == {}
    rates = [one["click_rate"] for one in facts["positions"]]
    assert rates == [2 / 4, 2 / 4, 0]
    assert [one["n_impressions"] for one in facts["positions"]] == [4, 4, 2]


def test_what_was_seen_at_several_positions_is_counted(run, path):
    facts, _ = facts_of(run, path)
    assert facts["seen_at_several_positions"] == {
        "n_documents_of_queries": 2,
        "n_impressions": 4,
        "linked_to_the_first_position": [1, 2],
    }
    moved = [one["n_impressions_of_documents_seen_elsewhere"] for one in facts["positions"]]
    assert moved == [2, 2, 0]


def test_positions_are_linked_by_a_chain_of_documents(run, tmp_path):
    lists = ["abcd", "bacd", "acbd"]
    log = ClickLog.from_sessions([1, 1, 1], lists, [[], [], []])
    write_click_log(log, tmp_path / "log.jsonl")
    facts, _ = facts_of(run, tmp_path / "log.jsonl")
    # b was seen first and third, a first and second, c second and third.
    assert facts["seen_at_several_positions"]["linked_to_the_first_position"] == [1, 2, 3]


def test_people_read_positions_from_1_and_see_bars(run, path):
    code, out, _ = run("info", path)
    assert code == 0
    assert "sessions without a click   1 (25.0 %)" in out
    assert "linked to position 1       1 to 2" in out
    rows = [line.split() for line in out.splitlines() if "0." in line and "%" in line][-3:]
    assert [row[:4] for row in rows] == [
        ["1", "4", "50%", "0.5000"],
        ["2", "4", "50%", "0.5000"],
        ["3", "2", "0%", "0.0000"],
    ]
    assert [len(row[4]) if len(row) > 4 else 0 for row in rows] == [24, 24, 0]


def test_a_long_list_is_cut_for_people_and_whole_in_json(run, tmp_path):
    log = ClickLog.from_sessions([1], [range(30)], [[]])
    write_click_log(log, tmp_path / "log.jsonl")
    _, out, _ = run("info", tmp_path / "log.jsonl")
    assert "10 more positions are in the output of --json" in out
    assert len(facts_of(run, tmp_path / "log.jsonl")[0]["positions"]) == 30


def test_what_is_left_out_is_said(run, path):
    with path.open("a") as file:
        file.write('{"query": 1, "documents": [], "clicks": [], "ranker": "old", "time": 1}\n')
        file.write('{"query": 1, "documents": ["x"], "clicks": [1], "ranker": "old", "time": 1}\n')
    code, _, err = run("info", path)
    assert code == 1
    assert f"{path}:6: a click is on position 1, but 1 documents are shown" in err
    facts, err = facts_of(run, path, "--bad-sessions", "drop")
    assert facts["left_out"] == {
        "sessions with a click on something that was not shown": 1,
        "sessions without a document": 1,
    }
    assert f"{path}: 1 session without a document is left out" in err
    _, out, _ = run("info", path, "--bad-sessions", "drop")
    assert "1 session without a document" in " ".join(out.split())


def test_a_table_with_columns_of_other_names_is_the_same_log(run, path, log, tmp_path):
    frame = pd.DataFrame(
        {
            "visit": log.session_index,
            "search": log.query_ids[log.session_queries[log.session_index]],
            "sku": log.document_ids[log.pairs],
            "rank": log.positions + 1,
            "clicked": log.clicks,
            "shop": np.array(log.ranker_names)[log.rankers[log.session_index]],
            "when": log.times[log.session_index],
            "user": "somebody",
        }
    ).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "log.parquet")
    columns = "session=visit,query=search,document=sku,position=rank,click=clicked,ranker=shop"
    facts, _ = facts_of(run, tmp_path / "log.parquet", "--click-columns", columns + ", time=when")
    assert facts == facts_of(run, path)[0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("session", "--click-columns must be names of columns such as session=visit"),
        ("user=id", "A table of clicks has no column for 'user'"),
        ("session=visit", "there is no column 'visit'. The columns are 'session', 'query'"),
    ],
)
def test_false_columns_are_refused(run, tmp_path, columns, message):
    path = tmp_path / "log.csv"
    path.write_text("session,query,document,position,click\n1,a,x,1,0\n")
    code, _, err = run("info", path, "--click-columns", columns)
    assert code == 1
    assert message in err


def test_options_of_logs_are_refused_for_other_data(run, tmp_path):
    dataset, _ = make_queries(6, random_state=0)
    write_letor(dataset, tmp_path / "train.txt")
    code, _, err = run("info", tmp_path / "train.txt", "--bad-sessions", "drop")
    assert code == 1
    assert "--bad-sessions is for click logs" in err


@pytest.mark.parametrize("command", ["train", "compare", "tune"])
def test_commands_that_need_documents_say_how_to_learn_from_a_log(run, path, tmp_path, command):
    code, _, err = run(command, path, "-o", tmp_path / "out")
    assert code == 1
    assert "is a log of clicks" in err
    assert "--features features.parquet" in err
