"""`localrank train` on logs of clicks, with the features of their documents in another file."""

import json

import numpy as np
import pytest

from localrank import load
from localrank.clicks import (
    CascadeBehaviour,
    CascadeModel,
    ClickLog,
    PositionBehaviour,
    PositionBias,
    relevance_dataset,
    simulate_clicks,
)
from localrank.clicks.naming import BIASES, fitted_bias
from localrank.data import (
    RankingDataset,
    make_queries,
    read_click_log,
    write_click_log,
    write_letor,
    write_table,
)
from localrank.rankers import RankSVM, SVMMap


@pytest.fixture(scope="module")
def queries():
    made = make_queries(60, n_documents=(8, 14), random_state=0)[0]
    ids = [f"q{number}" for number in made.query_index]
    documents = [f"d{number}" for number in range(made.n_documents)]
    names = [f"f{number}" for number in range(made.n_features)]
    return RankingDataset.from_arrays(
        made.features, made.labels, ids, document_ids=documents, feature_names=names
    )


@pytest.fixture(scope="module")
def log(queries):
    train = queries.select(range(45))
    shown_by = train.features[:, -1]
    return simulate_clicks(train, shown_by, PositionBehaviour(), n_sessions=4000, shuffle=1)


@pytest.fixture
def files(queries, log, tmp_path):
    write_click_log(log, tmp_path / "log.jsonl")
    write_table(queries.select(range(45)), tmp_path / "features.parquet")
    write_table(queries.select(range(45, 60)), tmp_path / "test.parquet")
    return tmp_path


def trained(run, files, *options, log=("log.jsonl",), features="features.parquet"):
    code, out, err = run(
        "train",
        *(files / name for name in log),
        *("--features", ",".join(str(files / name) for name in features.split(","))),
        *("-o", files / "model.localrank", *options),
    )
    assert code == 0, err
    return load(files / "model.localrank"), out, err


def test_the_command_does_what_the_library_does(run, files, queries, log):
    ranker, _, err = trained(run, files, "--clicks", "swaps", "--method", "rank-svm")
    bias = PositionBias().fit(log)
    data = relevance_dataset(log, queries.select(range(45)), bias)
    expected = RankSVM().fit(data).predict(queries)
    np.testing.assert_allclose(ranker.predict(queries), expected, rtol=1e-5)
    shown = " ".join(f"{value:.3f}" for value in bias.examination_)
    assert f"Seen, from the first position on: {shown}" in err
    assert "documents were not shown: labelled by what features tell" in err


@pytest.mark.parametrize("name", sorted({*BIASES} - {"groups"}))
def test_every_name_trains(run, files, name):
    ranker, out, _ = trained(run, files, "--clicks", name, "--set", "n_trees=5")
    assert ranker.n_trees_ == 5
    # Labels from clicks are not judgments.
    assert "ndcg" not in out


def test_validation_queries_have_judgments(run, files):
    _, out, _ = trained(run, files, "--valid", str(files / "test.parquet"), "--json")
    result = json.loads(out)
    assert "training" not in result
    assert 0 < result["validation"]["ndcg@10"] < 1


def test_a_log_in_parts_and_features_in_parts_are_one(run, files, queries, log):
    half = log.n_sessions // 2
    write_click_log(log.select(range(half)), files / "first.jsonl")
    write_click_log(log.select(range(half, log.n_sessions)), files / "second.jsonl")
    write_letor(queries.select(range(45)), files / "all.txt")
    write_letor(queries.select(range(20)), files / "some.txt")
    write_letor(queries.select(range(20, 45)), files / "others.txt")
    linear = "--method", "rank-svm"
    whole, _, _ = trained(run, files, *linear, features="all.txt")
    logs = "first.jsonl", "second.jsonl"
    parts, _, _ = trained(run, files, *linear, log=logs, features="some.txt,others.txt")
    rows = queries.features, queries.query_index
    ours, expected = (one.predict(rows[0], qid=rows[1]) for one in (parts, whole))
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "log.jsonl is a log of clicks, which has no features. Give them: --features"),
        (["--features", "no.parquet"], "no.parquet"),
        (["--features", "features.parquet", "--clicks", "pmb"], "seen 'pmb'. Did you mean 'pbm'?"),
    ],
)
def test_what_is_missing_is_said(run, files, options, message, monkeypatch):
    monkeypatch.chdir(files)
    code, _, err = run("train", "log.jsonl", "-o", "model.localrank", *options)
    assert code != 0
    assert message in err
    assert not (files / "model.localrank").exists()


