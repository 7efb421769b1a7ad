"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def milliseconds(run: Callable[[], Any], n_runs: int = 1) -> float:
    """The best of several runs."""
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)
