"""Whether work is to go to a cluster, or is on one already."""

from __future__ import annotations

import sys
from typing import Any


def client_in_scope() -> Any:
    """The Dask client that work goes to, None where there is none.

    It is the one of `with Client(…)`, of `Client.as_current()`, or the last one started. Inside
    a task there is none: what a task would send off, it does itself. An asynchronous client is
    not taken, because it cannot be waited for.

    Examples
    --------
    >>> client_in_scope() is None
    True
    """
    # Without the library loaded there can be no client, and loading it takes half a second.
    distributed = sys.modules.get("distributed")
    if distributed is None or in_task():
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


def in_task() -> bool:
    """Whether this is a task on a worker.

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
