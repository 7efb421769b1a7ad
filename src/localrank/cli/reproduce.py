"""`localrank reproduce`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli.cluster import on_cluster
from localrank.experiments import EXPERIMENTS


@on_cluster
def reproduce(
    experiment: str = typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}."),
    data: Path = typer.Option(
        ...,
        "--data",
        help="A folder with folds, such as OHSUMED; for wins, one with such folders; for "
        "pca-queries also text collections; for metric-retrieval one text collection, or "
        "digits.",
    ),
    output: Path = typer.Option(Path("reproduction"), "--output", "-o", help="Folder to write."),
    quick: bool = typer.Option(False, "--quick", help="Two folds, small models: a try."),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: list[int] = typer.Option(
        [0], help="Seed of all randomness. Given twice or more, wins averages over the seeds."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Repeat an experiment: published numbers beside ours, and what holds."""
    import time

    from localrank.cli.tables import cost, print_json, say, say_if_compiling
    from localrank.experiments import reproduce as repeat
    from localrank.experiments.base import Making
    from localrank.experiments.setting import Setting
    from localrank.persistence import library_versions

    start, cpu_start = time.perf_counter(), time.process_time()
    say_if_compiling()
    setting = Setting(data, quick, tuple(seed), n_jobs, output / "runs", say)
    found = repeat(experiment, setting)
    # The folder's name alone: where it lies says nothing to others.
    command = f"localrank reproduce {experiment} --data {setting.data}"
    command += "".join(f" --seed {one}" for one in seed) + (" --quick" if quick else "")
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    drawn = found.write(output, Making(command, seconds, cpu_seconds, library_versions()))
    if as_json:
        print_json(found.as_json())
    else:
        print(found)
    if not drawn:
        say("Figures are skipped: they need pip install 'localrank[plots]'.")
    say(f"Repeated in {cost(seconds)}. The tables: {(output / 'index.md').resolve()}")
