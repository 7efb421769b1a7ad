"""A service in processes of its own, and clients that keep asking it."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import Any

from serving.service import wait_for

import localrank

# Seconds that tests wait for an answer before they call it a hang.
PATIENCE = 60


class Service:
    """Where it listens, and what it logged."""

    def __init__(self, process: subprocess.Popen, log: Path) -> None:
        self.process = process
        self._log = log
        self.port = 0

    @property
    def log(self) -> str:
        return self._log.read_text()

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The status of an answer and its body, read as JSON where it is."""
        with closing(self.connect()) as connection:
            return self.ask_over(connection, path, body, **headers)

    def ask_over(
        self, connection: HTTPConnection, path: str, body: object = None, **headers: str
    ) -> tuple[int, Any]:
        """The same over a connection that stays open."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(
            "GET" if body is None else "POST",
            path,
            content,
            {"Content-Type": "application/json"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
        )
        answer = connection.getresponse()
        told = answer.read()
        if answer.headers.get("content-type", "").startswith("application/json"):
            return answer.status, json.loads(told)
        return answer.status, told

    def counted(self, counter: str) -> float:
        """A counter from /metrics. 0: it does not exist yet."""
        text = self.ask("/metrics")[1].decode()
        values = re.findall(rf"^{re.escape(counter)} (\S+)$", text, re.MULTILINE)
        return float(values[0]) if values else 0.0

    def workers(self) -> set[int]:
        """The processes that answer. Only on Linux."""
        main = self.process.pid
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return {
            int(child)
            for child in children
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        }

    def memory(self) -> float:
        """Resident in the processes that answer, in MB. On Linux only."""
        statuses = (Path(f"/proc/{pid}/status").read_text() for pid in self.workers())
        return sum(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024 for status in statuses)


@contextmanager
def running(folder: Path, *arguments: object, script: Path | None = None, **environment: str):
    """`localrank serve` with these arguments, until the end of the block.

    A script may stand in the place of the `localrank` command.
    """
    log = folder / "service.log"
    program = ["-m", "localrank", "serve"] if script is None else [str(script)]
    command = [sys.executable, *program, *map(str, arguments), "--port", "0"]
    paths = {"PYTHONPATH": str(Path(localrank.__file__).parents[1])}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=os.environ | paths | environment
        )
    service = Service(process, log)
    try:
        wait_for(lambda: re.search(r"127\.0\.0\.1:\d+", service.log) or process.poll() is not None)
        service.port = int(re.search(r"127\.0\.0\.1:(\d+)", service.log)[1])
        wait_for(lambda: _ready(service))
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _ready(service: Service) -> bool:
    assert service.process.poll() is None, service.log
    try:
        return service.ask("/readyz")[0] == 200
    except (OSError, HTTPException):
        return False


class Clients:
    """Threads that ask for the same list again and again.

    Each has a connection, which it opens anew from time to time: any worker may get the next.

    Attributes
    ----------
    answers : list of tuple
        Status and content of each answer.
    n_lost : int
        Requests whose connection was closed before the answer came.
    """

    def __init__(self, service: Service, body: dict, n_clients: int = 4) -> None:
        self.service = service
        self.body = body
        self.answers: list[tuple[int, dict]] = []
        self.n_lost = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(n_clients)]

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a request hangs"

    def _ask(self) -> None:
        connection = self.service.connect()
        for number in count():
            if self._stop.is_set():
                break
            if number % 10 == 0:
                connection.close()
            try:
                self.answers.append(self.service.ask_over(connection, "/v1/rank", self.body))
            except (OSError, HTTPException):
                self.n_lost += 1
                connection.close()
        connection.close()
