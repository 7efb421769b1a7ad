"""`localrank reproduce`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli._inputs import on_cluster
from localrank.experiments import EXPERIMENTS


@on_cluster
def reproduce(
    experiment: str = typer.Argument(
        help=f"One of {', '.join(EXPERIMENTS)}, or all: every page of the documentation."
    ),
    data: Path = typer.Option(
        ...,
        "--data",
        help="A folder with folds, such as OHSUMED. all, wins, scoreboard: a folder of such "
        "folders. pca-queries: also text collections. metric-retrieval: one text collection, or "
        "digits. "
        "text-collections, known-categories: a folder of text collections, or of lists. "
        "hybrid: a folder with both, text/ and hybrid/.",
    ),
    output: Path = typer.Option(
        Path("reproduction"), "--output", "-o", help="Folder to write the pages into."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Use two folds and small models, to try the command."
    ),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core. all: unused."),
    seed: list[int] = typer.Option(
        [], help="Seed of random choices. Repeated: several trainings. Default: the experiment's."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    only: list[str] = typer.Option(
        [], help="all: make this page alone, or those of this experiment. Can be repeated."
    ),
    jobs: int = typer.Option(2, min=1, help="all: pages made at the same time, one thread each."),
    this_commit: bool = typer.Option(
        False,
        "--this-commit",
        help="all: also make pages anew whose experiment is the same but whose commit is not.",
    ),
    listed: bool = typer.Option(
        False, "--list", help="all: list the pages and their processor minutes, and stop."
    ),
) -> None:
    """Repeat a published experiment: the paper's numbers, ours, and which claims hold.

    Example: localrank reproduce local-rank --data OHSUMED --quick
    """
    if experiment == "all":
        pages = {"this_commit": this_commit, "listed": listed}
        _reproduce_all(data, output, only, jobs, quick, tuple(seed), **pages)
    elif only or listed or this_commit:
        raise ValueError(
            "--only, --list and --this-commit are for pages: localrank reproduce all --list."
        )
    else:
        _reproduce(experiment, data, output, quick, n_jobs, tuple(seed), as_json=as_json)


def _reproduce(
    experiment: str,
    data: Path,
    output: Path,
    quick: bool,
    n_jobs: int,
    seeds: tuple[int, ...],
    *,
    as_json: bool,
) -> None:
    import time
    from datetime import UTC, datetime

    from localrank.cli._tables import cost, print_json, say, say_if_compiling
    from localrank.experiments import Making, Setting
    from localrank.experiments import reproduce as repeat
    from localrank.experiments._code_digest import code_digest, commit, source_digest
    from localrank.experiments.by_name import own_seeds
    from localrank.persistence import library_versions

    start, cpu_start = time.perf_counter(), time.process_time()
    say_if_compiling()
    # What was computed by other code is not continued.
    store = output / "runs" / source_digest()
    setting = Setting(data, quick, seeds or own_seeds(experiment, quick), n_jobs, store, say)
    # Only the folder's name: its path means nothing to other readers.
    command = f"localrank reproduce {experiment} --data {setting.data}"
    command += "".join(f" --seed {one}" for one in seeds) + (" --quick" if quick else "")
    # The code that is loaded now, though it may be changed before the end.
    code = datetime.now(UTC).date().isoformat(), commit(), code_digest(experiment)
    result = repeat(experiment, setting)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    making = Making(command, setting.seeds, *code, seconds, cpu_seconds, library_versions())
    drawn = result.write(output, making)
    if as_json:
        print_json(result.as_json())
    else:
        print(result)
    if not drawn:
        say("No figures were drawn: they need pip install 'localrank[plots]'.")
    say(f"Repeated in {cost(seconds)}. The tables: {(output / f'{result.name}.md').resolve()}")


def _reproduce_all(
    data: Path,
    output: Path,
    only: list[str],
    jobs: int,
    quick: bool,
    seeds: tuple[int, ...],
    *,
    this_commit: bool,
    listed: bool,
) -> None:
    from math import isfinite

    from localrank.cli._tables import print_table, say
    from localrank.experiments._code_digest import commit
    from localrank.experiments._pages import VERDICTS, has_data, make_pages, pages

    if not data.is_dir():
        raise FileNotFoundError(f"{data}: no such folder.")
    wanted, rows, total = [], [], 0.0
    code = commit() if this_commit else None
    for page in pages(only):
        state, minutes = "to be made", page.minutes(output)
        if not has_data(page, data):
            state = f"skipped: {page.data} is not in {data}"
        elif page.is_fresh(output, seeds, code) and not quick:
            state = "fresh"
        else:
            wanted.append(page)
            total += minutes if isfinite(minutes) else 0.0
        rows.append([page.name, f"{minutes:.1f}" if isfinite(minutes) else "unknown", state])
        if state != "to be made" and not listed:
            say(f"{page.name}: {state}")
    if listed:
        print_table("The pages", ["page", "processor minutes", "state"], rows)
        known = f", known to take {total:.1f} minutes" * (total > 0)
        print(f"{len(wanted)} of {len(rows)} to be made{known}.")
        return
    options = [option for one in seeds for option in ("--seed", str(one))]
    options += ["--quick"] * quick
    failed = make_pages(wanted, data, output, n_jobs=jobs, options=options, say=say)
    say(f"The verdicts: {(output / f'{VERDICTS}.md').resolve()}")
    if failed:
        say(f"Failed: {', '.join(failed)}. Their output: {(output / 'runs').resolve()}")
        raise typer.Exit(1)
