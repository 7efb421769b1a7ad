"""`localrank compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from localrank.data import Fold
    from localrank.evaluation import Comparison
    from localrank.rankers import Ranker

DEFAULT = "lambdamart,rank-svm,local-rank,pca-queries,adaptive-training"
# Always compared: what calibration is by, and how much a seed alone changes.
BEST_FEATURE = "best-feature"
# Left out of "all": it trains a model for every query it ranks.
LAZY = "duh-kirchhoff"


def compare(
    data: list[Path] = typer.Argument(
        help="A folder with folds; or one file, cut into folds; or train, (validation,) test files."
    ),
    output: Path = typer.Option(Path("report"), "--output", "-o", help="The folder to write."),
    methods: str = typer.Option(
        DEFAULT, help="Methods, separated by commas, or all; see `localrank methods`."
    ),
    measures: str = typer.Option("ndcg@10,ndcg@5,map", help="Measures; the first is primary."),
    baseline: str = typer.Option("lambdamart", help="The method differences are against."),
    folds: int = typer.Option(5, min=2, help="Folds to make where the data has none."),
    tune: bool = typer.Option(False, "--tune", help="Tune each method's parameters in each fold."),
    setting: list[str] = typer.Option(
        [], "--set", help="A parameter of a method, as local-rank.n_clusters=4."
    ),
    bounds: bool = typer.Option(True, help="Bound what local methods could gain (trains more)."),
    n_jobs: int = typer.Option(-1, help="Threads; -1 for all cores."),
    seed: int = typer.Option(0, help="Seed of all randomness."),
    as_json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Compare methods on the same queries: a table, tests, and a page that shows them."""
    import sys
    import time

    from localrank.cli.inputs import parse_measures
    from localrank.cli.tables import print_json, say
    from localrank.evaluation import compare as compare_methods
    from localrank.methods import METHODS

    start = time.perf_counter()
    wanted = parse_measures(measures)
    rankers = make_methods(methods, baseline, setting, n_jobs, seed)
    output.mkdir(parents=True, exist_ok=True)
    parts = read_folds(data, folds, seed)
    n_queries = sum(fold.test.n_queries for fold in parts)
    say(f"Comparing {len(rankers)} methods on {n_queries:,} test queries in {len(parts)} folds.")
    comparison = compare_methods(
        rankers,
        parts,
        wanted,
        baseline=baseline,
        ensemble="global-ensemble" if "global-ensemble" in rankers else None,
        grids={n: METHODS[n].grid for n in rankers if n in METHODS and METHODS[n].grid}
        if tune
        else None,
        n_controls=3 if bounds else 0,
        store=output / "parts",
        n_jobs=n_jobs,
        say=say,
    )
    seconds = time.perf_counter() - start
    made = how_it_was_made(["localrank", *sys.argv[1:]], seed, parts, seconds)
    results = write_outputs(output, comparison, rankers, title_of(data), made)
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


def make_methods(
    names: str, baseline: str, settings: Sequence[str], n_jobs: int, seed: int
) -> dict[str, Ranker]:
    """The rankers to compare by name: those asked for, and what they are compared with."""
    from localrank.methods import METHODS, check_method, global_ensemble, make_ranker

    asked = [name.strip() for name in names.split(",") if name.strip()]
    if asked == ["all"]:
        asked = [name for name in METHODS if name != LAZY]
    chosen = list(dict.fromkeys(check_method(name) for name in [BEST_FEATURE, baseline, *asked]))
    own: dict[str, list[str]] = {name: [] for name in chosen}
    for setting in settings:
        method, dot, rest = setting.partition(".")
        if not dot or "=" in method:
            raise ValueError(f"A setting must read method.name=value. Got {setting!r} instead.")
        if method not in own:
            raise ValueError(f"--set {setting}: {method} is not among {', '.join(chosen)}.")
        own[method].append(rest)
    rankers = {name: make_ranker(name, own[name], n_jobs, seed) for name in chosen}
    single = rankers[baseline]
    if "random_state" in single.get_params(deep=False):
        other = f"{baseline}, other seed"
        rankers[other] = make_ranker(baseline, own[baseline], n_jobs, seed + 1)
        sizes = [
            getattr(getattr(ranker, "grouping", None), "n_clusters", 0)
            for ranker in rankers.values()
        ]
        if max(sizes) > 1 and not own.get("global-ensemble"):
            # As many models as the local methods have, so that costs are equal.
            rankers["global-ensemble"] = global_ensemble(
                max(sizes), ranker=single, n_jobs=n_jobs, random_state=seed
            )
    return rankers


