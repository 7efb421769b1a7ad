"""Independent calls as tasks on a cluster."""

from __future__ import annotations

import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from localrank._base.distributed.sent import Sent, wait_for_worker

# Tasks that wait or run, per thread of the workers: enough to keep all busy.
N_AHEAD = 2
# How often a task is submitted again after its data was lost.
N_AGAIN = 3
# Seconds between checks for workers while no task is done.
TO_LOOK = 5.0

Call = tuple[Any, Sequence[Any]]
Outcome = tuple[int, Callable[[], Any]]


def finished_tasks(
    client: Any, function: Callable[..., Any], calls: Iterable[Call], description: str
) -> Iterator[Outcome]:
    """Call a function on workers, and yield each result when it is done.

    Calls are read when workers have room for more, so neither the scheduler nor this process
    holds all of them. If a worker ends, its tasks run again on others. It is an error if no worker
    is left and none comes back. Leaving the iteration cancels the remaining tasks.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    function : callable
        A function of an item and the shared arguments.
    calls : iterable of (item, shared)
        The calls. Items travel with their tasks; shared arguments are sent once.
    description : str
        Name of the tasks on the dashboard.

    Yields
    ------
    index : int
        The number of the call.
    get : callable
        Returns the result of the call, or raises its exception.
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
            submitted = waiting.pop(future.key)
            index, n_times = submitted.index, submitted.n_times
            get = _result(future, description, index)
            if get is not None:
                # Let go of the future, so that workers may forget the result.
                del submitted, future
                yield index, get
            elif n_times <= N_AGAIN:
                submit(index, submitted.task, submitted.shared, n_times + 1)
            else:
                raise RuntimeError(
                    f"{description}, task {index + 1}: its data was lost {n_times} times with the "
                    f"workers that held it. The usual cause is too little memory on the workers."
                )
            fill()
    finally:
        if waiting and client.status == "running":
            client.cancel([submitted.future for submitted in waiting.values()])


def _wait_for_one(done: Any, client: Any) -> None:
    """Wait until a task is done. It is an error if all workers stay away."""
    look = time.monotonic() + TO_LOOK
    while not done.has_ready():
        with done.thread_condition:
            done.thread_condition.wait(0.1)
        if time.monotonic() > look:
            wait_for_worker(client)
            look = time.monotonic() + TO_LOOK


@dataclass(frozen=True)
class Task:
    """A function with its item, which Dask does not inspect.

    Examples
    --------
    >>> Task(pow, 2)(5)
    (32, [])
    """

    function: Callable[..., Any]
    item: Any

    def __call__(self, *shared: Any) -> tuple[Any, list[Warning]]:
        """The result, and the warnings that were issued."""
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
    """A function that returns the result or raises; None if the task's data was lost."""
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        try:
            value, issued = future.result()
        except Exception as error:
            # Not an error of the task: its result cannot be read here, or was lost on the way.
            if future.status == "finished":
                return partial(_raise, error)
        else:
            for warning in issued:
                warnings.warn(warning, stacklevel=4)
            return lambda: value
    if future.status != "error":
        return None
    # Raised here, the error would keep the future and its data alive.
    failure = future.exception()
    if isinstance(failure, KilledWorker):
        return partial(_raise, _killed(failure, description, index))
    return partial(_raise, failure.with_traceback(future.traceback()))


def _raise(error: Exception) -> None:
    raise error


def _killed(error: Any, description: str, index: int) -> MemoryError:
    limit = getattr(error.last_worker, "memory_limit", 0)
    with_limit = f" with a limit of {limit / 2**30:.1f} GiB" if limit else ""
    return MemoryError(
        f"{description}, task {index + 1}: {error.allowed_failures + 1} workers ended while they "
        f"ran it, the last one {error.last_worker.address}{with_limit}. The usual cause is too "
        f"little memory on the workers."
    )


def check_versions(client: Any) -> None:
    """Refuse workers with other versions. Each worker is asked once.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    known = vars(client).setdefault("_localrank_checked", set())
    workers = [worker for worker in client.nthreads() if worker not in known]
    if not workers:
        return
    report = _reporter()
    expected = report()
    for worker, versions in client.run(report, workers=workers, on_error="return").items():
        if isinstance(versions, OSError):
            # It ended before it could answer.
            continue
        if isinstance(versions, Exception):
            raise ImportError(
                f"worker {worker} cannot report its versions: {type(versions).__name__}: {versions}"
            )
        for library, version in versions.items():
            if version != expected[library]:
                raise ImportError(
                    f"worker {worker} has {library} {version}, this client has "
                    f"{expected[library]}: install the same versions"
                )
        known.add(worker)


def _reporter() -> Callable[[], dict[str, str]]:
    """A function that runs even without localrank: inner functions are sent by value."""

    def report() -> dict[str, str]:
        import platform
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        versions = {"Python": platform.python_version()}
        try:
            # As imported: the metadata may belong to another copy.
            versions["localrank"] = import_module("localrank").__version__
        except ImportError:
            versions["localrank"] = "(not installed)"
        for library in ("numpy", "scipy", "scikit-learn", "lightgbm", "numba"):
            try:
                versions[library] = version(library)
            except PackageNotFoundError:
                versions[library] = "(not installed)"
        return versions

    return report


_of_thread = threading.local()


@contextmanager
def collected() -> Iterator[list[Warning]]:
    """Collect the warnings of this thread inside the block, instead of printing them.

    Unlike `warnings.catch_warnings`, it works in several threads at the same time.

    Examples
    --------
    >>> with collected() as issued, warnings.catch_warnings():
    ...     warnings.simplefilter("always")
    ...     warnings.warn("too few queries", stacklevel=1)
    >>> issued
    [UserWarning('too few queries')]
    """
    _listen()
    # Forget the warnings of earlier tasks, so that they are issued again.
    for name, module in sys.modules.copy().items():
        if name.startswith("localrank"):
            vars(module).pop("__warningregistry__", None)
    issued: list[Warning] = []
    _of_thread.issued = issued
    try:
        yield issued
    finally:
        del _of_thread.issued


def _listen() -> None:
    """Replace `warnings.showwarning`, once per process."""
    before = warnings.showwarning
    if getattr(before, "collects", False):
        return

    def show(message: Any, *rest: Any, **others: Any) -> None:
        issued = getattr(_of_thread, "issued", None)
        if issued is None:
            before(message, *rest, **others)
        else:
            issued.append(message)

    show.collects = True  # type: ignore[attr-defined]
    warnings.showwarning = show
