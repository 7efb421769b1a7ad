"""The parts of uvicorn that it does not promise to keep, behind one door.

uvicorn has no options for the time and size of a request's head, for requests that are sent
before earlier ones are answered, for workers that stay alive on SIGHUP, nor for workers that are
replaced when their work does not end. The classes here override methods for that. If a version of
uvicorn lacks such a method, the service goes without what it was for, and says so in its log.
`tests/serving/test_uvicorn.py` says what changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

log = logging.getLogger("localrank.serving")
# The most seconds that the head of a request may take, and the rest of a body that was answered
# before its end.
HEAD_SECONDS = 10
# The most bytes of a request's head; and of the bytes around its body that outnumber the body:
# sizes and extensions of chunks, and trailers.
HEAD_BYTES = 1 << 16
# The most headers. Each takes some hundred bytes of memory, however short it is.
MAX_HEADERS = 100
# The most seconds that a client may leave an answer unread.
UNREAD_SECONDS = 30
# Bytes that are parsed at once. The requests in them are the most that wait behind a request.
STEP = 1 << 12
# Seconds that a replaced worker gets to end, after the time for its last requests.
LEAVE_SECONDS = 5
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
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
    from uvicorn.supervisors import Multiprocess
    from uvicorn.supervisors.multiprocess import Process
else:
    HttpToolsProtocol = borrowed(
        "uvicorn.protocols.http.httptools_impl",
        "HttpToolsProtocol",
        [
            "connection_made",
            "connection_lost",
            "data_received",
            "on_message_begin",
            "on_header",
            "on_headers_complete",
            "on_body",
            "on_response_complete",
            "pause_writing",
            "resume_writing",
        ],
    )
    Multiprocess = borrowed(
        "uvicorn.supervisors",
        "Multiprocess",
        ["run", "keep_subprocess_alive", "terminate_all", "handle_hup"],
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


def run_workers(config: uvicorn.Config, folder: Path) -> None:
    """Run processes that share a socket, until a signal stops them.

    Workers write into the folder that they are ready (`PID.ready`), and that they need to be
    replaced (`PID.overdue`).
    """
    if "Multiprocess" in LACKING:
        if not hasattr(Multiprocess, "run"):
            if config.workers > 1:
                raise ValueError(f"Only one worker can run: {LACKING['Multiprocess']}.")
            log.warning("A worker that fails is not replaced: %s.", LACKING["Multiprocess"])
            os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)  # this process counts in memory
            uvicorn.Server(config).run()
            return
        log.warning("SIGHUP may replace the workers: %s.", LACKING["Multiprocess"])
    listening = config.bind_socket()
    # Its address is printed now. Clients that connect before a worker is ready wait for it.
    listening.listen(config.backlog)
    workers = Workers(config, [listening], folder)
    try:
        workers.run()
    finally:
        workers.kill_leaving()


class Connection(HttpToolsProtocol):
    """A connection that bounds what a client can make the service keep, wait for and do.

    The application sees a request when its head is complete, and limits its body. All else is
    limited here, because anybody can send it, with or without a token:

    - A head that comes too slowly or is too long closes the connection. So do a body that does not
      end after its answer, and an answer that nobody reads.
    - Trailers are dropped. Chunks that consist mostly of sizes and extensions close the connection.
    - While a request waits for the answer to an earlier one, nothing more is parsed or read.

    uvicorn tells only the last request that its client has gone. Here, the request that is being
    answered learns it too, so that nothing is written into a closed connection.
    """

    _n_excess = 0
    _n_rest = 0
    _in_head = True
    _answering: RequestResponseCycle | None = None
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._received = b""
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._is_read()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._parse()

    def _parse(self) -> None:
        """Parse what was received, up to a request that waits for the answer to another one."""
        begin = 0
        while begin < len(self._received) and not self.pipeline:
            if self.transport.is_closing():
                self._received = b""
                return
            part = self._received[begin : begin + max(STEP, self._n_rest)]
            begin += len(part)
            self._n_excess += len(part)
            super().data_received(part)
            if self._n_excess > HEAD_BYTES:
                self._close()
        self._received = self._received[begin:]
        self._read_no_more_than_is_answered()

    def _read_no_more_than_is_answered(self) -> None:
        if (self.pipeline or self._received) and not self.transport.is_closing():
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        self._in_head = True
        self._n_excess = self._n_rest = 0
        self._wait()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # The parser reports trailers as headers. Kept, they would outgrow every limit.
        if not self._in_head:
            return
        if len(self.headers) == MAX_HEADERS:
            raise ValueError(f"more than {MAX_HEADERS} headers")  # answered with 400
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        # A body of known length is parsed at once, as no request can be behind it.
        length = dict(self.headers).get(b"content-length", b"")
        self._n_rest = int(length) if length.isdigit() else 0
        self._stop_waiting()
        super().on_headers_complete()
        if not self.pipeline:
            self._answering = self.cycle

    def on_body(self, body: bytes) -> None:
        # Counted as received, so once for itself and once for what may surround it.
        self._n_excess -= 2 * len(body)
        self._n_rest -= len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        # The next head has its time from now on, and so has the rest of a body that nobody needs.
        self._wait()
        next_cycle = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        self._answering = next_cycle
        self._read_no_more_than_is_answered()
        if self._received:
            self.loop.call_soon(self._parse)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._waited)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _waited(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._close()
        else:
            self._wait()  # the client waits for an answer, and need not send

    def _close(self) -> None:
        self.transport.close()
        # If the client does not read, the last answer would keep the connection open.
        self.loop.call_later(UNREAD_SECONDS, self.transport.abort)


@dataclass
class Leaving:
    """A worker that is being replaced.

    Attributes
    ----------
    process : Process
    place : int
        The place of its successor among the processes.
    until : float or None
        When it is killed. None: it still answers, since its successor is not ready.
    """

    process: Process
    place: int
    until: float | None = None


class Workers(Multiprocess):
    """Workers that load their models again on SIGHUP instead of being replaced.

    A worker whose work does not end gets a successor. When that is ready, the worker finishes the
    requests that it has begun, and ends.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket], folder: Path) -> None:
        super().__init__(config, sockets)
        self._folder = folder
        self._leaving: list[Leaving] = []

    def keep_subprocess_alive(self) -> None:
        for process in self.processes:
            # If this end stayed open here, a worker that dies during the health check would be
            # waited for.
            process.child_conn.close()
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            _forget(pid)
        for place, process in enumerate(self.processes):
            if self._says(process, "overdue"):
                self._leaving.append(Leaving(process, place))
                self.processes[place] = type(process)(self.config, self.sockets)
                self.processes[place].start()
        self._see_off()

    def _see_off(self) -> None:
        """Bring the replacements to their ends."""
        for leaving in self._leaving[:]:
            process = leaving.process
            if not process.process.is_alive():
                process.join()
                _forget(process.pid)
                self._leaving.remove(leaving)
            elif leaving.until is not None:
                if time.monotonic() > leaving.until:
                    process.process.kill()
            elif self._says(self.processes[leaving.place], "ready") and process.pid is not None:
                os.kill(process.pid, signal.SIGTERM)
                grace = self.config.timeout_graceful_shutdown or 0
                leaving.until = time.monotonic() + grace + LEAVE_SECONDS

    def _says(self, process: Process, what: str) -> bool:
        return (self._folder / f"{process.pid}.{what}").exists()

    def terminate_all(self) -> None:
        for listening in self.sockets:
            # A client that connects while the workers finish would wait in vain.
            listening.close()
        super().terminate_all()

    def kill_leaving(self) -> None:
        """End the workers that were being replaced when the service stopped."""
        for leaving in self._leaving:
            leaving.process.process.kill()
            leaving.process.join()

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)


def _forget(pid: int | None) -> None:
    """A dead worker's requests no longer wait."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]
