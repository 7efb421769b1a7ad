"""Whether work goes to a cluster, and whether this process is one of its workers."""

from __future__ import annotations

import sys
from typing import Any


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
