import logging
from contextlib import contextmanager

import pytest


@contextmanager
def started(n_workers: int, in_scope: bool = True):
    """A client with so many worker processes of its own."""
    distributed = pytest.importorskip("distributed", reason="needs pip install 'localrank[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GB",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=in_scope) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    """Two workers, for the tests of a module."""
    with started(2) as client:
        yield client


@pytest.fixture
def single():
    """One worker, which takes along what it holds. Not in scope, unless made the current one."""
    with started(1, in_scope=False) as client:
        yield client


@pytest.fixture(scope="module", params=[1, 2, 4])
def sizes(request):
    """Clusters of one, two and four workers in turn."""
    with started(request.param) as client:
        yield client
