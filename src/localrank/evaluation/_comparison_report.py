"""The report of a comparison: the page, its data, each query's values, and the rankings."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank._base.printing import Table
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset, write_run
from localrank.data._atomic import atomic_write
from localrank.evaluation import report
from localrank.evaluation._opponents import BEST_FEATURE
from localrank.evaluation.calibration import best_feature_calibration
from localrank.evaluation.runner import MethodResult
from localrank.measures import Measure
from localrank.measures.base import mean_of_queries

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# At most this many documents in the query explorer, over all its queries.
N_DOCUMENTS = 40_000
# Parts that only the page has. They grow with the number of queries.
ON_THE_PAGE = ("queries", "explorer", "calibration", "maps", "smaller_is_better", "words")
# Characters of a text that the explorer shows.
MAX_TEXT = 200


def write(comparison: Comparison, folder: Path, command: str | None) -> None:
    """Write index.html, results.json, scores.csv and runs/."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file. Name a folder for the report.")
    folder.mkdir(parents=True, exist_ok=True)
    shown = page_data(comparison, command=command)
    report.write(shown, folder / "index.html")
    results = {key: value for key, value in shown.items() if key not in ON_THE_PAGE}
    with atomic_write(folder / "results.json") as file:
        file.write(json.dumps(results, indent=2).encode())
    _write_scores(shown["queries"], folder / "scores.csv")
    if comparison.words.method == "method":
        _write_runs(comparison, folder / "runs")


def _write_runs(comparison: Comparison, runs: Path) -> None:
    """Write the ranking of each method. What other methods left there is removed."""
    runs.mkdir(exist_ok=True)
    tags = {name: name.replace(" ", "-").replace("/", "-") for name in comparison.finished}
    for old in runs.glob("*.trec"):
        if old.stem not in tags.values():
            old.unlink()
    for name, result in comparison.finished.items():
        write_run(comparison.test, result.scores, runs / f"{tags[name]}.trec", tag=tags[name])


def page_data(comparison: Comparison, *, command: str | None = None) -> dict[str, Any]:
    """Everything the page shows.

    Parameters
    ----------
    comparison : Comparison
    command : str, optional
        The command that was typed. None: leave it out.
    """
    measures, finished = comparison.measures, comparison.finished.values()
    overview = comparison.overview
    data = {
        "title": overview.title,
        "words": overview.words._asdict(),
        "measures": overview.measures,
        "smaller_is_better": [str(m) for m in measures if not m.higher_is_better],
        "baseline": overview.baseline,
        "methods": [_method(comparison, name) for name in comparison.results],
        "bounds": overview.bounds,
        "verdict": comparison.verdict,
        "cost_notes": overview.cost_notes,
        "queries": _queries(comparison),
        "explorer": _explorer(comparison),
        "calibration": _calibration(comparison),
        "tuning": [tuned for result in finished if (tuned := _tuning(result, measures[0]))],
        "maps": [shown for result in finished if (shown := _map(result, comparison))],
        "agreements": [
            {
                "method": name,
                "fold": fold,
                "adjusted_rand_index": agreement.adjusted_rand_index,
                "groups": agreement.groups,
                "categories": agreement.categories,
                "table": agreement.table.tolist(),
            }
            for name, folds in comparison.agreements.items()
            for fold, agreement in folds.items()
        ],
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "lead": section.lead,
                "shown": [_shown(part) for part in section.shown],
            }
            for section in overview.sections
        ],
        "made": {"command": command, **comparison.made},
    }
    plain: dict[str, Any] = _plain(data)
    return plain


def _method(comparison: Comparison, name: str) -> dict[str, Any]:
    entry, result = comparison.entries[name], comparison.results[name]
    methods = comparison.overview.methods
    absent: dict[str, Any] = {
        **dict.fromkeys(methods[comparison.baseline]),
        "role": entry.role,
        "means": {},
    }
    return {
        "name": name,
        "role": entry.role,
        "kind": entry.kind,
        "summary": entry.summary,
        "parameters": entry.parameters,
        "failed": result.failed,
        **methods.get(name, absent),
        "chosen": (None if result.failed else result.chosen) or None,
    }


