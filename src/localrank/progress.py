"""Progress of long work: shown in a terminal and in a notebook, silent elsewhere."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# The bars on the screen, or in a notebook just that there is one.
_bars: Any = None


@contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a bar on the error stream while the block runs; call the given function per step.

    A bar inside another one stands below it. Nothing is shown in a worker process or thread, nor
    where the error stream is neither a terminal nor a notebook.

    Parameters
    ----------
    description : str
    total : int or None
        Number of steps, where it is known.

    Examples
    --------
    >>> with progress("Counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    main = (
        multiprocessing.current_process().name == "MainProcess"
        and threading.current_thread() is threading.main_thread()
    )
    if main and sys.stderr.isatty():
        with _bar(description, total) as advance:
            yield advance
    elif main and _bars is None and _in_notebook():
        with _line(description, total) as advance:
            yield advance
    else:
        yield lambda: None


@contextmanager
def _bar(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    global _bars
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    outermost = _bars is None
    if outermost:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        _bars = Progress(*columns, console=Console(stderr=True), transient=True)
        _bars.start()
    task = _bars.add_task(description, total=total)
    try:
        yield lambda: _bars.advance(task)
    finally:
        _bars.remove_task(task)
        if outermost:
            _bars.stop()
            _bars = None


@contextmanager
def _line(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    """A line that is written again and again: notebooks need nothing installed for it."""
    global _bars
    done, of = 0, "" if total is None else f" of {total}"

    def write() -> None:
        print(f"\r{description}: {done}{of}", end="", file=sys.stderr, flush=True)

    def advance() -> None:
        nonlocal done
        done += 1
        write()

    _bars = True
    write()
    try:
        yield advance
    finally:
        _bars = None
        print(f"\r{' ' * 60}\r", end="", file=sys.stderr, flush=True)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
