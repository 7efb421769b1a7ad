"""Workers and clients that end in the middle: what is finished is kept, the rest is done."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cluster_tasks import DyingInScoring, DyingInTraining
from numpy.testing import assert_array_equal

from localrank._base.parallel import in_parallel
from localrank.data import folds, make_queries, write_letor
from localrank.evaluation import run
from localrank.rankers import DuhKirchhoff, Ensemble, RankSVM
from localrank.recipes import local_rank

pytestmark = pytest.mark.slow

METHODS = "rank-svm,lambdamart,local-rank"


@pytest.fixture
def flag(tmp_path):
    return str(tmp_path / "a-worker-ended")


@pytest.mark.parametrize(
    "make", [lambda r: Ensemble([RankSVM(2.0), r, r]), lambda r: local_rank(3, ranker=r)]
)
def test_training_goes_on_when_a_worker_ends(client, queries, flag, make):
    model = make(DyingInTraining(flag=flag)).fit(queries)
    assert os.path.exists(flag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank._base.parallel.client_in_scope", lambda: None)
        expected = make(RankSVM()).fit(queries)
    assert_array_equal(model.predict(queries), expected.predict(queries))


def test_scoring_goes_on_when_a_worker_ends(client, queries, flag):
    parts = [queries.select(range(first, first + 10)) for first in range(0, 60, 10)]
    model = DyingInScoring(flag=flag).fit(queries)
    scores = in_parallel(
        lambda part, model: model.predict(part),
        parts,
        shared=(model,),
        n_jobs=None,
        description="Scoring",
    )
    assert os.path.exists(flag)
    assert_array_equal(np.concatenate(scores), model.predict(queries))


def test_scoring_by_a_model_for_each_query_goes_on_when_a_worker_ends(client, queries, flag):
    some = queries.select(range(8))
    scores = DuhKirchhoff(DyingInTraining(flag=flag)).fit(queries).predict(some)
    assert os.path.exists(flag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank._base.parallel.client_in_scope", lambda: None)
        assert_array_equal(scores, DuhKirchhoff(RankSVM()).fit(queries).predict(some))


@pytest.mark.parametrize("kind", [DyingInTraining, DyingInScoring])
def test_comparing_goes_on_when_a_worker_ends(client, queries, flag, tmp_path, kind):
    methods = {"plain": RankSVM(), "dying": kind(flag=flag), "other": RankSVM(2.0)}
    results = run(methods, folds(queries, 3), store=tmp_path / "store")
    assert os.path.exists(flag)
    assert len(list((tmp_path / "store").glob("*/*.npz"))) == 9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank._base.parallel.client_in_scope", lambda: None)
        expected = run({**methods, "dying": RankSVM()}, folds(queries, 3))
    for name in methods:
        assert_array_equal(results[name].scores, expected[name].scores)


def test_a_comparison_whose_client_was_killed_goes_on_where_it_was(tmp_path):
    pytest.importorskip("distributed")
    data, output, plain = tmp_path / "data.txt", tmp_path / "report", tmp_path / "plain"
    write_letor(make_queries(90, n_documents=(3, 12), n_features=6, random_state=3)[0], data)

    def command(output, *options):
        options = [*options, "--folds", "3", "--methods", METHODS, "--no-bounds"]
        options += ["--set", "lambdamart.n_trees=20", "-o", str(output)]
        return [sys.executable, "-m", "localrank", "compare", str(data), *options]

    def kept():
        return {path: path.stat().st_mtime_ns for path in output.glob("parts/*/*.npz")}

    client = subprocess.Popen(command(output, "--dask", "local:2"), stderr=subprocess.PIPE)
    try:
        while not kept():
            assert client.poll() is None, client.stderr.read().decode()
            time.sleep(0.01)
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stderr.close()
    before = kept()
    again = subprocess.run(
        command(output, "--dask", "local:2"), capture_output=True, text=True, check=True
    )
    after = kept()
    trained = [line for line in again.stderr.splitlines() if " trained in " in line]
    assert 0 < len(before) < len(after)
    assert len(trained) == len(after) - len(before)
    assert all(after[path] == time for path, time in before.items())

    subprocess.run(command(plain), capture_output=True, check=True)
    for path in after:
        with np.load(path) as written, np.load(plain / path.relative_to(output)) as expected:
            assert_array_equal(written["scores"], expected["scores"])
