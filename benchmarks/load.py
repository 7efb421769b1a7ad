"""HTTP requests at times set beforehand, whatever the service does.

A client that waits for an answer before it asks again asks less of a service that is slow, and
never sees what the requests it left out would have waited. Here each request has its time, and
its latency counts from that time on, also where no connection was free.
"""

from __future__ import annotations

import asyncio
import gc
import random
import re
import selectors
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# The status of a request whose connection was closed before the answer came, and of one that still
# waited for a connection at the end.
LOST, UNSENT = 0, -1
# Seconds that the last answers may take to come.
PATIENCE = 30


@dataclass
class Outcome:
    """What became of requests.

    Attributes
    ----------
    latencies : list of float
        Seconds from a request's time to the end of its answer, for those answered with 200.
    statuses : Counter
        How many requests got each status, `LOST` and `UNSENT` among them.
    late : list of float
        Seconds by which requests that found a connection were sent too late: what the generator
        adds to latencies.
    seconds : float
    """

    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def n_failed(self) -> int:
        return self.statuses.total() - self.statuses[200]

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return len(self.latencies) / self.seconds

    def milliseconds(self, percent: float) -> float:
        return 1e3 * float(np.percentile(self.latencies, percent)) if self.latencies else np.nan


def request(path: str, body: bytes = b"", kind: str = "application/json", token: str = "") -> bytes:
    """A POST, or a GET where there is no body, as it goes over the connection."""
    lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", "Host: localhost"]
    if body:
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def run(load: Coroutine[Any, Any, Outcome]) -> Outcome:
    """The outcome of a load, on a loop whose timers are exact."""
    # epoll waits for whole milliseconds; select does not.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    gc.collect()
    gc.disable()
    try:
        return loop.run_until_complete(load)
    finally:
        gc.enable()
        loop.close()


async def closed_loop(
    port: int, requests: Sequence[bytes], seconds: float, n_connections: int = 4
) -> Outcome:
    """Each connection asks again as soon as it is answered: the most that a service can do."""
    pool = _Pool(port)
    await pool.open(n_connections)
    loop = asyncio.get_running_loop()
    start = loop.time()
    sent = 0

    def ask() -> None:
        nonlocal sent
        if loop.time() < start + seconds:
            pool.send(loop.time(), requests[sent % len(requests)])
            sent += 1

    pool.answered = ask
    for _ in range(n_connections):
        ask()
    await pool.finish()
    pool.outcome.seconds = loop.time() - start
    return pool.outcome


async def open_loop(
    port: int,
    requests: Sequence[bytes],
    rate: float,
    seconds: float,
    *,
    n_connections: int = 32,
    seed: int = 0,
) -> Outcome:
    """So many requests per second, at random times (a Poisson process), over open connections."""
    pool = _Pool(port)
    await pool.open(n_connections)
    loop = asyncio.get_running_loop()
    draws = random.Random(seed)
    start = due = loop.time()
    sent = 0
    while (due := due + draws.expovariate(rate)) < start + seconds:
        if (wait := due - loop.time()) > 0:
            await asyncio.sleep(wait)
        elif sent % 16 == 0:
            await asyncio.sleep(0)  # answers are read also where requests are late
        pool.send(due, requests[sent % len(requests)])
        sent += 1
    await pool.finish()
    pool.outcome.seconds = loop.time() - start
    return pool.outcome


class _Pool:
    """Connections that are used in turn, and opened again where the service closes them."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.outcome = Outcome()
        self.answered: Callable[[], None] = lambda: None
        self._idle: deque[_Connection] = deque()
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._n_open = 0
        self._reopen = True
        self._opening: set[asyncio.Task[None]] = set()

    async def open(self, n_connections: int) -> None:
        await asyncio.gather(*(self._connect() for _ in range(n_connections)))

    def send(self, due: float, content: bytes) -> None:
        self._n_open += 1
        if self._idle:
            self.outcome.late.append(asyncio.get_running_loop().time() - due)
            self._idle.popleft().ask(due, content)
        else:
            self._waiting.append((due, content))

    async def finish(self) -> None:
        """Wait for the last answers; requests that have none then count as lost, or as unsent."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while self._n_open and loop.time() < end:
            await asyncio.sleep(0.001)
        self.outcome.statuses[UNSENT] += len(self._waiting)
        self.outcome.statuses[LOST] += self._n_open - len(self._waiting)
        for task in self._opening:
            task.cancel()
        self._reopen = False
        for connection in self._idle:
            connection.transport.abort()
        await asyncio.sleep(0)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                _, connection = await loop.create_connection(
                    lambda: _Connection(self), "127.0.0.1", self.port
                )
            except OSError:
                await asyncio.sleep(0.01)
            else:
                self.free(connection)
                return

    def free(self, connection: _Connection) -> None:
        if self._waiting:
            connection.ask(*self._waiting.popleft())
        else:
            self._idle.append(connection)

    def done(self, due: float, status: int) -> None:
        self._n_open -= 1
        self.outcome.statuses[status] += 1
        if status == 200:
            self.outcome.latencies.append(asyncio.get_running_loop().time() - due)

    def closed(self, connection: _Connection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
        if self._reopen:
            task = asyncio.get_running_loop().create_task(self._connect())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)


class _Connection(asyncio.Protocol):
    """One request at a time."""

    transport: asyncio.Transport

    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.due: float | None = None
        self.answer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, due: float, content: bytes) -> None:
        self.due = due
        self.transport.write(content)

    def data_received(self, data: bytes) -> None:
        self.answer += data
        head, separator, body = self.answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if not separator or self.due is None or length is None or len(body) < int(length[1]):
            return
        due, self.due, self.answer = self.due, None, b""
        self.pool.done(due, int(head.split(b" ", 2)[1]))
        if b"\r\nconnection: close" not in head.lower():
            self.pool.free(self)
        self.pool.answered()

    def connection_lost(self, _: Exception | None) -> None:
        if self.due is not None:
            self.pool.done(self.due, LOST)
            self.due = None
        self.pool.closed(self)
