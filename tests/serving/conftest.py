from contextlib import ExitStack
from pathlib import Path

import pytest
from serving.service import wait_for
from starlette.testclient import TestClient

from localrank.data import RankingDataset
from localrank.rankers import RankSVM
from localrank.recipes import local_rank
from localrank.serving import Application, Settings


@pytest.fixture(scope="session")
def named(queries) -> RankingDataset:
    """The labelled queries, their features named."""
    names = [f"feature_{column}" for column in range(queries.n_features)]
    return queries.with_features(queries.features, names)


@pytest.fixture(scope="session")
def files(named, tmp_path_factory) -> dict[str, Path]:
    """A linear and a local model."""
    folder = tmp_path_factory.mktemp("models")
    paths = {name: folder / f"{name}.localrank" for name in ("linear", "local")}
    RankSVM().fit(named).save(paths["linear"])
    local_rank(3).fit(named).save(paths["local"])
    return paths


@pytest.fixture
def serve():
    """Serve models in this process, for as long as the test takes."""
    with ExitStack() as running:

        def start(models, shares=None, **options) -> TestClient:
            settings = Settings(models, shares or {}, **{"reload_interval": 0.05} | options)
            client = running.enter_context(TestClient(Application(settings)))
            wait_for(lambda: client.get("/readyz").status_code == 200)
            return client

        yield start


@pytest.fixture
def client(serve, files) -> TestClient:
    """A service of the linear model, with the local one beside it."""
    return serve(files)
