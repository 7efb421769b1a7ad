import json
import shutil
from typing import Any

import numpy as np
import pytest

import localrank
from localrank.data import RankingDataset, as_runs, make_queries, read_letor, write_letor
from localrank.export import Verification, list_targets, targets
from localrank.export.lightgbm_file import LightGBM
from localrank.fusion import Fusion, ReciprocalRankFusion, lists_dataset
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
    every_target: dict[str, Any] = {**targets(), **list_targets()}
    summaries = {name: target.declaration.summary for name, target in every_target.items()}
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


@pytest.fixture(scope="module")
def fusions(tmp_path_factory):
    """Two lists, and fusions of them."""
    folder = tmp_path_factory.mktemp("fusions")
    rng = np.random.default_rng(0)
    for name in ("bm25", "dense"):
        with open(folder / f"{name}.trec", "w") as file:
            for query in range(8):
                scores = np.sort(rng.permutation(500)[:20])[::-1] / 32
                documents = rng.permutation(30)[:20]
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1):
                    file.write(f"q{query} Q0 d{document} {rank} {score} {name}\n")
    lists = lists_dataset(as_runs([folder / "bm25.trec", folder / "dense.trec"]))
    ReciprocalRankFusion().fit(lists).save(folder / "ranks.localrank")
    Fusion([1, 2]).fit(lists).save(folder / "z.localrank")
    Fusion([1, 4], normalisation="min-max").fit(lists).save(folder / "scores.localrank")
    return folder


def verified(folder, *names):
    return [option for name in names for option in ("--verify", folder / f"{name}.trec")]


@pytest.mark.parametrize("model", ["ranks", "scores"])
def test_a_fusion_is_written_for_an_engine_and_verified_with_its_lists(
    run, fusions, model, tmp_path
):
    options = ["--to", "elasticsearch-retriever", "-o", tmp_path / "out"]
    # The order of the options does not matter: a list is called like its file.
    lists = verified(fusions, "dense", "bm25")
    code, out, err = run("export", fusions / f"{model}.localrank", *options, *lists)
    assert code == 0
    assert "Wrote README.md, request.json into" in err
    assert "8 of 8" in out


def test_the_window_of_a_fusion_is_an_option(run, fusions, tmp_path):
    options = ["--to", "qdrant-query", "-o", tmp_path / "out", "--window", "7"]
    code, _, _ = run("export", fusions / "ranks.localrank", *options)
    assert code == 0
    request = json.loads((tmp_path / "out" / "request.json").read_text())
    assert {each["limit"] for each in request["prefetch"]} == {7}
    lists = verified(fusions, "bm25", "dense")
    code, _, err = run("export", fusions / "ranks.localrank", *options, *lists)
    assert code == 1
    assert "--window 20" in " ".join(err.split())


def test_lists_of_other_names_are_refused(run, fusions, tmp_path):
    shutil.copy(fusions / "dense.trec", tmp_path / "other.trec")
    options = ["--to", "qdrant-query", "-o", tmp_path / "out", *verified(fusions, "bm25")]
    options += ["--verify", tmp_path / "other.trec"]
    code, _, err = run("export", fusions / "ranks.localrank", *options)
    assert code == 1
    assert "The model fuses the lists bm25, dense. Got bm25, other" in " ".join(err.split())
    assert not (tmp_path / "out").exists()


def test_a_fusion_that_no_engine_computes_names_the_service(run, fusions, folder, tmp_path):
    for model in (fusions / "z.localrank", folder / "model.localrank"):
        options = [
            "--to",
            "vespa-fusion",
            "-o",
            tmp_path / "out",
            *verified(fusions, "bm25", "dense"),
        ]
        code, _, err = run("export", model, *options)
        assert code == 1
        assert "cannot be exported" in err
        assert "`localrank serve`" in " ".join(err.split())
        assert not (tmp_path / "out").exists()
