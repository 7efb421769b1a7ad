"""The workers of a cluster, and their peak memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def described_workers(client: Any) -> str:
    """A line on the workers: their number, threads, memory and dashboard.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    threads = sum(worker["nthreads"] for worker in workers)
    count = "1 worker" if len(workers) == 1 else f"{len(workers):,} workers"
    more = f", {threads:,} threads" if threads != len(workers) else ""
    line = f"{count}{more}, memory per worker: {_limit(workers)}"
    return f"{line}; dashboard {client.dashboard_link}" if client.dashboard_link else line


def peak_memory(client: Any) -> str:
    """A line on the peak memory of the workers since they started, and their limit.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    peaks = list(client.run(_peak, on_error="ignore").values())
    if not peaks:
        return "Workers' peak memory: no worker is left to ask"
    limit = _limit(client.scheduler_info(n_workers=-1)["workers"].values())
    return f"Workers' peak memory: {_gigabytes(peaks)} of {limit}"


def _peak() -> int:
    """The peak memory of this process, in bytes."""
    import sys
    from pathlib import Path

    # On Linux, `resource` also counts the memory of the parent process.
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    # In KiB; in bytes on a Mac.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit(workers: Any) -> str:
    limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
    return _gigabytes(limits) if limits else "what the machine has"


def _gigabytes(amounts: Sequence[int]) -> str:
    low, high = (f"{amount / 1e9:.1f}" for amount in (min(amounts), max(amounts)))
    return f"{low} GB" if low == high else f"{low}–{high} GB"
