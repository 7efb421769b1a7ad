"""`localrank export`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli.inputs import Reading, reads_data


@reads_data
def export(
    model: Path = typer.Argument(help="A model file that `localrank train` wrote."),
    to: str = typer.Option(
        ..., "--to", help="The engine or format: `localrank export --help` lists them below."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="The folder for the files."),
    verify: list[Path] = typer.Option(
        [],
        "--verify",
        help="Rank these documents as the engine would, and compare: LETOR files or tables.",
    ),
    name: str = typer.Option("localrank", help="What the model is called in the engine."),
    *,
    reading: Reading,
) -> None:
    """Write a saved model as files for a search engine or another library."""
    from localrank.cli.inputs import read_data
    from localrank.cli.tables import say
    from localrank.export import export as write
    from localrank.export import verify as check
    from localrank.persistence import load

    ranker = load(model)
    paths = write(ranker, to, output, name=name)
    say(f"Wrote {', '.join(path.name for path in paths)} into {output}")
    if verify:
        dataset = read_data(verify, reading, labels="ignored", n_features=ranker.n_features_in_)
        result = check(ranker, to, output, dataset)
        say(str(result))
        if not result.same_order:
            raise typer.Exit(3)
