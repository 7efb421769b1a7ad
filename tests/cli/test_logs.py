"""Feature logs on the command line: every command, labels, and features by a model's names."""

import json
import re

import feature_log_samples as samples
import numpy as np
import pytest
from feature_log_samples import logged

import localrank
from localrank.data import make_queries, read_feature_log, read_run, write_letor
from localrank.rankers import LambdaMART

NAMES = ["title", "body", "price", "sold"]
MAKERS = {
    "elasticsearch": samples.elasticsearch,
    "solr": samples.solr,
    "vespa": samples.vespa,
}


def lists_of(dataset, names=NAMES):
    """Features by query, document and name."""
    lists = {}
    for number, query in enumerate(dataset.query_ids.tolist()):
        rows = range(dataset.offsets[number], dataset.offsets[number + 1])
        lists[f"query {query}"] = {
            f"d{row}": dict(zip(names, dataset.features[row].tolist(), strict=True)) for row in rows
        }
    return lists


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of each engine, of training and of test queries, with grades and clicks."""
    folder = tmp_path_factory.mktemp("logs")
    dataset, _ = make_queries(45, n_documents=(6, 12), n_features=4, n_types=2, random_state=0)
    parts = {"train": dataset.select(np.arange(30)), "test": dataset.select(np.arange(30, 45))}
    rows = ["query,document,grade,clicks,impressions"]
    for part, queries in parts.items():
        for engine, make in MAKERS.items():
            logged(folder / f"{part}-{engine}.jsonl", make, lists_of(queries))
        for row, number in enumerate(queries.query_index.tolist()):
            grade, query = int(queries.labels[row]), queries.query_ids[number]
            rows.append(f"query {query},d{row},{grade},{3 * grade},{10 + row}")
    (folder / "grades.csv").write_text("\n".join(rows) + "\n")
    ours = parts["train"].with_features(parts["train"].features)
    write_letor(ours, folder / "train.txt")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.localrank"
    train = read_feature_log(
        folder / "train-elasticsearch.jsonl", judgments=folder / "grades.csv", features=NAMES
    )
    LambdaMART(10).fit(train).save(path)
    return path


def test_every_command_reads_logs(run, folder, tmp_path):
    train, test = folder / "train-solr.jsonl", folder / "test-solr.jsonl"
    grades, model = ["--judgments", folder / "grades.csv"], tmp_path / "model.localrank"
    small = ["--method", "lambdamart", "--set", "n_trees=10"]
    for command in (
        ["info", train, *grades],
        ["train", train, "--valid", test, *grades, *small, "-o", model],
        ["tune", train, "--valid", test, *grades, *small, "--grid", "n_leaves=3,7"],
        ["tune", train, *grades, *small, "--grid", "n_leaves=3,7"],
        ["rank", model, test, "-o", tmp_path / "run.trec"],
        ["evaluate", tmp_path / "run.trec", test, *grades],
        ["explain", model, test, "--query", "query 32"],
        ["distil", model, test, "--n-trees", 5, "-o", tmp_path / "small.localrank"],
    ):
        code, _, err = run(*command)
        assert code == 0, (command, err)
    assert localrank.load(model).feature_names_in_.tolist() == NAMES


def test_compare_makes_folds_of_a_log_and_takes_training_and_test_logs(run, folder, tmp_path):
    train, test = folder / "train-vespa.jsonl", folder / "test-elasticsearch.jsonl"
    options = ["--judgments", tmp_path / "grades.csv", "--methods", "rank-svm", "--baseline"]
    options.append("rank-svm")
    text = (folder / "grades.csv").read_text()
    (tmp_path / "grades.csv").write_text(re.sub(r",d(?=\d)", ",id:tmdb:movie::d", text))
    code, out, err = run("compare", train, *options, "--folds", 3, "-o", tmp_path / "folds")
    assert code == 0, err
    assert "30 test queries" in out
    train = folder / "train-elasticsearch.jsonl"
    (tmp_path / "grades.csv").write_text(text)
    code, out, err = run("compare", train, test, *options, "-o", tmp_path / "split")
    assert code == 0, err
    assert "15 test queries" in out


def test_a_log_trains_the_same_model_as_in_python(run, folder, model, tmp_path):
    path, train = tmp_path / "model.localrank", folder / "train-elasticsearch.jsonl"
    options = ["--judgments", folder / "grades.csv", "--set", "n_trees=10"]
    code, _, err = run("train", train, *options, "-o", path)
    assert code == 0, err
    test = read_feature_log(folder / "test-elasticsearch.jsonl")
    expected = localrank.load(model).predict(test)
    assert localrank.load(path).predict(test).tolist() == expected.tolist()


def test_clicks_and_rates_are_labels(run, folder, tmp_path):
    train = folder / "train-elasticsearch.jsonl"
    clicks = ["--clicks", folder / "grades.csv"]
    for rates in ([], ["--rates", "0.05,0.1"]):
        code, out, err = run("info", train, *clicks, *rates, "--json")
        assert code == 0, err
        labels = set(json.loads(out)["labels"])
        assert labels <= ({"0", "1", "2"} if rates else {"0", "3", "6", "9", "12"})
        assert len(labels) > 1
    code, _, err = run("info", train, *clicks, "--rates", "high")
    assert code == 1
    assert (
        "--rates must be numbers separated by commas, such as 0.05,0.2. Got 'high' instead" in err
    )


def test_a_log_in_another_order_and_with_more_features_ranks_the_same(run, folder, model, tmp_path):
    log = folder / "test-elasticsearch.jsonl"
    assert run("rank", model, log, "-o", tmp_path / "a.trec")[0] == 0
    test = read_feature_log(log)
    order = [2, 0, 3, 1]
    turned = np.column_stack([np.arange(test.n_documents), test.features[:, order]])
    lists = {
        query.replace("query query", "query"): documents
        for query, documents in lists_of(
            test.with_features(turned), ["noise", *(NAMES[i] for i in order)]
        ).items()
    }
    for make in (samples.elasticsearch, samples.solr):
        log = logged(tmp_path / "turned.jsonl", make, lists)
        code, _, err = run("rank", model, log, "-o", tmp_path / "b.trec")
        assert code == 0, err
        assert "Features of the log that are not used: noise" in err
        runs = [read_run(tmp_path / name) for name in ("a.trec", "b.trec")]
        assert runs[0].scores.tolist() == runs[1].scores.tolist()
        assert runs[0].document_ids.tolist() == runs[1].document_ids.tolist()


def test_an_export_is_verified_on_a_log_in_another_order(run, folder, model, tmp_path):
    test = read_feature_log(folder / "test-vespa.jsonl", features=NAMES[::-1])
    log = logged(tmp_path / "log.jsonl", samples.vespa, lists_of(test, NAMES[::-1]))
    command = ["export", model, "--to", "lightgbm", "-o", tmp_path / "model", "--verify", log]
    code, out, err = run(*command, "--json")
    assert code == 0, err
    assert json.loads(out)["n_equal_lists"] == 15


def test_a_log_that_lacks_a_feature_of_the_model_is_refused(run, folder, model, tmp_path):
    log = logged(tmp_path / "log.jsonl", samples.vespa, {1: {"a": {"title": 1.0, "body": 2.0}}})
    for command in (["rank", model, log], ["explain", model, log, "--query", 1]):
        code, _, err = run(*command)
        assert code == 1
        assert "log.jsonl: the log has no feature 'price', 'sold'. Its features are" in err


def test_a_model_without_names_needs_them_told(run, folder, tmp_path):
    path, log = tmp_path / "model.localrank", folder / "test-elasticsearch.jsonl"
    train = ["train", folder / "train.txt", "--set", "n_trees=5", "-o", path]
    assert run(*train)[0] == 0
    code, _, err = run("rank", path, log)
    assert code == 1
    assert "the model was trained on 4 features without names" in err
    code, out, err = run("rank", path, log, "--features", ",".join(NAMES))
    assert code == 0, err
    assert out.startswith("query\\x2031 Q0 d")


def test_what_becomes_of_grades_and_documents_is_said(run, folder, tmp_path):
    grades = tmp_path / "grades.csv"
    grades.write_text("query,document,grade\nquery 1,d0,1\nquery 2,none,1\nquery 1,d1,0\n")
    log = folder / "train-elasticsearch.jsonl"
    size = read_feature_log(log).query_sizes[0]
    code, _, err = run("info", log, "--judgments", grades)
    assert code == 0
    assert f"{size - 2} documents have no grade: they get label 0" in err
    assert "29 queries have no grade at all: they are left out" in err
    assert "1 grades are not used: their documents are not in the log" in err
    code, out, err = run("info", log, "--judgments", grades, "--unjudged", "drop", "--json")
    assert f"{size - 2} documents have no grade: they are left out" in err
    assert json.loads(out)["n_documents"] == 2


def test_a_log_by_another_name_is_told_by_an_option(run, folder, tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes((folder / "test-vespa.jsonl").read_bytes())
    code, out, err = run("info", path, "--feature-log", "vespa", "--json")
    assert code == 0, err
    assert json.loads(out)["n_queries"] == 15
    code, _, err = run("info", path, "--feature-log", "lucene")
    assert code == 1
    assert "--feature-log must be elasticsearch, opensearch, solr, solr-sparse or vespa" in err


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (
            "train train-solr.jsonl -o m.localrank",
            "is a feature log, which has no labels. This command needs them: give a file of grades",
        ),
        (
            "train train-solr.jsonl train.txt -o m.localrank",
            "Give feature logs or other data, not both",
        ),
        (
            "rank model.localrank test-solr.jsonl --judgments grades.csv",
            "needs no labels and does not take --judgments",
        ),
        (
            "convert train-solr.jsonl -o out",
            "is a feature log. `convert` takes LETOR text and tables",
        ),
        ("convert grades.csv --judgments grades.csv -o out", "is a table, and --judgments is for"),
        ("info train.txt --judgments grades.csv", "is read as LETOR text, and --judgments is for"),
        ("info grades.csv --log-name x", "is a table, and --log-name is for feature logs"),
        (
            "info train-solr.jsonl --label grade",
            "is a feature log, and --label is for partitions and tables",
        ),
        (
            "info train-solr.jsonl --float32",
            "is a feature log, and --float32 is for LETOR text",
        ),
        ("info train-solr.jsonl --qid query", "train-solr.jsonl:1: the line has no query id"),
        ("info train-solr.jsonl --unjudged keep", "'unjudged' argument of read_feature_log must"),
    ],
)
def test_what_has_no_sense_is_refused(run, folder, model, monkeypatch, command, fault):
    monkeypatch.chdir(folder)
    code, _, err = run(*command.split())
    assert code == 1
    assert fault in " ".join(err.split())
