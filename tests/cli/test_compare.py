import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from localrank import evaluation
from localrank.cli.compare import read, title_of
from localrank.data import folds, make_queries, read_letor, write_letor

QUICK = ["--set", "lambdamart.n_trees=15", "--set", "lambdamart.min_leaf_documents=5"]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """A folder with parts S1 to S5, as LETOR has them."""
    folder = tmp_path_factory.mktemp("collection")
    dataset, _ = make_queries(75, n_documents=(5, 12), n_features=8, separation=1, random_state=0)
    dataset = dataset.with_features(dataset.features)
    for part in range(5):
        write_letor(dataset.select(np.arange(part, 75, 5)), folder / f"S{part + 1}.txt")
    return folder


def without_times(results):
    for method in results["methods"]:
        for key in ("train_seconds", "train_cpu_seconds", "milliseconds_per_query", "model_bytes"):
            method.pop(key)
    results.pop("cost_notes")
    for key in ("time", "seconds", "command"):
        results["made"].pop(key)
    return results


def test_compare_prints_tables_and_the_verdict_and_writes_the_report(run, collection, tmp_path):
    options = ["--methods", "lambdamart,local-rank", *QUICK, "--set", "local-rank.n_clusters=2"]
    code, out, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 0, err
    assert "75 test queries" in out
    assert "ndcg@10 against lambdamart" in out
    assert "ndcg@10 at equal cost" in out
    said = " ".join(out.split())
    assert "local-rank, best group in hindsight (an upper bound that uses the labels): 0." in said
    assert err.strip().splitlines()[-1].endswith("index.html")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    methods = {method["name"]: method for method in results["methods"]}
    assert set(methods) == {
        "best-feature",
        "lambdamart",
        "local-rank",
        "lambdamart reseeded",
        "global-ensemble-2",
        "global-mixed-2",
    }
    local = methods["local-rank"]
    for text in (results["verdict"], *results["cost_notes"]):
        assert " ".join(text.split()) in said
    rows = out.split("───\n")[1].splitlines()[: len(methods)]
    shown = [row.split("  ")[0].strip().removesuffix(" (baseline)") for row in rows]
    assert shown == list(methods) == sorted(methods, key=lambda n: -methods[n]["means"]["ndcg@10"])
    assert " lambdamart (baseline) " in out
    row = next(line for line in out.split("at equal cost")[1].splitlines() if "local-rank" in line)
    gain = local["at_equal_cost"]["ndcg@10"]["difference"]
    assert row.split()[:3] == ["local-rank", local["opponent"], f"{gain:+.4f}"]
    assert f"{local['train_cpu_seconds']:.1f}" in out
    assert (tmp_path / "report" / "index.html").is_file()
    assert (tmp_path / "report" / "runs" / "global-mixed-2.trec").is_file()
    assert results["made"]["command"].startswith("localrank compare ")


@pytest.mark.parametrize("width", [40, 60, 80])
def test_tables_fold_in_narrow_terminals(run, collection, tmp_path_factory, width):
    output = tmp_path_factory.getbasetemp() / "folded"  # where finished work is kept
    options = ["--methods", "lambdamart,local-rank", *QUICK, "--set", "local-rank.n_clusters=2"]
    command = ["compare", collection, *options, "-o", output]
    wide, narrow = run(*command)[1], run(*command, columns=width)[1]
    assert max(map(len, narrow.splitlines())) <= width
    numbers = {word for word in wide.split() if any(c.isdigit() for c in word)}
    assert numbers <= set(narrow.split())


@pytest.fixture
def asked(monkeypatch):
    """What a comparison would be of."""
    called_with = {}

    def keep(methods, data, measures, **options):
        called_with.update(options, methods=methods, data=data, measures=measures)
        raise ValueError("kept")

    monkeypatch.setattr(evaluation, "compare", keep)
    return called_with


def queries_tested_by(parts):
    """The names and test queries of folds."""
    return [(fold.name, fold.test.query_ids.tolist()) for fold in parts]


