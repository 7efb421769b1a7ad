"""Running the service: one process, or several that share a socket."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
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
# Seconds that requests have to end when the service stops.
GRACE = 30
# Seconds and bytes that the head of a request may take.
HEAD_SECONDS, HEAD_BYTES = 10, 1 << 16
# Seconds after which a worker that does not react is replaced. It does not while it is started.
PATIENCE = 60


@dataclass(frozen=True)
class _Worker:
    """Builds the application of one of several workers, in its own process."""

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
    """Answer requests until a signal says to stop; what was begun is finished then.

    SIGHUP loads the model files anew. Changed files are noticed without it.

    Parameters
    ----------
    settings : Settings
    host, port : str, int
        Where to listen; port 0 takes a free one.
    workers : int, default=1
        Processes. One that dies is started again.
    log_level : str, default="info"
    access_log : bool, default=False
        A line for each request: method, path and status.
    """
    _log(log_level)
    if settings.token is None and host not in LOOPBACK:
        log.warning("Everybody who reaches %s may ask: no token was given.", host)
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
    # Before there are workers: one that cannot be loaded is an error of the command, and kernels
    # are compiled once.
    for path in settings.models.values():
        load_ranker(path)
    with tempfile.TemporaryDirectory(prefix="localrank-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        app: Any = _Worker(settings, log_level)
        config = uvicorn.Config(app, factory=True, workers=workers, **options)
        _Workers(config, sockets=[config.bind_socket()]).run()


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
    """A connection whose requests begin in time and briefly, or that is closed.

    The application sees a request once its head is complete. Before that, anybody could keep
    connections open, or fill the memory.
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
    """Workers that load their models anew on SIGHUP instead of being replaced."""

    def keep_subprocess_alive(self) -> None:
        for process in self.processes:
            # With this end open here too, one that dies when asked for a sign of life would be
            # waited for.
            process.child_conn.close()
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            # Its requests no longer wait.
            mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)


def _log(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level.upper())
