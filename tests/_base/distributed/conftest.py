import logging
import time
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
def task_sizes(client, monkeypatch):
    """The bytes of each task that is sent, without what workers have already."""
    import cloudpickle

    sizes = []
    submit = client.submit

    def weighed(task, *arguments, **options):
        sizes.append(len(cloudpickle.dumps((task, *arguments))))
        return submit(task, *arguments, **options)

    monkeypatch.setattr(client, "submit", weighed)
    return sizes


@pytest.fixture
def single():
    """One worker, which takes along what it holds. Not in scope, unless made the current one."""
    with started(1, in_scope=False) as client:
        yield client


@pytest.fixture(scope="module")
def resized():
    """A cluster for `sizes`. Not in scope, unless made the current one."""
    with started(2, in_scope=False) as client:
        yield client


@pytest.fixture(
    scope="module",
    params=[2, pytest.param(4, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)],
    ids="{} workers".format,
)
def sizes(request, resized):
    """Clusters of two, four and one workers in turn: the same one, which gains and loses some."""
    resized.cluster.scale(request.param)
    for _ in range(600):
        if len(resized.nthreads()) == request.param:
            return resized
        time.sleep(0.1)
    pytest.fail(f"the cluster has {len(resized.nthreads())} workers, not {request.param}")
