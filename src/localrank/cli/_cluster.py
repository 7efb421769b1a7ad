"""The option `--dask`: run a command on a cluster."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer


def on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option `--dask`. The command then runs on that cluster."""

    @functools.wraps(command)
    def on_workers(*, dask: str, **arguments: Any) -> None:
        if not dask:
            command(**arguments)
            return
        from localrank._base.distributed import connected, described_workers, peak_memory
        from localrank.cli._tables import say

        with connected(dask) as client:
            say(described_workers(client))
            try:
                command(**arguments)
            except typer.Exit:
                say(peak_memory(client))
                raise
            say(peak_memory(client))

    option = inspect.Parameter(
        "dask",
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(
            "",
            "--dask",
            metavar="ADDRESS",
            help="Run on a Dask cluster: its address, such as tcp://host:8786, or local:4 for "
            "four processes on this machine. By default, run in this process.",
        ),
        annotation=str,
    )
    signature = inspect.signature(command, eval_str=True)
    given = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
    ]
    on_workers.__signature__ = signature.replace(parameters=[*given, option])  # type: ignore[attr-defined]
    on_workers.__annotations__ = {p.name: p.annotation for p in [*given, option]}
    return on_workers
