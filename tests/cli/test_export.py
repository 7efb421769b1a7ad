import json
import shutil

import numpy as np
import pytest

import localrank
from localrank.data import RankingDataset, make_queries, read_letor, write_letor
from localrank.export import Verification, targets
from localrank.export.lightgbm_file import LightGBM
from localrank.rankers import DuhKirchhoff, LambdaMART


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    dataset, _ = make_queries(60, n_documents=(5, 15))
    write_letor(dataset, folder / "data.txt")
    LambdaMART(20).fit(read_letor(folder / "data.txt")).save(folder / "model.localrank")
    return folder


def test_the_list_that_the_help_names_has_every_target(run):
    _, out, _ = run("export", "--help")
    assert "localrank methods" in " ".join(out.split())
    _, out, _ = run("methods", "--json")
    summaries = {name: target.declaration.summary for name, target in targets().items()}
    listed = json.loads(out)["targets"]
    assert {name: entry["summary"] for name, entry in listed.items()} == summaries
    _, out, _ = run("methods")
    for name in summaries:
        assert f" {name} " in out.partition("Export targets")[2]


def test_an_export_is_written_and_verified(run, folder, tmp_path):
    options = ["--to", "lightgbm", "-o", tmp_path / "out", "--verify", folder / "data.txt"]
    code, out, err = run("export", folder / "model.localrank", *options)
    assert code == 0
    assert "Wrote README.md, localrank.txt into" in err
    assert "60 of 60" in out


def test_the_comparison_can_be_read_by_programs(run, folder, tmp_path):
    options = ["--to", "lightgbm", "-o", tmp_path / "out", "--verify", folder / "data.txt"]
    _, out, _ = run("export", folder / "model.localrank", *options, "--json")
    result = json.loads(out)
    assert result["to"] == "lightgbm"
    assert result["n_equal_lists"] == result["n_lists"] == 60
    assert result["largest_difference"] == 0
    assert result["first_move"] is None


def test_another_order_is_told_by_the_exit_code(run, folder, tmp_path, monkeypatch):
    def scores(self, files, dataset):
        return np.arange(dataset.n_documents, dtype=float)

    monkeypatch.setattr(LightGBM, "scores", scores)
    options = ["--to", "lightgbm", "-o", tmp_path / "out", "--verify", folder / "data.txt"]
    code, out, _ = run("export", folder / "model.localrank", *options)
    assert code == 3
    assert "first that moves" in out
    code, out, _ = run("export", folder / "model.localrank", *options, "--json")
    assert code == 3
    data = read_letor(folder / "data.txt")
    ranker = localrank.load(folder / "model.localrank")
    expected = Verification.of(data, ranker.predict(data), np.arange(data.n_documents, dtype=float))
    assert json.loads(out)["first_move"]["rank"] == expected.first_move.rank


def test_what_cannot_be_exported_is_one_line(run, folder, tmp_path):
    path = tmp_path / "model.localrank"
    DuhKirchhoff().fit(read_letor(folder / "data.txt")).save(path)
    code, _, err = run("export", path, "--to", "lightgbm", "-o", tmp_path / "out")
    assert code == 1
    assert err.startswith("error: DuhKirchhoff cannot be exported: ")
    assert err.count("\n") == 1


def test_a_mistake_in_the_data_is_told_before_files_are_written(run, folder, tmp_path):
    bad = tmp_path / "bad.txt"
    shutil.copy(folder / "data.txt", bad)
    with bad.open("a") as file:
        file.write("0 qid:1 nonsense\n")
    options = ["--to", "lightgbm", "-o", tmp_path / "out", "--verify", bad]
    code, _, err = run("export", folder / "model.localrank", *options)
    assert code == 1
    assert "bad.txt:" in err
    assert not (tmp_path / "out").exists()


def test_a_model_of_other_features_is_not_verified(run, folder, tmp_path):
    dataset, _ = make_queries(10, n_features=30)
    write_letor(dataset, tmp_path / "wide.txt")
    options = ["--to", "lightgbm", "-o", tmp_path / "out", "--verify", tmp_path / "wide.txt"]
    code, _, err = run("export", folder / "model.localrank", *options)
    assert code == 1
    assert "feature id 21" in err


def test_an_order_that_single_precision_changes_is_told_apart(run, tmp_path):
    # Both values are one number in single precision, and a threshold lies between them.
    values = np.tile([1.0, 1.0 + 1e-12, 5.0], 100)
    data = RankingDataset.from_arrays(
        values[:, None], np.tile([0, 2, 1], 100), np.repeat(np.arange(100), 3)
    )
    LambdaMART(5, min_leaf_documents=5, feature_fraction=1.0).fit(data).save(tmp_path / "model")
    write_letor(data, tmp_path / "data.txt")
    options = ["--to", "solr", "-o", tmp_path / "out", "--verify", tmp_path / "data.txt"]
    code, out, _ = run("export", tmp_path / "model", *options)
    assert code == 3
    assert "0 of 100" in out
    assert "100 of 100 lists in the same order" in out
    assert "--float32" in out
    assert run("export", tmp_path / "model", *options, "--float32")[0] == 0