def _queries(comparison: Comparison) -> dict[str, Any]:
    test = comparison.test
    return {
        "ids": [str(query) for query in test.query_ids],
        "folds": comparison.fold_names,
        "n_documents": test.query_sizes.tolist(),
        "n_relevant": test.count(test.labels > 0).tolist(),
        "values": {
            name: {
                str(measure): [round(value, 5) for value in result.values(measure).tolist()]
                for measure in comparison.measures
            }
            for name, result in comparison.finished.items()
        },
    }


def _explorer(comparison: Comparison) -> dict[str, Any]:
    """Documents of the queries on which methods differ most from the baseline, as many as fit."""
    test, measure = comparison.test, comparison.measures[0]
    finished = comparison.finished
    baseline = np.nan_to_num(finished[comparison.baseline].values(measure))
    apart = np.max(
        [np.abs(np.nan_to_num(result.values(measure)) - baseline) for result in finished.values()],
        axis=0,
    )
    order = np.argsort(-apart, kind="stable")
    kept = _explored(comparison)
    shown = np.sort(order[np.cumsum(test.count(kept)[order]) <= N_DOCUMENTS])
    texts = comparison.texts
    scores = {name: result.scores for name, result in finished.items()}
    groups = {
        name: np.concatenate([run.groups for run in result.runs])
        for name, result in finished.items()
        if all(len(run.groups) for run in result.runs)
    }
    # A list that is shown in part keeps its ranks.
    ranks = {} if kept.all() else {name: _ranks(values, test) for name, values in scores.items()}
    queries = []
    for query in shown:
        begin, end = test.offsets[query], test.offsets[query + 1]
        rows = begin + np.flatnonzero(kept[begin:end])
        if test.document_ids is None:
            documents = [str(i + 1) for i in range(test.query_sizes[query])]
        else:
            documents = [str(document) for document in test.document_ids[rows]]
        titles = [texts.documents.get(document, "")[:MAX_TEXT] for document in documents]
        queries.append(
            {
                "index": int(query),
                "text": texts.queries.get(str(test.query_ids[query]), "")[:MAX_TEXT],
                "documents": documents,
                "titles": titles if any(titles) else [],
                "labels": test.labels[rows].tolist(),
                "scores": {
                    name: [float(f"{score:.7g}") for score in values[rows]]
                    for name, values in scores.items()
                },
                "groups": {name: int(serving[query]) for name, serving in groups.items()},
            }
        )
        if ranks:
            queries[-1]["ranks"] = {
                name: [None if np.isnan(rank) else int(rank) for rank in values[rows]]
                for name, values in ranks.items()
            }
    return {"n_shown": len(queries), "n_ranks": comparison.n_explored, "queries": queries}


def _explored(comparison: Comparison) -> Flags:
    """The documents that the explorer has: all, or the relevant ones and the top of each list."""
    test, limit = comparison.test, comparison.n_explored
    if limit is None:
        return np.ones(test.n_documents, np.bool_)
    kept: Flags = test.labels > 0
    for result in comparison.finished.values():
        kept |= _ranks(result.scores, test) < limit
    return kept


def _ranks(scores: Floats, test: RankingDataset) -> Floats:
    """The rank of each document in its query, from 0. NaN: it has no score."""
    ranks = np.empty(test.n_documents)
    order = argsort_descending(scores, test.offsets)
    ranks[order] = np.arange(test.n_documents) - test.offsets[test.query_index]
    ranks[scores == -np.inf] = np.nan
    return ranks


def _shown(part: str | Table) -> str | dict[str, Any]:
    if isinstance(part, str):
        return part
    return {"title": part.title, "columns": list(part.columns), "rows": [*map(list, part.rows)]}


