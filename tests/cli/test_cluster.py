import pytest

from localrank._base import distributed as cluster_work
from localrank.data import make_queries, write_letor


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pytest.importorskip("distributed", reason="needs pip install 'localrank[dask]'")
    path = tmp_path_factory.mktemp("data") / "train.txt"
    write_letor(make_queries(40, n_documents=(3, 9), n_features=5, random_state=4)[0], path)
    return path


@pytest.mark.parametrize("command", ["train", "compare", "rank", "reproduce"])
def test_commands_that_work_long_can_do_it_on_a_cluster(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "--dask" in out


@pytest.mark.slow
def test_training_and_ranking_on_a_cluster_give_the_same_files(run, data, tmp_path):
    files = {}
    for options in ([], ["--dask", "local:2"]):
        model, ranked = tmp_path / f"{len(options)}.localrank", tmp_path / f"{len(options)}.trec"
        code, out, err = run(
            *("train", data, "-o", model, "--method", "local-rank"),
            *("--set", "n_clusters=2", "--set", "ranker=rank-svm", *options),
        )
        assert code == 0, err
        said = [
            line for line in err.splitlines() if line.startswith(("2 workers", "Workers' peak"))
        ]
        assert len(said) == len(options)
        assert run("rank", model, data, "-o", ranked, *options)[0] == 0
        files[len(options)] = out, model.read_bytes(), ranked.read_bytes()
    assert files[0] == files[2]


def test_an_error_on_a_cluster_is_one_line(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_work, "_TO_CONNECT", 1)
    code, out, err = run("train", data, "-o", tmp_path / "m", "--dask", "tcp://127.0.0.1:9")
    assert (code, out) == (1, "")
    assert err.startswith("error: tcp://127.0.0.1:9: no Dask scheduler answered")
    assert err.count("\n") == 1
