"""Data in files, read by workers: the same to the last bit, refused by name, and resumed."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pyarrow as pa
import pytest
from cluster_tasks import CountedRanker, DyingInScoring, DyingInTraining, process, small_sample
from numpy.testing import assert_array_equal
from partitioned import written
from pyarrow import parquet

from localrank import recipes
from localrank.data import SampleWarning, folds, make_queries, open_partitions
from localrank.data._parts import over_parts, passes_with
from localrank.evaluation import compare
from localrank.rankers import RankSVM
from localrank.recipes import local_rank
from localrank.registry import declared

pytestmark = pytest.mark.slow

RECIPES = declared(recipes)


@pytest.fixture(scope="module")
def partitioned(queries, tmp_path_factory):
    return written(queries, tmp_path_factory.mktemp("parts"), 5)


def alone(work):
    """What work makes without the cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank._base.parallel.client_in_scope", lambda: None)
        return work()


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_learn_and_score_the_same_from_files(client, queries, partitioned, name):
    model = small_sample(RECIPES[name]).fit(partitioned)
    expected = alone(lambda: small_sample(RECIPES[name]).fit(queries))
    assert model.training_data_ == expected.training_data_
    assert_array_equal(model.predict(queries), alone(lambda: expected.predict(queries)))
    scores = alone(lambda: expected.predict(partitioned))
    assert_array_equal(model.predict(partitioned), scores)


def test_a_comparison_on_files_is_the_same(client, partitioned):
    def tables():
        result = compare("rank-svm,local-rank", folds(partitioned, 3), ["ndcg@5"], n_controls=1)
        return {
            name: (one.scores.tobytes(), one.n_models, one.model_bytes)
            for name, one in result.results.items()
        }

    assert tables() == alone(tables)


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_all_workers_read_partitions_whatever_the_number_of_jobs(client, partitioned, n_jobs):
    with passes_with(n_jobs):
        processes = over_parts(process, partitioned, description="Processes")
    assert set(processes) == set(client.run(os.getpid).values())


@pytest.mark.parametrize(
    "work",
    [
        lambda data: local_rank(3, ranker=RankSVM()).fit(data),
        lambda data: local_rank(3, ranker=RankSVM()).fit(data).predict(data),
        lambda data: RankSVM().fit(data.in_memory()).predict(data),
    ],
    ids=["training", "both", "scoring"],
)
def test_tasks_carry_the_names_of_files_and_not_what_is_in_them(client, task_sizes, tmp_path, work):
    data, _ = make_queries(100, n_documents=(18, 20), n_features=10, random_state=2)
    parts = written(data, tmp_path, 3)
    task_sizes.clear()
    assert data.features.nbytes > 140_000
    work(parts)
    assert len(task_sizes) >= 3
    assert max(task_sizes) < 4_000


def test_a_model_that_scores_partitions_is_sent_once(client, queries, partitioned, monkeypatch):
    model = CountedRanker().fit(queries)
    monkeypatch.setattr(CountedRanker, "n_sent", 0)
    scores = model.predict(partitioned)
    assert CountedRanker.n_sent == 1
    assert_array_equal(scores, model.predict(partitioned.in_memory()))


def test_scoring_files_goes_on_when_a_worker_ends(client, queries, partitioned, tmp_path):
    flag = tmp_path / "flag"
    model = DyingInScoring(flag=str(flag)).fit(queries)
    scores = model.predict(partitioned)
    assert flag.exists()
    assert_array_equal(scores, model.predict(partitioned.in_memory()))


def test_training_groups_from_files_goes_on_when_a_worker_ends(
    client, queries, partitioned, tmp_path
):
    flag = tmp_path / "flag"
    model = local_rank(3, ranker=DyingInTraining(flag=str(flag))).fit(partitioned)
    assert flag.exists()
    expected = alone(lambda: local_rank(3, ranker=RankSVM()).fit(queries))
    assert_array_equal(model.predict(queries), expected.predict(queries))


def damaged(path):
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: len(content) // 2])


def without_a_column(path):
    table = parquet.read_table(path)
    parquet.write_table(table.drop_columns([table.column_names[-1]]), path)


