"""Independent work on several cores, with one thread each and a progress bar."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

import threadpoolctl
from threadpoolctl import threadpool_limits

from localrank._base.distributed import client_in_scope, in_task
from localrank._base.estimator import Estimator, clone, is_estimator
from localrank._base.progress import progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Part = TypeVar("Part", bound=Estimator)


class _Users:
    """The number of blocks that want single-threaded linear algebra, and the limits before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0
        self.limits: threadpool_limits | None = None

    def enter(self) -> None:
        with self.lock:
            if self.n == 0:
                _take_control()
                self.limits = threadpool_limits(1, user_api="blas")
            self.n += 1

    def leave(self) -> None:
        with self.lock:
            self.n -= 1
            if self.n == 0 and self.limits is not None:
                _take_control()
                self.limits.restore_original_limits()
                self.limits = None

    def forked(self) -> None:
        """Make a new lock: a thread that the child process lacks may have held the old one."""
        self.lock = threading.Lock()


def _take_control() -> None:
    """Let this thread set the number of threads, even if another thread did so before.

    From version 3.8 on, threadpoolctl obeys only one thread until that ends. A block that ends in
    another thread would restore nothing.
    """
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


_users = _Users()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_users.forked)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra with one thread inside the block: sums over several round differently.

    The limit holds for the whole process. Blocks in several threads may overlap. The last one to
    end restores the limit from before the first.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    _users.enter()
    try:
        yield
    finally:
        _users.leave()


def number_of_jobs(n_jobs: int | None) -> int:
    """The number of items worked on at the same time, as joblib counts them.

    Parameters
    ----------
    n_jobs : int or None
        None: one. -1: one per core.

    Examples
    --------
    >>> number_of_jobs(None), number_of_jobs(3)
    (1, 3)
    """
    # Imported here: only training needs it.
    import joblib

    if n_jobs is not None and (not isinstance(n_jobs, Integral) or (n_jobs < 1 and n_jobs != -1)):
        raise ValueError(
            f"The 'n_jobs' parameter must be a positive number or -1, which is one job per core. "
            f"Got {n_jobs!r} instead."
        )
    return int(joblib.effective_n_jobs(n_jobs))


def in_parallel(
    function: Callable[..., Result],
    items: Sequence[Item],
    *,
    shared: Sequence[Any] = (),
    n_jobs: int | None,
    description: str,
    here: bool = False,
    finished: Callable[[int, Result], None] | None = None,
) -> list[Result]:
    """Call a function for each item in parallel; return the results in the items' order.

    If a Dask client is in scope, its workers do the work, whatever the number of jobs. Otherwise
    threads do it, because kernels and LightGBM release the interpreter lock. Under
    `joblib.parallel_config` processes may do it. Linear algebra uses one thread in the meantime,
    so that results do not depend on the number of jobs.

    Parameters
    ----------
    function : callable
        A function of an item and the shared arguments.
    items : sequence
        The items. They should be small; large objects belong in `shared`.
    shared : sequence
        Further arguments, the same for every item. They are sent to a worker only once.
    n_jobs : int or None
        Items worked on at the same time. None: one. -1: one per core.
    description : str
        Text of the progress bar.
    here : bool, default=False
        Whether to stay in this process, for work that costs less than sending its data.
    finished : callable, optional
        A function of an item's number and its result, called in this process when each is done.

    Examples
    --------
    >>> in_parallel(len, ["a", "bcd"], n_jobs=2, description="Lengths")
    [1, 3]
    """
    number_of_jobs(n_jobs)  # refuses a wrong number, also where a cluster does the work
    with progress(description, len(items)) as advance, one_blas_thread():
        done: dict[int, Result] = {}
        for index, result in _as_they_come(function, items, shared, n_jobs, description, here):
            if finished is not None:
                finished(index, result)
            done[index] = result
            advance()
        return [done[index] for index in range(len(items))]


