"""`localrank rank`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli.inputs import Reading, reads_data


@reads_data
def rank(
    model: Path = typer.Argument(help="A model file that `localrank train` wrote."),
    data: list[Path] = typer.Argument(
        help="Documents to rank: LETOR files or tables; - for standard input."
    ),
    output: Path = typer.Option(
        Path("-"), "--output", "-o", help="The TREC run to write; - for standard output."
    ),
    tag: str = typer.Option("localrank", help="Name of the run, its last column."),
    *,
    reading: Reading,
) -> None:
    """Rank documents with a saved model, as a TREC run."""
    import sys
    import time

    from localrank.cli.inputs import check_output, read_data
    from localrank.cli.tables import cost, say
    from localrank.data import write_run
    from localrank.data.trec import run_lines
    from localrank.persistence import load

    if str(output) != "-" and not output.exists():
        check_output(output)
    start = time.perf_counter()
    ranker = load(model)
    dataset = read_data(data, reading, labels="ignored", n_features=ranker.n_features_in_)
    scores = ranker.predict(dataset)
    if str(output) == "-":
        sys.stdout.writelines(run_lines(dataset, scores, tag))
        return
    write_run(dataset, scores, output, tag=tag)
    say(
        f"Ranked {dataset.n_queries:,} queries, {dataset.n_documents:,} documents into {output} "
        f"in {cost(time.perf_counter() - start)}"
    )