def read_folds(paths: Sequence[Path], n_folds: int, seed: int) -> list[Fold]:
    """The folds of a folder, of one file's queries, or the one split that files make."""
    from localrank.cli.inputs import read_data
    from localrank.data import Fold
    from localrank.data import folds as find_folds

    if len(paths) == 1 and paths[0].is_dir():
        from localrank.cli.tables import say_if_compiling

        say_if_compiling()
        return list(find_folds(paths[0]))
    if len(paths) == 1:
        dataset = read_data(paths)
        return list(find_folds(dataset, n_folds, validation=n_folds > 2, random_state=seed))
    if len(paths) > 3:
        raise ValueError("Name a folder, one file, or train, (validation and) test files.")
    train = read_data(paths[:1])
    *valid, test = (read_data([path], n_features=train.n_features) for path in paths[1:])
    return [Fold("split", train, valid[0] if valid else None, test)]


def title_of(paths: Sequence[Path]) -> str:
    """What to call the data."""
    return paths[0].resolve().name if len(paths) == 1 else " ".join(path.name for path in paths)


def how_it_was_made(
    command: Sequence[str], seed: int, parts: Sequence[Fold], seconds: float
) -> dict[str, Any]:
    """The command, seeds, versions and data, for the page and the results."""
    import hashlib
    from datetime import UTC, datetime

    import numpy as np

    from localrank.evaluation.comparison import fingerprint
    from localrank.persistence import library_versions

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
    rankers: dict[str, Ranker],
    title: str,
    made: dict[str, Any],
) -> dict[str, Any]:
    """The page, the results, each query's values, and the runs; returns the results."""
    import csv
    import json

    from localrank.data import write_run
    from localrank.data.atomic import atomic_write
    from localrank.methods import METHODS
    from localrank.report import write
    from localrank.report.contents import contents

    about = {}
    for name, ranker in rankers.items():
        method = METHODS.get(name.split(",")[0])
        about[name] = {
            "kind": method.kind if method else "global",
            "summary": method.summary if method else "",
            "parameters": {
                key: repr(value)
                for key, value in ranker.get_params(deep=False).items()
                if key != "n_jobs"
            },
        }
    shown = contents(
        comparison,
        title=title,
        about=about,
        made=made,
        best_feature=BEST_FEATURE,
        control=f"{comparison.baseline}, other seed",
    )
    write(shown, folder / "index.html")
    results = {key: shown[key] for key in ("title", "measures", "baseline", "ensemble")}
    results |= {key: shown[key] for key in ("methods", "bounds", "verdict", "tuning", "made")}
    with atomic_write(folder / "results.json") as file:
        file.write(json.dumps(results, indent=2).encode())
    with atomic_write(folder / "scores.csv") as file:
        import io

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
        tag = name.replace(", ", "-").replace(" ", "-")
        write_run(comparison.test, result.scores, runs / f"{tag}.trec", tag=tag)
    return results


def print_comparison(comparison: Comparison) -> None:
    """The tables for people."""
    from localrank.cli.tables import print_table, say
    from localrank.report.contents import bound_of

    first, finished = comparison.measures[0], comparison.finished
    print_table(
        f"{comparison.test.n_queries:,} test queries",
        ["method", *map(str, comparison.measures), "models", "training", "ms/query", "KiB"],
        [
            [
                name,
                *(f"{mean:.4f}" for mean in result.means().values()),
                str(max(run.facts["n_models"] for run in result.runs)),
                f"{result.total('train_seconds'):.1f} s",
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
                        f"{test.interval[0]:+.4f} to {test.interval[1]:+.4f}",
                        f"{test.corrected_p_value:.3f}",
                        f"{test.wins}/{test.ties}/{test.losses}",
                    ]
                )
        if rows:
            columns = ["method", "difference", "95 % interval", "p (Holm)", "won/tied/lost"]
            print_table(f"{first} against {opponent}", columns, rows)
    for name, result in finished.items():
        if all("bound" in run.facts for run in result.runs):
            bound = bound_of(result, first)
            say(
                f"{name}, best group in hindsight (a bound, by the labels): "
                f"{bound['clairvoyant']:.4f}; on random groups {bound['control']:.4f}"
            )
