import itertools
import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

import localrank
from localrank.data import make_queries, read_letor, write_letor
from localrank.evaluation import tune
from localrank.measures import NDCG
from localrank.rankers import LambdaMART, RankBoost, RankSVM
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    made, _ = make_queries(60, n_documents=(5, 15), n_features=8, random_state=0)
    dataset = made.with_features(made.features)
    write_letor(dataset.select(np.arange(45)), folder / "train.txt")
    write_letor(dataset.select(np.arange(45, 60)), folder / "vali.txt")
    return folder


TREES = ["--method", "lambdamart", "--set", "n_trees=8", "--set", "min_leaf_documents=5"]


def test_combinations_are_those_of_python_best_first(run, folder):
    grid = ["--grid", "n_leaves=2,4,8", "--grid", "learning_rate=0.05,0.5"]
    code, out, _ = run("tune", folder / "train.txt", *TREES, *grid, "--seed", 3, "--json")
    assert code == 0
    tuning = tune(
        LambdaMART(8, min_leaf_documents=5, random_state=3),
        {"n_leaves": [2, 4, 8], "learning_rate": [0.05, 0.5]},
        read_letor(folder / "train.txt"),
        folds=3,
        random_state=3,
    )
    result = json.loads(out)
    assert result["chosen"] == tuning.best_parameters
    assert result["measure"] == "ndcg@10"
    means = [trial["mean"] for trial in result["trials"]]
    assert means == sorted((trial.mean for trial in tuning.path), reverse=True)
    assert {
        (*t["parameters"].items(), t["mean"], t["standard_error"]) for t in result["trials"]
    } == {(*t.parameters.items(), t.mean, t.standard_error) for t in tuning.path}


def test_a_measure_of_loss_has_the_smallest_first(run, folder):
    options = ["--method", "rank-boost", "--grid", "n_rounds=1,5,20", "--measure", "oer"]
    code, out, err = run("tune", folder / "train.txt", *options, "--json")
    assert code == 0, err
    means = [trial["mean"] for trial in json.loads(out)["trials"]]
    assert means == sorted(means)
    assert means[0] < means[-1]


def test_validation_queries_are_chosen_by(run, folder):
    files = [folder / "train.txt", "--valid", folder / "vali.txt"]
    options = ["--method", "rank-boost", "--grid", "n_rounds=2,30"]
    code, out, err = run("tune", *files, *options, "--json")
    assert code == 0
    assert "15 validation queries" in err
    train, valid = read_letor(folder / "train.txt"), read_letor(folder / "vali.txt")
    expected = {n: NDCG(10).mean(valid, RankBoost(n).fit(train).predict(valid)) for n in (2, 30)}
    trials = json.loads(out)["trials"]
    assert {t["parameters"]["n_rounds"]: t["mean"] for t in trials} == pytest.approx(expected)


def test_the_model_saved_is_the_best_one_fitted_on_all_training_queries(run, folder, tmp_path):
    model = tmp_path / "model.localrank"
    options = [*TREES, "--grid", "n_leaves=2,8", "--seed", 5, "-o", model]
    code, out, err = run("tune", folder / "train.txt", *options)
    assert code == 0
    assert f"saved to {model}" in err
    best = int(re.search(r"Chosen: n_leaves=(\d)", out)[1])
    train, valid = read_letor(folder / "train.txt"), read_letor(folder / "vali.txt")
    expected = LambdaMART(8, min_leaf_documents=5, n_leaves=best, random_state=5).fit(train)
    assert_array_equal(localrank.load(model).predict(valid), expected.predict(valid))


def test_a_table_for_people_names_what_was_chosen(run, folder):
    code, out, err = run("tune", folder / "train.txt", "--method", "rank-boost")
    assert code == 0
    assert "3 combinations, by 45 training queries in 3 folds" in err
    rows = re.findall(r"n_rounds=(\d+) +(\d\.\d{4}) +\d\.\d{4}", out)
    assert sorted(int(n) for n, _ in rows) == [30, 100, 300]
    assert [float(mean) for _, mean in rows] == sorted((float(m) for _, m in rows), reverse=True)
    assert f"Chosen: n_rounds={rows[0][0]}" in out
    assert "-o saves the model" in err


