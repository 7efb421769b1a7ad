"""`localrank compare`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from localrank.cli._inputs import MAX_DOCUMENTS_HELP, DataOptions, on_cluster, reads_data

if TYPE_CHECKING:
    from localrank.data import Fold
    from localrank.evaluation import Comparison

DEFAULT = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training,fast,one,best"


@on_cluster
@reads_data
def compare(
    data: list[Path] = typer.Argument(
        help="A folder with folds; or one file, or one folder of partitions, which is cut into "
        "folds; or two or three files: train, (validation,) test."
    ),
    output: Path = typer.Option(
        Path("report"), "--output", "-o", help="Folder to write the report into."
    ),
    methods: str = typer.Option(
        DEFAULT,
        help="Methods to compare, separated by commas; or all. `localrank methods` lists them.",
    ),
    measures: str = typer.Option(
        "ndcg@10,ndcg@5,map",
        help="Measures to report, separated by commas. The first one decides.",
    ),
    baseline: str = typer.Option(
        "lambdamart", help="The method that all others are tested against."
    ),
    folds: int = typer.Option(5, min=2, help="Number of folds, if the data has none."),
    validation: bool = typer.Option(
        True,
        help="In each fold, keep one part for validation. With --no-validation, models train on "
        "everything but the test part.",
    ),
    tune: bool = typer.Option(False, "--tune", help="Tune each method's parameters in each fold."),
    setting: list[str] = typer.Option(
        [],
        "--set",
        metavar="METHOD.NAME=VALUE",
        help="Set a parameter of a method, for example local-rank.n_clusters=4. May be repeated.",
    ),
    bounds: bool = typer.Option(
        True, help="Estimate the most that local methods could gain. Trains more models."
    ),
    query_categories: str = typer.Option(
        "",
        metavar="FILE or FEATURE",
        help="Known categories of the queries, to show how groups agree with them: a file with a "
        "query id and a category on each line, or a feature that is constant within each query.",
    ),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS_HELP),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    *,
    options: DataOptions,
) -> None:
    """Compare methods on your data: a table, significance tests, and a page for the browser.

    Example: localrank compare data.parquet -o report
    """
    from localrank import evaluation
    from localrank.cli._inputs import check_folder, limit_of, parse_measures
    from localrank.cli._tables import say

    check_folder(output)
    comparison = evaluation.compare(
        methods,
        read(data, options, folds, seed, validation=validation),
        parse_measures(measures),
        baseline=baseline,
        settings=setting,
        tune=tune,
        n_controls=3 if bounds else 0,
        max_documents=limit_of(max_documents),
        categories=_known_categories(query_categories),
        store=output / "parts",
        title=title_of(data),
        n_jobs=n_jobs,
        random_state=seed,
        say=say,
    )
    report(comparison, output, as_json)


def read(
    paths: Sequence[Path], options: DataOptions, n_folds: int, seed: int, *, validation: bool
) -> Sequence[Fold]:
    """The folds to compare on: a folder's, those cut from one file, or one split of files."""
    from localrank.cli._inputs import is_partitioned, read_data
    from localrank.cli._tables import say_if_compiling
    from localrank.data import Fold, folds
    from localrank.data.formats import LetorText
    from localrank.data.reading import check_options

    if len(paths) == 1 and paths[0].is_dir() and not is_partitioned(paths):
        say_if_compiling()
        check_options(LetorText(), paths[0], options)
        return folds(paths[0], validation=validation, **options)
    if len(paths) == 1:
        rotated = validation and n_folds > 2
        queries = read_data(paths, options)
        return folds(queries, n_folds, validation=rotated, random_state=seed)
    if len(paths) > 3:
        raise ValueError(
            f"Give one folder, one file, or two or three files: train, (validation,) test. Got "
            f"{len(paths)} paths instead."
        )
    if len({path.resolve() for path in paths}) < len(paths):
        raise ValueError(
            "A file is given twice. Queries that a model was trained on cannot test it: give "
            "different files to train, validate and test."
        )
    train = read_data(paths[:1], options)
    *valid, test = (read_data([path], options, like=train) for path in paths[1:])
    return [Fold("split", train, valid[0] if valid else None, test)]


def report(comparison: Comparison, output: Path, as_json: bool) -> None:
    """Write the report and print the results. The exit code is 1 if a method failed."""
    from localrank.cli._tables import cost, say

    comparison.write(output, command=" ".join(["localrank", *sys.argv[1:]]))
    if as_json:
        print((output / "results.json").read_text(encoding="utf-8"))
    else:
        print(comparison.to_text() + "\n")
    seconds = comparison.made["seconds"]
    say(f"Compared in {cost(seconds)}. Open the report: {(output / 'index.html').resolve()}")
    if comparison.failed:
        raise typer.Exit(1)


def title_of(paths: Sequence[Path]) -> str:
    """The title of the report: the names of the paths."""
    return paths[0].resolve().name if len(paths) == 1 else " ".join(path.name for path in paths)


def _known_categories(text: str) -> dict[str, str] | int | str | None:
    """The value of `--query-categories`: a file's categories by query id, or a feature."""
    path = Path(text)
    if path.suffix in (".txt", ".tsv", ".csv") and not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if not text or not path.is_file():
        return None if not text else int(text) if text.isdigit() else text
    categories: dict[str, str] = {}
    for number, content in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            line = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{path}:{number}: the line is not text in UTF-8.") from None
        if not line.strip():
            continue
        cells = (
            re.split(r"[\t,]", line, maxsplit=1)
            if re.search(r"[\t,]", line)
            else line.split(None, 1)
        )
        query, *category = (cell.strip() for cell in cells)
        if not query or not category or not category[0]:
            raise ValueError(
                f"{path}:{number}: a line must hold a query id and its category, separated by a "
                f"tab, a comma or a blank. Got {line!r} instead."
            )
        if categories.setdefault(query, category[0]) != category[0]:
            raise ValueError(f"{path}:{number}: query {query} has two categories.")
    if not categories:
        raise ValueError(f"{path} has no lines.")
    return categories
