"""`localrank evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli._inputs import (
    MAX_UNSEEN,
    MAX_UNSEEN_HELP,
    DataOptions,
    gives_clicks,
    reads_clicks,
    reads_data,
)

if TYPE_CHECKING:
    from localrank.cli._diversity import AlphaNDCG
    from localrank.data import RankingDataset
    from localrank.measures import Measure


@reads_clicks
@reads_data
def evaluate(
    run: Path = typer.Argument(
        help="A TREC run, or the folder of scores that `localrank rank` wrote for partitions."
    ),
    data: list[Path] = typer.Argument(
        None,
        help="The labels: LETOR files, tables, partitions, feature logs or TREC qrels; for "
        "alpha_ndcg, lines `query subtopic document grade`. With a log of clicks "
        "(--clicks log.jsonl): more runs, if any.",
    ),
    measures: str | None = typer.Option(
        None,
        help="Measures to report, separated by commas. Default: ndcg@5,ndcg@10,map, or ndcg@10 "
        "with --conventions all.",
    ),
    convention: str = typer.Option(
        "default",
        "--convention",
        "--conventions",
        help="Compute measures as another tool does: letor3, letor4, trec_eval, ranklib, "
        "lightgbm, xgboost, sklearn, catboost or allrank. all: a line for each of them, with "
        "what it does differently.",
    ),
    per_query: bool = typer.Option(
        False, "--per-query", help="Print one row for each query, before the mean."
    ),
    explain: bool = typer.Option(False, "--explain", help="Say how each measure is computed."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    seen: str = typer.Option(
        "pbm",
        help="With a log of clicks: how to estimate how much is seen, as in `localrank train`; or "
        "propensities, if the log has them.",
        rich_help_panel="Logs of clicks",
    ),
    estimate: str = typer.Option(
        "snips",
        help="With a log of clicks: the estimate, which is ips, snips or dr.",
        rich_help_panel="Logs of clicks",
    ),
    max_unseen: float = typer.Option(
        MAX_UNSEEN, min=0, max=1, help=MAX_UNSEEN_HELP, rich_help_panel="Logs of clicks"
    ),
    *,
    options: DataOptions,
    log_options: DataOptions,
) -> None:
    """Measure how good a ranking is: compare a run with labels, or with a log of clicks.

    Example: localrank evaluate run.txt test.txt --measures ndcg@10,map
    """
    import math

    from localrank.cli._diversity import alpha_ndcg_named, read_subtopics
    from localrank.cli._estimated_values import print_estimates
    from localrank.cli._inputs import measure_names, parse_measures
    from localrank.cli._tables import print_json, print_table, say
    from localrank.measures import Measure, parse_measure
    from localrank.measures import evaluate as evaluate_measures
    from localrank.measures.base import mean_of_queries

    log = options.get("clicks")
    if log and gives_clicks([Path(log)], log_options):
        if measures or per_query or explain or convention != "default":
            raise ValueError(
                "A log of clicks gives estimates of clicks: leave out --measures, --convention, "
                "--per-query and --explain."
            )
        print_estimates(
            [run, *(data or [])],
            Path(log),
            {name: value for name, value in options.items() if name != "clicks"},
            log_options,
            seen=seen,
            method=estimate,
            max_unseen=max_unseen,
            as_json=as_json,
        )
        return
    if not data:
        if log:
            raise ValueError(
                f"{log} is not a log of clicks, by its name and its first lines. Give one, or give "
                f"the labels after the run."
            )
        raise ValueError("Give the labels after the run, or a log of clicks: --clicks log.jsonl.")
    if convention == "all":
        names = [str(measure) for measure in parse_measures(measures or "ndcg@10")]
        dataset, scores = _labelled(run, data, options)
        _print_conventions(run.name, dataset, scores, names, as_json=as_json)
        return
    wanted = [
        alpha_ndcg_named(name) or parse_measure(name, convention)
        for name in measure_names(measures or "ndcg@5,ndcg@10,map")
    ]
    if all(isinstance(measure, Measure) for measure in wanted):
        dataset, scores = _labelled(run, data, options)
    else:
        dataset, scores, subtopics = read_subtopics(run, data, convention)
    of_grades = evaluate_measures(
        dataset, scores, [measure for measure in wanted if isinstance(measure, Measure)]
    )
    values: dict[Measure | AlphaNDCG, Any] = {
        measure: of_grades[measure]
        if isinstance(measure, Measure)
        else measure(dataset, scores, subtopics)
        for measure in wanted
    }
    means = {str(measure): mean_of_queries(column) for measure, column in values.items()}
    columns = {str(measure): column.tolist() for measure, column in values.items()}
    names = [str(query) for query in dataset.query_ids]
    if as_json:
        finite = {name: None if math.isnan(mean) else mean for name, mean in means.items()}
        result: dict[str, Any] = {"n_queries": dataset.n_queries, "mean": finite}
        if explain:
            result["explanations"] = {str(measure): measure.explain() for measure in wanted}
        if per_query:
            result["queries"] = {
                query: {
                    name: None if math.isnan(column[row]) else column[row]
                    for name, column in columns.items()
                }
                for row, query in enumerate(names)
            }
        print_json(result)
        return
    rows = []
    if per_query:
        rows = [
            [query, *(f"{column[row]:.4f}" for column in columns.values())]
            for row, query in enumerate(names)
        ]
    rows.append(["mean", *(f"{mean:.4f}" for mean in means.values())])
    print_table(f"{run.name}, {dataset.n_queries:,} queries", ["query", *means], rows)
    _say_without_relevant(dataset, values)
    if explain:
        say("\n\n".join(measure.explain() for measure in wanted))


def _print_conventions(
    title: str, dataset: RankingDataset, scores: Any, names: list[str], *, as_json: bool
) -> None:
    """Print each measure by every convention, and what each does unlike the default."""
    import math

    from localrank.cli._tables import print_facts, print_json, say
    from localrank.measures import by_convention, differences
    from localrank.measures.parsing import TOOLS

    result: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for name in names:
        measures = by_convention(name)
        if lacking := [words for tool, words in TOOLS.items() if tool not in measures]:
            left_out.append(f"{name} is not in {', '.join(lacking)}")
        result[name] = {}
        for tool, measure in measures.items():
            try:
                mean = measure.mean(dataset, scores)
            except ValueError as error:  # what only this tool needs: document ids, labels up to 1
                if tool == "default":
                    raise
                left_out.append(f"{name} of {TOOLS[tool]}: {error}")
                continue
            result[name][tool] = {
                "measure": str(measure),
                "mean": None if math.isnan(mean) else mean,
                "differences": differences(measure, measures["default"]),
            }
    if as_json:
        print_json({"n_queries": dataset.n_queries, "conventions": result, "left_out": left_out})
        return
    for name, lines in result.items():
        rows = [
            (tool, f"{_shown(line['mean'])}  {'; '.join(line['differences'])}".strip())
            for tool, line in lines.items()
        ]
        print_facts(f"{title}, {dataset.n_queries:,} queries, {name}", rows)
    for reason in left_out:
        say(f"Left out: {reason}")


def _shown(mean: float | None) -> str:
    return "nan" if mean is None else f"{mean:.4f}"


def _say_without_relevant(dataset: RankingDataset, values: Mapping[Any, Any]) -> None:
    """Say how queries without a relevant document count, if there are any."""
    import numpy as np

    from localrank.cli._tables import say

    lacking = dataset.label_bounds[1] <= 0
    if not lacking.any():
        return
    counted: dict[str, list[str]] = {}
    for measure, column in values.items():
        of_lacking = np.unique(column[lacking])
        # Without relevant documents, no order is better than another.
        if len(of_lacking) == 1:
            way = "left out" if np.isnan(of_lacking[0]) else f"counted as {of_lacking[0]:g}"
            counted.setdefault(way, []).append(str(measure))
    ways = "; ".join(f"{way} in {', '.join(names)}" for way, names in counted.items())
    say(
        f"{int(lacking.sum()):,} of {dataset.n_queries:,} queries have no relevant document"
        + (f": {ways}" if ways else "")
    )


def _labelled(
    run_path: Path, paths: list[Path], options: DataOptions
) -> tuple[RankingDataset, Any]:
    """The labelled documents and the run's scores. Says which of them do not match."""
    import numpy as np

    from localrank.cli._inputs import read_data
    from localrank.cli._tables import say
    from localrank.data import align, judged, read_qrels, read_run
    from localrank.data.formats import LetorText
    from localrank.data.reading import format_of
    from localrank.data.trec import run_document_ids

    if run_path.is_dir():
        return _labelled_partitions(run_path, paths, options)
    run = read_run(run_path)
    form = format_of(paths, options.get("format"), options)
    if isinstance(form, LetorText) and any(map(_looks_like_qrels, paths)):
        if len(paths) > 1:
            raise ValueError(
                f"Give one file of TREC judgments, or LETOR files, or tables. Got {len(paths)} "
                f"files, some of them TREC judgments."
            )
        dataset, scores = judged(run, read_qrels(paths[0]))
    else:
        dataset = read_data(paths, options).without_features()
        if dataset.document_ids is None:
            dataset = dataset.replaced(document_ids=np.array(run_document_ids(dataset)))
        scores = align(run, dataset)
    n_scored = int(np.sum(scores > -np.inf))
    if n_scored == 0:
        names = ", ".join(map(str, paths))
        raise ValueError(
            f"{run_path}: none of its documents is in {names}. Give the data that was ranked."
        )
    absent = len(set(map(str, dataset.query_ids.tolist())) - set(run.query_ids.tolist()))
    if absent:
        say(f"{absent:,} of {dataset.n_queries:,} queries are not in the run")
    if n_scored < dataset.n_documents:
        missing = dataset.n_documents - n_scored
        say(
            f"{missing:,} of {dataset.n_documents:,} documents are not in the run. They count as "
            f"not retrieved."
        )
    if n_scored < len(run.scores):
        say(f"{len(run.scores) - n_scored:,} documents of the run have no label: left out.")
    return dataset, scores


def _labelled_partitions(
    folder: Path, paths: list[Path], options: DataOptions
) -> tuple[RankingDataset, Any]:
    """The labelled documents and their scores, read from a folder of one file per partition."""
    import numpy as np

    from localrank.cli._inputs import read_data
    from localrank.cli._tables import say
    from localrank.data._score_files import read_scores, refuse_others

    dataset = read_data(paths, options)
    if not dataset.partitions:
        raise ValueError(
            f"{folder} is a folder of scores by partition. Give the folder of partitions as labels."
        )
    refuse_others(folder, dataset)
    scores = read_scores(folder, dataset)
    if missing := int(np.sum(scores == -np.inf)):
        say(
            f"{missing:,} of {dataset.n_documents:,} documents are not in the runs. They count as "
            f"not retrieved."
        )
    return dataset, scores


def _looks_like_qrels(path: Path) -> bool:
    """Whether the first line, comments aside, has the four columns of TREC judgments."""
    from localrank.data._compression import open_binary

    if not path.is_file():
        return False
    with open_binary(path) as file:
        start = file.read(4096)
    for line in start.splitlines():
        columns = line.split()
        if columns and not columns[0].startswith(b"#"):
            return len(columns) == 4 and not columns[1].startswith(b"qid:")
    return False
