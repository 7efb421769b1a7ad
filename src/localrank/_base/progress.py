"""Progress of long work: shown in a terminal and in a notebook, silent elsewhere."""

from __future__ import annotations

import html
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# The bars of the terminal, or of the notebook, while one is shown.
_bars: Any = None
# A notebook is sent the bars this often at most, in seconds.
INTERVAL = 0.1


@contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a bar while the block runs; the block calls the given function after each step.

    A bar inside another one is shown below it. A bar is taken away when its block ends. Nothing
    is shown in a worker process or thread, in a notebook that is executed without a reader (by
    nbconvert, papermill or nbclient), nor if the error stream is neither a terminal nor a
    notebook.

    Parameters
    ----------
    description : str
    total : int or None
        Number of steps. None: not known.

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
        with _terminal_bar(description, total) as advance:
            yield advance
    elif main and _has_reader():
        with _notebook_bar(description, total) as advance:
            yield advance
    else:
        yield lambda: None


@contextmanager
def _terminal_bar(description: str, total: int | None) -> Iterator[Callable[[], None]]:
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
def _notebook_bar(description: str, total: int | None) -> Iterator[Callable[[], None]]:
    global _bars
    outermost = _bars is None
    if outermost:
        _bars = _NotebookBars()
    bars: _NotebookBars = _bars
    bar = _Bar(description, total)
    bars.stack.append(bar)
    bars.show()

    def advance() -> None:
        bar.done += 1
        bars.show()

    try:
        yield advance
    finally:
        bars.stack.remove(bar)
        if outermost:
            _bars = None
            bars.clear()


@dataclass
class _Bar:
    description: str
    total: int | None
    done: int = 0

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.description}: {self.done:,}{of}"

    def as_html(self) -> str:
        # Without a value the browser draws a bar that moves to and fro.
        value = "" if self.total is None else f' value="{self.done}" max="{self.total}"'
        return f"<div><progress{value}></progress> {html.escape(str(self))}</div>"


class _NotebookBars:
    """Bars in one output of a notebook, which is updated, and empty at the end.

    IPython's display needs no widgets, and leaves the other outputs of a cell alone.
    """

    def __init__(self) -> None:
        self.stack: list[_Bar] = []
        self._handle: Any = None
        self._next = 0.0

    def show(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        self._send(
            {
                "text/plain": "\n".join(map(str, self.stack)),
                "text/html": "".join(bar.as_html() for bar in self.stack),
            }
        )

    def clear(self) -> None:
        if self._handle is not None:
            self._send({"text/plain": "", "text/html": ""})

    def _send(self, content: dict[str, str]) -> None:
        from IPython import display

        # Untyped in IPython.
        show: Any = display.display
        if self._handle is None:
            self._handle = show(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _has_reader() -> bool:
    """Whether this is a notebook with somebody who could be asked for input, and looks on."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    # Programs that execute notebooks do not answer questions, and say so.
    return kernel is not None and getattr(kernel, "_allow_stdin", True)
