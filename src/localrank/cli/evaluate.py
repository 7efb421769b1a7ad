"""`localrank evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from localrank.cli.inputs import Reading, reads_data

if TYPE_CHECKING:
    from localrank.data import RankingDataset


@reads_data
def evaluate(
    run: Path = typer.Argument(help="A TREC run, or a folder of scores by partition."),
    data: list[Path] = typer.Argument(
        help="Labels: LETOR files, tables, partitions, logs, TREC qrels."
    ),
    measures: str = typer.Option("ndcg@5,ndcg@10,map", help="Measures, separated by commas."),
    convention: str = typer.Option(
        "default",
        help="default, letor3, letor4, trec_eval, ranklib, lightgbm, xgboost or sklearn.",
    ),
    per_query: bool = typer.Option(False, "--per-query", help="One row per query as well."),
    explain: bool = typer.Option(False, "--explain", help="Say how each measure is computed."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    *,
    reading: Reading,
) -> None:
    """Measure a run against labels."""
    import math

    from localrank.cli.inputs import parse_measures
    from localrank.cli.tables import print_json, print_table, say
    from localrank.measures import evaluate as evaluate_measures
    from localrank.measures.base import mean_of_queries

    wanted = parse_measures(measures, convention)
    dataset, scores = _labelled(run, data, reading)
    values = evaluate_measures(dataset, scores, wanted)
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
    if explain:
        say("\n\n".join(measure.explain() for measure in wanted))


def _labelled(run_path: Path, paths: list[Path], reading: Reading) -> tuple[RankingDataset, Any]:
    """The labelled documents and the run's scores, with a word about those that don't match."""
    import numpy as np

    from localrank.cli.inputs import are_logs, read_data
    from localrank.cli.tables import say
    from localrank.data import PartitionedDataset, align, judged, read_qrels, read_run
    from localrank.data.trec import run_document_ids

    if run_path.is_dir():
        return _labelled_partitions(run_path, paths, reading)
    run = read_run(run_path)
    if not are_logs(paths, reading) and any(map(_looks_like_qrels, paths)):
        if len(paths) > 1:
            raise ValueError("Give one file of TREC judgements, or LETOR files, or tables.")
        dataset, scores = judged(run, read_qrels(paths[0]))
    else:
        dataset = read_data(paths, reading)
        if isinstance(dataset, PartitionedDataset):
            dataset = dataset.without_features()
        if dataset.document_ids is None:
            dataset = dataset.replaced(document_ids=np.array(run_document_ids(dataset)))
        scores = align(run, dataset)
    found = int(np.sum(scores > -np.inf))
    if found == 0:
        names = ", ".join(map(str, paths))
        raise ValueError(f"{run_path}: none of its documents is in {names}: a run of other data.")
    absent = len(set(map(str, dataset.query_ids.tolist())) - set(run.query_ids.tolist()))
    if absent:
        say(f"{absent:,} of {dataset.n_queries:,} queries are not in the run")
    if found < dataset.n_documents:
        missing = dataset.n_documents - found
        say(f"{missing:,} of {dataset.n_documents:,} documents are not in the run: not retrieved")
    if found < len(run.scores):
        say(f"{len(run.scores) - found:,} documents of the run have no label here: left out")
    return dataset, scores


def _labelled_partitions(
    folder: Path, paths: list[Path], reading: Reading
) -> tuple[RankingDataset, Any]:
    """The labelled documents and the scores that a folder has for each partition."""
    import numpy as np

    from localrank.cli.inputs import read_data
    from localrank.cli.tables import say
    from localrank.data import PartitionedDataset
    from localrank.data.score_files import read_scores, refuse_others

    dataset = read_data(paths, reading)
    if not isinstance(dataset, PartitionedDataset):
        raise ValueError(f"{folder}: is a folder of scores by partition. Name the partitions.")
    refuse_others(folder, dataset)
    scores = read_scores(folder, dataset)
    if missing := int(np.sum(scores == -np.inf)):
        say(f"{missing:,} of {dataset.n_documents:,} documents are not in the runs: not retrieved")
    return dataset, scores


def _looks_like_qrels(path: Path) -> bool:
    """Whether the first line that says anything has the four columns of TREC judgements."""
    from localrank.data.compression import open_binary
    from localrank.data.tables import is_table

    if not path.is_file() or is_table(path):
        return False
    with open_binary(path) as file:
        start = file.read(4096)
    for line in start.splitlines():
        columns = line.split()
        if columns and not columns[0].startswith(b"#"):
            return len(columns) == 4 and not columns[1].startswith(b"qid:")
    return False
