"""Warnings of a task, for the client to issue: nobody reads those on a worker."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_own = threading.local()


@contextmanager
def collected() -> Iterator[list[Warning]]:
    """The warnings issued by this thread inside the block, instead of on the error stream.

    Unlike `warnings.catch_warnings` it may be used by several threads at the same time.

    Examples
    --------
    >>> with collected() as issued, warnings.catch_warnings():
    ...     warnings.simplefilter("always")
    ...     warnings.warn("too few queries", stacklevel=1)
    >>> issued
    [UserWarning('too few queries')]
    """
    _listen()
    # What was said in an earlier task is to be said again.
    for name, module in sys.modules.copy().items():
        if name.startswith("localrank"):
            vars(module).pop("__warningregistry__", None)
    issued: list[Warning] = []
    _own.issued = issued
    try:
        yield issued
    finally:
        del _own.issued


def _listen() -> None:
    """Have warnings of this thread collected while it collects; done once in a process."""
    before = warnings.showwarning
    if getattr(before, "collects", False):
        return

    def show(message: Any, *rest: Any, **others: Any) -> None:
        issued = getattr(_own, "issued", None)
        if issued is None:
            before(message, *rest, **others)
        else:
            issued.append(message)

    show.collects = True  # type: ignore[attr-defined]
    warnings.showwarning = show
