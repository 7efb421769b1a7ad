"""Commands on partitions: what they print and write is what they make of one file."""

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet

import localrank
from localrank.cli.info import _columns
from localrank.data import (
    RankingDataset,
    convert,
    make_queries,
    open_partitions,
    read_letor,
    read_run,
    write_letor,
)
from localrank.measures import NDCG
from localrank.rankers import BestFeature, RankSVM
from localrank.recipes import local_rank


def make(folder, *, documents):
    made, _ = make_queries(30, n_documents=(4, 9), n_features=6, random_state=2)
    rng = np.random.default_rng(0)
    features = made.features.round(1)
    features[:, 4] = 0.25
    features[rng.random(features.shape) < 0.05] = np.nan
    features[:, 5] = 3.0
    ids = np.array([f"d{i}" for i in rng.permutation(made.n_documents)]) if documents else None
    dataset = RankingDataset.from_arrays(
        features, made.relevance, made.query_ids[made.query_index], document_ids=ids
    )
    write_letor(dataset, folder / "log.txt")
    convert(folder / "log.txt", folder / "data", partition_size=40, dtype=np.float64)
    return folder


@pytest.fixture(scope="module", params=[True, False], ids=["ids", "rows"])
def logs(request, tmp_path_factory):
    return make(tmp_path_factory.mktemp("logs"), documents=request.param)


@pytest.fixture(scope="module")
def model(logs):
    path = logs / "model.localrank"
    RankSVM().fit(read_letor(logs / "log.txt")).save(path)
    return path


def by_name(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}


def test_convert_writes_partitions(run, logs, tmp_path):
    options = ["--partition-size", "40", "--float64"]
    code, _, err = run("convert", logs / "log.txt", "-o", tmp_path / "data", *options)
    assert code == 0, err
    n_partitions = len(open_partitions(logs / "data").partitions)
    assert f"Wrote {n_partitions} partitions into {tmp_path / 'data'}" in err
    for path in sorted((logs / "data").iterdir()):
        assert (tmp_path / "data" / path.name).read_bytes() == path.read_bytes()
    code, _, err = run("convert", logs / "log.txt", "-o", tmp_path / "data", *options)
    assert code == 1
    assert "is not empty" in err
    code, _, err = run("convert", logs / "log.txt", "-o", tmp_path / "data", "--overwrite")
    assert code == 0, err
    assert open_partitions(tmp_path / "data").dtype == np.float32


def test_convert_takes_the_columns_of_tables(run, tmp_path):
    (tmp_path / "a.csv").write_text("search,clicks,url,title,f\nx,1,u,Tea,0.5\n")
    columns = ["--qid", "search", "--label", "clicks", "--document-id", "url", "--ignore", "title"]
    code, _, err = run("convert", tmp_path / "a.csv", "-o", tmp_path / "data", *columns)
    assert code == 0, err
    opened = open_partitions(tmp_path / "data")
    assert opened.feature_names == ("f",)
    assert opened.document_ids.tolist() == ["u"]
    code, _, err = run(
        "convert", tmp_path / "a.csv", "-o", tmp_path / "x", *columns, "--zero-based"
    )
    assert code == 1
    assert "--zero-based is for LETOR text" in err
    code, _, err = run(
        "convert", tmp_path / "a.csv", "-o", tmp_path / "x", "--categories", "ordinal"
    )
    assert "`convert` does not take --categories" in err
    code, _, err = run("convert", tmp_path / "a.csv", "-o", tmp_path / "x", *columns[:6])
    assert "a.csv: Column 'title' holds text: leave it out with --ignore title" in err


def test_info_gives_the_figures_of_the_file(run, logs):
    for options in ([], ["--json"]):
        code, from_file, err = run("info", logs / "log.txt", *options)
        assert code == 0, err
        code, from_partitions, err = run("info", logs / "data", *options)
        assert code == 0, err
        assert from_partitions.replace("data\n", "log.txt\n", 1) == from_file
    assert json.loads(from_file)["best_feature"]["ndcg@5"] > 0.3


