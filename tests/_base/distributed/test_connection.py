import sys

import pytest

from localrank._base import distributed as cluster_work
from localrank._base.distributed import client_in_scope, connected
from localrank._base.memory import available_memory


def test_no_name_is_no_client():
    for name in (None, ""):
        with connected(name) as client:
            assert client is None


@pytest.mark.parametrize("name", ["local", "local:0", "local:x", "host:8786", "tcp://host"])
def test_other_names_are_refused(name):
    with (
        pytest.raises(ValueError, match=f"as tcp://host:port or local:N.* Got '{name}' instead"),
        connected(name),
    ):
        pass


def test_local_workers_have_one_thread_and_a_share_of_the_memory():
    pytest.importorskip("distributed")
    free = available_memory()
    with connected("local:2") as client:
        assert client_in_scope() is client
        workers = client.scheduler_info()["workers"].values()
        assert [worker["nthreads"] for worker in workers] == [1, 1]
        assert all(0 < 2 * worker["memory_limit"] < free for worker in workers)
        address = client.scheduler.address
        with connected(address) as other:
            assert client_in_scope() is other
            assert len(other.nthreads()) == 2
    assert client_in_scope() is None


def test_an_address_where_nothing_answers_is_said_in_seconds(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster_work, "_TO_CONNECT", 1)
    with (
        pytest.raises(OSError, match="tcp://127.0.0.1:9: no Dask scheduler answered in 1 s"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_scheduler_without_workers_is_an_error(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster_work, "TO_FIND_WORKERS", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
        pytest.raises(OSError, match="had no workers for 1 s. Start some with `dask worker tcp:"),
        connected(cluster.scheduler_address),
    ):
        pass


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'localrank\[dask\]'"), connected("local:2"):
        pass
