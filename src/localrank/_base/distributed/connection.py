"""Connecting to a cluster that is named on the command line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from localrank._base.distributed.sent import wait_for_worker
from localrank._base.memory import available_memory

# Seconds to wait for an answer.
_TO_CONNECT = 5


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
