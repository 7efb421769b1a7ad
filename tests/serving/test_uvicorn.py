"""The parts of uvicorn that the service borrows: a failure says which of them changed."""

import asyncio
import logging
import socket
from multiprocessing.process import BaseProcess

import pytest
import uvicorn
from uvicorn.server import ServerState
from uvicorn.supervisors.multiprocess import Process

from localrank.serving import _uvicorn
from localrank.serving._uvicorn import (
    HEAD_BYTES,
    STEP,
    Connection,
    Workers,
    borrowed,
    http_protocol,
    run_workers,
)


async def silent(scope, receive, send):
    """An application that never answers."""
    await asyncio.Event().wait()


class Transport(asyncio.Transport):
    """Records whether it was closed, and whether it is read from."""

    closed = aborted = paused = False

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = self.aborted = True

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False

    def is_closing(self):
        return self.closed


def test_uvicorn_has_every_method_that_is_overridden():
    assert _uvicorn.LACKING == {}, "borrowed methods that are gone: see serving/_uvicorn.py"
    assert http_protocol() is Connection


def connected():
    connection = Connection(uvicorn.Config(silent, log_config=None), ServerState(), {})
    transport = Transport()
    connection.connection_made(transport)
    return connection, transport


def test_a_connection_waits_for_a_head_with_a_timer_and_counts_its_bytes():
    async def check():
        connection, transport = connected()
        assert connection._waiting is not None, "connection_made set no timer"
        connection.data_received(b"GET / HTTP/1.1\r\nhost: a\r\n")
        assert connection._waiting is not None, "on_message_begin set no timer"
        connection.data_received(b"\r\n")
        assert connection._waiting is None, "on_headers_complete was not called"
        assert not transport.closed
        connection.connection_lost(None)

    asyncio.run(check())


def test_a_head_that_is_too_long_closes_the_connection():
    async def check():
        connection, transport = connected()
        connection.data_received(b"GET / HTTP/1.1\r\nlong: ")
        connection.data_received(b"a" * HEAD_BYTES)
        assert not transport.closed
        connection.data_received(b"a")
        assert transport.closed
        connection.connection_lost(None)
        assert connection._waiting is None

    asyncio.run(check())


def test_the_request_that_is_being_answered_learns_that_its_client_has_gone():
    async def check(answered):
        connection, _ = connected()
        head = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
        connection.data_received(head + head)
        (second,) = (cycle for cycle, _ in connection.pipeline)
        first = connection._answering
        assert first not in (None, second)
        if answered:
            first.response_complete = True
            connection.on_response_complete()
        connection.connection_lost(ConnectionResetError())
        return first.disconnected, second.disconnected

    # uvicorn itself tells the last request.
    assert asyncio.run(check(answered=False)) == (True, True)
    assert asyncio.run(check(answered=True)) == (False, True)


def test_workers_have_the_attributes_that_are_read(tmp_path):
    config = uvicorn.Config(silent, log_config=None)
    workers = Workers(config, [], tmp_path)
    assert workers.processes == []
    process = Process(config, sockets=[])
    assert process.pid is None
    assert isinstance(process.process, BaseProcess)
    process.child_conn.close()
    process.parent_conn.close()


def test_what_a_version_lacks_is_named_and_gone_without(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(_uvicorn, "LACKING", {})
    monkeypatch.setattr(_uvicorn, "Multiprocess", object)
    assert borrowed("uvicorn.supervisors", "Multithread", ["run"]) is object
    borrowed("uvicorn.protocols.http.httptools_impl", "HttpToolsProtocol", ["on_head"])
    _uvicorn.LACKING["Multiprocess"] = _uvicorn.LACKING.pop("Multithread")
    with caplog.at_level(logging.WARNING):
        assert http_protocol() == "auto"
    assert f"HttpToolsProtocol of uvicorn {uvicorn.__version__} has no on_head" in caplog.text
    with pytest.raises(ValueError, match="Only one worker can run: .*Multithread .* has no run"):
        run_workers(uvicorn.Config(silent, log_config=None, workers=2), tmp_path)
    served = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server: served.append(server))
    run_workers(uvicorn.Config(silent, log_config=None), tmp_path)
    assert len(served) == 1
    assert "A worker that fails is not replaced" in caplog.text


def test_the_address_takes_connections_before_a_worker_is_ready(monkeypatch, tmp_path):
    addresses = []

    def connect(workers):
        address = workers.sockets[0].getsockname()
        with socket.create_connection(address, timeout=5):
            addresses.append(address)
        workers.sockets[0].close()

    monkeypatch.setattr(Workers, "run", connect)
    run_workers(uvicorn.Config(silent, port=0, log_config=None), tmp_path)
    assert addresses


def test_a_client_that_does_not_read_is_disconnected(monkeypatch):
    monkeypatch.setattr(_uvicorn, "UNREAD_SECONDS", 0.01)

    async def check(reads):
        connection, transport = connected()
        connection.pause_writing()
        if reads:
            connection.resume_writing()
        await asyncio.sleep(0.05)
        assert transport.aborted != reads
        connection.connection_lost(None)

    asyncio.run(check(reads=True))
    asyncio.run(check(reads=False))


def test_no_more_is_read_and_parsed_than_is_answered():
    async def check():
        connection, transport = connected()
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n" * 100_000)
        n_waiting = len(connection.pipeline)
        assert 0 < n_waiting <= STEP / 18, "more requests were parsed than one step holds"
        assert transport.paused
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
        assert len(connection.pipeline) == n_waiting
        connection.cycle.response_complete = True
        connection.on_response_complete()
        assert transport.paused, "on_response_complete reads on although requests wait"
        connection.connection_lost(None)

    asyncio.run(check())