def test_options_reach_the_comparison(run, collection, tmp_path, asked):
    options = ["--methods", "lambdamart,local-rank", "--folds", 3, "--seed", 5, "--n-jobs", 2]
    path = collection / "S1.txt"
    run("compare", path, *options, "--no-bounds", "--set", "gbrt.n_trees=3", "-o", tmp_path)
    made = list(folds(read_letor(path), 3, random_state=5))
    assert queries_tested_by(asked["data"]) == queries_tested_by(made)
    assert all(fold.valid is not None for fold in asked["data"])
    assert [str(measure) for measure in asked["measures"]] == ["ndcg@10", "ndcg@5", "map"]
    assert (asked["methods"], asked["baseline"]) == ("lambdamart,local-rank", "lambdamart")
    assert (asked["random_state"], asked["n_jobs"]) == (5, 2)
    assert (asked["n_controls"], asked["title"]) == (0, "S1.txt")
    assert (asked["tune"], asked["settings"]) == (False, ["gbrt.n_trees=3"])
    assert asked["store"] == tmp_path / "parts"
    run("compare", collection, "--tune", "-o", tmp_path)
    assert (asked["tune"], asked["n_controls"]) == (True, 3)
    assert queries_tested_by(asked["data"]) == queries_tested_by(folds(collection))


def test_files_are_training_validation_and_test_data(collection, tmp_path):
    paths = [collection / f"S{part}.txt" for part in (1, 2, 3)]
    (fold,) = read(paths, {}, 5, 0, validation=True)
    for part, path in zip((fold.train, fold.valid, fold.test), paths, strict=True):
        assert part.query_ids.tolist() == read_letor(path).query_ids.tolist()
    (fold,) = read(paths[:2], {}, 5, 0, validation=True)
    assert fold.valid is None
    # Features that are zero in all of a file may be missing from it, if somebody says so.
    (tmp_path / "short.txt").write_text("1 qid:1 1:0.5\n0 qid:1 2:0.5\n")
    short = [paths[0], tmp_path / "short.txt"]
    with pytest.raises(ValueError, match="the largest feature id is 2"):
        read(short, {}, 5, 0, validation=True)
    (fold,) = read(short, {"n_features": 8}, 5, 0, validation=True)
    assert fold.test.n_features == 8
    with pytest.raises(ValueError, match="Give one folder, one file, or two or three files"):
        read([*paths, collection / "S4.txt"], {}, 5, 0, validation=True)


def test_text_is_read_into_single_precision_on_request(collection):
    files = [collection / f"S{part}.txt" for part in (1, 2)]
    for paths in ([collection], files[:1], files):
        for options, dtype in (({}, np.float64), ({"dtype": "float32"}, np.float32)):
            for fold in read(paths, options, 5, 0, validation=True):
                assert fold.train.features.dtype == fold.test.dtype == dtype


def test_data_is_called_by_its_files(collection, monkeypatch):
    monkeypatch.chdir(collection)
    assert title_of([Path()]) == collection.name
    assert title_of([collection / "S1.txt", Path("S2.txt")]) == "S1.txt S2.txt"


@pytest.mark.slow
def test_two_runs_and_any_number_of_jobs_agree_but_for_times(run, collection, tmp_path):
    options = ["--methods", "lambdamart,pca-queries,fast,best", *QUICK, "--json"]
    for name in ("fast", "best"):
        options += ["--set", f"{name}.n_trees=5", "--set", f"{name}.min_leaf_documents=5"]
    results = []
    for number, jobs in enumerate((1, 2)):
        output = tmp_path / str(number)
        code, out, _ = run("compare", collection, *options, "--n-jobs", jobs, "-o", output)
        assert code == 0
        results.append(without_times(json.loads(out)))
    assert results[0] == results[1]


def test_a_second_call_goes_on_where_the_first_was_stopped(run, collection, tmp_path):
    options = ["--methods", "rank-svm", "--baseline", "rank-svm", "-o", tmp_path / "report"]
    assert run("compare", collection, *options)[0] == 0
    before = json.loads((tmp_path / "report" / "results.json").read_text())
    (tmp_path / "report" / "parts" / "Fold4" / "rank-svm.npz").unlink()
    code, _, err = run("compare", collection, *options)
    assert code == 0
    assert "Fold4: rank-svm trained in " in err
    assert err.count(" trained in ") == 1
    after = json.loads((tmp_path / "report" / "results.json").read_text())
    assert without_times(after) == without_times(before)


def test_parameters_are_tuned_on_request(run, collection, tmp_path):
    options = ["--methods", "rank-svm", "--baseline", "rank-svm", "--tune", "--json"]
    code, out, _ = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 0
    results = json.loads(out)
    (tuned,) = [method for method in results["methods"] if method["name"] == "rank-svm"]
    assert all(chosen.startswith("C=") for chosen in tuned["chosen"])
    assert results["tuning"][0]["parameter"] == "C"
    assert results["tuning"][0]["values"] == [0.01, 0.1, 1.0, 10.0]