def test_the_best_feature_of_info_is_that_of_the_ranker(run, logs):
    _, out, _ = run("info", logs / "data", "--json")
    dataset = read_letor(logs / "log.txt")
    best = BestFeature().fit(dataset)
    facts = json.loads(out)["best_feature"]
    assert facts["name"] == dataset.feature_label(best.feature_)
    assert facts["ndcg@5"] == pytest.approx(best.values_[best.feature_], abs=1e-14)


def test_info_of_partitions_without_labels(run, logs, tmp_path):
    for path in (logs / "data").iterdir():
        parquet.write_table(parquet.read_table(path).drop(["label"]), tmp_path / path.name)
    code, out, err = run("info", tmp_path, "--json")
    assert code == 0, err
    assert "labels" not in json.loads(out)
    assert json.loads(out)["n_features"] == 6


def test_files_of_partitions_may_be_named(run, logs):
    _, whole, _ = run("info", logs / "data", "--json")
    code, out, err = run("info", *sorted((logs / "data").iterdir()), "--json")
    assert code == 0, err
    assert out == whole


@pytest.mark.parametrize("ranker", [RankSVM(), local_rank(n_clusters=2)])
def test_scores_by_partition_are_those_of_all(ranker, logs):
    dataset = open_partitions(logs / "data")
    ranker.fit(dataset.in_memory())
    scores = ranker.predict(dataset)
    assert_array_equal(scores, ranker.predict(dataset.in_memory()))
    view = dataset.select(np.arange(0, dataset.n_queries, 3))
    assert_array_equal(ranker.predict(view), ranker.predict(view.in_memory()))


def test_a_model_does_not_depend_on_partitions(logs):
    one = RankSVM().fit(read_letor(logs / "log.txt"))
    two = RankSVM().fit(open_partitions(logs / "data"))
    assert_array_equal(one.coef_, two.coef_)


def test_measures_need_no_features(logs, monkeypatch):
    dataset = open_partitions(logs / "data")
    scores = np.random.default_rng(0).random(dataset.n_documents)
    expected = NDCG(5)(dataset.in_memory(), scores)
    for partition in dataset.partitions:
        monkeypatch.setattr(type(partition), "read", lambda _: pytest.fail("features were read"))
    assert_array_equal(NDCG(5)(dataset, scores), expected)


def test_one_run_of_all_partitions(run, logs, model, tmp_path):
    code, _, err = run("rank", model, logs / "data", "-o", tmp_path / "run.trec")
    assert code == 0, err
    code, _, err = run("rank", model, logs / "log.txt", "-o", tmp_path / "file.trec")
    assert code == 0, err
    lines = [(tmp_path / name).read_text().splitlines() for name in ("run.trec", "file.trec")]
    assert sorted(lines[0]) == sorted(lines[1])
    code, out, _ = run("rank", model, logs / "data")
    assert out.splitlines() == lines[0]


@pytest.mark.parametrize("form", ["parquet", "run"])
def test_scores_of_each_partition_are_measured(form, run, logs, model, tmp_path):
    code, _, err = run("rank", model, logs / "data", "-o", tmp_path / "scores", "--format", form)
    assert code == 0, err
    suffix = {"parquet": ".parquet", "run": ".trec"}[form]
    names = [path.stem for path in sorted((logs / "data").iterdir())]
    assert sorted(by_name(tmp_path / "scores")) == [name + suffix for name in names]
    code, out, err = run("evaluate", tmp_path / "scores", logs / "data", "--json", "--per-query")
    assert code == 0, err
    trec = tmp_path / "file.trec"
    run("rank", model, logs / "log.txt", "-o", trec)
    _, expected, _ = run("evaluate", trec, logs / "log.txt", "--json", "--per-query")
    result, expected = json.loads(out), json.loads(expected)
    assert result["queries"] == expected["queries"]
    assert result["mean"] == pytest.approx(expected["mean"], abs=1e-14)
    _, out, _ = run("evaluate", trec, logs / "data", "--json", "--per-query")
    assert json.loads(out)["queries"] == expected["queries"]


