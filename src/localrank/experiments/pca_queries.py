"""Queries by the principal components of their highest feature values: what the paper plans.

Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation. The paper describes its
collections (Table 1) and measures, and gives no results: beside ours stand LETOR's for RankSVM, the
global model. Measures are by LETOR 3's convention, as its evaluation tools compute them.
"""

from __future__ import annotations

import numpy as np

from localrank.data import RankingDataset
from localrank.evaluation import MethodResult
from localrank.experiments.base import Reproduction, Value, counts
from localrank.experiments.published import published_cells
from localrank.experiments.results import bound_means, chosen, mean_of_folds
from localrank.experiments.setting import Setting
from localrank.measures import Measure, parse_measure
from localrank.plots import draw_curves
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
GLOBAL, LOCAL, LETOR = "RankSVM", "PCA queries", "RankSVM, squared hinge"

Results = dict[str, MethodResult]


def reproduce(setting: Setting) -> Reproduction:
    """Compare a RankSVM for each cluster with one for all queries, on all folds.

    C and the number of clusters are chosen by MAP on the validation part.
    """
    found = Reproduction(PAPER, setting.data)
    folds, quick, seed = setting.validated_folds, setting.quick, setting.random_state
    cs, clusters = (CS[1:4], [1, 2]) if quick else (CS, CLUSTERS)
    results = setting.run(
        {GLOBAL: RankSVM(), LETOR: RankSVM(scaling=None), LOCAL: pca_queries(random_state=seed)},
        folds,
        grids={
            GLOBAL: {"C": cs},
            LETOR: {"C": cs if quick else DECADES},
            LOCAL: {"grouping__n_clusters": clusters, "ranker__C": cs},
        },
        measure=MAP,
    )
    # C as chosen for RankSVM in each fold.
    rankers = [RankSVM(**run.chosen) for run in results[GLOBAL].runs if run.chosen]
    by_clusters = setting.run_each(
        [
            {f"{n}": pca_queries(n, ranker=own, random_state=seed) for n in clusters}
            for own in rankers
        ],
        folds,
        measure=MAP,
        n_controls=1 if quick else 3,
    )
    heights = HEIGHTS[1:3] if quick else HEIGHTS
    by_height = setting.run_each(
        [
            {f"h = {h}": pca_queries(4, ranker=own, h=h, random_state=seed) for h in heights}
            for own in rankers
        ],
        folds,
    )
    _statistics(found, results[GLOBAL].test)
    _letor(found, results[LETOR])
    _methods(found, results)
    _clusters(found, by_clusters, by_height)
    return found


def _statistics(found: Reproduction, test: RankingDataset) -> None:
    found.compare(
        "Table 1: the collection",
        ["number of"],
        {
            ("queries",): test.n_queries,
            ("relevance levels",): len(np.unique(test.labels)),
            ("features",): test.n_features,
        },
        found.published("table-1"),
        "Of all folds' test parts.",
    )


def _letor(found: Reproduction, result: MethodResult) -> None:
    """The global model as LETOR trains it, beside its own numbers."""
    numbers = published_cells("letor", "baselines", found.data)
    if (LETOR, "map") not in numbers:
        return
    found.compare(
        "The baseline as LETOR trains it",
        ["method", "measure"],
        {(LETOR, "map"): mean_of_folds(result, MAP)},
        numbers,
        "Mean of the folds; features as they are, C from 0.0001 to 100,000.",
    )


def _methods(found: Reproduction, results: Results) -> None:
    together, local = results[GLOBAL], results[LOCAL]
    rows: list[list[Value]] = []
    for name, measure in zip(NAMES, MEASURES, strict=True):
        test = local.against(together, measure)
        means = together.mean(measure), local.mean(measure)
        rows.append([name, *means, test.mean_difference, test.p_value, counts(test)])
    found.table(
        "Section 4.2: one model for each cluster against one for all",
        ["measure", GLOBAL, LOCAL, "difference", "p", "won/tied/lost"],
        rows,
        f"{local.test.n_queries:,} test queries, paired t-tests. Clusters/C in "
        f"each fold {', '.join(chosen(local))}; C of RankSVM "
        f"{', '.join(chosen(together))}. The paper expects the clusters' models to be "
        f"better, and gives no results.",
    )
    found.claim_better(
        "a model for each cluster of queries ranks better than one for all",
        "MAP",
        local.against(together, MAP),
    )


def _clusters(found: Reproduction, by_clusters: Results, by_height: Results) -> None:
    numbers = [int(n) for n in by_clusters]
    means = [bound_means(result, MAP) for result in by_clusters.values()]
    found.table(
        "MAP against the number of clusters",
        ["clusters", LOCAL, "clairvoyant", "on random groups"],
        [[n, *own] for n, own in zip(numbers, means, strict=True)],
        "C as chosen for RankSVM. The clairvoyant choice among the clusters' models is by the "
        "labels; beside it the same choice among models of random groups of the same sizes.",
    )
    found.table(
        "MAP against the number of highest values, 4 clusters",
        ["values", "MAP"],
        [[h, result.mean(MAP)] for h, result in by_height.items()],
    )
    lines = zip((LOCAL, "clairvoyant", "random groups"), zip(*means, strict=True), strict=True)
    found.figure(
        "clusters",
        "MAP against the number of clusters.",
        draw_curves,
        panels={found.data: {name: (numbers, line) for name, line in lines}},
        x_label="clusters",
        y_label="MAP",
        log_x=True,
    )
