"""Disturbances while requests come: new files, signals, workers that die."""

import os
import signal
import socket
import sys
import time
from collections import Counter

import numpy as np
import pytest
from serving.process import PATIENCE, Clients, running
from serving.service import as_rows, scores_of, wait_for

from localrank.persistence import load
from localrank.rankers import RankSVM

pytestmark = pytest.mark.slow

N_RELOADS = 20


@pytest.fixture(scope="module")
def versions(named, tmp_path_factory):
    """Two versions of a model, as bytes by version, and their rankers."""
    folder = tmp_path_factory.mktemp("versions")
    result = {}
    for C in (0.01, 10.0):
        path = folder / f"{C}.localrank"
        RankSVM(C=C).fit(named).save(path)
        result[path.read_bytes()] = load(path)
    return result


@pytest.fixture(scope="module")
def service(versions, tmp_path_factory):
    """One worker; its model file is in `service.model`."""
    folder = tmp_path_factory.mktemp("served")
    model = folder / "m.localrank"
    model.write_bytes(next(iter(versions)))
    with running(folder, model, "--reload-interval", 0.05, "--timeout", PATIENCE) as service:
        service.model = model
        yield service


def replace(path, content: bytes) -> None:
    """Put a new file in the place of another at once."""
    path.with_suffix(".new").write_bytes(content)
    path.with_suffix(".new").replace(path)


def told(service) -> dict:
    return service.ask("/v1/models")[1]["models"][0]


def test_reloads_under_load_fail_no_request_and_mix_no_models(service, versions, named):
    one = named.select([3])
    with Clients(service, as_rows(one)) as clients:
        for number in range(1, N_RELOADS + 1):
            before = told(service)["version"]
            replace(service.model, list(versions)[number % 2])
            wait_for(lambda before=before: told(service)["version"] != before)
    assert clients.n_lost == 0
    assert Counter(status for status, _ in clients.answers) == {200: len(clients.answers)}
    # The new version answers before it is counted.
    counted = 'localrank_reloads_total{model="m",result="loaded"}'
    wait_for(lambda: service.counted(counted) >= N_RELOADS)
    assert service.counted(counted) == N_RELOADS
    expected = [ranker.predict(one) for ranker in versions.values()]
    by_version: dict[str, list[dict]] = {}
    for _, answer in clients.answers:
        by_version.setdefault(answer["version"], []).append(answer)
    assert len(by_version) == 2
    for answers in by_version.values():
        scores = scores_of(answers[0])
        assert any(np.array_equal(scores, one) for one in expected)
        assert all(answer == answers[0] for answer in answers)


def test_a_hang_up_loads_the_file_again(service):
    before = told(service)
    service.process.send_signal(signal.SIGHUP)
    wait_for(lambda: told(service)["loaded_at"] > before["loaded_at"])
    assert told(service)["version"] == before["version"]


def test_a_damaged_file_keeps_the_old_model_and_is_told_everywhere(service, versions, named):
    before = told(service)
    good = service.model.read_bytes()
    refused = 'localrank_reloads_total{model="m",result="refused"}'
    with Clients(service, as_rows(named.select([3]))) as clients:
        replace(service.model, good[:-100])
        wait_for(lambda: told(service)["problem"])
        assert (told(service)["version"], told(service)["ready"]) == (before["version"], True)
        assert service.counted(refused) == 1
        assert service.ask("/readyz")[0] == 200
        assert "ERROR model m: " in service.log
        assert f"For now version {before['version']} stays." in service.log
        replace(service.model, good)
        wait_for(lambda: told(service)["problem"] is None)
    assert {(status, answer["version"]) for status, answer in clients.answers} == {
        (200, before["version"])
    }
    assert service.counted(refused) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_a_killed_worker_loses_its_requests_in_flight_and_comes_back(versions, named, tmp_path):
    model = tmp_path / "m.localrank"
    model.write_bytes(next(iter(versions)))
    n_clients = 6
    with running(tmp_path, model, "--workers", 2, "--timeout", PATIENCE) as service:
        wait_for(lambda: service.counted("localrank_ready") == 2)
        first = service.workers()
        with Clients(service, as_rows(named.select([3])), n_clients) as clients:
            wait_for(lambda: len(clients.answers) > 100)
            # Stopped first, it dies while it is asked for a sign of life.
            os.kill(min(first), signal.SIGSTOP)
            time.sleep(1)
            os.kill(min(first), signal.SIGKILL)
            wait_for(lambda: len(service.workers() - first) == 1, seconds=PATIENCE / 2)
            wait_for(lambda: service.counted("localrank_ready") == 2)
            n = len(clients.answers)
            wait_for(lambda: len(clients.answers) > n + 100)
        # Each connection has one request at a time.
        assert clients.n_lost <= n_clients
        assert Counter(status for status, _ in clients.answers) == {200: len(clients.answers)}
        assert service.workers() & first == {max(first)}


def test_a_service_that_stops_finishes_what_it_began(versions, named, tmp_path):
    model = tmp_path / "m.localrank"
    model.write_bytes(next(iter(versions)))
    with running(tmp_path, model, "--timeout", PATIENCE) as service:
        connection = service.connect()
        body = b'{"documents": [{"features": [1, 2, 3, 4, 5, 6, 7, 8]}]}'
        connection.putrequest("POST", "/v1/rank")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:20])
        wait_for(lambda: service.counted("localrank_pending_requests") == 1)
        service.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not _listens(service.port))
        connection.send(body[20:])
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:1]) == (200, b"{")
        connection.close()
        assert service.process.wait(PATIENCE) in (0, -signal.SIGTERM)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
