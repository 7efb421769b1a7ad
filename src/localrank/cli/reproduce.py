"""`localrank reproduce`."""

from __future__ import annotations

from pathlib import Path

import typer


def reproduce(
    experiment: str = typer.Argument(
        help="local-rank, adaptive-training, pca-queries, lgmml or multiple-hyperplanes."
    ),
    data: Path = typer.Option(..., "--data", help="A folder with folds, such as OHSUMED."),
    output: Path = typer.Option(Path("reproduction"), "--output", "-o", help="Folder to write."),
    quick: bool = typer.Option(False, "--quick", help="Two folds, small models: a try."),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: int = typer.Option(0, help="Seed of all randomness."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Repeat a paper's experiment: published numbers beside ours, and what holds."""
    import time

    from localrank.cli.tables import print_json, print_table, say, say_if_compiling
    from localrank.experiments import reproduce as repeat
    from localrank.persistence import library_versions

    start = time.perf_counter()
    say_if_compiling()
    found = repeat(experiment, data, quick=quick, random_state=seed, n_jobs=n_jobs, say=say)
    # The folder's name alone: where it lies says nothing to others.
    command = f"localrank reproduce {experiment} --data {found.data} --seed {seed}"
    command += " --quick" if quick else ""
    seconds = time.perf_counter() - start
    drawn = found.write(output, command, seconds=seconds, versions=library_versions())
    if as_json:
        print_json(found.as_json())
    else:
        for table in found.tables:
            print_table(table.title, list(table.columns), table.cells())
        typer.echo(found.conclusion)
    if not drawn:
        say("Figures are skipped: they need pip install 'localrank[plots]'.")
    say(f"Repeated in {seconds:.0f} s. The tables: {(output / 'index.md').resolve()}")
