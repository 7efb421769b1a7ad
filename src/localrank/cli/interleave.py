"""`localrank interleave`."""

from __future__ import annotations

from pathlib import Path

import typer


def interleave(
    log: list[Path] = typer.Argument(
        help="The log of a live test: the folder of `localrank serve --clicks-log`, or files of "
        "JSON lines with query, documents, clicks, ranker (old:new) and teams."
    ),
    unit: str = typer.Option(
        "session",
        help="The unit of the test: session; or query, if a few queries make up many of the lists "
        "and the result must hold for other queries.",
    ),
    bad_lines: str = typer.Option(
        "refuse", help="Lines that cannot be read: refuse (the default), or drop them."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Report which of two rankings won a live test, and how many more lists it needs.

    Example: localrank interleave clicks/
    """
    import math
    from dataclasses import asdict

    from localrank.cli._tables import print_json, say
    from localrank.clicks import interleaving_result, read_interleaved

    clicks = read_interleaved(_files(log), bad=bad_lines)  # type: ignore[arg-type]
    result = interleaving_result(clicks, unit=unit)  # type: ignore[arg-type]
    if clicks.n_repeated:
        say(f"{clicks.n_repeated:,} repeated lists are left out")
    if as_json:
        told = asdict(result) | {"winner": result.winner}
        if math.isnan(result.share):
            told |= {"share": None, "interval": None}
        print_json(told)
        return
    print(result)


def _files(given: list[Path]) -> list[Path]:
    """The files, and those of folders in their order."""
    files: list[Path] = []
    for path in given:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(path.glob("*.jsonl"))
        if not found:
            raise ValueError(f"{path} has no files that end in .jsonl.")
        files += found
    return files
