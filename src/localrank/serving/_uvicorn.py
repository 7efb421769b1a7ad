"""The parts of uvicorn that it does not promise to keep, behind one door.

uvicorn has no options for the time and size of a request's head, nor for workers that stay alive on
SIGHUP. The classes here override methods for that. If a version of uvicorn lacks such a method, the
service goes without what it was for, and says so in its log. `tests/serving/test_uvicorn.py` says
what changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

log = logging.getLogger("localrank.serving")
# The most seconds and bytes that the head of a request may take.
HEAD_SECONDS, HEAD_BYTES = 10, 1 << 16
# What the installed version of uvicorn lacks, by class.
LACKING: dict[str, str] = {}


def borrowed(module: str, name: str, methods: Sequence[str]) -> type:
    """A class of uvicorn. What is not there any more is noted in `LACKING`."""
    part: type = getattr(import_module(module), name, object)
    if lost := [method for method in methods if not hasattr(part, method)]:
        version = uvicorn.__version__
        LACKING[name] = f"{module}.{name} of uvicorn {version} has no {', '.join(lost)}"
    return part


if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.supervisors import Multiprocess
else:
    HttpToolsProtocol = borrowed(
        "uvicorn.protocols.http.httptools_impl",
        "HttpToolsProtocol",
        [
            "connection_made",
            "connection_lost",
            "data_received",
            "on_message_begin",
            "on_headers_complete",
        ],
    )
    Multiprocess = borrowed(
        "uvicorn.supervisors", "Multiprocess", ["run", "keep_subprocess_alive", "handle_hup"]
    )


def http_protocol() -> type[asyncio.Protocol] | str:
    """The `http` option of uvicorn: connections with limits, or uvicorn's own."""
    if "HttpToolsProtocol" not in LACKING:
        return Connection
    log.warning(
        "The heads of requests have no limits: %s. Put a proxy with limits before the service.",
        LACKING["HttpToolsProtocol"],
    )
    return "auto"


def run_workers(config: uvicorn.Config) -> None:
    """Run several processes that share a socket, until a signal stops them."""
    if "Multiprocess" in LACKING:
        if not hasattr(Multiprocess, "run"):
            raise ValueError(f"Only one worker can run: {LACKING['Multiprocess']}.")
        log.warning("SIGHUP may replace the workers: %s.", LACKING["Multiprocess"])
    Workers(config, sockets=[config.bind_socket()]).run()


class Connection(HttpToolsProtocol):
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


class Workers(Multiprocess):
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