def test_files_of_scores_have_ranks(run, logs, model, tmp_path):
    run("rank", model, logs / "data", "-o", tmp_path / "scores")
    run("rank", model, logs / "data", "-o", tmp_path / "runs", "--format", "run")
    dataset = open_partitions(logs / "data")
    for partition in dataset.partitions:
        table = parquet.read_table(tmp_path / "scores" / partition.path.name).to_pandas()
        part = partition.read()
        assert_array_equal(table["qid"], np.repeat(part.query_ids, part.query_sizes))
        assert_array_equal(table["score"], localrank.load(model).predict(part))
        trec = read_run(tmp_path / "runs" / f"{partition.path.stem}.trec")
        order = np.lexsort((table["rank"], part.query_index))
        names = part.document_ids
        if names is None:
            names = (np.arange(part.n_documents) - part.offsets[part.query_index] + 1).astype(str)
        assert_array_equal(trec.document_ids, names[order])
        if part.document_ids is not None:
            assert_array_equal(table["document_id"], part.document_ids)
        else:
            assert_array_equal(table["row"], np.arange(part.n_documents))
        for _, rows in table.groupby("qid"):
            assert sorted(rows["rank"]) == list(range(1, len(rows) + 1))
            best_first = rows.sort_values("rank")
            assert (np.diff(best_first["score"]) <= 0).all()
            ties = np.flatnonzero(np.diff(best_first["score"]) == 0)
            assert (np.diff(best_first.index)[ties] > 0).all()


@pytest.mark.parametrize("form", ["parquet", "run"])
def test_what_is_finished_is_not_made_again(form, run, logs, model, tmp_path):
    data, scores = tmp_path / "data", tmp_path / "scores"
    shutil.copytree(logs / "data", data)
    command = ["rank", model, data, "-o", scores, "--format", form]
    run(*command)
    first = by_name(scores)
    names = sorted(first)
    code, _, err = run(*command)
    assert code == 0, err
    assert by_name(scores) == first
    assert f"{len(first)} of {len(first)} partitions were done before" in err
    # One lost, one damaged, one of changed content.
    (scores / names[0]).unlink()
    content = (scores / names[1]).read_bytes()
    (scores / names[1]).write_bytes(content[:-9])
    changed = sorted(data.iterdir())[2]
    table = parquet.read_table(changed)
    parquet.write_table(
        table.set_column(table.num_columns - 2, table.column_names[-2], table.column(3)), changed
    )
    code, _, err = run(*command)
    assert code == 0, err
    again = by_name(scores)
    assert sorted(again) == names
    assert [name for name in names if again[name] == first[name]] == names[3:]
    assert (scores / names[1]).read_bytes() == content
    # Another model makes all of them again.
    BestFeature().fit(read_letor(logs / "log.txt")).save(tmp_path / "other.localrank")
    code, _, err = run("rank", tmp_path / "other.localrank", *command[2:])
    assert code == 0, err
    assert all(by_name(scores)[name] != again[name] for name in names)
    # So does another form, which replaces the files.
    other = {"parquet": "run", "run": "parquet"}[form]
    run(*command[:-1], other)
    assert len(by_name(scores)) == len(names)
    assert run("evaluate", scores, data)[0] == 0


def test_scores_of_other_data_are_refused(run, logs, model, tmp_path):
    scores = tmp_path / "scores"
    run("rank", model, logs / "data", "-o", scores)
    shutil.copytree(scores, tmp_path / "copy")
    path = min(scores.iterdir())
    (scores / "part-00099.parquet").write_bytes(path.read_bytes())
    for command in (
        ["rank", model, logs / "data", "-o", scores],
        ["evaluate", scores, logs / "data"],
    ):
        code, _, err = run(*command)
        assert code == 1
        assert "part-00099.parquet: the file belongs to no partition of the data" in err
    (scores / "part-00099.parquet").unlink()
    path.unlink()
    _, _, err = run("evaluate", scores, logs / "data")
    assert f"there is no file of scores for {path.name}" in err
    shutil.copy(sorted((tmp_path / "copy").iterdir())[1], path)
    _, _, err = run("evaluate", scores, logs / "data")
    assert f"{path.name}: its rows are not those of" in err
    _, _, err = run("evaluate", tmp_path / "copy", logs / "log.txt")
    assert "is a folder of scores by partition. Give the folder of partitions" in err


