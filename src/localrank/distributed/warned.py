"""Warnings of a task, for the client to issue. Nobody reads the log of a worker."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
