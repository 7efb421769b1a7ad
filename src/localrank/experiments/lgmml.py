"""Localized geometric mean metrics: Figures 2 to 4, Tables 4 and 5.

Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017. Its figures are
plots without numbers. As in the paper, Table 4 has 5,000 trees and 500 metrics. The initial weights
and the margin are tuned in the paper's ranges. The paper does not say on which queries; here they
are validation queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, make_queries
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.experiments._processor_time import cpu_seconds
from localrank.experiments.reproduction import Reproduction, Value, decided, difference
from localrank.experiments.setting import Setting
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import GBRT, LGMML, RMLR, LambdaMART, Ranker

OURS = "L-GMML"
# Numbers of classes in Figure 2, and of metrics for each.
CLASSES = {
    2: [1, 2, 3, 4],
    10: [1, 2, 5, 10, 15],
    50: [1, 10, 25, 50, 60],
    100: [1, 25, 50, 100, 120],
}
Scale = Literal["median", "monotone"]
SCALES: dict[Scale, str] = {"median": "median distance 1", "monotone": "largest distance 1"}


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


def figure_2(
    reproduction: Reproduction, local: Callable[..., LGMML], n_classes: Sequence[int]
) -> None:
    """MAP against the number of metrics, where documents come in classes."""
    rows: list[list[Value]] = []
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    gains: dict[Scale, dict[int, PairedTest]] = {scale: {} for scale in SCALES}
    best: dict[Scale, dict[int, int]] = {scale: {} for scale in SCALES}
    for n in n_classes:
        train, test = classes(n)
        measure = AveragePrecision(relevance_level=n / 2)
        # The global metric learns from documents of all queries together.
        pooled = RankingDataset(
            train.features[:1000], train.labels[:1000], np.array([0, 1000]), np.array([0])
        )
        for scale in SCALES:
            make = partial(local, scale=scale, relevance_level=n / 2)
            single = measure(test, make(1, sampling_rate=1.0).fit(pooled).predict(test))
            values = {m: measure(test, make(m).fit(train).predict(test)) for m in CLASSES[n]}
            means = {m: float(precisions.mean()) for m, precisions in values.items()}
            rows += [[n, scale, m, mean, float(single.mean())] for m, mean in means.items()]
            panels.setdefault(f"{n} classes", {}).update(
                {
                    f"{OURS}, {scale}": (list(means), list(means.values())),
                    f"GMML, {scale}": (list(means), [float(single.mean())] * len(means)),
                }
            )
            gains[scale][n] = paired_test(values[n], single)
            best[scale][n] = max(means, key=lambda m: means[m])
    reproduction.table(
        "Figure 2: MAP on documents in classes",
        ["classes", "scale", "metrics", OURS, "GMML"],
        rows,
        "Irrelevant documents are of class 0, relevant ones of the upper half of the classes. GMML "
        "is one metric of 1,000 documents of all queries together. With as many metrics as "
        "classes: " + " ".join(in_words(scale, gains[scale]) for scale in SCALES),
    )
    reproduction.figure(
        "figure-2",
        "Figure 2: MAP against the number of metrics, documents in classes.",
        "curves",
        panels=panels,
        x_label="metrics",
        y_label="MAP",
    )
    for scale, words in SCALES.items():
        reproduction.claim(
            f"as many local metrics as classes beat one global metric ({words})",
            decided(*gains[scale].values()),
            "MAP " + "; ".join(f"{n} classes {difference(t)}" for n, t in gains[scale].items()),
        )
        reproduction.claim(
            f"local metrics gain most when they are about as many as the classes ({words})",
            all(0.5 * n <= m <= 1.5 * n for n, m in best[scale].items()),
            "best of those tried: "
            + ", ".join(f"{m} for {n} classes" for n, m in best[scale].items()),
        )


def in_words(scale: Scale, gains: dict[int, PairedTest]) -> str:
    """Where local metrics gain over one, and where they do not."""
    parts = []
    for sign, word in ((1, "a gain"), (0, "a difference within the noise"), (-1, "a loss")):
        numbers = [f"{n}" for n, test in gains.items() if test.sign == sign]
        if numbers:
            parts.append(f"{word} with {', '.join(numbers)} classes")
    return f"{scale}, {', '.join(parts)}."


PAPER = "lgmml"
MEASURES: list[Measure] = [NDCG(5), NDCG(10), NDCG(20)]
NDCG_10 = MEASURES[1]
N_TREES, N_METRICS = 5000, 500
# 5,000 trees overfit the small collections, so fewer trees are shown as well.
N_FEWER_TREES = 300
MONOTONE, TREES, RMLR_NAME = f"{OURS}, monotone", "LambdaMART", "R-MLR"
# The initial weights, φ(1), and the margin, as a multiple of the number of metrics.
STARTS, MARGINS, STEP = [0.1, 1.0, 10.0], [0.01, 0.1, 1.0], 0.1
METRICS = [1, 2, 5, 10, 20, 50, 100, 200]
# Numbers of features. R-MLR takes about five times as long for twice as many.
DIMENSIONS = {OURS: [10, 50, 100, 200, 500, 1000], RMLR_NAME: [10, 50, 100]}
UNSEEN: tuple[Literal["uniform", "nearest"], ...] = ("uniform", "nearest")


def reproduce(setting: Setting) -> Reproduction:
    """Compare local metrics with boosted trees, on all folds, and with one metric.

    The initial weights and the margin are chosen by NDCG@10 on validation queries. A fold without
    them uses cross-validation over the training queries.
    """
    reproduction, quick, seed = (
        Reproduction(PAPER, setting.data),
        setting.quick,
        setting.random_state,
    )
    local = partial(
        LGMML, n_jobs=setting.n_jobs, random_state=seed, n_iterations=50 if quick else 1000
    )
    n_trees, n_metrics = (20, 5) if quick else (N_TREES, N_METRICS)
    trees: dict[str, Ranker] = {
        "GBRT": GBRT(n_trees, random_state=seed),
        TREES: LambdaMART(n_trees, random_state=seed),
        few_trees("GBRT"): GBRT(N_FEWER_TREES, random_state=seed),
        few_trees(TREES): LambdaMART(N_FEWER_TREES, random_state=seed),
    }
    metrics: dict[str, Ranker] = {
        OURS: local(n_metrics),
        MONOTONE: local(n_metrics, scale="monotone"),
    }
    starts = STARTS[1:2] if quick else STARTS
    numbers = METRICS[:2] if quick else METRICS
    # Jobs use the cores; threads of matrix products would wait for each other.
    with threadpool_limits(1, user_api="blas"):
        figure_2(reproduction, local, list(CLASSES)[: 1 if quick else None])
        results = setting.run(
            {**trees, **metrics},
            setting.folds,
            grids=dict.fromkeys(metrics, grid(starts)),
            measure=NDCG_10,
        )
        # The parameters chosen in a fold are used with every number of metrics.
        tuned = {
            scale: [run.chosen or {} for run in results[name].runs]
            for scale, name in zip(SCALES, metrics, strict=True)
        }
        by_number = setting.run_each(
            [
                {
                    f"{m}, {scale}": local(m, scale=scale, **parameters)
                    for m in numbers
                    for scale, parameters in zip(SCALES, chosen, strict=True)
                }
                for chosen in zip(*tuned.values(), strict=True)
            ],
            setting.folds,
        )
        results |= setting.run_each(
            [
                {
                    f"{OURS}, unseen {way}": local(n_metrics, unseen=way, **parameters)
                    for way in UNSEEN
                }
                for parameters in tuned["median"]
            ],
            setting.folds,
        )
        by_number |= {
            f"{n_metrics}, {scale}": results[name]
            for scale, name in zip(SCALES, metrics, strict=True)
        }
        figure_3(reproduction, by_number, [*numbers, n_metrics])
        figure_4(
            reproduction,
            {OURS: local(10), RMLR_NAME: RMLR()},
            {OURS: [10, 50], RMLR_NAME: [10]} if quick else DIMENSIONS,
        )
        table_4(reproduction, results, f"{n_trees:,} trees, {n_metrics} metrics")
    return reproduction


def grid(starts: Sequence[float]) -> list[dict[str, list[float]]]:
    """Margins and steps for initial weights of 1 that equal other initial weights.

    Examples
    --------
    >>> grid([10.0])
    [{'margin': [0.001, 0.01, 0.1], 'step': [0.01]}]
    """
    return [{"margin": [m / start for m in MARGINS], "step": [STEP / start]} for start in starts]


def start_and_margin(parameters: dict[str, float]) -> tuple[float, float]:
    """The initial weights and the margin that a combination of the grid stands for.

    Examples
    --------
    >>> start_and_margin({"margin": 0.001, "step": 0.01})
    (10.0, 0.01)
    """
    start = STEP / parameters["step"]
    return start, parameters["margin"] * start


def few_trees(method: str) -> str:
    """Name of the same method with fewer trees."""
    return f"{method}, {N_FEWER_TREES} trees"


def figure_3(
    reproduction: Reproduction, results: dict[str, MethodResult], numbers: Sequence[int]
) -> None:
    """NDCG@10 against the number of metrics."""
    means = {s: [results[f"{m}, {s}"].mean(NDCG_10) for m in numbers] for s in SCALES}
    reproduction.table(
        "Figure 3: NDCG@10 against the number of metrics",
        ["metrics", *SCALES],
        [[m, *(means[scale][i] for scale in SCALES)] for i, m in enumerate(numbers)],
        "Distances are scaled so that their median or their largest is 1. Weights and margin are "
        "those chosen for Table 4.",
    )
    reproduction.figure(
        "figure-3",
        "Figure 3: NDCG@10 against the number of metrics.",
        "curves",
        panels={reproduction.data: {scale: (list(numbers), means[scale]) for scale in SCALES}},
        x_label="metrics",
        y_label="NDCG@10",
        log_x=True,
    )
    for scale, words in SCALES.items():
        many, single = (results[f"{m}, {scale}"] for m in (numbers[-1], 1))
        test = many.against(single, NDCG_10)
        reproduction.claim(
            f"local metrics can compete with a single one ({words})",
            test.sign >= 0,
            f"NDCG@10 {difference(test)} with {numbers[-1]} against 1",
        )


def figure_4(
    reproduction: Reproduction,
    methods: Mapping[str, Ranker],
    dimensions: Mapping[str, Sequence[int]],
) -> None:
    """Seconds of training against the number of features."""
    every = sorted({n for tried in dimensions.values() for n in tried})
    data = {n: make_queries(50, n_documents=(100, 100), n_features=n)[0] for n in every}
    seconds: dict[str, dict[int, float]] = {}
    for name, ranker in methods.items():
        # Compile before.
        ranker.fit(data[every[0]])
        seconds[name] = {n: cpu_seconds(partial(ranker.fit, data[n])) for n in dimensions[name]}
    reproduction.table(
        "Figure 4: seconds of training against the number of features",
        ["features", *methods],
        [[n, *(seconds[name].get(n) for name in methods)] for n in every],
        f"CPU seconds, 10 metrics, 50 made-up queries of 100 documents. {RMLR_NAME} is tried up to "
        f"{max(dimensions[RMLR_NAME])} features.",
    )
    reproduction.figure(
        "figure-4",
        "Figure 4: seconds of training against the number of features.",
        "curves",
        panels={"made-up queries": {m: (list(s), list(s.values())) for m, s in seconds.items()}},
        x_label="features",
        y_label="seconds",
        log_y=True,
    )
    times = {n: seconds[RMLR_NAME][n] / seconds[OURS][n] for n in dimensions[RMLR_NAME]}
    reproduction.claim(
        f"L-GMML trains faster than {RMLR_NAME}",
        all(ratio > 1 for ratio in times.values()),
        f"{RMLR_NAME} takes "
        + ", ".join(f"{ratio:.1f} times as long with {n}" for n, ratio in times.items())
        + " features",
    )


def table_4(reproduction: Reproduction, results: dict[str, MethodResult], sizes: str) -> None:
    """Tables 4 and 5: boosted trees, local metrics, and ways to weigh unseen queries."""
    ours, trees = results[OURS], results[TREES]
    training = {
        (method,): result.train_cpu_seconds / trees.train_cpu_seconds
        for method, result in results.items()
    }
    scoring = {
        (method,): result.milliseconds_per_query / trees.milliseconds_per_query
        for method, result in results.items()
    }
    per_document = 1e3 * trees.milliseconds_per_query * trees.test.n_queries
    per_document /= trees.test.n_documents
    folds = "; ".join(
        f"{name}: "
        + ", ".join(
            "{:g}/{:g}".format(*start_and_margin(run.chosen))
            for run in results[name].runs
            if run.chosen
        )
        for name in (OURS, MONOTONE)
    )
    reproduction.compare(
        "Table 4: boosted trees and local metrics",
        ["method", "measure"],
        {(name, str(m)): r.mean(m) for name, r in results.items() for m in MEASURES},
        _published(reproduction, "test"),
        f"{ours.test.n_queries:,} test queries, {sizes}. φ(1)/margin chosen in each fold, of "
        f"{_listed(STARTS)} and {_listed(MARGINS)} times the number of metrics: {folds}. The paper "
        f"does not say what weights unseen queries have. Here they have the mean of the training "
        f"queries' weights, unless the name says otherwise.",
    )
    reproduction.compare(
        "Table 4: time to train, over LambdaMART's",
        ["method"],
        training,
        _relative(
            {
                (m,): v
                for (m, at), v in _published(reproduction, "minutes").items()
                if at == str(NDCG_10)
            }
        ),
        f"Ours in CPU seconds, without tuning; LambdaMART takes "
        f"{trees.train_cpu_seconds / len(trees.runs):.1f} in a fold. Published in minutes, of the "
        f"models for NDCG@10.",
    )
    reproduction.compare(
        "Table 5: time to score a document, over LambdaMART's",
        ["method"],
        scoring,
        _relative(reproduction.published("table-5")),
        f"Ten trees for each metric, as in the paper. LambdaMART takes {per_document:.1f} µs.",
    )
    for other in ("GBRT", TREES):
        few = difference(ours.against(results[few_trees(other)], NDCG_10))
        reproduction.claim_better(
            f"L-GMML ranks better than {other}",
            "NDCG@10",
            ours.against(results[other], NDCG_10),
            f" (against {N_FEWER_TREES} trees {few})",
        )
    for other in ("GBRT", TREES):
        share = training[OURS,] / training[other,]
        reproduction.claim(
            f"L-GMML trains faster than {other}", share < 1, f"{share:.2f} of its time"
        )
    for other in ("GBRT", TREES):
        share = scoring[OURS,] / scoring[other,]
        reproduction.claim(
            f"L-GMML takes longer to score a document than {other}",
            share > 1,
            f"{share:.2f} of its time",
        )


def _published(reproduction: Reproduction, kind: str) -> dict[tuple[str, ...], float]:
    """Values of Table 4 by method and measure, without their deviations."""
    cells = reproduction.published("table-4").items()
    return {names[1:]: v for names, v in cells if names[0] == kind and len(names) == 3}


def _relative(times: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    return {method: value / times[TREES,] for method, value in times.items()}


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
