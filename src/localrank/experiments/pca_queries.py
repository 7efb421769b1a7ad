"""Queries by the principal components of their highest feature values: what the paper plans.

Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation. The paper describes its
collections (Table 1) and measures, and gives no results: beside ours stand LETOR's for RankSVM, the
global model. Measures are by LETOR 3's convention, as its evaluation tools compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from localrank.data import Fold, concatenate
from localrank.evaluation import clairvoyant_bound, paired_tests
from localrank.experiments.base import (
    Claim,
    Reproduction,
    Say,
    Table,
    Value,
    decided,
    difference,
    with_validation,
)
from localrank.experiments.charts import save_curves
from localrank.experiments.published import published
from localrank.experiments.tuned import Tuned
from localrank.measures import Measure, parse_measure
from localrank.rankers import RankSVM
from localrank.recipes import pca_queries

PAPER = "pca-queries"
NAMES = ("map", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "p@1", "p@3", "p@5", "p@10")
MEASURES: list[Measure] = [parse_measure(name, convention="letor3") for name in NAMES]
MAP = MEASURES[0]
# LETOR's own choices, on features as they are.
DECADES = [10.0**k for k in range(-4, 6)]
CS = [0.01, 0.1, 1.0, 10.0, 100.0]
CLUSTERS = [1, 2, 4, 8, 16]
HEIGHTS = [1, 5, 10, 20]
GLOBAL, LETOR = "RankSVM", "RankSVM, squared hinge"


def reproduce(
    parts: Sequence[Fold],
    data: str,
    *,
    quick: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = -1,
    say: Say = print,
) -> Reproduction:
    """Compare a RankSVM for each cluster with one for all queries, on all folds.

    C and the number of clusters are chosen by MAP on the validation part.

    Parameters are those of every `Experiment`.
    """
    found = Reproduction(PAPER, data)
    folds = with_validation(parts)[: 2 if quick else None]
    cs, clusters = (CS[1:4], [1, 2]) if quick else (CS, CLUSTERS)
    heights = HEIGHTS[1:3] if quick else HEIGHTS
    local = pca_queries(random_state=random_state)
    grid: dict[str, Sequence[float]] = {"grouping__n_clusters": clusters, "ranker__C": cs}
    results = {name: Tuned(MEASURES) for name in (GLOBAL, "PCA queries", LETOR)}
    # MAP of each number of clusters: selected, clairvoyant, on random groups.
    by_clusters: dict[int, list[list[np.ndarray]]] = {n: [[], [], []] for n in clusters}
    by_height = {f"h = {h}": Tuned([MAP]) for h in heights}
    for fold in folds:
        ranker = results[GLOBAL].fit(RankSVM(), {"C": cs}, fold, n_jobs, MAP)
        results[LETOR].fit(
            RankSVM(scaling=None), {"C": cs if quick else DECADES}, fold, n_jobs, MAP
        )
        results["PCA queries"].fit(local, grid, fold, n_jobs, MAP)
        for n, values in by_clusters.items():
            bound = clairvoyant_bound(
                pca_queries(n, ranker=ranker, n_jobs=n_jobs, random_state=random_state),
                fold.train,
                fold.test,
                MAP,
                n_controls=1 if quick else 3,
                random_state=random_state,
            )
            columns = bound.selected, bound.values, bound.control.mean(axis=0)
            for column, own in zip(values, columns, strict=True):
                column.append(own)
        for h, result in zip(heights, by_height.values(), strict=True):
            model = pca_queries(4, ranker=ranker, h=h, n_jobs=n_jobs, random_state=random_state)
            result.score(model.fit(fold.train), fold.test)
        say(f"{fold.name}: clusters/C {results['PCA queries'].chosen[-1]}")
    _statistics(found, folds)
    _letor(found, results[LETOR])
    _methods(found, results)
    _clusters(found, by_clusters, by_height)
    return found


def _statistics(found: Reproduction, folds: Sequence[Fold]) -> None:
    every = concatenate([fold.test for fold in folds])
    found.tables.append(
        Table.compared(
            "Table 1: the collection",
            ["number of"],
            {
                ("queries",): every.n_queries,
                ("relevance levels",): len(np.unique(every.labels)),
                ("features",): every.n_features,
            },
            {(name,): n for name, n in published(PAPER, "table-1", found.data).items()},
            "Of all folds' test parts.",
        )
    )


def _letor(found: Reproduction, result: Tuned) -> None:
    """The global model as LETOR trains it, beside its own numbers."""
    there = published("letor", "baselines", found.data)
    if LETOR not in there:
        return
    # LETOR averages the folds, not the queries.
    ours = float(np.mean([values.mean() for values in result.values[MAP]]))
    found.tables.append(
        Table.compared(
            "The baseline as LETOR trains it",
            ["method", "measure"],
            {(LETOR, "map"): ours},
            {(LETOR, "map"): there[LETOR]["map"]},
            "Mean of the folds; features as they are, C from 0.0001 to 100,000.",
        )
    )


def _methods(found: Reproduction, results: dict[str, Tuned]) -> None:
    names = (GLOBAL, "PCA queries")
    rows: list[list[Value]] = []
    tests = {
        m: paired_tests({"local": results["PCA queries"].column(m)}, results[GLOBAL].column(m))
        for m in MEASURES
    }
    for name, measure in zip(NAMES, MEASURES, strict=True):
        one = tests[measure]["local"]
        means = [float(results[method].column(measure).mean()) for method in names]
        counts = f"{one.wins}/{one.ties}/{one.losses}"
        rows.append([name, *means, one.mean_difference, one.p_value, counts])
    found.tables.append(
        Table(
            "Section 4.2: one model for each cluster against one for all",
            ["measure", *names, "difference", "p", "won/tied/lost"],
            rows,
            f"{len(results[GLOBAL].column(MAP)):,} test queries, paired t-tests. Clusters/C in "
            f"each fold {', '.join(results['PCA queries'].chosen)}; C of RankSVM "
            f"{', '.join(results[GLOBAL].chosen)}. The paper expects the clusters' models to be "
            f"better, and gives no results.",
        )
    )
    one = tests[MAP]["local"]
    found.claims.append(
        Claim(
            "a model for each cluster of queries ranks better than one for all",
            decided(one),
            f"MAP {difference(one)}",
        )
    )


def _clusters(
    found: Reproduction,
    by_clusters: dict[int, list[list[np.ndarray]]],
    by_height: dict[str, Tuned],
) -> None:
    numbers = list(by_clusters)
    lines = {
        name: [float(np.concatenate(by_clusters[n][i]).mean()) for n in numbers]
        for i, name in enumerate(("PCA queries", "clairvoyant", "random groups"))
    }
    found.tables += [
        Table(
            "MAP against the number of clusters",
            ["clusters", "PCA queries", "clairvoyant", "on random groups"],
            [[n, *(line[i] for line in lines.values())] for i, n in enumerate(numbers)],
            "C as chosen for RankSVM. The clairvoyant choice among the clusters' models is by the "
            "labels; beside it the same choice among models of random groups of the same sizes.",
        ),
        Table(
            "MAP against the number of highest values, 4 clusters",
            ["values", "MAP"],
            [[h, result.means()[str(MAP)]] for h, result in by_height.items()],
        ),
    ]
    found.figure(
        "clusters",
        "MAP against the number of clusters.",
        partial(
            save_curves,
            panels={found.data: {name: (numbers, line) for name, line in lines.items()}},
            x_label="clusters",
            y_label="MAP",
            log_x=True,
        ),
    )
