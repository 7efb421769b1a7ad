"""Work on a Dask cluster: the client in scope, its workers, and their tasks."""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from localrank._base.memory import available_memory

# Workers that get a copy at once. The others fetch it when they need it. With two copies, nothing
# is lost when a worker ends.
N_COPIES = 2


# Tasks that wait or run, per thread of the workers: enough to keep all busy.
N_AHEAD = 2


# How often a task is submitted again after its data was lost.
N_AGAIN = 3


# Seconds between checks for workers while no task is done.
TO_LOOK = 5.0


# Seconds to wait for an answer.
_TO_CONNECT = 5


# Seconds to wait for a worker if there is none.
TO_FIND_WORKERS = 60


_LOST = ("cancelled", "lost")


Call = tuple[Any, Sequence[Any]]


Outcome = tuple[int, Callable[[], Any]]


def client_in_scope() -> Any:
    """The Dask client that work goes to; None if there is none.

    It is the client of `with Client(…)`, of `Client.as_current()`, or the last one started. Inside
    a task there is none, so a task does all its work itself. An asynchronous client is ignored,
    because it cannot be waited for.

    Examples
    --------
    >>> client_in_scope() is None
    True
    """
    # No client exists unless the library is loaded. Loading it takes half a second.
    distributed = sys.modules.get("distributed")
    if distributed is None or in_task():
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


def in_task() -> bool:
    """Whether this code runs in a task on a worker.

    Examples
    --------
    >>> in_task()
    False
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


@contextmanager
def connected(where: str | None) -> Iterator[Any]:
    """Connect to a cluster: a Dask client is in scope inside the block.

    Parameters
    ----------
    where : str or None
        Address of a scheduler, such as "tcp://host:8786". "local:4" starts four worker processes
        on this machine, with one thread each. The workers and this process share the memory that
        is free when they start. None: no client.

    Examples
    --------
    >>> with connected(None) as client:
    ...     print(client)
    None
    """
    if not where:
        yield None
        return
    local = re.fullmatch(r"local:([1-9]\d*)", where)
    if local is None and not re.fullmatch(r"[a-z]+://[^\s:]+:\d+", where):
        raise ValueError(
            f"A cluster must be given as tcp://host:port or local:N, N the number of workers. "
            f"Got {where!r} instead."
        )
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("Work on a cluster needs Dask: pip install 'localrank[dask]'.") from None
    with ExitStack() as stack:
        if local is not None:
            client = stack.enter_context(Client(stack.enter_context(_local(int(local[1])))))
        else:
            client = stack.enter_context(_client(where))
        yield client


def _client(address: str) -> Any:
    from distributed import Client

    try:
        client = Client(address, timeout=_TO_CONNECT)
    except (OSError, TimeoutError):
        raise OSError(
            f"{address}: no Dask scheduler answered in {_TO_CONNECT} s. Is `dask scheduler` "
            f"running there, and can this machine reach it?"
        ) from None
    try:
        wait_for_worker(client)
    except OSError:
        client.close()
        raise
    return client


def _local(n_workers: int) -> Any:
    from distributed import LocalCluster

    free = available_memory()
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        memory_limit="auto" if free is None else free // (n_workers + 1),
        dashboard_address="127.0.0.1:0",
        # The error of a task is raised in this process, and need not be logged as well.
        silence_logs=logging.CRITICAL,
    )


def wait_for_worker(client: Any) -> None:
    """Wait until there is a worker: one that ended may come back.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    try:
        client.wait_for_workers(1, timeout=TO_FIND_WORKERS)
    except TimeoutError:
        address = client.scheduler.address
        raise OSError(
            f"{address}: the scheduler had no workers for {TO_FIND_WORKERS} s. Start some with "
            f"`dask worker {address} --nthreads 1`."
        ) from None


def described_workers(client: Any) -> str:
    """A line on the workers: their number, threads, memory and dashboard.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    threads = sum(worker["nthreads"] for worker in workers)
    count = "1 worker" if len(workers) == 1 else f"{len(workers):,} workers"
    more = f", {threads:,} threads" if threads != len(workers) else ""
    line = f"{count}{more}, memory per worker: {_limit(workers)}"
    return f"{line}; dashboard {client.dashboard_link}" if client.dashboard_link else line


def peak_memory(client: Any) -> str:
    """A line on the peak memory of the workers since they started, and their limit.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    peaks = list(client.run(_peak, on_error="ignore").values())
    if not peaks:
        return "Workers' peak memory: no worker is left to ask"
    limit = _limit(client.scheduler_info(n_workers=-1)["workers"].values())
    return f"Workers' peak memory: {_gigabytes(peaks)} of {limit}"


def _peak() -> int:
    """The peak memory of this process, in bytes."""
    import sys
    from pathlib import Path

    # On Linux, `resource` also counts the memory of the parent process.
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    # In KiB; in bytes on a Mac.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit(workers: Any) -> str:
    limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
    return _gigabytes(limits) if limits else "what the machine has"


def _gigabytes(amounts: Sequence[int]) -> str:
    low, high = (f"{amount / 1e9:.1f}" for amount in (min(amounts), max(amounts)))
    return f"{low} GB" if low == high else f"{low}–{high} GB"


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
    shared_objects = _SharedObjects(client)
    name = "-".join(re.findall(r"[a-z]+", description.lower())) or "task"
    numbered = enumerate(calls)
    waiting: dict[str, _Submitted] = {}
    done = as_completed(loop=client.loop)

    def submit(index: int, task: Task, shared: Sequence[Any], n_times: int) -> None:
        key = f"{name}-{uuid4().hex}-{index}"
        future = client.submit(task, *shared_objects.arguments(shared), key=key, pure=False)
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


class _SharedObjects:
    """Objects that the tasks of one call share, each sent when it is first needed.

    Frozen dataclasses such as datasets stay on the workers as long as the client's process holds
    them. Later calls use them again.

    Parameters
    ----------
    client : distributed.Client
        The client that sends.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        # Stored on the client, because its futures refer to it: both end together.
        self._lasting: WeakKeyDictionary[Any, Any] = vars(client).setdefault(
            "_localrank_sent", WeakKeyDictionary()
        )
        # By identity. Holding the object keeps its identity from being used again.
        self._of_call: dict[int, tuple[Any, Any]] = {}

    def arguments(self, shared: Sequence[Any]) -> list[Any]:
        """The arguments of a task: a future for each object, small objects themselves."""
        missing = {id(value): value for value in shared if self._to_send(value)}
        if missing:
            wait_for_worker(self.client)
            futures = self.client.scatter(list(missing.values()), hash=False, broadcast=N_COPIES)
            for value, future in zip(missing.values(), futures, strict=True):
                if _lasts(value):
                    self._lasting[value] = future
                else:
                    self._of_call[id(value)] = (value, future)
        return [value if _is_small(value) else self._future(value) for value in shared]

    def _to_send(self, value: Any) -> bool:
        if _is_small(value):
            return False
        future = self._future(value)
        return future is None or future.status in _LOST

    def _future(self, value: Any) -> Any:
        if _lasts(value):
            return self._lasting.get(value)
        return self._of_call.get(id(value), (None, None))[1]


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _lasts(value: Any) -> bool:
    """Whether an object never changes, and is equal only to itself."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and not parameters.eq


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
