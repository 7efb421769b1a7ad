"""`localrank compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from localrank.cli.cluster import on_cluster
from localrank.cli.inputs import MAX_DOCUMENTS_HELP, Reading, reads_data

if TYPE_CHECKING:
    from localrank.data import Fold

DEFAULT = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training,fast,one,best"


@on_cluster
@reads_data
def compare(
    data: list[Path] = typer.Argument(
        help="A folder with folds; or one file or a folder of partitions, cut into folds; or "
        "train, (validation,) test files."
    ),
    output: Path = typer.Option(Path("report"), "--output", "-o", help="The folder to write."),
    methods: str = typer.Option(
        DEFAULT, help="Methods, separated by commas, or all; see `localrank methods`."
    ),
    measures: str = typer.Option("ndcg@10,ndcg@5,map", help="Measures; the first is primary."),
    baseline: str = typer.Option("lambdamart", help="The method differences are against."),
    folds: int = typer.Option(5, min=2, help="Folds to make where the data has none."),
    validation: bool = typer.Option(
        True, help="Whether one of the parts validates, or all but the tested one train."
    ),
    tune: bool = typer.Option(False, "--tune", help="Tune each method's parameters in each fold."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of a method, as local-rank.n_clusters=4."
    ),
    bounds: bool = typer.Option(True, help="Bound what local methods could gain (trains more)."),
    query_categories: str = typer.Option(
        "",
        help="Known categories of the queries, to show how groups agree with them: a file with a "
        "query id and a category on each line, or a feature that is constant within queries.",
    ),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS_HELP),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: int = typer.Option(0, help="Seed of all randomness."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    *,
    reading: Reading,
) -> None:
    """Compare methods on the same queries: a table, tests, and a page that shows them."""
    from localrank import evaluation
    from localrank.cli.comparison import report
    from localrank.cli.inputs import check_folder, known_categories, limit_of, parse_measures
    from localrank.cli.tables import say

    check_folder(output)
    comparison = evaluation.compare(
        methods,
        read(data, reading, folds, seed, validation=validation),
        parse_measures(measures),
        baseline=baseline,
        settings=setting,
        tune=tune,
        n_controls=3 if bounds else 0,
        max_documents=limit_of(max_documents),
        categories=known_categories(query_categories),
        store=output / "parts",
        title=title_of(data),
        n_jobs=n_jobs,
        random_state=seed,
        say=say,
    )
    report(comparison, output, as_json)


def read(
    paths: Sequence[Path], reading: Reading, n_folds: int, seed: int, *, validation: bool
) -> Sequence[Fold]:
    """The folds of a folder, those made of one file's queries, or the one split that files make."""
    from localrank.cli.inputs import is_partitioned, read_data, refuse_other_options
    from localrank.cli.tables import say_if_compiling
    from localrank.data import Fold, folds

    if len(paths) == 1 and paths[0].is_dir() and not is_partitioned(paths):
        say_if_compiling()
        refuse_other_options(paths[0], reading)
        return folds(
            paths[0], validation=validation, dtype=reading.dtype, zero_based=reading.zero_based
        )
    if len(paths) == 1:
        rotated = validation and n_folds > 2
        queries = read_data(paths, reading)
        return folds(queries, n_folds, validation=rotated, random_state=seed)
    if len(paths) > 3:
        raise ValueError("Name a folder, one file, or train, (validation and) test files.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise ValueError("A file may be named once: training data cannot test what was learned.")
    train = read_data(paths[:1], reading)
    *valid, test = (
        read_data([path], reading, n_features=train.n_features, names=train.feature_names)
        for path in paths[1:]
    )
    return [Fold("split", train, valid[0] if valid else None, test)]


def title_of(paths: Sequence[Path]) -> str:
    """What to call the data."""
    return paths[0].resolve().name if len(paths) == 1 else " ".join(path.name for path in paths)