@pytest.mark.parametrize("form", ["parquet", "run"])
def test_scores_never_take_the_place_of_data(form, run, logs, model, tmp_path):
    shutil.copytree(logs / "data", tmp_path / "data")
    shutil.copytree(logs / "data", tmp_path / "other")
    before = by_name(tmp_path / "data") | by_name(tmp_path / "other")
    for folder, fault in (
        ("data", "data: the folder holds the data to rank"),
        ("other", "part-00000.parquet: `localrank rank` did not write this file"),
    ):
        code, _, err = run(
            "rank", model, tmp_path / "data", "-o", tmp_path / folder, "--format", form
        )
        assert code == 1
        assert fault in err
    assert by_name(tmp_path / "data") | by_name(tmp_path / "other") == before


def test_partitions_of_one_name_are_not_ranked_into_one_file(run, logs, model, tmp_path):
    first, second = sorted((logs / "data").iterdir())[:2]
    shutil.copy(first, tmp_path / "a.parquet")
    feather.write_feather(parquet.read_table(second), tmp_path / "a.arrow")
    code, _, err = run("rank", model, tmp_path, "-o", tmp_path / "scores")
    assert code == 1
    assert "its scores would get the same file name as those of" in err


def test_scores_of_documents_in_another_order_are_refused(run, model, tmp_path):
    make(tmp_path, documents=True)
    run("rank", model, tmp_path / "data", "-o", tmp_path / "scores")
    path = min((tmp_path / "data").iterdir())
    table = parquet.read_table(path)
    queries = table.column("qid").to_numpy()
    runs = np.cumsum(np.append(True, queries[1:] != queries[:-1]))
    parquet.write_table(table.take(np.lexsort((-np.arange(len(runs)), runs))), path)
    code, _, err = run("evaluate", tmp_path / "scores", tmp_path / "data")
    assert code == 1
    assert "part-00000.parquet: its rows are not those of" in err


def test_damaged_facts_of_a_run_let_it_be_made_again(run, logs, model, tmp_path):
    command = ["rank", model, logs / "data", "-o", tmp_path, "--format", "run"]
    run(*command)
    (tmp_path / ".part-00000.trec.json").write_text("{")
    code, _, err = run(*command)
    assert code == 0, err
    n = len(by_name(tmp_path))
    assert f"{n - 1} of {n} partitions were done before" in err


def test_convert_refuses_both_precisions(run, logs, tmp_path):
    code, _, err = run("convert", logs / "log.txt", "-o", tmp_path / "x", "--float32", "--float64")
    assert code == 1
    assert "--float32 and --float64 exclude each other" in err
    assert not (tmp_path / "x").exists()


def test_options_that_are_not_for_partitions(run, logs, model, tmp_path):
    _, _, err = run("rank", model, logs / "data", "-o", tmp_path / "x", "--format", "csv")
    assert "--format must be parquet or run" in err
    _, _, err = run("info", logs / "data", "--zero-based")
    assert "is a folder of partitions, and --zero-based is for LETOR text" in err
    (tmp_path / "empty").mkdir()
    _, _, err = run("info", tmp_path / "empty")
    assert "empty is a folder without partitions. Give the files in it" in err


def test_a_damaged_partition_is_named(run, logs, model, tmp_path):
    shutil.copytree(logs / "data", tmp_path / "data")
    path = max((tmp_path / "data").iterdir())
    path.write_bytes(path.read_bytes()[:-10])
    for command in (
        ["info", tmp_path / "data"],
        ["rank", model, tmp_path / "data", "-o", tmp_path / "s"],
    ):
        code, _, err = run(*command)
        assert code == 1
        assert f"{path.name}: the file is damaged or incomplete" in err


def test_training_on_partitions_is_training_on_the_file(run, logs, tmp_path):
    for name in ("log.txt", "data"):
        code, _, err = run(
            "train", logs / name, "--method", "rank-svm", "-o", tmp_path / f"{name}.localrank"
        )
        assert code == 0, err
    one, two = (localrank.load(tmp_path / f"{name}.localrank") for name in ("log.txt", "data"))
    assert_array_equal(one.coef_, two.coef_)


def test_a_pass_keeps_no_partition_in_memory(logs):
    part = open_partitions(logs / "data").partitions[0].read()
    for kept in _columns(part)[:3]:
        assert not np.shares_memory(kept, part.features)