def with_a_query_of_another(path):
    other = parquet.read_table(path.with_name("part-000.parquet"))
    parquet.write_table(pa.concat_tables([parquet.read_table(path), other.slice(0, 1)]), path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (damaged, "the file is damaged or incomplete"),
        (without_a_column, "there is no column '.*', which part-000.parquet has"),
        (with_a_query_of_another, "query .* is also in part-000.parquet"),
    ],
)
def test_files_that_are_not_right_are_refused_by_name(client, queries, tmp_path, spoil, reason):
    written(queries, tmp_path, 3)
    path = tmp_path / "part-002.parquet"
    spoil(path)
    with pytest.raises(ValueError, match=f"^{path}: {reason}"):
        open_partitions(tmp_path)


def test_a_file_damaged_after_opening_is_refused_by_name(client, queries, tmp_path):
    data = written(queries, tmp_path, 3)
    path = tmp_path / "part-001.parquet"
    damaged(path)
    for work in (
        lambda: RankSVM().fit(queries).predict(data),
        lambda: local_rank(3, ranker=RankSVM()).fit(data),
    ):
        with pytest.raises(ValueError, match=f"^{path}: the file is damaged or incomplete"):
            work()


def test_commands_give_the_same_files_from_partitions(run, queries, partitioned, tmp_path):
    data = partitioned.partitions[0].path.parent
    method = ["--method", "local-rank", "--set", "n_clusters=2", "--set", "ranker=rank-svm"]
    made = {}
    for options in ([], ["--dask", "local:2"]):
        model, scores = tmp_path / f"{len(options)}.localrank", tmp_path / f"{len(options)}"
        with warnings.catch_warnings():
            warnings.simplefilter("default", SampleWarning)
            code, _, err = run(
                *("train", data, "-o", model, *method, "--max-documents", 300, *options)
            )
        assert code == 0, err
        assert "drawn by their ids" in err
        code, _, err = run("rank", model, data, "-o", scores, *options)
        assert code == 0, err
        files = {path.name: path.read_bytes() for path in sorted(scores.iterdir())}
        assert sorted(files) == [partition.path.name for partition in partitioned.partitions]
        made[len(options)] = model.read_bytes(), files
    assert made[0] == made[2]


def test_tuning_by_command_is_the_same_from_partitions(run, partitioned, tmp_path):
    data = partitioned.partitions[0].path.parent
    said = []
    for options in ([], ["--dask", "local:2"]):
        model = tmp_path / f"{len(options)}.localrank"
        code, out, err = run(
            *("tune", data, "-o", model, "--method", "rank-svm", "--grid", "C=0.1,1.0", *options)
        )
        assert code == 0, err
        said.append((out, model.read_bytes()))
    assert said[0] == said[1]


def test_ranking_whose_client_was_killed_goes_on_where_it_was(run, tmp_path):
    queries, _ = make_queries(150, n_documents=(3, 6), n_features=6, random_state=3)
    n_parts = len(written(queries, tmp_path / "data", 120).partitions)
    RankSVM().fit(queries).save(tmp_path / "model.localrank")
    scores, plain = tmp_path / "scores", tmp_path / "plain"

    def rank(output):
        return ["rank", str(tmp_path / "model.localrank"), str(tmp_path / "data"), "-o", output]

    command = [sys.executable, "-m", "localrank", *rank(scores), "--dask", "local:2"]

    def kept():
        return {path: path.stat().st_mtime_ns for path in scores.glob("*.parquet")}

    client = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        while not kept():
            assert client.poll() is None, client.stderr.read().decode()
            time.sleep(0.002)
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stderr.close()
    before = kept()
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    after = kept()
    assert 0 < len(before) < len(after) == n_parts
    assert all(after[path] == time for path, time in before.items())
    # Workers may have ended a moment after their client.
    [n_kept] = [
        int(line.split("; ")[1].split(" of ")[0])
        for line in again.stderr.splitlines()
        if line.endswith("partitions were done before")
    ]
    assert len(before) <= n_kept < n_parts

    assert run(*rank(plain))[0] == 0
    for path in after:
        assert path.read_bytes() == (plain / path.name).read_bytes()
    assert np.isfinite(parquet.read_table(scores).column("score").to_numpy()).all()
