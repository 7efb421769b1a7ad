"""`train` and `compare` on a folder of partitions do what they do on one file."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import localrank
from localrank.data import (
    SampleWarning,
    convert,
    make_queries,
    open_partitions,
    read_letor,
    write_letor,
)
from localrank.persistence import read_manifest
from localrank.rankers import RankSVM


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    made, _ = make_queries(45, n_documents=(4, 9), n_features=6, random_state=2)
    write_letor(made, folder / "log.txt")
    convert(folder / "log.txt", folder / "data", partition_size=60, dtype=np.float64)
    return folder


@pytest.mark.parametrize("method", ["rank-svm", "pca-queries", "best-feature"])
def test_a_model_trained_on_a_folder_is_the_one_of_the_file(run, logs, tmp_path, method):
    for data in ("log.txt", "data"):
        path = tmp_path / f"{data}.localrank"
        code, _, err = run("train", logs / data, "--method", method, "-o", path)
        assert code == 0, err
    dataset = read_letor(logs / "log.txt")
    one, two = (localrank.load(tmp_path / f"{name}.localrank") for name in ("log.txt", "data"))
    assert_array_equal(one.predict(dataset), two.predict(dataset))


@pytest.mark.filterwarnings("default::localrank.data.SampleWarning")
def test_what_a_model_learns_from_can_be_limited(run, logs, tmp_path):
    path = tmp_path / "model.localrank"
    options = ["--method", "rank-svm", "--max-documents", 100, "-o", path]
    code, _, err = run("train", logs / "data", *options)
    assert code == 0, err
    assert re.search(r"warning: RankSVM was trained on \d+ of 45 queries", err)
    drawn = read_manifest(path)["training_data"]["drawn"]
    assert drawn["max_documents"] == 100
    dataset = read_letor(logs / "log.txt")
    with pytest.warns(SampleWarning):
        expected = RankSVM().fit(dataset, max_documents=100).predict(dataset)
    assert_array_equal(localrank.load(path).predict(dataset), expected)


def test_zero_is_no_limit(run, logs, tmp_path, monkeypatch):
    monkeypatch.setattr("localrank.data._sources.Files.default_limit", 100)
    path = tmp_path / "model.localrank"
    run("train", logs / "data", "--method", "rank-svm", "--max-documents", 0, "-o", path)
    assert "drawn" not in read_manifest(path)["training_data"]


@pytest.mark.parametrize("limit", [[], ["--max-documents", 90]], ids=["whole", "drawn"])
@pytest.mark.filterwarnings("ignore::localrank.data.SampleWarning")
@pytest.mark.filterwarnings("ignore:.*found nothing to split on")
def test_a_folder_compares_as_the_file_does(run, logs, tmp_path, limit):
    options = ["--methods", "rank-svm,pca-queries", "--baseline", "rank-svm", "--folds", 3, *limit]
    # Folds are cut by the positions of queries, which are other ones in the folder.
    write_letor(open_partitions(logs / "data").in_memory(), tmp_path / "log.txt")
    for data in (tmp_path / "log.txt", logs / "data"):
        code, _, err = run("compare", data, *options, "-o", tmp_path / data.stem)
        assert code == 0, err
    one, two = (tmp_path / name / "scores.csv" for name in ("log", "data"))
    assert one.read_text() == two.read_text()


@pytest.mark.parametrize("command", ["train", "tune"])
def test_partitions_that_are_trained_on_do_not_validate(run, logs, tmp_path, command):
    part = min((logs / "data").iterdir())
    for data, valid in ((logs / "data", part), (part, logs / "data"), (part, part)):
        code, _, err = run(command, data, "--valid", valid, "-o", tmp_path / "model")
        assert code == 1
        assert "is training data, so it cannot validate" in err
    assert not (tmp_path / "model").exists()
