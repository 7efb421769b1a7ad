"""The contents of the report: a comparison as one JSON object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.parallel import with_jobs
from localrank.evaluation._comparison_tables import COSTS
from localrank.evaluation._opponents import BEST_FEATURE
from localrank.evaluation.calibration import best_feature_calibration
from localrank.evaluation.engine import MethodResult
from localrank.evaluation.group_agreement import Agreement
from localrank.evaluation.significance import PairedTest
from localrank.measures import Measure
from localrank.measures.base import mean_of_queries

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# Most documents in the query explorer, over all its queries.
N_DOCUMENTS = 40_000


def contents(comparison: Comparison, *, command: str | None = None) -> dict[str, Any]:
    """Everything the page shows.

    Parameters
    ----------
    comparison : Comparison
    command : str, optional
        The command that was typed. None: leave it out.
    """
    measures, finished = comparison.measures, comparison.finished.values()
    return {
        "title": comparison.title,
        "measures": [str(measure) for measure in measures],
        "smaller_is_better": [str(m) for m in measures if not m.higher_is_better],
        "baseline": comparison.baseline,
        "methods": [_method(comparison, name) for name in comparison.results],
        "bounds": [
            bound for result in finished if (bound := bound_of(result, measures[0])) is not None
        ],
        "verdict": comparison.verdict,
        "cost_notes": comparison.cost_notes,
        "queries": _queries(comparison),
        "explorer": _explorer(comparison),
        "calibration": _calibration(comparison),
        "tuning": [
            tuned for result in finished if (tuned := _tuning(result, measures[0])) is not None
        ],
        "maps": [shown for result in finished if (shown := _map(result, comparison)) is not None],
        "agreements": [
            _agreement(name, fold, agreement)
            for name, folds in comparison.agreements.items()
            for fold, agreement in folds.items()
        ],
        "made": {"command": command, **comparison.made},
    }


def _method(comparison: Comparison, name: str) -> dict[str, Any]:
    entry, result = comparison.entries[name], comparison.results[name]
    row: dict[str, Any] = {
        "name": name,
        "role": entry.role,
        "kind": entry.kind,
        "summary": entry.summary,
        "parameters": {
            key: " ".join(repr(value).split())
            for key, value in with_jobs(entry.ranker, None).get_params(deep=False).items()
            if key != "n_jobs"
        },
        "failed": result.failed,
    }
    costs = ("train_seconds", *COSTS)
    if result.failed:
        absent = (*costs, "against_baseline", "opponent", "at_equal_cost", "chosen")
        return row | dict.fromkeys(absent) | {"means": {}}
    return row | {
        **{cost: getattr(result, cost) for cost in costs},
        "means": {str(measure): _number(result.mean(measure)) for measure in comparison.measures},
        "against_baseline": _tests(comparison.against_baseline.get(name, {})),
        "opponent": comparison.opponents.get(name),
        "at_equal_cost": _tests(comparison.at_equal_cost.get(name, {})),
        "chosen": result.chosen or None,
    }


def _tests(tests: Mapping[Measure, PairedTest]) -> dict[str, Any] | None:
    return {
        str(measure): {
            "difference": test.mean_difference,
            "low": _number(test.interval[0]),
            "high": _number(test.interval[1]),
            "p": test.p,
            "wins": test.wins,
            "ties": test.ties,
            "losses": test.losses,
        }
        for measure, test in tests.items()
    } or None


def bound_of(result: MethodResult, measure: Measure) -> dict[str, Any] | None:
    """The clairvoyant bound of a method over all folds, beside its control."""
    bounds = [run.bound for run in result.runs if run.bound is not None]
    if len(bounds) < len(result.runs):
        return None
    means = np.nanmean(np.concatenate([bound.control for bound in bounds], axis=1), axis=1)
    return {
        "name": result.name,
        "measure": str(measure),
        "n_groups": max(bound.n_groups for bound in bounds),
        "selected": _number(result.mean(measure)),
        "clairvoyant": float(np.nanmean(np.concatenate([bound.values for bound in bounds]))),
        "control": float(means.mean()),
        "control_spread": float(means.std(ddof=1)) if len(means) > 1 else None,
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
                str(measure): _rounded(result.values(measure)) for measure in comparison.measures
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
    shown = np.sort(order[np.cumsum(test.query_sizes[order]) <= N_DOCUMENTS])
    scores = {name: result.scores for name, result in finished.items()}
    groups = {
        name: np.concatenate([run.groups for run in result.runs])
        for name, result in finished.items()
        if all(len(run.groups) for run in result.runs)
    }
    queries = []
    for query in shown:
        rows = slice(test.offsets[query], test.offsets[query + 1])
        if test.document_ids is None:
            documents = [str(i + 1) for i in range(test.query_sizes[query])]
        else:
            documents = [str(document) for document in test.document_ids[rows]]
        queries.append(
            {
                "index": int(query),
                "documents": documents,
                "labels": test.labels[rows].tolist(),
                "scores": {
                    name: [float(f"{score:.7g}") for score in values[rows]]
                    for name, values in scores.items()
                },
                "groups": {name: int(serving[query]) for name, serving in groups.items()},
            }
        )
    return {"n_shown": len(queries), "queries": queries}


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
        "rows": [
            {key: _number(v) if isinstance(v, float) else v for key, v in row.items()}
            for row in calibration.rows
        ],
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
            _number(mean_of_queries(values[members])) for values in (baseline, local)
        )
    return shown


def _agreement(method: str, fold: str, agreement: Agreement) -> dict[str, Any]:
    return {
        "method": method,
        "fold": fold,
        "adjusted_rand_index": agreement.adjusted_rand_index,
        "groups": agreement.groups,
        "categories": agreement.categories,
        "table": agreement.table.tolist(),
    }


def _number(value: float) -> float | None:
    """A number for JSON: None instead of NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def _rounded(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 5) for value in values]
