"""Whether workers have the same libraries as the client, without which results differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check_versions(client: Any) -> None:
    """Refuse workers with other versions. Each worker is asked once.

    Parameters
    ----------
    client : distributed.Client
    """
    known = vars(client).setdefault("_localrank_checked", set())
    workers = [worker for worker in client.nthreads() if worker not in known]
    if not workers:
        return
    report = _reporter()
    own = report()
    for worker, versions in client.run(report, workers=workers, on_error="return").items():
        if isinstance(versions, OSError):
            # It ended before it could answer.
            continue
        if isinstance(versions, Exception):
            raise ImportError(
                f"worker {worker} cannot say its versions: {type(versions).__name__}: {versions}"
            )
        for library, version in versions.items():
            if version != own[library]:
                raise ImportError(
                    f"worker {worker} has {library} {version}, this client {own[library]}: "
                    f"install the same versions"
                )
        known.add(worker)


def _reporter() -> Callable[[], dict[str, str]]:
    """A function that runs also where localrank is missing: inner ones are sent by value."""

    def versions() -> dict[str, str]:
        import platform
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        found = {"Python": platform.python_version()}
        try:
            # As imported: its metadata may be that of another copy.
            found["localrank"] = import_module("localrank").__version__
        except ImportError:
            found["localrank"] = "(not installed)"
        for library in ("numpy", "scipy", "scikit-learn", "lightgbm", "numba"):
            try:
                found[library] = version(library)
            except PackageNotFoundError:
                found[library] = "(not installed)"
        return found

    return versions
