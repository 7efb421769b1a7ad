"""Running a comparison for a command: progress, tables, and the files it leaves."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import typer

from localrank.cli.tables import print_json, print_table, say
from localrank.data import Fold, write_run
from localrank.data.atomic import atomic_write
from localrank.evaluation import Comparison, compare
from localrank.evaluation.comparison import fingerprint
from localrank.evaluation.significance import p_text
from localrank.evaluation.tuning import Grid
from localrank.measures import Measure
from localrank.methods import METHODS
from localrank.parallel import with_jobs
from localrank.persistence import library_versions
from localrank.rankers import Ranker
from localrank.report import write
from localrank.report.contents import bound_of, contents

# What calibration is by, how a second baseline is called, and the equal-cost opponent.
BEST_FEATURE, OTHER_SEED, ENSEMBLE = "best-feature", "{} reseeded", "global-ensemble"


def compare_and_report(
    rankers: Mapping[str, Ranker],
    parts: Sequence[Fold],
    measures: Sequence[Measure],
    *,
    baseline: str,
    grids: Mapping[str, Grid] | None,
    bounds: bool,
    n_jobs: int,
    seed: int,
    title: str,
    output: Path,
    as_json: bool,
) -> None:
    """Compare, print what was found, write the report; exit code 1 where a method failed."""
    start = time.perf_counter()
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output}: is a file. Name a folder for the report.")
    output.mkdir(parents=True, exist_ok=True)
    for fold in parts:
        shared = np.intersect1d(fold.train.query_ids, fold.test.query_ids)
        if shared.size:
            say(
                f"warning: {fold.name}: {shared.size:,} query ids, such as {shared[0]}, are in "
                f"both the training and the test part. If these are the same queries, the results "
                f"are too good."
            )
    n_queries = sum(fold.test.n_queries for fold in parts)
    folds = "1 fold" if len(parts) == 1 else f"{len(parts)} folds"
    say(f"Comparing {len(rankers)} methods on {n_queries:,} test queries, {folds}.")
    comparison = compare(
        rankers,
        parts,
        measures,
        baseline=baseline,
        ensemble=ENSEMBLE if ENSEMBLE in rankers else None,
        grids=grids,
        n_controls=3 if bounds else 0,
        store=output / "parts",
        n_jobs=n_jobs,
        say=say,
    )
    seconds = time.perf_counter() - start
    made = how_it_was_made(["localrank", *sys.argv[1:]], seed, parts, seconds)
    results = write_outputs(output, comparison, rankers, title, made)
    if as_json:
        print_json(results)
    else:
        print_comparison(comparison)
        say(comparison.verdict())
    failed = [name for name, result in comparison.methods.items() if result.failed]
    for name in failed:
        say(f"{name} failed: {comparison.methods[name].failed}")
    say(f"Compared in {seconds:.0f} s. The report: {(output / 'index.html').resolve()}")
    if failed:
        raise typer.Exit(1)


def how_it_was_made(
    command: Sequence[str], seed: int, parts: Sequence[Fold], seconds: float
) -> dict[str, Any]:
    """The command, seeds, versions and data, for the page and the results."""
    tests = [fold.test for fold in parts]
    labels, counts = np.unique(np.concatenate([test.labels for test in tests]), return_counts=True)
    digest = hashlib.sha256("".join(map(fingerprint, parts)).encode()).hexdigest()
    return {
        "command": " ".join(command),
        "seed": seed,
        "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": seconds,
        "versions": library_versions(),
        "data": {
            "n_queries": sum(test.n_queries for test in tests),
            "n_documents": sum(test.n_documents for test in tests),
            "n_features": tests[0].n_features,
            "labels": {f"{k:g}": int(n) for k, n in zip(labels, counts, strict=True)},
            "folds": len(parts),
            "sha256": digest,
        },
    }


def write_outputs(
    folder: Path,
    comparison: Comparison,
    rankers: Mapping[str, Ranker],
    title: str,
    made: dict[str, Any],
) -> dict[str, Any]:
    """The page, the results, each query's values, and the runs; returns the results."""
    about = {}
    for name, ranker in rankers.items():
        method = METHODS.get(name.split(" ")[0])
        about[name] = {
            "kind": method.kind if method else "global",
            "summary": method.summary if method else "",
            "parameters": {
                key: " ".join(repr(value).split())
                for key, value in with_jobs(ranker, None).get_params(deep=False).items()
                if key != "n_jobs"
            },
        }
    shown = contents(
        comparison,
        title=title,
        about=about,
        made=made,
        best_feature=BEST_FEATURE,
        control=OTHER_SEED.format(comparison.baseline),
    )
    write(shown, folder / "index.html")
    results = {key: shown[key] for key in ("title", "measures", "baseline", "ensemble")}
    results |= {key: shown[key] for key in ("methods", "bounds", "verdict", "tuning", "made")}
    with atomic_write(folder / "results.json") as file:
        file.write(json.dumps(results, indent=2).encode())
    with atomic_write(folder / "scores.csv") as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        rows = csv.writer(text)
        rows.writerow(["query", "fold", "method", "measure", "value"])
        queries = shown["queries"]
        for method_name, columns in queries["values"].items():
            for measure, values in columns.items():
                for query, fold, value in zip(
                    queries["ids"], queries["folds"], values, strict=True
                ):
                    rows.writerow([query, fold, method_name, measure, value])
        text.flush()
        text.detach()
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    for name, result in comparison.finished.items():
        tag = name.replace(" ", "-")
        write_run(comparison.test, result.scores, runs / f"{tag}.trec", tag=tag)
    return results


def print_comparison(comparison: Comparison) -> None:
    """The tables for people."""
    first, finished = comparison.measures[0], comparison.finished
    print_table(
        f"{comparison.test.n_queries:,} test queries; training of all folds, milliseconds a query",
        ["method", *map(str, comparison.measures), "models", "train s", "ms", "KiB"],
        [
            [
                name,
                *(f"{mean:.4f}" for mean in result.means().values()),
                str(max(run.facts["n_models"] for run in result.runs)),
                f"{result.total('train_seconds'):.1f}",
                f"{1000 * result.total('predict_seconds') / comparison.test.n_queries:.2f}",
                f"{result.total('model_bytes') / len(result.runs) / 1024:,.0f}",
            ]
            for name, result in finished.items()
        ],
    )
    for opponent, which in (
        (comparison.baseline, "against_baseline"),
        (comparison.ensemble, "against_ensemble"),
    ):
        rows = []
        for name, result in finished.items():
            test = getattr(result, which).get(first)
            if test is not None:
                rows.append(
                    [
                        name,
                        f"{test.mean_difference:+.4f}",
                        f"{test.interval[0]:+.3f} to {test.interval[1]:+.3f}",
                        p_text(test.corrected_p_value).removeprefix("p ").removeprefix("= "),
                        f"{test.wins}/{test.ties}/{test.losses}",
                    ]
                )
        if rows:
            columns = ["method", "gain", "95 % interval", "p", "won/tied/lost"]
            print_table(f"{first} against {opponent}", columns, rows)
    for name, result in finished.items():
        if all("bound" in run.facts for run in result.runs):
            bound = bound_of(result, first)
            say(
                f"{name}, best group in hindsight (a bound, by the labels): "
                f"{bound['clairvoyant']:.4f}; on random groups {bound['control']:.4f}"
            )