def _calibration(comparison: Comparison) -> dict[str, Any] | None:
    finished = comparison.finished
    roles = {comparison.entries[name].role: name for name in finished}
    control = roles.get("reseeded")
    if roles.get("best feature") is None:
        return None
    others = {
        name: result.scores
        for name, result in finished.items()
        if name not in (BEST_FEATURE, comparison.baseline, control)
    }
    if not others:
        return None
    calibration = best_feature_calibration(
        finished[comparison.baseline].scores,
        finished[BEST_FEATURE].scores,
        others,
        comparison.test,
        comparison.measures[0],
        control=None if control is None else finished[control].scores,
        bounds=(),
    )
    return {
        "measure": str(calibration.measure),
        **asdict(calibration.findings),
        "methods": list(calibration.per_query),
        "bounds": list(calibration.bounds),
        "rows": calibration.rows,
    }


def _tuning(result: MethodResult, measure: Measure) -> dict[str, Any] | None:
    """The mean over folds for each value of one parameter; the others are at their best.

    The parameter is the number of clusters where it is tuned, else the first one.
    """
    paths = [run.path for run in result.runs if run.path is not None]
    if len(paths) < len(result.runs):
        return None
    names = list(paths[0][0])  # the parameters come before the results
    parameter = next((name for name in names if name.endswith("n_clusters")), names[0])
    best: dict[Any, list[tuple[float, float]]] = {}
    for path in paths:
        of_fold: dict[Any, tuple[float, float]] = {}
        for row in path:
            value, mean = row[parameter], row["mean"]
            if value not in of_fold or (mean > of_fold[value][0]) == measure.higher_is_better:
                of_fold[value] = mean, row["standard_error"]
        for value, scored in of_fold.items():
            best.setdefault(value, []).append(scored)
    return {
        "method": result.name,
        "measure": str(measure),
        "parameter": parameter.split("__")[-1],
        "values": list(best),
        "means": [float(np.mean([mean for mean, _ in folds])) for folds in best.values()],
        "errors": [
            float(np.sqrt(np.mean(np.square([error for _, error in folds]))) / np.sqrt(len(folds)))
            for folds in best.values()
        ],
    }


def _map(result: MethodResult, comparison: Comparison) -> dict[str, Any] | None:
    """The map of the first fold, and the results of its groups on that fold's test queries."""
    run, measure = result.runs[0], comparison.measures[0]
    if run.map is None:
        return None
    n = len(run.groups)
    local = result.values(measure)[:n]
    baseline = comparison.results[comparison.baseline].values(measure)[:n]
    shown = {"method": result.name, "fold": run.fold, **asdict(run.map)}
    for group, facts in enumerate(shown["groups"]):
        members = run.groups == group
        facts["n_test"] = int(members.sum())
        facts["baseline"], facts["local"] = (
            mean_of_queries(values[members]) for values in (baseline, local)
        )
    return shown


def _plain(value: Any) -> Any:
    """A value as JSON has it: None instead of NaN and infinity."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_scores(queries: dict[str, Any], path: Path) -> None:
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        rows = csv.writer(text)
        rows.writerow(["query", "fold", "method", "measure", "value"])
        for method, columns in queries["values"].items():
            for measure, values in columns.items():
                for query, fold, value in zip(
                    queries["ids"], queries["folds"], values, strict=True
                ):
                    names = (_harmless(name) for name in (query, fold, method))
                    rows.writerow([*names, measure, value])
        text.flush()
        text.detach()


def _harmless(name: str) -> str:
    """A name that a spreadsheet does not read as a formula.

    Examples
    --------
    >>> _harmless("=1+1"), _harmless("-7"), _harmless("q7")
    ("'=1+1", '-7', 'q7')
    """
    formula = name.startswith(("=", "+", "@", "\t", "\r")) or (
        name.startswith("-") and not name[1:].replace(".", "", 1).isdigit()
    )
    return f"'{name}" if formula else name