def test_options_of_logs_are_refused_for_other_data(run, files):
    code, _, err = run(
        "train", files / "features.parquet", "-o", files / "m.localrank", "--bad-sessions", "drop"
    )
    assert code != 0
    assert "--bad-sessions" in err


@pytest.mark.parametrize(
    ("people", "kind"), [(PositionBehaviour(), PositionBias), (CascadeBehaviour(), CascadeModel)]
)
def test_the_model_is_chosen_by_how_people_click(queries, people, kind):
    train = queries.select(range(45))
    log = simulate_clicks(train, train.features[:, -1], people, n_sessions=20_000, shuffle=1)
    lines = []
    # The position-based model is then estimated from swaps.
    assert isinstance(fitted_bias("auto", log, say=lines.append), kind)
    assert "predicts the clicks best" in lines[0]


def test_groups_have_curves_of_their_own(run, files, queries):
    train = queries.select(range(45))
    people = {"desk": PositionBehaviour(eta=0.5), "phone": PositionBehaviour(eta=2)}
    options = {"n_sessions": 8000, "shuffle": 1}
    log = simulate_clicks(train, train.features[:, -1], people, **options)
    bias = fitted_bias("groups", log)
    second = bias.examination_[[bias.group_names_.tolist().index(name) for name in people], 1]
    assert second[0] > second[1] + 0.2
    write_click_log(log, files / "grouped.jsonl")
    trained(run, files, "--clicks", "groups", "--set", "n_trees=5", log=("grouped.jsonl",))
    code, _, err = run(
        *("train", files / "log.jsonl", "--features", files / "features.parquet"),
        *("--clicks", "groups", "-o", files / "model.localrank"),
    )
    assert code != 0
    assert "The log names no groups of sessions" in err


def test_late_positions_that_nothing_is_known_of_count_as_one():
    lists = [["a", "b", "c", "d"], ["b", "a", "c", "d"]] * 20
    clicks = [[0], [1], [0, 1], []] * 10
    log = ClickLog.from_sessions(["q"] * 40, lists, clicks)
    lines = []
    bias = fitted_bias("pbm", log, say=lines.append)
    assert len(bias.examination_) == 2
    assert lines[-1] == "Positions from 2 on count as one"
    assert bias.examination_of(log).shape == (log.n_impressions,)


def test_without_swaps_features_tell(queries, log):
    """Lists that were never shuffled show a document at one position."""
    train = queries.select(range(45))
    same = simulate_clicks(train, train.features[:, -1], PositionBehaviour(), n_sessions=2000)
    lines = []
    bias = fitted_bias("pbm", same, train, lines.append)
    assert bias.method == "em"
    told = "No document was shown at several positions: relevance is estimated from features"
    assert lines == [told]
    assert fitted_bias("pbm", log, train).method == "swaps"


def test_methods_are_compared_on_a_log(run, files):
    options = "--features", files / "features.parquet", "--methods", "rank-svm,best-feature"
    code, out, err = run("compare", files / "log.jsonl", *options, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert set(result["values"]) | set(result["refused"]) == {"rank-svm", "best-feature"}
    assert result["baseline"] == "rank-svm"
    # The features have labels: judgments stand beside.
    assert set(result["judged"]["rank-svm"]) == {"ndcg@10", "ndcg@5", "map"}
    code, out, _ = run("compare", files / "log.jsonl", *options)
    assert code == 0
    assert "clicks per list" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "3"], "--folds: not for logs of clicks. Leave them out."),
        (["--clicks", "none"], "'none' does not say how much is seen"),
    ],
)
def test_options_that_mean_nothing_for_a_log_are_refused(run, files, options, message):
    features = "--features", files / "features.parquet"
    code, _, err = run("compare", files / "log.jsonl", *features, *options)
    assert code != 0
    assert message in err


