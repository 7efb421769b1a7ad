"""What every command that reads data understands: columns of tables, neighbours' files, pipes."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import localrank
from localrank.data import make_queries, read_letor, write_letor
from localrank.rankers import BestFeature

COLUMNS = ["--qid", "search", "--label", "clicks", "--document-id", "url", "--ignore", "title,day"]


@pytest.fixture(scope="module")
def shop():
    """A table with text ids, click counts and columns that are no numbers."""
    dataset, _ = make_queries(40, n_documents=(6, 12), n_features=4, n_types=3, random_state=0)
    frame = pd.DataFrame(dataset.features, columns=["price", "age", "views", "match"])
    frame["search"] = [f"query {number}" for number in dataset.query_index]
    frame["clicks"] = (7 * dataset.relevance + np.arange(len(frame)) % 3).astype(int)
    frame["url"] = [f"http://shop/{number}" for number in range(len(frame))]
    frame["title"] = "Tea"
    frame["day"] = pd.Timestamp("2024-01-01")
    return frame


@pytest.fixture(scope="module")
def table(shop, tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "clicks.parquet"
    shop.to_parquet(path)
    return path


def test_the_best_method_goes_from_clicks_to_a_report_in_one_command(run, table, tmp_path):
    options = ["--methods", "best", "--baseline", "best", "--folds", 3, "--set", "best.n_trees=5"]
    code, out, err = run("compare", table, *COLUMNS, *options, "-o", tmp_path / "report")
    assert code == 0, err
    assert "40 test queries" in out
    assert (tmp_path / "report" / "index.html").is_file()


def test_every_command_takes_the_same_columns(run, table, tmp_path):
    model, trec = tmp_path / "model.localrank", tmp_path / "run.trec"
    options = ["--method", "local-rank", "--set", "n_clusters=2", "--set", "ranker=rank-svm"]
    commands = [
        ["train", table, *options, "-o", model],
        ["rank", model, table, "-o", trec],
        ["evaluate", trec, table],
        ["explain", model, table, "--query", "query 3"],
        ["info", table],
    ]
    for command in commands:
        code, _, err = run(*command, *COLUMNS)
        assert code == 0, err
    assert localrank.load(model).feature_names_in_.tolist() == ["price", "age", "views", "match"]
    assert trec.read_text().startswith("query\\x200 Q0 http://shop/")


def test_features_are_chosen_by_name(run, table):
    _, out, _ = run("info", table, *COLUMNS[:4], "--features", "match, price", "--json")
    assert json.loads(out)["n_features"] == 2


def test_labels_need_not_be_there_to_rank(run, shop, table, tmp_path):
    run("train", table, *COLUMNS, "--method", "best-feature", "-o", tmp_path / "model")
    shop.drop(columns="clicks").to_parquet(tmp_path / "test.parquet")
    assert run("rank", tmp_path / "model", tmp_path / "test.parquet", *COLUMNS)[0] == 0


def test_ordered_categories_are_numbers_on_request(run, shop, tmp_path):
    size = pd.CategoricalDtype(["small", "large"], ordered=True)
    frame = shop[["search", "clicks", "price"]].assign(size="large").astype({"size": size})
    frame.to_parquet(tmp_path / "sizes.parquet")
    options = [*COLUMNS[:4], "--categories", "ordinal", "--json"]
    assert json.loads(run("info", tmp_path / "sizes.parquet", *options)[1])["n_features"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there is no column 'qid'. Its columns are 'price',"),
        ([], "Name the column of ids with --qid."),
        (COLUMNS[:4], "leave it out with --ignore day, or write dates as numbers"),
        ([*COLUMNS, "--categories", "codes"], "'codes' is not a feature, and --categories names"),
        ([*COLUMNS, "--zero-based"], "--zero-based is for LETOR text"),
        ([*COLUMNS, "--float32"], "--float32 is for LETOR text"),
    ],
)
def test_advice_is_in_the_words_of_the_command_line(run, table, options, message):
    code, _, err = run("info", table, *options)
    assert code == 1
    assert message in err


def test_columns_are_for_tables(run, tmp_path):
    (tmp_path / "train.txt").write_text("0 qid:1 1:1\n")
    for data in (tmp_path / "train.txt", tmp_path):
        _, _, err = run("compare", data, "--ignore", "a", "-o", tmp_path / "report")
        assert "is read as LETOR text, and --ignore is for feature logs, partitions and" in err
        assert "Names of tables end in .parquet, .csv," in " ".join(err.split())


def test_a_feature_0_is_answered_with_the_option_for_it(run, tmp_path):
    (tmp_path / "train.txt").write_text("0 0:1\n1 0:2\n")
    (tmp_path / "train.txt.query").write_text("2\n")
    _, _, err = run("info", tmp_path / "train.txt")
    assert "if the file counts them from 0, add --zero-based" in err
    assert run("info", tmp_path / "train.txt", "--zero-based")[0] == 0


def test_folds_may_count_features_from_0(run, tmp_path):
    for name in ("trainingset.txt", "testset.txt"):
        lines = [f"{i % 2} {i % 2}:{i} #qid = {name}{i // 4}\n" for i in range(1, 40)]
        (tmp_path / name).write_text("".join(lines))
    options = ["--methods", "best-feature", "--baseline", "best-feature", "--zero-based"]
    code, _, err = run("compare", tmp_path, *options, "-o", tmp_path / "report")
    assert code == 0, err


def test_a_column_description_describes_every_table(run, tmp_path):
    for name in ("train.tsv", "small"):
        (tmp_path / name).write_text("0\tq\t1.5\tx\n1\tq\t2.5\ty\n")
    (tmp_path / "train.cd").write_text("0\tLabel\n1\tGroupId\n3\tAuxiliary\n")
    options = ["--method", "best-feature", "-o", tmp_path / "model"]
    assert run("train", tmp_path / "train.tsv", *options)[0] == 0
    description = ["--column-description", tmp_path / "train.cd"]
    assert run("rank", tmp_path / "model", tmp_path / "small", *description)[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/stdin")
def test_documents_come_from_standard_input(tmp_path):
    dataset, _ = make_queries(10, n_documents=(5, 5), random_state=0)
    write_letor(dataset.with_features(dataset.features), tmp_path / "data.txt")
    BestFeature().fit(read_letor(tmp_path / "data.txt")).save(tmp_path / "model")
    outputs = []
    for data in (tmp_path / "data.txt", "-"):
        command = [sys.executable, "-m", "localrank", "rank", tmp_path / "model", data]
        text = (tmp_path / "data.txt").read_bytes()
        outputs.append(subprocess.run(command, input=text, capture_output=True, check=True).stdout)
    assert outputs[0] == outputs[1] != b""


def test_a_system_without_a_file_of_standard_input_says_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr("localrank.data.reading.STANDARD_INPUT", str(tmp_path / "none"))
    code, _, err = run("train", "-", "-o", tmp_path / "model")
    assert code == 1
    assert "Standard input cannot be read on Windows. Give the name of a file" in err


@pytest.fixture(scope="module")
def counted_from_0(tmp_path_factory):
    """A LETOR file with ids from 0, and the model that the command trains on it."""
    folder = tmp_path_factory.mktemp("zero")
    dataset, _ = make_queries(40, n_documents=(5, 9), n_features=4, n_types=3, random_state=0)
    write_letor(dataset.with_features(dataset.features), folder / "one.txt")
    text = (folder / "one.txt").read_text()
    for number in range(1, 5):
        text = text.replace(f" {number}:", f" {number - 1}:")
    (folder / "zero.txt").write_text(text)
    return folder


def test_the_base_of_feature_ids_is_said_once(run, counted_from_0, tmp_path):
    data, model = counted_from_0 / "zero.txt", tmp_path / "model"
    options = ["--method", "best-feature", "-o", model]
    assert run("train", data, "--zero-based", *options)[0] == 0
    assert run("rank", model, data, "-o", tmp_path / "a.txt")[0] == 0
    assert run("rank", model, data, "--zero-based", "-o", tmp_path / "b.txt")[0] == 0
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()
    assert run("explain", model, data, "--query", 3)[0] == 0
    code, out, _ = run("info", model)
    assert code == 0
    assert re.search(r"feature ids\s+from 0", out)

    assert run("train", counted_from_0 / "one.txt", *options)[0] == 0
    code, _, err = run("rank", model, data, "--zero-based")
    assert code == 1
    assert "feature ids of the training data begin at 1. Leave out --zero-based" in err


def test_a_file_with_fewer_features_is_ranked_only_if_it_is_said(run, counted_from_0, tmp_path):
    data, model, short = counted_from_0 / "one.txt", tmp_path / "model", tmp_path / "short.txt"
    short.write_text(re.sub(r" 4:\S+", "", data.read_text()))
    assert run("train", data, "--method", "best-feature", "-o", model)[0] == 0
    refused = f"error: {short}: the largest feature id is 3, and the training data has 4 features."
    exported = ["export", model, "--to", "sql", "-o", tmp_path / "sql", "--verify", short]
    compared = ["compare", data, short, "--methods", "best-feature", "-o", tmp_path / "report"]
    trained = ["train", data, "--valid", short, "--method", "best-feature", "-o", model]
    for command in (["rank", model, short], exported, trained, compared):
        code, _, err = run(*command)
        assert code == 1
        assert refused in err
        assert "add --n-features 4." in err
    code, _, err = run("rank", model, short, "--n-features", 4)
    assert code == 0
    assert "short.txt: the largest feature id is 3: features beyond it" in err
