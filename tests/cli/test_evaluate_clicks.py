"""`localrank evaluate --clicks`: runs beside a log of clicks instead of labels."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks import PositionBehaviour, PositionBias, ranking_value, simulate_clicks
from localrank.data import make_queries, write_run, write_table
from localrank.data.click_lines import read_click_log, write_click_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks")
    dataset, _ = make_queries(30, random_state=1)
    dataset = dataset.replaced(document_ids=np.arange(dataset.n_documents).astype(str))
    old = dataset.features[:, -1]
    log = simulate_clicks(dataset, old, PositionBehaviour(), n_sessions=6000, shuffle=1.5)
    write_click_log(log, folder / "log.jsonl")
    for name, scores in (("old", old), ("new", old + 0.1 * dataset.features[:, 0]), ("odd", -old)):
        write_run(dataset, scores, folder / f"{name}.trec")
    part = dataset.select(range(10))
    write_run(part, part.features[:, -1], folder / "part.trec")
    return folder


def test_a_run_is_estimated(run, folder):
    log = folder / "log.jsonl"
    code, out, error = run("evaluate", folder / "old.trec", "--clicks", log, "--json")
    assert code == 0, error
    told = json.loads(out)["values"]["old"]
    read = read_click_log(log)
    expected = ranking_value(read, folder / "old.trec", PositionBias().fit(read))
    assert_allclose(told["value"], expected.value)
    assert_allclose(told["interval"], expected.interval)


def test_runs_are_compared_and_what_was_never_shown_is_left_out(run, folder):
    runs = [folder / f"{name}.trec" for name in ("new", "old", "odd")]
    code, out, error = run("evaluate", *runs, "--clicks", folder / "log.jsonl")
    assert code == 0, error
    assert "Estimated clicks per list, from 6,000 sessions of log.jsonl" in out
    assert "new - old: " in out
    assert "odd is left out. The log says too little about this ranking" in error
    code, _, error = run("evaluate", runs[2], "--clicks", folder / "log.jsonl")
    assert (code, "says too little about this ranking" in error) == (1, True)


def test_queries_that_a_run_lacks_are_told(run, folder):
    code, _, error = run("evaluate", folder / "part.trec", "--clicks", folder / "log.jsonl")
    assert code == 0
    assert "of 6,000 sessions have a query that a run lacks: left out" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seen", "all"], "There is no estimate of what is seen 'all'"),
        (["--seen", "propensities"], "The log has no probabilities of documents at positions"),
        (["--estimate", "best"], "'method' argument must be one of 'ips', 'snips', 'dr'"),
        (["--measures", "map"], "leave out --measures"),
        (["--per-query"], "leave out --measures, --convention, --per-query"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, folder, options, message):
    code, _, error = run(
        "evaluate", folder / "old.trec", "--clicks", folder / "log.jsonl", *options
    )
    assert (code, message in error) == (1, True), error


def test_a_run_alone_is_not_enough(run, folder):
    code, _, error = run("evaluate", folder / "old.trec")
    assert (code, "Give the labels after the run, or a log of clicks" in error) == (1, True)
    (folder / "empty.jsonl").touch()
    code, _, error = run("evaluate", folder / "old.trec", "--clicks", folder / "empty.jsonl")
    assert (code, "empty.jsonl is not a log of clicks" in error) == (1, True)


@pytest.mark.parametrize("seen", ["none", "em", "swaps"])
def test_what_is_seen_may_be_told_otherwise(run, folder, seen):
    arguments = [folder / "old.trec", "--clicks", folder / "log.jsonl", "--seen", seen]
    code, out, error = run("evaluate", *arguments)
    assert (code, "old" in out) == (0, True), error


def test_more_may_be_unseen_where_asked(run, folder):
    run_path, log = folder / "odd.trec", folder / "log.jsonl"
    code, out, error = run("evaluate", run_path, "--clicks", log, "--max-unseen", "1", "--json")
    assert code == 0, error
    read = read_click_log(log)
    expected = ranking_value(read, run_path, PositionBias().fit(read), max_unseen=1)
    assert_allclose(json.loads(out)["values"]["odd"]["value"], expected.value)


def test_features_tell_what_is_seen_where_lists_never_change(run, folder, tmp_path):
    dataset, _ = make_queries(30, random_state=1)
    dataset = dataset.replaced(document_ids=np.arange(dataset.n_documents).astype(str))
    shown_by = dataset.features[:, -1]
    write_click_log(
        simulate_clicks(dataset, shown_by, PositionBehaviour(), n_sessions=6000),
        tmp_path / "fixed.jsonl",
    )
    write_table(dataset, tmp_path / "features.parquet")
    command = "evaluate", folder / "old.trec", "--clicks", tmp_path / "fixed.jsonl"
    code, _, error = run(*command)
    assert (code, "let features tell: pbm, with --features FILE." in error) == (1, True)
    code, out, error = run(*command, "--features", tmp_path / "features.parquet")
    assert code == 0, error
    assert "relevance is estimated from features" in error
    assert "Estimated clicks per list" in out
    code, _, error = run(*command, "--qid", "query")
    assert (code, "Options of data go with --features FILE" in error) == (1, True)