def test_a_log_without_swaps_is_told_the_option_that_needs_none(run, files, queries):
    train = queries.select(range(45))
    shown_by = train.features[:, -1]
    fixed = simulate_clicks(train, shown_by, PositionBehaviour(), n_sessions=2000)
    write_click_log(fixed, files / "log.jsonl")
    code, _, err = run(
        "train", files / "log.jsonl", "--features", files / "features.parquet",
        "--clicks", "swaps", "-o", files / "model.localrank",
    )  # fmt: skip
    assert code == 1
    assert "let features tell: pbm, with --features FILE." in err
    assert "PositionBias(" not in err


def test_more_may_be_unseen_where_asked(run, files):
    """Rankers of the features show much that the log never did."""
    options = "--features", files / "features.parquet", "--methods", "best-feature", "--json"
    refused, values = [], []
    for share in ("0", "1"):
        code, out, err = run("compare", files / "log.jsonl", *options, "--max-unseen", share)
        assert code == 0, err
        refused.append(list(json.loads(out)["refused"]))
        values.append(list(json.loads(out)["values"]))
    assert (refused, values) == ([["best-feature"], []], [[], ["best-feature"]])


@pytest.mark.parametrize("name", ["pbm", "swaps", "em"])
def test_a_model_that_is_wrong_for_the_log_is_said_to_be(run, files, queries, log, name):
    train = queries.select(range(45))
    cascade = simulate_clicks(
        train, train.features[:, -1], CascadeBehaviour(), n_sessions=4000, shuffle=1
    )
    for one, told in ((cascade, 1), (log, 0)):
        write_click_log(one, files / "log.jsonl")
        _, _, err = trained(run, files, "--clicks", name, "--method", "best-feature")
        assert err.count("The position-based model is wrong for this log: ") == told
        assert err.count("'auto' chooses the best of them.") == told


def test_how_much_is_seen_is_reported(run, files):
    code, out, err = run("info", files / "log.jsonl", "--seen")
    assert code == 0, err
    assert "How much is seen, relative to the first position" in out
    assert "Nothing speaks against the position-based model" in " ".join(out.split())
    code, out, err = run("info", files / "log.jsonl", "--seen", "--json")
    seen = json.loads(out)["seen"]
    curve = PositionBias().fit(read_click_log(files / "log.jsonl"))
    np.testing.assert_allclose(seen["curves"]["swaps"]["examination"], curve.examination_)
    np.testing.assert_allclose(seen["curves"]["swaps"]["intervals"], curve.intervals_)
    assert seen["refused"] is False
    assert seen["best"] in seen["click_models"]


def test_features_are_for_the_report_of_what_is_seen(run, files, queries):
    train = queries.select(range(45))
    fixed = simulate_clicks(train, train.features[:, -1], PositionBehaviour(), n_sessions=4000)
    write_click_log(fixed, files / "log.jsonl")
    path, features = files / "log.jsonl", ("--features", files / "features.parquet")
    code, out, err = run("info", path, "--seen", *features, "--json")
    assert code == 0, err
    assert list(json.loads(out)["seen"]["curves"]) == ["features"]
    for options, message in (
        (["--seen"], "let features tell: pbm, with --features FILE."),
        (["--seen", "--qid", "query"], "Options of data go with --features FILE"),
        (features, "log.jsonl is a click log, and --features is for"),
    ):
        code, _, err = run("info", path, *options)
        assert (code, message in err) == (1, True), err
    code, _, err = run("info", files / "features.parquet", "--seen")
    assert (code, "--seen is for logs of clicks." in err) == (1, True)


def test_grades_are_made_for_methods_that_need_them(run, files, queries, log):
    model, _, err = trained(run, files, "--method", "svm-map", "--rates", "0.1,0.3")
    train, test = queries.select(range(45)), queries.select(range(45, 60))
    data = relevance_dataset(log, train, PositionBias().fit(log), rates=[0.1, 0.3])
    np.testing.assert_allclose(model.predict(test), SVMMap().fit(data).predict(test))
    options = "--features", files / "features.parquet", "--methods", "svm-map"
    code, _, err = run("compare", files / "log.jsonl", *options)
    assert (code, "All labels are above 0. Make grades from 0: of clicks, with --rates" in err) == (
        1,
        True,
    )
    code, _, err = run("compare", files / "log.jsonl", *options, "--rates", "0.1", "--json")
    assert code == 0, err
