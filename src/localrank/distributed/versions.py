"""Check that workers have the same libraries as the client. Otherwise results could differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def check_versions(client: Any) -> None:
    """Refuse workers with other versions. Each worker is asked once.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """
    known = vars(client).setdefault("_localrank_checked", set())
    workers = [worker for worker in client.nthreads() if worker not in known]
    if not workers:
        return
    report = _reporter()
    expected = report()
    for worker, versions in client.run(report, workers=workers, on_error="return").items():
        if isinstance(versions, OSError):
            # It ended before it could answer.
            continue
        if isinstance(versions, Exception):
            raise ImportError(
                f"worker {worker} cannot report its versions: {type(versions).__name__}: {versions}"
            )
        for library, version in versions.items():
            if version != expected[library]:
                raise ImportError(
                    f"worker {worker} has {library} {version}, this client has "
                    f"{expected[library]}: install the same versions"
                )
        known.add(worker)


def _reporter() -> Callable[[], dict[str, str]]:
    """A function that runs even without localrank: inner functions are sent by value."""

    def report() -> dict[str, str]:
        import platform
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        versions = {"Python": platform.python_version()}
        try:
            # As imported: the metadata may belong to another copy.
            versions["localrank"] = import_module("localrank").__version__
        except ImportError:
            versions["localrank"] = "(not installed)"
        for library in ("numpy", "scipy", "scikit-learn", "lightgbm", "numba"):
            try:
                versions[library] = version(library)
            except PackageNotFoundError:
                versions[library] = "(not installed)"
        return versions

    return report
