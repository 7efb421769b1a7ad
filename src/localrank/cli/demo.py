"""`localrank demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from localrank.data import RankingDataset

N_QUERIES, N_TYPES, SEPARATION = 600, 4, 0.5
METHODS = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training,query-coordinates"
SETTINGS = (
    "lambdamart.n_trees=150",
    "local-rank.ranker=rank-svm",
    "adaptive-training.n_clusters=4",
    "adaptive-training.ranker=lambdamart",
    "adaptive-training.ranker__n_trees=150",
    "query-coordinates.ranker__n_trees=150",
)
TEXT_METHODS = "lambdamart,best-feature,rank-svm,local-rank"
TEXT_SETTINGS = (
    "lambdamart.n_trees=50",
    "local-rank.ranker=rank-svm",
    "local-rank.n_clusters=3",
)


def demo(
    output: Path = typer.Option(
        Path("localrank-demo"), "--output", "-o", help="Folder to write the report into."
    ),
    text: bool = typer.Option(
        False,
        "--text",
        help="Use built-in texts instead of made-up features. They are written beside the report.",
    ),
    seed: int = typer.Option(0, help="Seed of the made-up queries and of the models."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """See a comparison of methods on built-in data, in a minute or two.

    Example: localrank demo
    """
    from localrank.cli._inputs import check_folder
    from localrank.cli._tables import say, say_if_compiling
    from localrank.cli.compare import report
    from localrank.evaluation import compare

    check_folder(output)
    say_if_compiling()
    dataset = _of_texts(output) if text else _made_up(seed)
    comparison = compare(
        TEXT_METHODS if text else METHODS,
        dataset,
        settings=TEXT_SETTINGS if text else SETTINGS,
        n_folds=4 if text else 3,
        store=output / "parts",
        title="Built-in texts" if text else f"Built-in queries of {N_TYPES} types",
        n_jobs=-1,
        random_state=seed,
        say=say,
    )
    report(comparison, output, as_json)


def _made_up(seed: int) -> RankingDataset:
    from localrank.cli._tables import say
    from localrank.data import make_queries

    dataset, _ = make_queries(N_QUERIES, n_types=N_TYPES, separation=SEPARATION, random_state=seed)
    say(
        f"Made {dataset.n_queries:,} queries with {dataset.n_documents:,} documents and "
        f"{dataset.n_features} features. The queries are of {N_TYPES} hidden types. Each type "
        f"ranks by different features."
    )
    return dataset


def _of_texts(output: Path) -> RankingDataset:
    import shutil

    from localrank.cli._tables import say
    from localrank.text import FeatureExtractor, load_example
    from localrank.text.example_texts import FILES

    output.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copyfile(file, output / file.name)
    example = load_example()
    extractor = FeatureExtractor(["title", "body"]).fit(example.corpus)
    dataset = extractor.dataset(example.queries, example.qrels)
    say(
        f"Read {len(example.corpus)} short texts and {dataset.n_queries} queries with judgments, "
        f"and made {dataset.n_features} features of them. The texts are in {output}: "
        f"{', '.join(file.name for file in FILES)}."
    )
    return dataset