def test_a_failing_method_is_named_and_the_exit_code_says_so(run, collection, tmp_path):
    options = ["--methods", "rank-svm,svm-map", "--baseline", "rank-svm", "--set", "svm-map.C=-1"]
    code, out, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 1
    assert "svm-map failed: ValueError: The 'C' parameter of SVMMap" in err
    assert "best-feature" in out


def test_one_file_is_cut_into_folds_and_two_are_a_split(run, collection, tmp_path):
    options = ["--methods", "rank-svm", "--baseline", "rank-svm", "--json"]
    one, two = collection / "S1.txt", collection / "S2.txt"
    code, out, _ = run("compare", one, *options, "--folds", 3, "-o", tmp_path / "a")
    assert code == 0
    assert json.loads(out)["made"]["data"] | {"sha256": ""} == {
        **json.loads(out)["made"]["data"],
        "n_queries": 15,
        "folds": 3,
        "sha256": "",
    }
    code, out, _ = run("compare", one, two, *options, "-o", tmp_path / "b")
    assert code == 0
    assert json.loads(out)["made"]["data"]["folds"] == 1


def test_training_data_cannot_be_the_test(run, collection, tmp_path):
    one = collection / "S1.txt"
    code, _, err = run("compare", one, one, "-o", tmp_path / "report")
    assert code == 1
    assert "A file is given twice. Queries that a model was trained on cannot test it" in err


@pytest.mark.filterwarnings("default")
def test_query_ids_in_both_parts_are_told(run, collection, tmp_path):
    twin = tmp_path / "twin.txt"
    twin.write_bytes((collection / "S1.txt").read_bytes())
    options = ["--methods", "rank-svm", "--baseline", "rank-svm", "-o", tmp_path / "report"]
    code, _, err = run("compare", collection / "S1.txt", twin, *options)
    assert code == 0
    assert "warning: split: 15 query ids, such as 1, are in both" in err
    assert "warning" not in run("compare", collection, *options)[2]


def test_a_file_in_the_place_of_the_report_is_refused(run, collection, tmp_path):
    (tmp_path / "report").write_text("mine")
    code, _, err = run("compare", collection, "-o", tmp_path / "report")
    assert code == 1
    assert "is a file. Give a folder to write into" in err
    assert (tmp_path / "report").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "local-rnk"], "There is no method 'local-rnk'. Did you mean 'local-rank'?"),
        (["--set", "n_clusters=4"], "must read method.name=value. Got 'n_clusters=4'"),
        (["--set", "C=0.5"], "must read method.name=value. Got 'C=0.5'"),
        (["--set", "gbrt.n_trees=4"], "gbrt is not among best-feature, lambdamart"),
        (["--set", "local-rank.n_cluster=4"], "Did you mean 'n_clusters'?"),
        (["--measures", "ndgc@5"], "ndgc"),
        (["--baseline", "nothing"], "There is no method 'nothing'."),
    ],
)
def test_wrong_requests_are_refused_before_any_work(run, collection, tmp_path, options, message):
    code, _, err = run("compare", collection, "-o", tmp_path / "report", *options)
    assert code == 1
    assert message in err
    assert "trained" not in err


def test_methods_lists_every_method_and_part_with_its_parameters(run):
    code, out, _ = run("methods", "--json")
    assert code == 0
    listed, parts, _ = json.loads(out).values()
    assert listed["local-rank"]["parameters"]["n_clusters"] == "4"
    assert listed["local-rank"]["kind"] == "local"
    code, out, _ = run("methods")
    assert code == 0
    assert all(name in out for name in listed)
    assert parts["representation"]["top-scores"]["parameters"] == ["h", "n_components", "scaling"]
    assert all(name in out for known in parts.values() for name in known)


@pytest.mark.slow
def test_demo_compares_both_ways_and_writes_the_report(run, monkeypatch, tmp_path):
    module = sys.modules["localrank.cli.demo"]
    small = ("n_trees=15", "min_leaf_documents=10")
    trees = [f"lambdamart.{setting}" for setting in small]
    for method in ("adaptive-training", "query-coordinates"):
        trees += [f"{method}.ranker__{setting}" for setting in small]
    monkeypatch.setattr(module, "N_QUERIES", 150)
    monkeypatch.setattr(module, "SETTINGS", (*module.SETTINGS, *trees))
    code, out, err = run("demo", "--json", "-o", tmp_path / "demo")
    assert code == 0, err
    means = {m["name"]: m["means"]["ndcg@10"] for m in json.loads(out)["methods"]}
    assert means["local-rank"] > max(means["lambdamart"], means["best-feature"])
    assert "query-coordinates" in means
    assert "Made 150 queries with" in err
    assert err.strip().endswith(str(tmp_path / "demo" / "index.html"))


