"""Runs the service: workers that share a socket, and a process that replaces them."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from localrank.serving._clicks_endpoint import open_clicks_log
from localrank.serving._models import ServedModels
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
    """Builds the application of a worker, in the worker's process."""

    settings: Settings
    log_level: str
    folder: Path | None = None

    def __call__(self) -> Any:
        _log(self.log_level)
        return Application(self.settings, self.folder)


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
        Number of processes that answer. One that dies, or whose work does not end, is replaced.
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
        "proxy_headers": access_log,  # they tell the client's address, which nothing else needs
        "http": http_protocol(),
        "ws": "none",
        "timeout_graceful_shutdown": GRACE,
        "timeout_worker_healthcheck": PATIENCE,
    }
    # Only its owner may enter it.
    with tempfile.TemporaryDirectory(prefix="localrank-serve-") as name:
        folder = Path(name)
        # Before the workers start: a model that cannot be loaded is an error of the command,
        # kernels are compiled only once, and every worker finds a copy of each model.
        models = ServedModels(settings, lambda *_: None, folder)
        models.refresh()
        if models.problems:
            raise ValueError(next(iter(models.problems.values())))
        del models
        if settings.clicks_log is not None:
            # A folder that cannot be written is an error of the command, too.
            open_clicks_log(settings)[1].close()
        (folder / "metrics").mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder / "metrics")
        app: Any = _Worker(settings, log_level, folder)
        run_workers(uvicorn.Config(app, factory=True, workers=workers, **options), folder)


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


def _log(level: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level.upper())
