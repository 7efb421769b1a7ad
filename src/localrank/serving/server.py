"""Runs the service in one process, or in several that share a socket."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import tempfile
from dataclasses import dataclass
from typing import Any

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from localrank.persistence import load_ranker
from localrank.serving.application import Application
from localrank.serving.settings import Settings

log = logging.getLogger("localrank.serving")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# The most seconds that running requests get when the service stops.
GRACE = 30
# The most seconds and bytes that the head of a request may take.
HEAD_SECONDS, HEAD_BYTES = 10, 1 << 16
# Seconds after which a worker that does not react is replaced. A starting worker does not react.
PATIENCE = 60


@dataclass(frozen=True)
class _Worker:
    """Builds the application of one of several workers, in the worker's process."""

    settings: Settings
    log_level: str

    def __call__(self) -> Any:
        _log(self.log_level)
        return Application(self.settings).asgi


def serve(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    workers: int = 1,
    log_level: str = "info",
    access_log: bool = False,
) -> None:
    """Answer requests until a signal stops the service. Running requests are finished.

    SIGHUP loads all model files again. Changed files are loaded without it.

    Parameters
    ----------
    settings : Settings
    host, port : str, int
        Address and port to listen on. Port 0: a free one.
    workers : int, default=1
        Number of processes. A process that dies is started again.
    log_level : str, default="info"
    access_log : bool, default=False
        Whether to log a line for each request: method, path and status.
    """
    _check_address(host, port)
    _log(log_level)
    if settings.token is None and host not in LOOPBACK:
        log.warning("No token was given: everybody who reaches %s may send requests.", host)
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "log_config": None,
        "access_log": access_log,
        "server_header": False,
        "http": _Connection,
        "ws": "none",
        "timeout_graceful_shutdown": GRACE,
        "timeout_worker_healthcheck": PATIENCE,
    }
    if workers == 1:
        _serve_alone(settings, options)
        return
    # Before the workers start: a model that cannot be loaded is an error of the command, and
    # kernels are compiled only once.
    for path in settings.models.values():
        load_ranker(path)
    with tempfile.TemporaryDirectory(prefix="localrank-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        app: Any = _Worker(settings, log_level)
        config = uvicorn.Config(app, factory=True, workers=workers, **options)
        _Workers(config, sockets=[config.bind_socket()]).run()


def _check_address(host: str, port: int) -> None:
    """Refuse an address that is not free, before models are loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ValueError(
            f"The service cannot listen on {host}, port {port}: {error.strerror}. Give another "
            f"port, or 0 for a free one."
        ) from None


def _serve_alone(settings: Settings, options: dict[str, Any]) -> None:
    problems: list[str] = []

    def failed(problem: str) -> None:
        problems.append(problem)
        server.should_exit = True

    server = uvicorn.Server(uvicorn.Config(Application(settings, failed).asgi, **options))
    server.run()
    if problems:
        raise ValueError(problems[0])


class _Connection(HttpToolsProtocol):
    """A connection that is closed if the head of a request comes too slowly or is too long.

    The application sees a request only when its head is complete. Without these limits, anybody
    could keep connections open or fill the memory.
    """

    _n_bytes = 0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._n_bytes += len(data)
        super().data_received(data)
        if self._waiting is not None and self._n_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._n_bytes = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Workers(Multiprocess):
    """Workers that load their models again on SIGHUP instead of being replaced."""

    def keep_subprocess_alive(self) -> None:
        for process in self.processes:
            # If this end stayed open here, a worker that dies during the health check would be
            # waited for.
            process.child_conn.close()
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            # A dead worker's requests no longer wait.
            mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)


def _log(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level.upper())