def test_query_texts_as_ids_are_compared_and_their_runs_evaluated(run, tmp_path):
    dataset, _ = make_queries(30, n_documents=(4, 8), n_features=5, random_state=0)
    rows = ["qid,document_id,label,a,b,c"]
    for row, query in enumerate(dataset.query_index):
        values = ",".join(map(str, dataset.features[row, :3]))
        rows.append(f"what is query {query} %20 of?,page {row},{dataset.labels[row]:g},{values}")
    (tmp_path / "data.csv").write_text("\n".join(rows))
    options = ["--methods", "lambdamart", *QUICK, "--no-bounds", "--folds", "3"]
    code, _, err = run("compare", tmp_path / "data.csv", *options, "-o", tmp_path / "report")
    assert code == 0, err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    code, out, err = run(
        *("evaluate", tmp_path / "report" / "runs" / "lambdamart.trec", tmp_path / "data.csv"),
        *("--measures", "ndcg@10", "--json"),
    )
    assert code == 0, err
    method = next(method for method in results["methods"] if method["name"] == "lambdamart")
    assert json.loads(out)["mean"]["ndcg@10"] == pytest.approx(method["means"]["ndcg@10"])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Training and test tables as strangers have them: missing values, clicks, ids in words."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    dataset, _ = make_queries(60, n_documents=(5, 12), n_features=8, random_state=0)
    features = dataset.features.copy()
    features[rng.random(dataset.n_documents) < 0.3, 1] = np.nan
    features[dataset.query_index % 4 == 0, 2] = np.nan
    features[:, 5] = np.nan
    frame = pd.DataFrame(features, columns=[f"feature {i}" for i in range(8)])
    frame["label"] = np.minimum(rng.poisson(6.0**dataset.labels - 1), 500)
    frame["qid"] = [f"red shoes {i}" for i in dataset.query_index]
    train = dataset.query_index < 40
    paths = [folder / "train.csv", folder / "test.csv"]
    for path, rows in zip(paths, (train, ~train), strict=True):
        frame[rows].sample(frac=1, random_state=0).to_csv(path, index=False)
    return paths


@pytest.mark.slow
def test_every_method_takes_tables_with_missing_values_and_clicks(run, tables, tmp_path):
    names = ["best", "fast", "global-mixed"]
    small = [f"{name}.{rest}" for name in names for rest in ("n_trees=10", "min_leaf_documents=5")]
    settings = [*small, "adaptive-training.n_clusters=2", "local-rank.n_clusters=2"]
    methods = ["rank-svm", "lambdamart", "adaptive-training", "local-rank", *names]
    options = [option for setting in settings for option in ("--set", setting)]
    code, _, err = run(
        "compare", *tables, "--methods", ",".join(methods), *options, *QUICK, "-o", tmp_path / "r"
    )
    assert code == 0, err
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    made = {method["name"]: method for method in results["methods"]}
    assert {*methods, "best-feature"} <= made.keys()
    assert not [name for name, method in made.items() if method.get("failed")], err


def test_a_method_that_refuses_missing_values_says_how_it_takes_them(run, tables, tmp_path):
    setting = ["--set", "missing=refuse"]
    output = ["-o", tmp_path / "model.localrank"]
    code, _, err = run("train", tables[0], "--method", "rank-svm", *setting, *output)
    assert code == 1
    assert "feature 1 has missing values" in err
    assert "on the command line, leave out --set ...missing=refuse" in err


def test_groups_are_shown_beside_known_categories(run, collection, tmp_path):
    known = tmp_path / "categories.tsv"
    queries = [int(query) for fold in folds(collection) for query in fold.test.query_ids]
    known.write_text("".join(f"{query}\t{'ab'[query % 2]}\n" for query in queries))
    options = ["--methods", "local-rank", *QUICK, "--no-bounds", "--query-categories", known]
    code, out, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 0, err
    assert "local-rank, groups and known categories: adjusted Rand index" in " ".join(out.split())
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert sum(np.sum(agreement["table"]) for agreement in results["agreements"]) == 75
    known.write_text("7\n")
    code, _, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code != 0
    assert "categories.tsv:1: a line must hold a query id and its category" in " ".join(err.split())


def test_without_validation_all_parts_but_the_tested_one_train(collection):
    first, *_ = read([collection], {}, 5, 0, validation=False)
    assert first.valid is None
    assert (first.train.n_queries, first.test.n_queries) == (60, 15)
    first, *others = read([collection / "S1.txt"], {}, 3, 0, validation=False)
    assert (first.valid, first.train.n_queries, len(others)) == (None, 10, 2)
