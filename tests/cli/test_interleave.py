"""`localrank interleave`: who won a live test, from the files of its log."""

import json

import pytest


@pytest.fixture
def folder(tmp_path):
    """The log of a test that the second ranking wins, over two files."""
    line = {"query": 7, "documents": ["a", "b"], "ranker": "old:new", "teams": [0, 1]}
    lines = [
        line | {"list": f"{number:016x}", "clicks": [int(number % 4 > 0)]} for number in range(80)
    ]
    lines += [lines[0], line | {"list": "x", "clicks": []}]
    for name, part in (("1", lines[:40]), ("2", lines[40:])):
        text = "".join(json.dumps(one) + "\n" for one in part)
        (tmp_path / f"clicks-{name}.jsonl").write_text(text)
    return tmp_path


def test_the_winner_is_reported(run, folder):
    code, out, error = run("interleave", folder)
    assert code == 0, error
    assert "old won 20 lists, new 60; 1 ties." in out
    assert "new is better." in out
    assert "1 repeated lists are left out" in error


def test_files_and_json(run, folder):
    code, out, _ = run("interleave", folder / "clicks-1.jsonl", folder / "clicks-2.jsonl", "--json")
    told = json.loads(out)
    assert (code, told["winner"], told["wins"], told["ties"]) == (0, "new", [20, 60], 1)
    assert told["n_more"] == 0


def test_ties_alone_are_json_too(run, tmp_path):
    line = {"query": 7, "documents": ["a"], "clicks": [], "ranker": "old:new", "teams": [0]}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    told = json.loads(run("interleave", tmp_path / "log.jsonl", "--json")[1])
    assert (told["share"], told["interval"], told["winner"]) == (None, None, None)


def test_queries_may_be_the_unit(run, folder):
    # All lists are of one query: it says nothing of others.
    code, out, _ = run("interleave", folder, "--unit", "query")
    assert (code, "new is better" in out) == (0, False)


def test_what_cannot_be_read_is_refused(run, folder, tmp_path):
    code, _, error = run("interleave", tmp_path / "absent.jsonl")
    assert (code, "No such file" in error) == (1, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    code, _, error = run("interleave", empty)
    assert (code, "has no files that end in .jsonl" in error) == (1, True)
    code, _, error = run("interleave", folder, "--unit", "user")
    assert (code, "'unit' argument must be 'session' or 'query'" in error) == (1, True)
    with (folder / "clicks-2.jsonl").open("a") as file:
        file.write('{"query": 7')
    code, _, error = run("interleave", folder)
    assert (code, "clicks-2.jsonl:43: the line is not JSON" in error) == (1, True), error
    assert run("interleave", folder, "--bad-lines", "drop")[0] == 0
