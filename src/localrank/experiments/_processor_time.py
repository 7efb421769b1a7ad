"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any


def cpu_seconds(run: Callable[[], Any]) -> float:
    """CPU seconds of a call, all threads together. Other work on the machine does not count."""
    start = time.process_time()
    run()
    return time.process_time() - start


def milliseconds(run: Callable[[], Any], n_runs: int = 1) -> float:
    """CPU milliseconds of a call: the best of several runs."""
    return 1000 * min(cpu_seconds(run) for _ in range(n_runs))


def milliseconds_of_each(run: Callable[[Any], Any], items: Sequence[Any], n_runs: int = 3) -> float:
    """Mean CPU milliseconds for one item, when items come one by one. The best of several runs."""
    return milliseconds(lambda: [run(item) for item in items], n_runs) / len(items)
