"""`localrank reproduce`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli._inputs import on_cluster
from localrank.experiments import EXPERIMENTS


@on_cluster
def reproduce(
    experiment: str = typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}."),
    data: Path = typer.Option(
        ...,
        "--data",
        help="A folder with folds, such as OHSUMED. wins: a folder of such folders. pca-queries: "
        "also text collections. metric-retrieval: one text collection, or digits.",
    ),
    output: Path = typer.Option(
        Path("reproduction"), "--output", "-o", help="Folder to write the tables into."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Use two folds and small models, to try the command."
    ),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: list[int] = typer.Option(
        [0], help="Seed of all random choices. May be repeated: wins then averages over the seeds."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Repeat a published experiment: the paper's numbers, ours, and which claims hold.

    Example: localrank reproduce local-rank --data OHSUMED --quick
    """
    import time

    from localrank.cli._tables import cost, print_json, say, say_if_compiling
    from localrank.experiments import Making, Setting
    from localrank.experiments import reproduce as repeat
    from localrank.persistence import library_versions

    start, cpu_start = time.perf_counter(), time.process_time()
    say_if_compiling()
    setting = Setting(data, quick, tuple(seed), n_jobs, output / "runs", say)
    result = repeat(experiment, setting)
    # Only the folder's name: its path means nothing to other readers.
    command = f"localrank reproduce {experiment} --data {setting.data}"
    command += "".join(f" --seed {one}" for one in seed) + (" --quick" if quick else "")
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    drawn = result.write(output, Making(command, seconds, cpu_seconds, library_versions()))
    if as_json:
        print_json(result.as_json())
    else:
        print(result)
    if not drawn:
        say("No figures were drawn: they need pip install 'localrank[plots]'.")
    say(f"Repeated in {cost(seconds)}. The tables: {(output / 'index.md').resolve()}")
