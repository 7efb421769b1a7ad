"""Memory: what is needed, what is free, and what this process has used."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Files with the limit of a container and its use, for both versions of control groups.
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def check_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise a MemoryError if more memory is needed than is free, before it is allocated.

    Parameters
    ----------
    n_bytes : float
        Estimate of the needed memory.
    what : str
        What needs it, as the beginning of a sentence.
    instead : str
        A sentence on what to do instead.

    Examples
    --------
    >>> check_memory(1e18, "A table of 10^17 numbers", "Use a part of it.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    MemoryError: A table of 10^17 numbers needs about 931,322,575 GiB of memory, ...
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs about {_amount(n_bytes)} of memory, and {_amount(available)} is free. "
            f"{instead}"
        )


def peak_memory() -> int | None:
    """The peak memory of this process in bytes; None if the system does not tell.

    Examples
    --------
    >>> peak_memory() > 2**20
    True
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def available_memory() -> int | None:
    """Bytes that are free on the machine and in its container; None if unknown."""
    amounts = [_free_on_machine(), *(_free_in_container(*files) for files in _LIMITS)]
    return min((amount for amount in amounts if amount is not None), default=None)


def _free_on_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_container(limit: str, used: str) -> int | None:
    try:
        amounts = [int(Path(path).read_text(encoding="ascii")) for path in (limit, used)]
        return max(amounts[0] - amounts[1], 0)
    except (OSError, ValueError):
        # No such file, or the limit is "max".
        return None


def _amount(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:,.0f} GiB" if n_bytes >= 10 * 2**30 else f"{n_bytes / 2**30:.1f} GiB"