def _as_they_come(
    function: Callable[..., Result],
    items: Sequence[Item],
    shared: Sequence[Any],
    n_jobs: int | None,
    description: str,
    here: bool,
) -> Iterator[tuple[int, Result]]:
    """The numbers of items with their results, in the order in which they finish."""
    if not here and client_in_scope() is not None:
        calls = ((item, shared) for item in items)
        for index, get in as_finished(function, calls, description=description):
            yield index, get()
        return
    # Imported here: only training needs it.
    import joblib

    call = joblib.delayed(_numbered)
    jobs = (call(index, function, item, shared) for index, item in enumerate(items))
    yield from joblib.Parallel(n_jobs, prefer="threads", return_as="generator_unordered")(jobs)


def _numbered(
    index: int, function: Callable[..., Result], item: Any, shared: Sequence[Any]
) -> tuple[int, Result]:
    return index, function(item, *shared)


def as_finished(
    function: Callable[..., Result],
    calls: Iterable[tuple[Any, Sequence[Any]]],
    *,
    description: str,
) -> Iterator[tuple[int, Callable[[], Result]]]:
    """Calls of a function: on a cluster as they finish, otherwise one after the other.

    Parameters
    ----------
    function : callable
        A function of an item and the shared arguments.
    calls : iterable of (item, shared)
        The calls, read when there is room for more.
    description : str
        Name of the tasks on a cluster.

    Yields
    ------
    index : int
        The number of the call.
    get : callable
        Returns the result of the call, or raises its exception. Without a cluster, it makes the
        call.

    Examples
    --------
    >>> for index, get in as_finished(pow, [(2, [3]), (3, [2])], description="Powers"):
    ...     print(index, get())
    0 8
    1 9
    """
    client = client_in_scope()
    if client is None:
        index = 0
        for item, shared in calls:
            get = partial(function, item, *shared)
            del item, shared
            yield index, get
            # Let go of the shared arguments before the next call is read.
            del get
            index += 1  # noqa: SIM113 (enumerate holds on to what it gave last)
        return
    from localrank._base.distributed import finished_tasks

    yield from finished_tasks(client, _OneThread(function), calls, description)


@dataclass(frozen=True)
class _OneThread:
    """A function that runs with one thread, as every task does."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        import joblib

        # Everything that asks joblib for the number of threads gets one, LightGBM included.
        with joblib.parallel_config("sequential"), one_blas_thread():
            return self.function(*arguments)


def cpu_seconds() -> float:
    """CPU seconds of this process; in a task, of its thread, as tasks share a process.

    Examples
    --------
    >>> cpu_seconds() > 0
    True
    """
    return time.thread_time() if in_task() else time.process_time()


def one_thread(estimator: Part) -> Part:
    """A clone that uses one thread, for work beside other work.

    Examples
    --------
    >>> from localrank.rankers import LambdaMART, Quadratic
    >>> one_thread(Quadratic(LambdaMART(n_jobs=-1))).ranker.n_jobs
    1
    """
    return with_jobs(estimator, 1)


def with_jobs(estimator: Part, n_jobs: int | None) -> Part:
    """A clone with this `n_jobs` in every part that has the parameter, in lists too.

    Examples
    --------
    >>> from localrank.rankers import Ensemble, LambdaMART
    >>> with_jobs(Ensemble([LambdaMART()]), 3)
    Ensemble(n_jobs=3, rankers=[LambdaMART(n_jobs=3)])
    """
    copy = clone(estimator)
    parameters = copy.get_params()
    names = [name for name in parameters if name.split("__")[-1] == "n_jobs"]
    copy.set_params(**dict.fromkeys(names, n_jobs))
    for name, value in parameters.items():
        if isinstance(value, list | tuple):
            parts = [with_jobs(v, n_jobs) if is_estimator(v) else v for v in value]
            copy.set_params(**{name: type(value)(parts)})
    return copy
