"""What does not fit is refused with the figure, and methods stay within bounds of memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

import localrank._base.memory
from localrank._base.memory import available_memory, check_memory, peak_memory
from localrank.aggregation import MarkovChain
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative
from localrank.grouping.base import group_queries
from localrank.rankers import Quadratic, RankSVM
from localrank.representations import Gaussian, Mean

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "memory.py"


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(localrank._base.memory, "available_memory", lambda: 2**16)


def test_the_machine_has_some_memory_and_an_error_names_both_figures():
    available = available_memory()
    assert available is None or available > 2**20
    if available is not None:
        with pytest.raises(MemoryError, match=r"A table needs about .* GiB .* GiB is free. Wait."):
            check_memory(available + 2**40, "A table", "Wait.")


def test_the_peak_of_memory_rises_with_what_is_held():
    before = peak_memory()
    held = np.ones(2**27, np.uint8)
    assert before is None or peak_memory() >= max(before, held.nbytes)


def test_a_container_has_its_own_limit(tmp_path, monkeypatch):
    files = (tmp_path / "max", tmp_path / "current")
    files[0].write_text("5000\n")
    files[1].write_text("2000\n")
    monkeypatch.setattr(localrank._base.memory, "_LIMITS", (tuple(map(str, files)),))
    assert available_memory() == 3000
    files[0].write_text("max\n")
    assert available_memory() != 3000


@pytest.mark.usefixtures("little_memory")
def test_agglomerative_clustering_of_many_queries_is_refused():
    points = np.zeros((300, 1))
    with pytest.raises(MemoryError, match=r"Agglomerative on 300 queries .* use k-means"):
        Agglomerative(2).group(Mean(), points)
    with pytest.raises(MemoryError, match="DBSCAN on the distances of 300 queries"):
        group_queries(DBSCAN(metric="precomputed"), Mean(), points)
    assert len(Agglomerative(2).group(Mean(), np.arange(4.0)[:, None])) == 2


@pytest.mark.usefixtures("little_memory")
def test_products_of_many_features_are_refused():
    dataset, _ = make_queries(20, n_features=40, random_state=0)
    with pytest.raises(MemoryError, match=r"Quadratic on .* 860 columns of 40 features"):
        Quadratic(RankSVM()).fit(dataset)


@pytest.mark.usefixtures("little_memory")
def test_covariances_of_many_features_are_refused():
    dataset, _ = make_queries(20, n_features=40, random_state=0)
    gaussian = Gaussian().fit(dataset)
    with pytest.raises(MemoryError, match="Gaussian with 20 covariances of 40 features"):
        gaussian.transform(dataset)


@pytest.mark.usefixtures("little_memory")
def test_a_chain_over_a_long_list_is_refused():
    dataset = RankingDataset.from_arrays(np.zeros((300, 1)), qid=np.zeros(300))
    with pytest.raises(MemoryError, match="MarkovChain on a query of 300 documents"):
        MarkovChain().aggregate(dataset, np.zeros((300, 2)))


# Generous: LightGBM's sample of up to 200,000 rows is all of this data, which larger data share.
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("method", "most"),
    [("lambdamart", 6), ("rank-svm", 5), ("svm-map", 5), ("fast", 13), ("best", 16)],
)
def test_methods_hold_few_copies_of_the_data(method, most):
    command = [sys.executable, str(BENCHMARK), "--one", method, "--documents", "60000"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*command, "--trees", "3"], capture_output=True, text=True, check=True, env=environment
    )
    _, fit, _, _, predict, _, _ = json.loads(done.stdout)
    assert fit < most
    assert predict < 2
