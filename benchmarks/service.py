"""`localrank serve` in a process of its own, and what the system knows of it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import localrank


class Service:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.log = log

    def get(self, path: str) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def version(self) -> str:
        return str(msgspec.json.decode(self.get("/v1/models")[1])["models"][0]["version"])

    def workers(self) -> list[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [
            int(child)
            for child in children.split()
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]

    def processor_seconds(self) -> float:
        """Of the processes that answer so far; not a number where there is no /proc."""
        try:
            stats = [Path(f"/proc/{pid}/stat").read_text() for pid in self.workers()]
        except OSError:
            return np.nan
        fields = [stat.rpartition(")")[2].split() for stat in stats]
        return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident in the processes that answer, in MB."""
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in self.workers()]
        return sum(
            int(line.split()[1]) / 1024
            for status in statuses
            for line in status.splitlines()
            if line.startswith("VmRSS")
        )


@contextlib.contextmanager
def serving(model: Path, *options: str, apart: bool = True) -> Iterator[Service]:
    """A service on the first core, where cores can be chosen; this process takes the others."""
    choose = getattr(os, "sched_setaffinity", None) if apart else None
    cores = sorted(os.sched_getaffinity(0)) if choose else []
    log = model.with_suffix(".log")
    command = [sys.executable, "-m", "localrank", "serve", str(model), "--port", "0", *options]
    environment = os.environ | {"PYTHONPATH": str(Path(localrank.__file__).parents[1])}
    if len(cores) > 1 and choose:
        choose(0, cores[:1])
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    if len(cores) > 1 and choose:
        choose(0, cores[1:])
    try:
        port = int(awaited(lambda: re.search(rb"127\.0\.0\.1:(\d+)", log.read_bytes()))[1])
        service = Service(process, port, log)
        awaited(lambda: _ready(service))
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        if len(cores) > 1 and choose:
            choose(0, cores)


def _ready(service: Service) -> bool:
    try:
        return service.get("/readyz")[0] == 200
    except OSError:
        return False


def awaited(what: Callable[[], Any], seconds: float = 120) -> Any:
    end = time.perf_counter() + seconds
    while not (result := what()):
        if time.perf_counter() > end:
            raise TimeoutError("The service is not where it should be by now.")
        time.sleep(0.02)
    return result


def others(service: Service) -> Callable[[], float]:
    """What tells the share of all cores that other programs used from now on."""

    def used() -> tuple[float, float]:
        fields = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
        ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields]
        busy = sum(ticks) - ticks[3] - ticks[4]  # idle, and waiting for a disk
        return sum(ticks), busy - service.processor_seconds() - time.process_time()

    def share() -> float:
        (total, busy), (total_now, busy_now) = before, used()
        return (busy_now - busy) / (total_now - total)

    try:
        before = used()
    except OSError:
        return lambda: np.nan
    return share
