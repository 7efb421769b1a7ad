"""Runs the service in one process, or in several that share a socket."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from dataclasses import dataclass
from typing import Any

import uvicorn

from localrank.persistence import load_ranker
from localrank.serving._uvicorn import http_protocol, run_workers
from localrank.serving.application import Application
from localrank.serving.settings import Settings

log = logging.getLogger("localrank.serving")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# The most seconds that running requests get when the service stops.
GRACE = 30
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
        "http": http_protocol(),
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
        run_workers(uvicorn.Config(app, factory=True, workers=workers, **options))


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


def _log(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level.upper())
