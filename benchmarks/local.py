"""The papers' local methods beside the global models they are made of, on real queries.

Run with `python benchmarks/local.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. Five folds each; C of the SVMs, the
number of clusters and of neighbours are chosen by MAP on the fold's validation part, or where it
has none by cross-validation over its training queries. Test queries are only scored. Each local
method is compared with the global model it is made of, by a paired t-test over the queries of
all folds, p-values corrected by Holm's rule. Choosing C twice, for the global model and for the
local one, costs both the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from measuring import collections

from localrank.data import Fold, folds
from localrank.evaluation import clairvoyant_bound, correct, paired_test
from localrank.experiments.tuned import Tuned
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import DuhKirchhoff, RankBoost, Ranker, RankSVM, SVMMap
from localrank.recipes import local_rank, pca_queries, query_neighbours

MEASURES: list[Measure] = [AveragePrecision(), NDCG(1), NDCG(5), NDCG(10)]
CS = [0.01, 0.1, 1.0, 10.0, 100.0]
CLUSTERS = [1, 2, 4, 8]
NEIGHBOURS = [25, 100, 400]
# Test queries of each fold that D&K ranks outside OHSUMED, as each trains a model.
LAZY_QUERIES = 10

# The estimator, what is chosen, and the global model it is compared with.
METHODS: dict[str, tuple[Ranker, dict[str, list[Any]], str | None]] = {
    "SVMMap": (SVMMap(), {"C": CS}, None),
    "RankSVM": (RankSVM(), {"C": CS}, None),
    "RankBoost": (RankBoost(), {"n_rounds": [30, 100, 300]}, None),
    "local_rank": (
        local_rank(),
        {"grouping__n_clusters": CLUSTERS, "ranker__C": CS},
        "SVMMap",
    ),
    "pca_queries": (
        pca_queries(),
        {"grouping__n_clusters": CLUSTERS, "ranker__C": CS},
        "RankSVM",
    ),
    "query_neighbours": (
        query_neighbours(),
        {"grouping__n_neighbours": NEIGHBOURS, "ranker__C": [0.1, 1.0, 10.0]},
        "RankSVM",
    ),
}


def run(folder: Path) -> None:
    name = folder.name
    results = {method: Tuned(MEASURES) for method in [*METHODS, "DuhKirchhoff", "RankBoost there"]}
    bounds = []
    for fold in folds(folder, validation=name != "ClueWeb09"):
        fitted: dict[str, Ranker] = {}
        for method, (estimator, grid, _) in METHODS.items():
            fitted[method] = results[method].fit(estimator, grid, fold, n_jobs=-1)
        n_lazy = fold.test.n_queries if name == "OHSUMED" else LAZY_QUERIES
        lazily(results, fold, fitted["RankBoost"], n_lazy)
        bounds.append(
            clairvoyant_bound(
                local_rank(4, ranker=fitted["SVMMap"], n_jobs=-1), fold.train, fold.test
            )
        )
    report(name, results)
    everything = {
        "selected": np.concatenate([bound.selected for bound in bounds]).mean(),
        "clairvoyant": np.concatenate([bound.values for bound in bounds]).mean(),
    }
    controls = np.concatenate([bound.control for bound in bounds], axis=1).mean(axis=1)
    print(
        "4 clusters of SVMMap, MAP: "
        + ", ".join(f"{key} {value:.4f}" for key, value in everything.items())
        + f", clairvoyant on random groups {controls.mean():.4f} ± {controls.std(ddof=1):.4f}"
    )


def lazily(results: dict[str, Tuned], fold: Fold, boost: Ranker, n_queries: int) -> None:
    """D&K on some test queries, and the global RankBoost on the same ones."""
    few = fold.test.select(np.arange(min(n_queries, fold.test.n_queries)))
    results["DuhKirchhoff"].score(DuhKirchhoff(boost, n_jobs=-1).fit(fold.train), few)
    results["RankBoost there"].score(boost, few)


def report(name: str, results: dict[str, Tuned]) -> None:
    pairs = {method: against for method, (_, _, against) in METHODS.items() if against}
    pairs["DuhKirchhoff"] = "RankBoost there"
    first = MEASURES[0]
    tests = {
        method: paired_test(results[method].column(first), results[against].column(first))
        for method, against in pairs.items()
    }
    p_values = correct({method: test.p_value for method, test in tests.items()})
    print(f"\n{name}\n{'':18}" + "".join(f"{measure!s:>9}" for measure in MEASURES), end="")
    print(f"{'training':>11}{'ms/query':>10}  MAP against the global model; chosen in each fold")
    for method, result in results.items():
        means = "".join(f"{result.column(measure).mean():9.4f}" for measure in MEASURES)
        n_queries = len(result.column(first))
        costs = f"{result.training / 5:9.2f} s{1000 * result.scoring / n_queries:10.2f}"
        verdict = ""
        if method in pairs:
            test = tests[method]
            verdict = (
                f"{test.mean_difference:+.4f} (p {p_values[method]:.3f}, "
                f"{test.wins} : {test.losses})  "
            )
        subset = f"{n_queries} queries  " if method in ("DuhKirchhoff", "RankBoost there") else ""
        print(f"{method:18}{means}{costs}  {verdict}{subset}{', '.join(result.chosen)}")


def main() -> None:
    for folder in collections("MQ2008", "OHSUMED", "MQ2007-85", "ClueWeb09"):
        run(folder)


if __name__ == "__main__":
    main()
