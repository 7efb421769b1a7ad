"""`localrank distil`."""

from __future__ import annotations

from pathlib import Path

import typer

from localrank.cli._inputs import DataOptions, reads_data


@reads_data
def distil(
    model: Path = typer.Argument(help="The teacher: a model file that `localrank train` wrote."),
    data: list[Path] = typer.Argument(
        help="Queries on which the new model learns the teacher's scores: LETOR files, tables or "
        "feature logs. Labels are not needed."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Model file to write."),
    n_trees: int = typer.Option(600, help="Number of trees of the new model."),
    n_leaves: int = typer.Option(31, help="Number of leaves of each tree."),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    *,
    options: DataOptions,
) -> None:
    """Turn a slow model into one fast model: boosted trees that learn its scores.

    Example: localrank distil slow.localrank train.txt -o fast.localrank
    """
    import time

    from localrank.aggregation import ZScore
    from localrank.cli._inputs import check_model, read_data, save_model
    from localrank.cli._tables import cost, say
    from localrank.persistence import load_ranker
    from localrank.rankers import distil
    from localrank.rankers.distilled import student_in_coordinates

    check_model(output)
    teacher = load_ranker(model)
    lists = read_data(data, options, labels="ignored", like=teacher)
    say(f"Learning the scores of {lists.n_queries:,} lists, {lists.n_documents:,} documents")
    start = time.perf_counter()
    student = distil(
        teacher,
        lists,
        student=student_in_coordinates(n_trees, n_leaves, n_jobs=n_jobs, random_state=seed),
    )
    seconds = time.perf_counter() - start
    save_model(student, output)
    ours, theirs = (
        ZScore().aggregate(lists, m.predict(lists)[:, None]) for m in (student, teacher)
    )
    explained = 1 - ((ours - theirs) ** 2).mean() / (theirs**2).mean()
    say(
        f"Trained in {cost(seconds)}, saved to {output} ({output.stat().st_size / 1024:,.0f} KiB); "
        f"it explains {explained:.1%} of the variance of the teacher's scores within these lists"
    )
