"""`localrank demo`."""

from __future__ import annotations

from pathlib import Path

import typer

N_QUERIES, N_TYPES, SEPARATION = 600, 4, 0.5
METHODS = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training"
SETTINGS = (
    "lambdamart.n_trees=150",
    "local-rank.ranker=rank-svm",
    "adaptive-training.n_clusters=4",
    "adaptive-training.ranker=lambdamart",
    "adaptive-training.ranker__n_trees=150",
)


def demo(
    output: Path = typer.Option(
        Path("localrank-demo"), "--output", "-o", help="The folder to write the report into."
    ),
    seed: int = typer.Option(0, help="Seed of the queries and the models."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Compare global and local methods on built-in queries of several types."""
    from localrank.cli.comparison import report
    from localrank.cli.inputs import check_folder
    from localrank.cli.tables import say, say_if_compiling
    from localrank.data import make_queries
    from localrank.evaluation import compare

    check_folder(output)
    dataset, _ = make_queries(N_QUERIES, n_types=N_TYPES, separation=SEPARATION, random_state=seed)
    say(
        f"Made {dataset.n_queries:,} queries of {N_TYPES} hidden types, which rank by different "
        f"features: {dataset.n_documents:,} documents, {dataset.n_features} features."
    )
    say_if_compiling()
    comparison = compare(
        METHODS,
        dataset,
        settings=SETTINGS,
        n_folds=3,
        store=output / "parts",
        title=f"Built-in queries of {N_TYPES} types",
        n_jobs=-1,
        random_state=seed,
        say=say,
    )
    report(comparison, output, as_json)
