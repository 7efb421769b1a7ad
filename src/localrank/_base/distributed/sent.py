"""Data for workers, sent once however many tasks need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

# Workers that get a copy at once. The others fetch it when they need it. With two copies, nothing
# is lost when a worker ends.
N_COPIES = 2
# Seconds to wait for a worker if there is none.
TO_FIND_WORKERS = 60
_LOST = ("cancelled", "lost")


class Sent:
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


def _is_small(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _lasts(value: Any) -> bool:
    """Whether an object never changes, and is equal only to itself."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and not parameters.eq
