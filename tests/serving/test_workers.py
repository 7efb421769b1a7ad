"""Workers whose work does not end, whose model file is damaged, or whose main process dies."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import slow_service
from serving.process import Clients, running
from serving.service import as_rows, wait_for
from serving.test_load import told

from localrank.rankers import RankSVM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc"),
]
ENDLESS = {"documents": [{"features": [1.0] * 8}] * slow_service.ENDLESS}


@pytest.fixture
def model(named, tmp_path):
    path = tmp_path / "m.localrank"
    RankSVM().fit(named).save(path)
    return path


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_whose_work_does_not_end_is_replaced_and_others_are_answered(
    n_workers, model, named, tmp_path
):
    script = Path(slow_service.__file__)
    with running(tmp_path, model, n_workers, script=script) as service:
        wait_for(lambda: service.counted("localrank_ready") == n_workers)
        first = service.workers()
        with Clients(service, as_rows(named.select([3])), 2) as clients:
            wait_for(lambda: len(clients.answers) > 20)
            assert service.ask("/v1/rank", ENDLESS)[0] == 504
            # Before the worker is replaced, its other requests have a thread.
            n = len(clients.answers)
            wait_for(lambda: len(clients.answers) > n + 20, seconds=slow_service.TIMEOUT + 1)
            wait_for(lambda: len(first - service.workers()) == 1)
            n = len(clients.answers)
            wait_for(lambda: len(clients.answers) > n + 20)
        assert len(service.workers()) == n_workers
        assert {status for status, _ in clients.answers} <= {200, 504}
        # Those that wait behind the endless list when it is given up may be too late as well.
        assert sum(status == 504 for status, _ in clients.answers) <= 2
        # A connection that is idle when its worker leaves is closed.
        assert clients.n_lost <= 2
        assert service.counted("localrank_replaced_workers_total") == 1
        wait_for(lambda: service.counted("localrank_pending_requests") == 0)
        assert "This worker is replaced." in service.log


def test_many_endless_lists_at_once_stop_nobody(model, named, tmp_path):
    with running(tmp_path, model, 1, script=Path(slow_service.__file__)) as service:
        first = service.workers()
        with ThreadPoolExecutor(6) as pool:
            endless = [pool.submit(service.ask, "/v1/rank", ENDLESS) for _ in range(6)]
            assert {one.result()[0] for one in endless} == {504}
        assert service.ask("/v1/rank", as_rows(named.select([3])))[0] == 200
        wait_for(lambda: not first & service.workers())
        assert service.ask("/v1/rank", as_rows(named.select([3])))[0] == 200


def test_a_worker_that_starts_while_the_file_is_bad_has_the_last_good_model(model, named, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    body = as_rows(named.select([3]))
    with running(tmp_path, model, "--workers", 2, TMPDIR=str(folder)) as service:
        (private,) = folder.iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
        # A worker that starts after the new file is written has nothing to load again.
        wait_for(lambda: service.counted("localrank_ready") == 2)
        before = told(service)["version"]
        RankSVM(0.01).fit(named).save(model)
        wait_for(lambda: service.counted('localrank_reloads_total{model="m",result="loaded"}') == 2)
        newest = told(service)["version"]
        answered = service.ask("/v1/rank", body)[1]
        assert newest != before
        assert service.counted('localrank_stale{model="m"}') == 0
        model.write_bytes(model.read_bytes()[:-100])
        wait_for(lambda: service.counted('localrank_stale{model="m"}') == 1)
        first = service.workers()
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: len(service.workers() - first) == 2)
        wait_for(lambda: service.counted("localrank_ready") == 2)
        for _ in range(20):
            assert service.ask("/v1/rank", body) == (200, answered)
            assert (told(service)["version"], told(service)["ready"]) == (newest, True)
            assert "damaged or cut off" in told(service)["problem"]
        assert service.counted('localrank_stale{model="m"}') == 1
        RankSVM(0.02).fit(named).save(model)
        wait_for(lambda: service.counted('localrank_stale{model="m"}') == 0)
        assert told(service)["version"] not in (before, newest)
    assert list(folder.iterdir()) == []


def test_workers_end_when_their_main_process_is_killed(model, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    with running(tmp_path, model, TMPDIR=str(folder)) as service:
        (worker,) = service.workers()
        service.process.kill()
        service.process.wait()
        wait_for(lambda: not Path(f"/proc/{worker}").exists())
        assert list(folder.iterdir()) == []


def test_a_service_stops_although_work_does_not_end(model, tmp_path):
    with running(tmp_path, model, 1, script=Path(slow_service.__file__)) as service:
        assert service.ask("/v1/rank", ENDLESS)[0] == 504
        start = time.monotonic()
    assert time.monotonic() - start < 20
