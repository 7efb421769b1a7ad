"""`localrank warmup`."""

from __future__ import annotations

from pathlib import Path

import typer


def warmup(
    models: list[Path] = typer.Argument(
        None, help="Models that will rank. Without models, --methods decides what is compiled."
    ),
    methods: str = typer.Option(
        "",
        help="Methods that will be trained, separated by commas. By default all, or none if "
        "models are given.",
    ),
    times: bool = typer.Option(
        False, "--times", help="Also list the kernels, with the seconds that each took."
    ),
) -> None:
    """Compile the numerical code now, so that later commands start faster.

    Example: localrank warmup --methods lambdamart,local-rank
    """
    import time

    from localrank._kernels.compilation import compile_seconds, folder_to_write
    from localrank.cli._tables import print_table, say
    from localrank.warmup import warm_up

    start = time.perf_counter()
    names = [name.strip() for name in methods.split(",")] if methods else None
    compiled = warm_up(models or (), names)
    rows = [[name, str(len(kernels))] for name, kernels in compiled.items()]
    print_table("Compiled", ["for", "kernels"], rows)
    if times and compile_seconds:
        slowest = sorted(compile_seconds.items(), key=lambda item: -item[1])
        rows = [[name.removeprefix("localrank."), f"{spent:.2f}"] for name, spent in slowest]
        print_table("Kernels", ["kernel", "CPU seconds"], rows)
    n_kernels, seconds = sum(map(len, compiled.values())), time.perf_counter() - start
    say(f"{n_kernels} kernels in {seconds:.0f} s, kept in {folder_to_write() or 'no folder'}.")
