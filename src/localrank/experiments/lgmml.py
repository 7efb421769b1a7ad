"""Localized geometric mean metrics: Figures 2 to 4, Tables 4 and 5.

Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017. The paper has
500 metrics and 5000 trees on collections of millions of documents; here are 50 metrics and 500
trees. Its figures stand as plots only, without numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, make_queries
from localrank.evaluation import MethodResult
from localrank.experiments.base import Reproduction, Value
from localrank.experiments.setting import Setting
from localrank.experiments.timing import milliseconds
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.plots import draw_curves
from localrank.rankers import GBRT, LGMML, LambdaMART, Ranker

PAPER = "lgmml"
MEASURES: list[Measure] = [NDCG(5), NDCG(10), NDCG(20)]
NDCG_10 = MEASURES[1]
N_TREES, N_METRICS = 500, 50
OURS, TREES = "L-GMML", "LambdaMART"
METRICS = [1, 2, 5, 10, 20, 50, 100]
DIMENSIONS = [10, 50, 100, 200, 500, 1000]
# Numbers of classes in Figure 2, and of metrics for each.
CLASSES = {
    2: [1, 2, 3, 4],
    10: [1, 2, 5, 10, 15],
    50: [1, 10, 25, 50, 60],
    100: [1, 25, 50, 100, 120],
}
SCALES: tuple[Literal["median", "monotone"], ...] = ("median", "monotone")
UNSEEN: tuple[Literal["mean", "uniform", "nearest"], ...] = ("mean", "uniform", "nearest")


def reproduce(setting: Setting) -> Reproduction:
    """Compare local metrics with boosted trees, on all folds, and with one metric.

    No parameter is tuned.
    """
    found, quick, seed = Reproduction(PAPER, setting.data), setting.quick, setting.random_state
    local = partial(
        LGMML, n_jobs=setting.n_jobs, random_state=seed, n_iterations=50 if quick else 1000
    )
    n_trees, n_metrics = (20, 5) if quick else (N_TREES, N_METRICS)
    methods: dict[str, Ranker] = {
        "GBRT": GBRT(n_trees, random_state=seed),
        TREES: LambdaMART(n_trees, random_state=seed),
        OURS: local(n_metrics),
        f"{OURS}, monotone": local(n_metrics, scale="monotone"),
        **{f"{OURS}, unseen {way}": local(n_metrics, unseen=way) for way in UNSEEN[1:]},
    }
    numbers = METRICS[:2] if quick else METRICS
    by_number = {f"{m}, {scale}": local(m, scale=scale) for m in numbers for scale in SCALES}
    # Jobs have the cores; threads of matrix products would wait for each other.
    with threadpool_limits(1, user_api="blas"):
        figure_2(found, local, quick)
        figure_3(found, setting.run(by_number, setting.folds), numbers)
        figure_4(found, local, DIMENSIONS[:2] if quick else DIMENSIONS)
        table_4(found, setting.run(methods, setting.folds), f"{n_trees} trees, {n_metrics} metrics")
    return found


def classes(n_classes: int) -> tuple[RankingDataset, RankingDataset]:
    """Training and test queries, with documents around normally distributed centres.

    The label of a document is the number of its class.

    Examples
    --------
    >>> train, test = classes(2)
    >>> train.n_queries, test.n_queries, train.labels.max()
    (120, 60, np.float64(1.0))
    """
    rng = np.random.default_rng(n_classes)
    n_features = 10
    centres = rng.normal(size=(n_classes, n_features))

    def queries(n_queries: int) -> RankingDataset:
        labels = rng.integers(n_classes, size=(n_queries, 100))
        features = centres[labels] + 0.5 * rng.normal(size=(n_queries, 100, n_features))
        index = np.repeat(np.arange(n_queries), 100)
        return RankingDataset.from_arrays(features.reshape(-1, n_features), labels.ravel(), index)

    return queries(120), queries(60)


def figure_2(found: Reproduction, local: Callable[..., LGMML], quick: bool) -> None:
    """MAP against the number of metrics, where documents come in classes."""
    rows: list[list[Value]] = []
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    gains = []
    for n_classes, numbers in list(CLASSES.items())[: 1 if quick else None]:
        level = n_classes / 2
        train, test = classes(n_classes)
        measure = AveragePrecision(relevance_level=level)
        # The global metric learns from documents of all queries together.
        pooled = RankingDataset(
            train.features[:1000], train.labels[:1000], np.array([0, 1000]), np.array([0])
        )
        for scale in SCALES:
            make = partial(local, scale=scale, relevance_level=level)
            one = measure.mean(test, make(1, sampling_rate=1.0).fit(pooled).predict(test))
            values = [measure.mean(test, make(m).fit(train).predict(test)) for m in numbers]
            rows += [[n_classes, scale, m, v, one] for m, v in zip(numbers, values, strict=True)]
            panels.setdefault(f"{n_classes} classes", {}).update(
                {
                    f"L-GMML, {scale}": (numbers, values),
                    f"GMML, {scale}": (numbers, [one] * len(numbers)),
                }
            )
            if scale == "median":
                # Several metrics, which a single query's metric is not.
                gains.append((max(values[1:]) - one, numbers[int(np.argmax(values))], n_classes))
    found.table(
        "Figure 2: MAP on documents in classes",
        ["classes", "scale", "metrics", "L-GMML", "GMML"],
        rows,
        "Classes of the upper half of the labels are relevant. GMML is one metric of 1,000 "
        "documents of all queries together.",
    )
    found.figure(
        "figure-2",
        "Figure 2: MAP against the number of metrics, documents in classes.",
        draw_curves,
        panels=panels,
        x_label="metrics",
        y_label="MAP",
    )
    found.claim(
        "local metrics beat one global metric on documents in classes",
        all(gain > 0 for gain, _, _ in gains),
        "MAP with the best number of metrics in hindsight "
        + ", ".join(f"{gain:+.4f} with {n} classes" for gain, _, n in gains),
    )
    found.claim(
        "local metrics gain most when they are as many as the classes",
        all(0.5 * n <= best <= 1.5 * n for _, best, n in gains),
        ", ".join(f"{best} metrics are best for {n} classes" for _, best, n in gains),
    )


def figure_3(found: Reproduction, results: dict[str, MethodResult], numbers: Sequence[int]) -> None:
    """NDCG@10 against the number of metrics."""
    means = {s: [results[f"{m}, {s}"].mean(NDCG_10) for m in numbers] for s in SCALES}
    found.table(
        "Figure 3: NDCG@10 against the number of metrics",
        ["metrics", *SCALES],
        [[m, *(means[scale][i] for scale in SCALES)] for i, m in enumerate(numbers)],
        "Distances scaled so that their median is 1, or the largest is.",
    )
    found.figure(
        "figure-3",
        "Figure 3: NDCG@10 against the number of metrics.",
        draw_curves,
        panels={found.data: {scale: (list(numbers), means[scale]) for scale in SCALES}},
        x_label="metrics",
        y_label="NDCG@10",
        log_x=True,
    )
    many, one = (results[f"{m}, median"] for m in (numbers[-1], 1))
    found.claim_better(
        "many metrics rank better than a single one",
        "NDCG@10",
        many.against(one, NDCG_10),
        f" with {numbers[-1]} against 1",
    )


def figure_4(found: Reproduction, local: Callable[..., LGMML], dimensions: Sequence[int]) -> None:
    """Seconds of training 10 metrics against the number of features."""
    seconds = []
    for n_features in dimensions:
        dataset, _ = make_queries(50, n_documents=(100, 100), n_features=n_features)
        seconds.append(milliseconds(partial(local(10).fit, dataset)) / 1000)
    found.table(
        "Figure 4: seconds of training against the number of features",
        ["features", "seconds"],
        [list(row) for row in zip(dimensions, seconds, strict=True)],
        "10 metrics, 50 made-up queries of 100 documents.",
    )
    found.figure(
        "figure-4",
        "Figure 4: seconds of training against the number of features.",
        draw_curves,
        panels={"made-up queries": {OURS: (list(dimensions), seconds)}},
        x_label="features",
        y_label="seconds",
        log_y=True,
    )


def table_4(found: Reproduction, results: dict[str, MethodResult], sizes: str) -> None:
    """Tables 4 and 5: boosted trees and local metrics, and what weights unseen queries have."""
    ours, trees = results[OURS], results[TREES]
    training = {(m,): r.train_seconds / trees.train_seconds for m, r in results.items()}
    scoring = {
        (method,): result.milliseconds_per_query / trees.milliseconds_per_query
        for method, result in results.items()
    }
    per_document = 1e3 * trees.milliseconds_per_query * trees.test.n_queries
    per_document /= trees.test.n_documents
    found.compare(
        "Table 4: boosted trees and local metrics",
        ["method", "measure"],
        {(name, str(m)): r.mean(m) for name, r in results.items() for m in MEASURES},
        found.published("table-4"),
        f"{ours.test.n_queries:,} test queries, {sizes}, nothing tuned. Weights of unseen "
        f"queries are the mean of the training queries' unless named.",
    )
    found.compare(
        "Table 4: seconds of training a fold, over LambdaMART's",
        ["method"],
        training,
        _relative(found.published("minutes")),
    )
    found.compare(
        "Table 5: time to score a document, over LambdaMART's",
        ["method"],
        scoring,
        _relative(found.published("table-5")),
        f"Ten trees for each metric, as in the paper. LambdaMART takes {per_document:.1f} µs.",
    )
    for other in ("GBRT", TREES):
        test = ours.against(results[other], NDCG_10)
        found.claim_better(f"L-GMML ranks better than {other}", "NDCG@10", test)
    found.claim(
        "L-GMML trains faster than LambdaMART",
        training[OURS,] < 1,
        f"{training[OURS,]:.2f} of its time",
    )
    found.claim(
        "L-GMML takes longer to score a document than LambdaMART",
        scoring[OURS,] > 1,
        f"{scoring[OURS,]:.2f} of its time",
    )


def _relative(times: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    return {method: value / times[TREES,] for method, value in times.items()}
