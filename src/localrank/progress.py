"""Progress of long work: shown in a terminal, silent elsewhere."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_active = False


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on the error stream while the block runs; call the given function per step.

    Nothing is shown where the error stream is not a terminal, in a worker process or thread,
    or inside another bar.

    Examples
    --------
    >>> with progress("Counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    global _active
    main = (
        multiprocessing.current_process().name == "MainProcess"
        and threading.current_thread() is threading.main_thread()
    )
    if _active or not main or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    _active = True
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(description, total=total)
            yield lambda: bar.advance(task)
    finally:
        _active = False
