"""Work outside the event loop, which a time-out can give up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


class OneByOne:
    """Runs jobs in a thread, one after another, in the order in which they come.

    Nothing can stop a thread from outside. A job that is given up runs on in its thread, and the
    jobs behind it get another thread.

    Parameters
    ----------
    name : str
        Name of the threads.

    Examples
    --------
    >>> jobs = OneByOne("add")
    >>> jobs.submit(lambda: 1 + 2).result()
    3
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # When the jobs that run began, those that were given up among them.
        self._began: dict[Future[Any], float] = {}
        self._current: Future[Any] | None = None
        self._lock = threading.Lock()
        self._start()

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        """Run a job after those that wait. The future can be cancelled until then."""
        future: Future[Any] = Future()
        self._waiting.put((future, job))
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Let the jobs behind this one begin, if it runs."""
        with self._lock:
            if self._current is future:
                self._current = None
                self._start()

    def longest(self) -> float:
        """For how many seconds the oldest of the jobs that run has run. 0: none runs."""
        with self._lock:
            return time.monotonic() - min(self._began.values()) if self._began else 0.0

    def stop(self) -> None:
        """Begin no more jobs."""
        self._waiting.put(None)

    def _start(self) -> None:
        # A daemon, because a process must be able to end although a job does not.
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def _run(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            future, job = waiting
            with self._lock:  # around both: whoever sees that it runs can give it up
                if not future.set_running_or_notify_cancel():
                    continue
                self._current = future
                self._began[future] = time.monotonic()
            try:
                result = job()
            except BaseException as error:  # whoever waits for the job gets it
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
            with self._lock:
                del self._began[future]
                if self._current is not future:
                    return
            # Between two jobs, a thread keeps nothing of the last one.
            del waiting, future, job
