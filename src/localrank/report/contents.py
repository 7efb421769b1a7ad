"""What the report shows: a comparison as one JSON object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.evaluation import Comparison, PairedTest, best_feature_calibration
from localrank.evaluation.comparison import MethodResult
from localrank.measures import Measure

# Documents in the query explorer at most, over all its queries.
N_DOCUMENTS = 40_000


def contents(
    comparison: Comparison,
    *,
    title: str,
    about: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, Any],
    best_feature: str | None = None,
    control: str | None = None,
) -> dict[str, Any]:
    """Everything the page shows.

    Parameters
    ----------
    comparison : Comparison
    title : str
        What the data is called.
    about : dict from method to dict
        `kind`, `summary` and `parameters` of each.
    made : dict
        How the comparison was made.
    best_feature, control : str, optional
        The methods that calibration is by and against, where they are among those compared.
    """
    measures = comparison.measures
    return {
        "title": title,
        "measures": [str(measure) for measure in measures],
        "smaller_is_better": [str(m) for m in measures if not m.higher_is_better],
        "baseline": comparison.baseline,
        "ensemble": comparison.ensemble,
        "methods": [
            _method(result, measures, about[name]) for name, result in comparison.methods.items()
        ],
        "bounds": [
            bound_of(result, measures[0])
            for result in comparison.finished.values()
            if all("bound" in run.facts for run in result.runs)
        ],
        "verdict": comparison.verdict(),
        "queries": _queries(comparison),
        "explorer": _explorer(comparison),
        "calibration": _calibration(comparison, best_feature, control),
        "tuning": [
            tuned
            for result in comparison.finished.values()
            if (tuned := _tuning(result, measures[0])) is not None
        ],
        "maps": [
            _map(result, comparison)
            for result in comparison.finished.values()
            if "map" in result.runs[0].facts
        ],
        "made": dict(made),
    }


def _method(
    result: MethodResult, measures: list[Measure], about: Mapping[str, Any]
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": result.name, **about, "failed": result.failed}
    if result.failed:
        return row | {
            "n_models": None,
            "train_seconds": None,
            "milliseconds_per_query": None,
            "model_bytes": None,
            "means": {},
            "against_baseline": None,
            "against_ensemble": None,
            "chosen": None,
        }
    n_queries = len(result.values[measures[0]])
    chosen = [run.facts.get("chosen") for run in result.runs]
    return row | {
        "n_models": max(run.facts["n_models"] for run in result.runs),
        "train_seconds": result.total("train_seconds"),
        "milliseconds_per_query": 1000 * result.total("predict_seconds") / n_queries,
        "model_bytes": result.total("model_bytes") / len(result.runs),
        "means": {str(measure): _number(mean) for measure, mean in result.means().items()},
        "against_baseline": _tests(result.against_baseline),
        "against_ensemble": _tests(result.against_ensemble),
        "chosen": [
            ", ".join(f"{name}={value}" for name, value in own.items()) for own in chosen if own
        ]
        or None,
    }


def _tests(tests: Mapping[Measure, PairedTest]) -> dict[str, Any] | None:
    return {
        str(measure): {
            "difference": test.mean_difference,
            "low": _number(test.interval[0]),
            "high": _number(test.interval[1]),
            "p": test.corrected_p_value,
            "wins": test.wins,
            "ties": test.ties,
            "losses": test.losses,
        }
        for measure, test in tests.items()
    } or None


def bound_of(result: MethodResult, measure: Measure) -> dict[str, Any]:
    """The clairvoyant bound of a method over all folds, beside its control."""
    bounds = [run.facts["bound"] for run in result.runs]
    control = np.concatenate([np.array(bound["control"]) for bound in bounds], axis=1)
    means = np.nanmean(control, axis=1)
    return {
        "name": result.name,
        "measure": str(measure),
        "n_groups": max(bound["n_groups"] for bound in bounds),
        "selected": _number(float(np.nanmean(result.values[measure]))),
        "clairvoyant": float(
            np.nanmean(np.concatenate([np.array(bound["clairvoyant"]) for bound in bounds]))
        ),
        "control": float(means.mean()),
        "control_spread": float(means.std(ddof=1)) if len(means) > 1 else None,
    }


def _queries(comparison: Comparison) -> dict[str, Any]:
    test = comparison.test
    relevant = np.add.reduceat(test.labels > 0, test.offsets[:-1], dtype=np.int64)
    return {
        "ids": [str(query) for query in test.query_ids],
        "folds": comparison.fold_names,
        "n_documents": test.query_sizes.tolist(),
        "n_relevant": relevant.tolist(),
        "values": {
            name: {str(measure): _rounded(column) for measure, column in result.values.items()}
            for name, result in comparison.finished.items()
        },
    }


def _explorer(comparison: Comparison) -> dict[str, Any]:
    """Documents of the queries on which methods differ most from the baseline, as many as fit."""
    test, measure = comparison.test, comparison.measures[0]
    finished = comparison.finished
    own = np.nan_to_num(finished[comparison.baseline].values[measure])
    apart = np.max(
        [np.abs(np.nan_to_num(result.values[measure]) - own) for result in finished.values()],
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
                "groups": {name: int(own[query]) for name, own in groups.items()},
            }
        )
    return {"n_shown": len(queries), "queries": queries}


def _calibration(
    comparison: Comparison, best_feature: str | None, control: str | None
) -> dict[str, Any] | None:
    finished = comparison.finished
    if best_feature not in finished or best_feature == comparison.baseline:
        return None
    others = {
        name: result.scores
        for name, result in finished.items()
        if name not in (best_feature, comparison.baseline, control)
    }
    if not others:
        return None
    found = best_feature_calibration(
        finished[comparison.baseline].scores,
        finished[best_feature].scores,
        others,
        comparison.test,
        comparison.measures[0],
        control=finished[control].scores if control in finished else None,
        bounds=(),
    )
    return {
        "measure": str(found.measure),
        "verdict": found.verdict,
        "methods": list(found.per_query),
        "bounds": list(found.bounds),
        "rows": [
            {key: _number(v) if isinstance(v, float) else v for key, v in row.items()}
            for row in found.rows
        ],
    }


def _tuning(result: MethodResult, measure: Measure) -> dict[str, Any] | None:
    """The mean over folds for each number of clusters, or value of the first parameter tuned.

    Other parameters are at their best for each.
    """
    paths = [run.facts["path"] for run in result.runs if "path" in run.facts]
    if len(paths) < len(result.runs):
        return None
    names = list(paths[0][0])  # the parameters, then what was found with them
    parameter = next((name for name in names if name.endswith("n_clusters")), names[0])
    best: dict[Any, list[tuple[float, float]]] = {}
    for path in paths:
        own: dict[Any, tuple[float, float]] = {}
        for row in path:
            value, found = row[parameter], (row["mean"], row["standard_error"])
            if value not in own or (found[0] > own[value][0]) == measure.higher_is_better:
                own[value] = found
        for value, found in own.items():
            best.setdefault(value, []).append(found)
    return {
        "method": result.name,
        "measure": str(measure),
        "parameter": parameter.split("__")[-1],
        "values": list(best),
        "means": [float(np.mean([mean for mean, _ in found])) for found in best.values()],
        "errors": [
            float(np.sqrt(np.mean(np.square([error for _, error in found]))) / np.sqrt(len(found)))
            for found in best.values()
        ],
    }


def _map(result: MethodResult, comparison: Comparison) -> dict[str, Any]:
    """The map of the first fold, with how its groups fare on that fold's test queries."""
    run, measure = result.runs[0], comparison.measures[0]
    n = len(run.groups)
    own = result.values[measure][:n]
    other = comparison.finished[comparison.baseline].values[measure][:n]
    groups = []
    for group, facts in enumerate(run.facts["map"]["groups"]):
        mine = run.groups == group
        groups.append(
            {
                **facts,
                "n_test": int(mine.sum()),
                "baseline": _mean(other[mine]),
                "local": _mean(own[mine]),
            }
        )
    return {
        "method": result.name,
        "fold": comparison.fold_names[0],
        **run.facts["map"],
        "groups": groups,
    }


def _mean(values: NDArray[np.float64]) -> float | None:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else None


def _number(value: float) -> float | None:
    """A number as JSON knows it: None instead of NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 5) for value in values]
