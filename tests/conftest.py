import os
import sys
from functools import cache
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# Test workers share the cores, and LightGBM's threads would otherwise spin while they wait.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from recorder import Recorder
from samples import RANKERS

from localrank.data import RankingDataset, make_queries
from localrank.registry import make_sample

# A busy machine is slow, not wrong.
hypothesis.settings.register_profile(
    "localrank", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("localrank")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs a browser as slow."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def queries() -> RankingDataset:
    """Sixty small labelled queries of two types."""
    return make_queries(60, n_documents=(3, 20), n_features=8, n_types=2, random_state=1)[0]


@pytest.fixture(scope="session")
def trained(queries):
    """A ranker or recipe by its name, small, and trained once for all tests of a dataset.

    No test may change it.
    """

    models = cache(lambda name, dataset: make_sample(RANKERS[name]).fit(dataset))
    return lambda name, dataset=queries: models(name, dataset)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def seen(monkeypatch) -> list:
    """What each `Recorder` was trained with."""
    monkeypatch.setattr(Recorder, "seen", [])
    return Recorder.seen


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of public benchmark collections; tests that need it skip without it."""
    default = Path(__file__).parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("LOCALRANK_DATA", default))
    if not folder.is_dir():
        pytest.skip("no benchmark data: set LOCALRANK_DATA to a folder with MQ2008 and others")
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process: exit code, output, error output."""
    from localrank.cli import main

    def call(*arguments, columns=200) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["localrank", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as stop:
            main()
        output = capsys.readouterr()
        return stop.value.code, output.out, output.err

    return call
