import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank import load
from localrank.data import make_queries, read_letor, write_letor
from localrank.rankers import LambdaMART, RankSVM


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    dataset, _ = make_queries(60, n_documents=(5, 15), n_features=8, random_state=0)
    write_letor(dataset.select(np.arange(40)), folder / "train.txt")
    write_letor(dataset.select(np.arange(40, 60)), folder / "vali.txt")
    LambdaMART(10).fit(read_letor(folder / "train.txt")).save(folder / "model.localrank")
    return folder


def test_train_adds_trees_to_a_model(run, folder, tmp_path):
    output = tmp_path / "longer.localrank"
    arguments = ["--continue", folder / "model.localrank", "--set", "n_trees=25", "-o", output]
    code, out, _ = run("train", folder / "train.txt", *arguments, "--json")
    assert code == 0
    assert json.loads(out)["method"] == "lambdamart"
    longer, train = load(output), read_letor(folder / "train.txt")
    expected = LambdaMART(10).fit(train).set_params(n_trees=25, warm_start=True).fit(train)
    assert_array_equal(longer.predict(train), expected.predict(train))
    assert longer.n_trees_ == 25
    assert not longer.warm_start


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "n_trees=20", "--method", "gbrt"], "holds a model of lambdamart, which cannot"),
        ([], "model.localrank has 10, so give more, such as --set n_trees=20."),
        (["--set", "n_trees=10"], "must be larger than 10, the number of trees it has"),
    ],
)
def test_what_cannot_be_continued_is_said(run, folder, tmp_path, options, said):
    arguments = ["--continue", folder / "model.localrank", "-o", tmp_path / "longer.localrank"]
    code, _, err = run("train", folder / "train.txt", *arguments, *options)
    assert code == 1
    assert said in err


def test_a_model_without_trees_is_refused(run, folder, tmp_path):
    RankSVM().fit(read_letor(folder / "train.txt")).save(tmp_path / "svm.localrank")
    arguments = ["--continue", tmp_path / "svm.localrank", "-o", tmp_path / "longer.localrank"]
    code, _, err = run("train", folder / "train.txt", *arguments)
    assert code == 1
    assert "holds a RankSVM, which cannot be continued. LambdaMART," in err


def test_info_shows_how_validation_stopped_a_model(run, folder, tmp_path):
    output = tmp_path / "model.localrank"
    options = ["--valid", folder / "vali.txt", "--set", "n_trees=40", "--set", "patience=5"]
    assert run("train", folder / "train.txt", *options, "-o", output)[0] == 0
    model = load(output)
    _, out, _ = run("info", output)
    best = model.curve_[model.n_trees_ - 1, 1]
    assert f"{model.n_trees_}: {best:.4f} (best)" in out.replace("\u00a0", " ")
    assert "ndcg@10 by rounds, 1:" in " ".join(out.split())
    _, out, _ = run("info", output, "--json")
    (curve,) = json.loads(out)["curves"]
    assert curve["rounds"] == list(range(1, len(model.curve_) + 1))
    np.testing.assert_allclose(curve["values"], model.curve_[:, 1], rtol=1e-5)
