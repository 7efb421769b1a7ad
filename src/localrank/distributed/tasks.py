"""Independent work as tasks of a cluster."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from localrank.distributed.sent import Sent, wait_for_worker
from localrank.distributed.versions import check_versions
from localrank.distributed.warned import collected

# Tasks that wait or run, for each thread of the workers: enough that none is idle.
N_AHEAD = 2
# How often a task is given again to workers that lost the data it needs.
N_AGAIN = 3
# While no task is done: how often to look whether there are workers, in seconds.
TO_LOOK = 5.0

Call = tuple[Any, Sequence[Any]]
Outcome = tuple[int, Callable[[], Any]]


def finished_tasks(
    client: Any, function: Callable[..., Any], calls: Iterable[Call], description: str
) -> Iterator[Outcome]:
    """Do calls of a function on workers; yield each when it is done, as it comes.

    Calls are read as workers have room for more, so that neither the scheduler nor this process
    holds all of them. Tasks of workers that end run again on others; it is an error if none is
    left and none comes back. Leaving the iteration cancels what is left.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Of an item, and what is shared.
    calls : iterable of (item, shared)
        Items travel with their tasks, what is shared is sent once.
    description : str
        Names the tasks on the dashboard.

    Yields
    ------
    index : int
        The number of the call.
    get : callable
        Returns its result, or raises its exception.
    """
    from distributed import as_completed

    check_versions(client)
    sent = Sent(client)
    name = "-".join(re.findall(r"[a-z]+", description.lower())) or "task"
    numbered = enumerate(calls)
    waiting: dict[str, _Submitted] = {}
    done = as_completed(loop=client.loop)

    def submit(index: int, task: Task, shared: Sequence[Any], n_times: int) -> None:
        key = f"{name}-{uuid4().hex}-{index}"
        future = client.submit(task, *sent.arguments(shared), key=key, pure=False)
        waiting[key] = _Submitted(future, index, task, shared, n_times)
        done.add(future)

    def fill() -> None:
        room = N_AHEAD * max(sum(client.nthreads().values()), 1) - len(waiting)
        for _, (index, (item, shared)) in zip(range(room), numbered, strict=False):
            submit(index, Task(function, item), shared, 1)

    try:
        fill()
        while waiting:
            _wait_for_one(done, client)
            future = next(done)
            own = waiting.pop(future.key)
            index, get = own.index, _result(future, description, own.index)
            if get is not None:
                # Workers may forget the result.
                del own, future
                yield index, get
            elif own.n_times <= N_AGAIN:
                submit(own.index, own.task, own.shared, own.n_times + 1)
            else:
                raise RuntimeError(
                    f"{description}, task {own.index + 1}: its data was lost {own.n_times} times "
                    f"with the workers that held it. Most often their memory is too small."
                )
            fill()
    finally:
        if waiting and client.status == "running":
            client.cancel([own.future for own in waiting.values()])


def _wait_for_one(done: Any, client: Any) -> None:
    """Wait until a task is done, as long as there are workers."""
    look = time.monotonic() + TO_LOOK
    while not done.has_ready():
        with done.thread_condition:
            done.thread_condition.wait(0.1)
        if time.monotonic() > look:
            wait_for_worker(client)
            look = time.monotonic() + TO_LOOK


@dataclass(frozen=True)
class Task:
    """A function with its item, which Dask does not look into.

    Examples
    --------
    >>> Task(pow, 2)(5)
    (32, [])
    """

    function: Callable[..., Any]
    item: Any

    def __call__(self, *shared: Any) -> tuple[Any, list[Warning]]:
        """The result, and the warnings issued on the way."""
        with collected() as issued:
            return self.function(self.item, *shared), issued


@dataclass(frozen=True)
class _Submitted:
    future: Any
    index: int
    task: Task
    shared: Sequence[Any]
    n_times: int


def _result(future: Any, description: str, index: int) -> Callable[[], Any] | None:
    """What returns the result or raises; None where the data of the task was lost."""
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        try:
            value, issued = future.result()
        except Exception as error:
            # Not the task's own: it cannot be read here, or was lost on the way.
            if future.status == "finished":
                return partial(_raise, error)
        else:
            for warning in issued:
                warnings.warn(warning, stacklevel=4)
            return lambda: value
    if future.status != "error":
        return None
    # Raised here, it would hold on to the future, and what that needs, for as long as it lasts.
    failure = future.exception()
    if isinstance(failure, KilledWorker):
        return partial(_raise, _killed(failure, description, index))
    return partial(_raise, failure.with_traceback(future.traceback()))


def _raise(error: Exception) -> None:
    raise error


def _killed(error: Any, description: str, index: int) -> MemoryError:
    limit = getattr(error.last_worker, "memory_limit", 0)
    own = f", whose limit is {limit / 2**30:.1f} GiB" if limit else ""
    return MemoryError(
        f"{description}, task {index + 1}: it ended {error.allowed_failures + 1} workers, the last "
        f"one {error.last_worker.address}{own}. Most often their memory is too small for it."
    )