def test_recipes_are_tuned_by_their_own_parameters_and_whole_parts(run, folder, tmp_path):
    model = tmp_path / "model.localrank"
    grid = ["--grid", "n_clusters=2,3", "--grid", "ranker=rank-svm,best-feature"]
    code, out, _ = run(
        *("tune", folder / "train.txt", "--method", "local-rank", *grid),
        *("--set", "n_components=0.5", "--json", "-o", model),
    )
    assert code == 0
    result = json.loads(out)
    combinations = [
        (t["parameters"]["n_clusters"], t["parameters"]["ranker"]) for t in result["trials"]
    ]
    assert sorted(combinations) == sorted(itertools.product([2, 3], ["rank-svm", "best-feature"]))
    loaded = localrank.load(model)
    assert loaded.n_groups_ == result["chosen"]["n_clusters"]
    assert loaded.representation.n_components == 0.5


def test_a_recipe_is_tuned_in_python_as_well(queries):
    tuning = tune(local_rank, {"n_clusters": [1, 2], "ranker": [RankSVM()]}, queries, folds=2)
    assert tuning.best_estimator.grouping.n_clusters == tuning.best_parameters["n_clusters"]


def test_partitions_and_files_choose_alike_from_queries_drawn_alike(run, folder, tmp_path):
    train = read_letor(folder / "train.txt")
    written(train, tmp_path / "parts", 3)
    options = [*TREES, "--grid", "n_leaves=2,8", "--max-documents", 200, "--json"]
    options += ["--valid", folder / "vali.txt"]
    results = []
    for data in (folder / "train.txt", tmp_path / "parts"):
        code, out, err = run("tune", data, *options, "-o", tmp_path / f"{data.name}.localrank")
        assert code == 0
        assert re.search(r"\d+ of 45 training queries were drawn", err)
        results.append(json.loads(out)["trials"])
    assert results[0] == results[1]
    one, two = (localrank.load(tmp_path / f"{name}.localrank") for name in ("train.txt", "parts"))
    assert_array_equal(one.predict(train), two.predict(train))
    assert one.training_data_["n_documents"] <= 200 < train.n_documents


def test_values_with_commas_inside_are_whole(run, folder):
    grid = ["--grid", "gain=[0,1,3,7,15],[0,2,5,6,9],linear,none"]
    code, out, _ = run("tune", folder / "train.txt", *TREES, *grid, "--json")
    assert code == 0
    tried = [trial["parameters"]["gain"] for trial in json.loads(out)["trials"]]
    expected = [[0, 1, 3, 7, 15], [0, 2, 5, 6, 9], "linear", None]
    assert sorted(map(str, tried)) == sorted(map(str, expected))


def test_what_is_set_is_not_tuned(run, folder):
    options = ["--method", "local-rank", "--set", "n_clusters=2", "--set", "ranker=rank-svm"]
    code, out, _ = run("tune", folder / "train.txt", *options, "--json")
    assert code == 0
    trials = json.loads(out)["trials"]
    assert sorted(t["parameters"]["ranker__C"] for t in trials) == [0.01, 0.1, 1.0, 10.0]
    assert all(set(t["parameters"]) == {"ranker__C"} for t in trials)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "best-feature"], "best-feature declares no grid. Give the values to"),
        (["--set", "n_leaves=4"], "lambdamart tunes n_leaves, which --set fixes. Give the values"),
        (
            ["--method", "local-rank", "--set", "ranker=lambdamart"],
            "local-rank tunes 'ranker__C', which does not exist with these settings",
        ),
        (["--grid", "n_leaves"], "such as n_leaves=7,15,31. Got 'n_leaves' instead"),
        (["--grid", "n_leaves=7,,9"], "such as n_leaves=7,15,31. Got 'n_leaves=7,,9' instead"),
        (
            ["--grid", "n_leaves=7", "--grid", "n_leaves=9"],
            "'n_leaves' is in --grid and in another",
        ),
        (["--grid", "n_leaves=7", "--set", "n_leaves=9"], "'n_leaves' is in --grid and in another"),
        (
            ["--grid", "n_leafs=7"],
            "lambdamart has no parameter 'n_leafs'. Did you mean 'n_leaves'?",
        ),
        (["--grid", "n_leaves=1"], "LambdaMART with n_leaves=1, fold "),
        (["--method", "lamdamart"], "There is no method 'lamdamart'. Did you mean 'lambdamart'?"),
        (["--measure", "ndgc@5"], "ndgc"),
        (["--valid", "{folder}/train.txt"], "is training data"),
        (["-o", "-"], "cannot be written to standard output"),
        (["-o", "{folder}"], "is a folder"),
        (["--folds", "46"], "from 2 to the number of queries (45). Got 46 instead"),
    ],
)
def test_an_error_is_one_line_and_exit_code_1(run, folder, arguments, message):
    arguments = [argument.format(folder=folder) for argument in arguments]
    code, _, err = run("tune", folder / "train.txt", *arguments)
    assert code == 1
    assert message in err
    assert err.strip().splitlines()[-1].startswith("error: ")
