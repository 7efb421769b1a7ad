import csv
import json
import sys

import numpy as np
import pytest

from localrank.cli.compare import make_methods
from localrank.data import make_queries, read_run, write_letor
from localrank.methods import n_models

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
        for key in ("train_seconds", "milliseconds_per_query", "model_bytes"):
            method.pop(key)
    for key in ("time", "seconds", "command"):
        results["made"].pop(key)
    return results


def test_compare_prints_a_table_and_writes_everything(run, collection, tmp_path):
    options = ["--methods", "lambdamart,local-rank", *QUICK, "--set", "local-rank.n_clusters=2"]
    code, out, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 0, err
    assert "75 test queries" in out
    assert "ndcg@10 against lambdamart" in out
    assert "ndcg@10 against global-ensemble" in out
    assert "best group in hindsight" in err
    assert err.strip().splitlines()[-1].endswith("index.html")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    names = [method["name"] for method in results["methods"]]
    assert names == [
        "best-feature",
        "lambdamart",
        "local-rank",
        "lambdamart reseeded",
        "global-ensemble",
    ]
    assert results["methods"][-1]["n_models"] == 2
    assert results["bounds"][0]["name"] == "local-rank"
    with (tmp_path / "report" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 75 * 5 * 3
    column = [
        float(row["value"])
        for row in rows
        if row["method"] == "local-rank" and row["measure"] == "map"
    ]
    assert np.mean(column) == pytest.approx(results["methods"][2]["means"]["map"], abs=1e-5)
    trec = read_run(tmp_path / "report" / "runs" / "local-rank.trec")
    assert len(set(trec.query_ids)) == 75
    page = (tmp_path / "report" / "index.html").read_text()
    assert results["verdict"].replace("'", "&#x27;") in page


def test_the_recipes_stand_beside_global_models_of_equal_cost(run, collection, tmp_path):
    options = ["--methods", "lambdamart,fast,best,local-rank", *QUICK, "--no-bounds", "--json"]
    for name in ("fast", "best"):
        options += ["--set", f"{name}.n_trees=15", "--set", f"{name}.min_leaf_documents=5"]
    code, out, err = run("compare", collection, *options, "-o", tmp_path / "report")
    assert code == 0, err
    found = {method["name"]: method for method in json.loads(out)["methods"]}
    sizes = {name: method["n_models"] for name, method in found.items()}
    assert sizes["best"] == sizes["global-ensemble"] == sizes["global-mixed"] == 6
    assert sizes["fast"] == 2
    assert found["best"]["kind"] == found["fast"]["kind"] == "local"
    assert found["global-mixed"]["kind"] == "global"


@pytest.mark.parametrize("methods", ["fast,best", "best", "all", "best,all,duh-kirchhoff"])
def test_the_mixed_opponent_has_as_many_models_and_the_same_trees(methods):
    settings = ["best.n_trees=9", "best.n_leaves=4"]
    rankers = make_methods(methods, "rank-svm", settings, 1, 0)
    opponent = rankers["global-mixed"]
    assert n_models(opponent) == 6
    assert (opponent.rankers[0].n_trees, opponent.rankers[2].n_leaves) == (9, 4)
    assert ("svm-map" in rankers) == ("all" in methods)
    assert ("duh-kirchhoff" in rankers) == ("duh-kirchhoff" in methods)


def test_two_runs_and_any_number_of_jobs_agree_but_for_times(run, collection, tmp_path):
    options = ["--methods", "lambdamart,pca-queries,fast,best", *QUICK, "--json"]
    for name in ("fast", "best"):
        options += ["--set", f"{name}.n_trees=5", "--set", f"{name}.min_leaf_documents=5"]
    found = []
    for number, jobs in enumerate((1, 2)):
        output = tmp_path / str(number)
        code, out, _ = run("compare", collection, *options, "--n-jobs", jobs, "-o", output)
        assert code == 0
        found.append(without_times(json.loads(out)))
    assert found[0] == found[1]


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
    assert all(chosen.startswith("C=") for chosen in results["methods"][1]["chosen"])
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
    assert "training data cannot test what was learned" in err


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
    assert "is a file. Name a folder for the report" in err
    assert (tmp_path / "report").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "local-rnk"], "There is no method 'local-rnk'. Did you mean 'local-rank'?"),
        (["--set", "n_clusters=4"], "must read method.name=value. Got 'n_clusters=4'"),
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


def test_methods_lists_every_method_with_its_parameters(run):
    code, out, _ = run("methods", "--json")
    assert code == 0
    listed = json.loads(out)
    assert listed["local-rank"]["parameters"]["n_clusters"] == "4"
    assert listed["local-rank"]["kind"] == "local"
    code, out, _ = run("methods")
    assert code == 0
    assert all(name in out for name in listed)


def test_demo_compares_global_and_local_methods_and_writes_the_report(run, monkeypatch, tmp_path):
    module = sys.modules["localrank.cli.demo"]
    small = ("n_trees=15", "min_leaf_documents=10")
    trees = [f"lambdamart.{setting}" for setting in small]
    trees += [f"adaptive-training.ranker__{setting}" for setting in small]
    monkeypatch.setattr(module, "N_QUERIES", 150)
    monkeypatch.setattr(module, "SETTINGS", (*module.SETTINGS, *trees))
    code, out, err = run("demo", "--json", "-o", tmp_path / "demo")
    assert code == 0, err
    means = {m["name"]: m["means"]["ndcg@10"] for m in json.loads(out)["methods"]}
    assert means["local-rank"] > max(means["lambdamart"], means["best-feature"])
    assert "Made 150 queries of 4 hidden types" in err
    assert err.strip().endswith(str(tmp_path / "demo" / "index.html"))
