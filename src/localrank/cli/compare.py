"""`localrank compare`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from localrank.cli._inputs import (
    MAX_DOCUMENTS_HELP,
    MAX_UNSEEN,
    MAX_UNSEEN_HELP,
    DataOptions,
    on_cluster,
    reads_clicks,
    reads_data,
)

if TYPE_CHECKING:
    from localrank.data import Fold
    from localrank.evaluation import Comparison, RunComparison
    from localrank.measures import Measure

DEFAULT = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training,fast,one,best"


@on_cluster
@reads_data
@reads_clicks
def compare(
    context: typer.Context,
    data: list[Path] = typer.Argument(
        help="A folder with folds; or one file, or one folder of partitions, which is cut into "
        "folds; or two or three files: train, (validation,) test. With --runs: runs. Or logs of "
        "clicks, with --features FILE, as for train."
    ),
    runs: bool = typer.Option(
        False,
        "--runs",
        help="Compare ranked lists of any systems, in files: TREC runs, JSON or tables. Needs "
        "--qrels.",
    ),
    qrels: list[Path] = typer.Option(
        [],
        "--qrels",
        help="Judgments for --runs. Given several times, the first judges, and the others are "
        "compared with it.",
    ),
    queries: Path | None = typer.Option(
        None, "--queries", help="With --runs: texts of the queries, for the page."
    ),
    corpus: Path | None = typer.Option(
        None, "--corpus", help="With --runs: texts of the documents, for the page."
    ),
    relevance_level: list[str] = typer.Option(
        [],
        "--relevance-level",
        metavar="GRADE or FILE=GRADE",
        help="With several --qrels of different scales: the smallest grade of a relevant document, "
        "for all of them or for one file of --qrels. May be repeated.",
    ),
    same_scale: bool = typer.Option(
        False,
        "--same-scale",
        help="With several --qrels: their scale is the same, though their largest grades differ.",
    ),
    test: str = typer.Option(
        "t", "--test", help="With --runs: the paired test: t, wilcoxon, randomisation or sign."
    ),
    output: Path = typer.Option(
        Path("report"), "--output", "-o", help="Folder to write the report into."
    ),
    methods: str = typer.Option(
        DEFAULT,
        help="Methods to compare, separated by commas; or all. `localrank methods` lists them.",
    ),
    measures: str = typer.Option(
        "",
        help="Measures to report, separated by commas. The first one decides. By default "
        "ndcg@10,ndcg@5,map; with --runs ndcg@10,map,mrr@10.",
    ),
    convention: str = typer.Option(
        "default", help="Compute measures as another tool does; see `localrank evaluate`."
    ),
    baseline: str = typer.Option(
        "",
        help="The method or run that all others are tested against. By default lambdamart; with "
        "--runs, the first run.",
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
        True, help="Estimate an upper bound on what local methods could gain. Trains more models."
    ),
    query_categories: str = typer.Option(
        "",
        metavar="FILE or FEATURE",
        help="Known categories of the queries, to show how groups agree with them: a file with a "
        "query id and a category on each line, or a feature that is constant within each query. "
        "With --runs, give a file, also as --categories: the gain in each category is tested.",
    ),
    max_documents: int | None = typer.Option(None, min=0, help=MAX_DOCUMENTS_HELP),
    max_unseen: float = typer.Option(
        MAX_UNSEEN, min=0, max=1, help=MAX_UNSEEN_HELP, rich_help_panel="Logs of clicks"
    ),
    n_jobs: int = typer.Option(-1, help="Number of threads. -1: one for each core."),
    seed: int = typer.Option(0, help="Seed of all random choices."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    *,
    options: DataOptions,
    log_options: DataOptions,
) -> None:
    """Compare methods on your data: a table, significance tests, and a page for the browser.

    Examples: localrank compare data.parquet -o report;
    localrank compare --runs bm25.trec dense.trec --qrels qrels.txt -o report
    """
    from localrank import evaluation
    from localrank.cli._inputs import check_folder, gives_clicks, limit_of, parse_measures
    from localrank.cli._tables import say

    _check_mode(context, runs, options | log_options)
    check_folder(output)
    in_files = not runs and all(path.is_file() for path in data)
    if in_files and gives_clicks(data, options | log_options):
        named = methods if _is_given(context, "methods") else ON_CLICKS
        _on_clicks(context, data, options, log_options, named, as_json)
        return
    options = options | log_options
    if runs:
        compared = _of_runs(
            data,
            qrels,
            parse_measures(measures or "ndcg@10,map,mrr@10", convention),
            baseline,
            test,
            query_categories or context.params["categories"],
            relevance_level,
            same_scale,
            queries,
            corpus,
        )
        report(compared, output, as_json)
        return
    comparison = evaluation.compare(
        methods,
        read(data, options, folds, seed, validation=validation),
        parse_measures(measures or "ndcg@10,ndcg@5,map", convention),
        baseline=baseline or "lambdamart",
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


# The methods that are compared on a log, unless others are named.
ON_CLICKS = "lambdamart,rank-svm,fast"
# What means nothing for a log: its queries are cut once, and there is no page.
NOT_ON_CLICKS = (
    "folds",
    "validation",
    "tune",
    "setting",
    "bounds",
    "max_documents",
    "query_categories",
    "output",
)


def _on_clicks(
    context: typer.Context,
    paths: Sequence[Path],
    options: DataOptions,
    log_options: DataOptions,
    methods: str,
    as_json: bool,
) -> None:
    """Compare methods on a log of clicks: by what they would bring, and by judgments."""
    from dataclasses import asdict

    from localrank.cli._clicked import read_with_features
    from localrank.cli._inputs import parse_measures
    from localrank.cli._tables import print_json, say
    from localrank.clicks import compare_rankers
    from localrank.registry import make_ranker

    wrong = [name for name in NOT_ON_CLICKS if _is_given(context, name)]
    # Without features it is the features that are missing first.
    if wrong and options.get("features"):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        raise ValueError(f"{flags}: not for logs of clicks. Leave them out.")
    log, features, bias = read_with_features(paths, options, log_options)
    given = context.params
    names = [name.strip() for name in methods.split(",") if name.strip()]
    rankers = {name: make_ranker(name, [], given["n_jobs"], given["seed"]) for name in names}
    result = compare_rankers(
        log,
        features,
        rankers,
        bias,
        measures=parse_measures(given["measures"] or "ndcg@10,ndcg@5,map", given["convention"]),
        baseline=given["baseline"] or None,
        max_unseen=given["max_unseen"],
        rates=options.get("rates"),
        random_state=given["seed"],
        say=say,
    )
    if as_json:
        print_json(
            {
                "values": {name: asdict(value) for name, value in result.values.items()},
                "differences": {name: asdict(one) for name, one in result.differences.items()},
                "refused": result.refused,
                "judged": result.judged,
                "shown": result.shown,
                "baseline": result.baseline,
                "sentence": result.sentence,
            }
        )
        return
    print(result)


# Options that say how methods are trained, and those that belong to runs.
TRAINING = (
    "methods",
    "folds",
    "validation",
    "tune",
    "setting",
    "bounds",
    "max_documents",
    "n_jobs",
    "seed",
    "dask",
)
OF_RUNS = ("qrels", "queries", "corpus", "relevance_level", "same_scale", "test")


def _check_mode(context: typer.Context, runs: bool, options: DataOptions) -> None:
    """Refuse options that mean nothing for runs, or for methods alone."""

    def given(names: Sequence[str]) -> list[str]:
        flags = {option.name: option.opts[0] for option in context.command.params}
        return [flags[name] for name in names if name in flags and _is_given(context, name)]

    if not runs:
        if wrong := given(OF_RUNS):
            raise ValueError(f"{', '.join(wrong)}: these options go with --runs.")
        return
    of_data = [name for name, value in options.items() if value and name != "categories"]
    if wrong := [*given(TRAINING), *given(of_data)]:
        raise ValueError(f"{', '.join(wrong)}: with --runs nothing is trained. Leave them out.")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _of_runs(
    paths: Sequence[Path],
    qrels: Sequence[Path],
    measures: Sequence[Measure],
    baseline: str,
    test: str,
    categories: str,
    relevance_level: Sequence[str],
    same_scale: bool,
    queries: Path | None,
    corpus: Path | None,
) -> RunComparison:
    """Compare runs in files."""
    from localrank import evaluation
    from localrank.cli._tables import say
    from localrank.text import read_corpus, read_queries

    if not qrels:
        raise ValueError("Runs are compared by judgments. Give them: --qrels FILE.")
    known = _known_categories(categories)
    if known is not None and not isinstance(known, dict):
        raise ValueError(
            f"With --runs, categories come in a file with a query id and a category on each line. "
            f"There is no file {categories}."
        )
    say(f"Comparing {len(paths)} runs.")
    names = [path.name for path in qrels]
    if len(set(names)) < len(names):
        names = [str(path) for path in qrels]
    return evaluation.compare_runs(
        paths,
        qrels[0],
        measures,
        baseline=baseline or None,
        test=test,
        categories=known,
        judges=dict(zip(names[1:], qrels[1:], strict=True)),
        relevance_level=_levels(relevance_level, names),
        same_scale=same_scale,
        queries=None if queries is None else read_queries(queries),
        documents=None if corpus is None else read_corpus(corpus),
    )


def _levels(given: Sequence[str], names: Sequence[str]) -> float | dict[str, float] | None:
    """The value of `--relevance-level`: of all judges, or of each; the first judges the runs."""
    from localrank._base.names import unknown
    from localrank.evaluation.run_comparison import OURS

    levels: dict[str, float] = {}
    for text in given:
        name, _, grade = text.rpartition("=")
        try:
            level = float(grade)
        except ValueError:
            level = math.nan
        if not math.isfinite(level):
            raise ValueError(
                f"--relevance-level: give a grade, like 2, or a file of --qrels and its grade, "
                f"like {names[0]}=2. Got {text!r} instead."
            )
        if name and name not in names:
            raise unknown("--relevance-level: there are no judgments", name, names)
        if levels.setdefault(name, level) != level:
            raise ValueError(f"--relevance-level: two grades for {name or 'all judges'}.")
    if levels.keys() <= {""}:
        return levels.get("")
    if missing := [name for name in names if name not in levels and "" not in levels]:
        raise ValueError(f"--relevance-level: {missing[0]} has no grade. Add {missing[0]}=GRADE.")
    of_all = levels.get("", math.nan)
    judges = [OURS, *names[1:]]
    return {judge: levels.get(name, of_all) for judge, name in zip(judges, names, strict=True)}


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
