"""Localized geometric mean metrics: Figures 2 to 4, Tables 4 and 5.

Su, King, Lyu. Learning to Rank Using Localized Geometric Mean Metrics. SIGIR 2017. Its figures are
plots without numbers. As in the paper, Table 4 has 5,000 trees and 500 metrics. The initial weights
and the margin are tuned in the paper's ranges. The paper does not say on which queries; here they
are validation queries, and tuning has 50 metrics.

Metrics are drawn at random, so everything is trained with several seeds, and tests cover the chance
of training. Only 5,000 trees are trained once, because they take most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Floats
from localrank.data import RankingDataset, make_queries
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._processor_time import cpu_seconds
from localrank.experiments.published_numbers import published_cells
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import GBRT, LGMML, RMLR, LambdaMART, Ranker

PAPER, OURS = "lgmml", "L-GMML"
SEEDS = (0, 1, 2, 3)
# Numbers of classes in Figure 2, and of metrics for each. The last is beyond the paper's figure.
CLASSES = {
    2: [1, 2, 3, 4, 8],
    10: [1, 2, 5, 10, 15, 40],
    50: [1, 10, 25, 50, 60, 200],
    100: [1, 25, 50, 100, 120, 400],
}
# Documents that the global metric of Figure 2 learns from.
N_POOLED = 1000
Scale = Literal["median", "monotone"]
SCALES: dict[Scale, str] = {"median": "median distance 1", "monotone": "largest distance 1"}
# The results of one method, one for each seed.
Runs = Sequence[MethodResult]


@dataclass(frozen=True)
class Within:
    """A test of whether a number lies in a range, by its confidence interval.

    Attributes
    ----------
    interval : (float, float)
    low, high : float
        The range. An infinite end makes it a test of non-inferiority.

    Examples
    --------
    >>> [Within(interval, -0.1, 0.1).sign for interval in ((-0.05, 0.02), (0, 0.3), (0.2, 0.3))]
    [1, 0, -1]
    """

    interval: tuple[float, float]
    low: float
    high: float = np.inf

    @property
    def sign(self) -> int:
        """1: it lies in the range. -1: outside. 0: neither is established."""
        first, last = self.interval
        if last < self.low or first > self.high:
            return -1
        return int(self.low < first and last < self.high)


def classes(n_classes: int, seed: int) -> tuple[RankingDataset, RankingDataset]:
    """Training and test queries, with documents around normally distributed centres.

    The label of a document is the number of its class.

    Examples
    --------
    >>> train, test = classes(2, seed=0)
    >>> train.n_queries, test.n_queries, train.labels.max()
    (120, 60, np.float64(1.0))
    """
    rng = np.random.default_rng([seed, n_classes])
    n_features = 10
    centres = rng.normal(size=(n_classes, n_features))

    def queries(n_queries: int) -> RankingDataset:
        labels = rng.integers(n_classes, size=(n_queries, 100))
        features = centres[labels] + 0.5 * rng.normal(size=(n_queries, 100, n_features))
        index = np.repeat(np.arange(n_queries), 100)
        return RankingDataset.from_arrays(features.reshape(-1, n_features), labels.ravel(), index)

    return queries(120), queries(60)


def pooled(train: RankingDataset, seed: int) -> RankingDataset:
    """Documents drawn from all queries together, as the documents of one query."""
    rows = np.random.default_rng(seed).permutation(train.n_documents)[:N_POOLED]
    return RankingDataset(
        train.features[rows], train.labels[rows], np.array([0, len(rows)]), np.array([0])
    )


def far_from(n_classes: int) -> list[int]:
    """The numbers of metrics tried that are not about the number of classes.

    Examples
    --------
    >>> far_from(10)
    [1, 2, 5, 40]
    """
    return [m for m in CLASSES[n_classes] if not 0.5 * n_classes < m <= 1.5 * n_classes]


def figure_2(
    reproduction: Reproduction,
    local: Callable[..., LGMML],
    n_classes: Sequence[int],
    seeds: Sequence[int],
) -> None:
    """MAP against the number of metrics, where documents come in classes."""
    rows: list[list[Value]] = []
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    gains: dict[tuple[Scale, int], PairedTest] = {}
    peaks: dict[tuple[Scale, int, int], PairedTest] = {}
    for n in n_classes:
        measure = AveragePrecision(relevance_level=n / 2)
        data = [(seed, *classes(n, seed)) for seed in seeds]
        for scale in SCALES:
            make = partial(local, scale=scale, relevance_level=n / 2)
            single = np.array(
                [
                    measure(
                        test,
                        make(1, sampling_rate=1.0, random_state=seed)
                        .fit(pooled(train, seed))
                        .predict(test),
                    )
                    for seed, train, test in data
                ]
            )
            values = {
                m: np.array(
                    [
                        measure(test, make(m, random_state=seed).fit(train).predict(test))
                        for seed, train, test in data
                    ]
                )
                for m in CLASSES[n]
            }
            means = {m: over_runs(precisions)[0] for m, precisions in values.items()}
            rows += [[n, scale, m, *over_runs(values[m]), *over_runs(single)] for m in values]
            panels.setdefault(f"{n} classes", {}).update(
                {
                    f"{OURS}, {scale}": (list(means), list(means.values())),
                    f"GMML, {scale}": (list(means), [over_runs(single)[0]] * len(means)),
                }
            )
            gains[scale, n] = paired_test(values[n], single)
            for m in far_from(n):
                peaks[scale, n, m] = paired_test(values[n], values[m])
    gains, peaks = corrected(gains), corrected(peaks)
    reproduction.table(
        "Figure 2: MAP on documents in classes",
        ["classes", "scale", "metrics", OURS, "± seeds", "GMML", "± seeds"],
        rows,
        f"Irrelevant documents are of class 0, relevant ones of the upper half of the classes. "
        f"{len(seeds)} seeds, each of which draws other centres, documents and metrics: means, and "
        f"standard deviations between the seeds. GMML is one metric of {N_POOLED:,} documents "
        f"drawn from all queries together. L-GMML with one metric, by which the paper gets GMML "
        f"in its §4.4, learns it from one query. With as many metrics as classes: "
        + " ".join(in_words(scale, gains) for scale in SCALES),
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
        tests = {n: gains[scale, n] for n in n_classes}
        reproduction.claim(
            f"as many local metrics as classes gain over one global metric ({words})",
            "MAP " + "; ".join(f"{n} classes {difference(t)}" for n, t in tests.items()),
            *tests.values(),
        )
        others = {(n, m): t for (of, n, m), t in peaks.items() if of == scale}
        reproduction.claim(
            f"the gain is largest when there are about as many metrics as classes ({words})",
            "MAP with as many as classes less that with "
            + "; ".join(f"{m} for {n}, {difference(t)}" for (n, m), t in others.items()),
            *others.values(),
        )


def in_words(scale: Scale, gains: Mapping[tuple[Scale, int], PairedTest]) -> str:
    """Where local metrics gain over one, and where they do not."""
    parts = []
    for sign, word in ((1, "a gain"), (0, "nothing established"), (-1, "a loss")):
        numbers = [f"{n}" for (of, n), test in gains.items() if of == scale and test.sign == sign]
        if numbers:
            parts.append(f"{word} with {', '.join(numbers)} classes")
    return f"{scale}, {', '.join(parts)}."


MEASURES: list[Measure] = [NDCG(5), NDCG(10), NDCG(20)]
NDCG_10 = MEASURES[1]
N_TREES, N_METRICS, N_TUNED = 5000, 500, 50
# 5,000 trees overfit the small collections, and are too slow for several seeds.
N_FEWER_TREES = 300
MONOTONE, TREES, RMLR_NAME = f"{OURS}, monotone", "LambdaMART", "R-MLR"
NAMES: dict[Scale, str] = {"median": OURS, "monotone": MONOTONE}
# The initial weights, φ(1), and the margin, as a multiple of the number of metrics.
STARTS, MARGINS, STEP = [0.1, 1.0, 10.0], [0.01, 0.1, 1.0], 0.1
METRICS = [1, 2, 5, 10, 20, 100]
UNSEEN: tuple[Literal["uniform", "nearest"], ...] = ("uniform", "nearest")
# Local metrics compete with one if NDCG@10 is lower by less than this.
COMPETES = 0.01
# Numbers of features. R-MLR takes about five times as long for twice as many.
DIMENSIONS, MORE_DIMENSIONS = [10, 50, 100], [200, 500, 1000]
# Numbers of metrics whose training is timed, and how often.
TIMED_METRICS, N_TIMINGS = [25, 50, 100, 200, 400], 5
# Time grows linearly with the number of metrics if its exponent differs from 1 by less than this.
LINEAR = 0.1
# The collections of the paper's Table 4.
PAPER_DATA = ("Yahoo! Set I", "Yahoo! Set II", "MSLR-WEB10K", "MSLR-WEB30K")


def reproduce(setting: Setting) -> Reproduction:
    """Compare local metrics with boosted trees, on all folds, and with one metric.

    The initial weights and the margin are chosen by NDCG@10 on validation queries, for each seed
    and fold. A fold without them uses cross-validation over the training queries.
    """
    # A folder that cannot be read is refused before anything is trained.
    quick, seeds, folds = setting.quick, setting.seeds, setting.folds
    reproduction = Reproduction(PAPER, setting.data, quick=quick)
    local = partial(LGMML, n_iterations=50 if quick else 1000)
    n_trees, n_metrics, n_tuned = (20, 5, 3) if quick else (N_TREES, N_METRICS, N_TUNED)
    numbers = METRICS[:1] if quick else METRICS
    # Jobs use the cores; threads of matrix products would wait for each other.
    with threadpool_limits(1, user_api="blas"):
        figure_2(reproduction, local, list(CLASSES)[: 1 if quick else None], seeds)
        runs: dict[str, list[MethodResult]] = {
            name: [result] for name, result in setting.run(trees(n_trees, seeds[0]), folds).items()
        }
        for seed in seeds:
            results = trained(
                setting, partial(local, random_state=seed), [*numbers, n_metrics], n_tuned
            )
            fewer = trees(N_FEWER_TREES, seed)
            results |= setting.run(
                {few_trees(name): ranker for name, ranker in fewer.items()}, folds
            )
            for name, result in results.items():
                runs.setdefault(name, []).append(result)
        figure_3(reproduction, runs, sorted([*numbers, n_tuned, n_metrics]))
        figure_4(
            reproduction,
            {OURS: local(10), RMLR_NAME: RMLR()},
            DIMENSIONS[:1] if quick else DIMENSIONS,
            MORE_DIMENSIONS[:1] if quick else MORE_DIMENSIONS,
        )
        cost_of_metrics(reproduction, local, TIMED_METRICS[:2] if quick else TIMED_METRICS)
        runs |= {name: runs[of(n_metrics, scale)] for scale, name in NAMES.items()}
        table_4(reproduction, runs, n_trees, n_metrics, n_tuned)
        table_5(reproduction, runs)
        unseen_queries(reproduction, runs, n_tuned)
        papers_table_4(reproduction)
    return reproduction


def trees(n_trees: int, seed: int) -> dict[str, Ranker]:
    """Both kinds of boosted trees."""
    return {
        "GBRT": GBRT(n_trees, random_state=seed),
        TREES: LambdaMART(n_trees, random_state=seed),
    }


def trained(
    setting: Setting, local: Callable[..., LGMML], numbers: Sequence[int], n_tuned: int
) -> dict[str, MethodResult]:
    """Local metrics of one seed. What is chosen in a fold with one number serves all numbers."""
    starts = STARTS[1:2] if setting.quick else STARTS
    tuned = setting.run(
        {of(n_tuned, scale): local(n_tuned, scale=scale) for scale in SCALES},
        setting.folds,
        grids={of(n_tuned, scale): grid(starts) for scale in SCALES},
        measure=NDCG_10,
    )
    chosen = {
        scale: [run.chosen or {} for run in tuned[of(n_tuned, scale)].runs] for scale in SCALES
    }
    others = setting.run_each(
        [
            {
                of(m, scale): local(m, scale=scale, **chosen[scale][place])
                for m in numbers
                for scale in SCALES
            }
            | {
                f"unseen {way}": local(n_tuned, unseen=way, **chosen["median"][place])
                for way in UNSEEN
            }
            for place in range(len(setting.folds))
        ],
        setting.folds,
    )
    return tuned | others


def of(n_metrics: int, scale: Scale) -> str:
    """Name of local metrics by their number and scale."""
    return f"{n_metrics}, {scale}"


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


def over_runs(values: Floats) -> tuple[float, float]:
    """Mean of the runs' means over queries, and their standard deviation. NaN: one run.

    Examples
    --------
    >>> over_runs(np.array([[0.25, 0.75], [1.0, 1.0]]))
    (0.75, 0.3535533905932738)
    """
    means = np.nanmean(values, axis=1)
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")
    return float(means.mean()), spread


def by_run(runs: Runs, measure: Measure) -> Floats:
    """Values of shape (n_runs, n_queries)."""
    return np.array([result.values(measure) for result in runs])


def compared(runs: Runs, others: Runs, **options: Any) -> PairedTest:
    """A paired test of NDCG@10 over queries and seeds."""
    return paired_test(by_run(runs, NDCG_10), by_run(others, NDCG_10), **options)


def figure_3(reproduction: Reproduction, runs: Mapping[str, Runs], numbers: Sequence[int]) -> None:
    """NDCG@10 against the number of metrics."""
    values = {(m, s): over_runs(by_run(runs[of(m, s)], NDCG_10)) for m in numbers for s in SCALES}
    reproduction.table(
        "Figure 3: NDCG@10 against the number of metrics",
        ["metrics", *(column for scale in SCALES for column in (scale, "± seeds"))],
        [[m, *(number for scale in SCALES for number in values[m, scale])] for m in numbers],
        "Distances are scaled so that their median or their largest is 1. Means over the seeds, "
        "and standard deviations between them. Weights and margin are those chosen for Table 4.",
    )
    means = {scale: [values[m, scale][0] for m in numbers] for scale in SCALES}
    reproduction.figure(
        "figure-3",
        "Figure 3: NDCG@10 against the number of metrics, mean over the seeds.",
        "curves",
        panels={reproduction.data: {scale: (list(numbers), means[scale]) for scale in SCALES}},
        x_label="metrics",
        y_label="NDCG@10",
        log_x=True,
    )
    many, single = numbers[-1], 1
    # Two scales, two tests.
    confidence = 1 - 0.05 / len(SCALES)
    for scale, words in SCALES.items():
        test = compared(runs[of(many, scale)], runs[of(single, scale)], confidence=confidence)
        reproduction.claim(
            f"local metrics can compete with a single one ({words})",
            f"NDCG@10 {test.mean_difference:+.4f} with {many} against {single}, "
            f"{100 * confidence:g} % interval {_range(test.interval)}; to compete is to lose less "
            f"than {COMPETES:g}",
            Within(test.interval, -COMPETES),
        )
    highest = {s: numbers[int(np.argmax(means[s]))] for s in SCALES}
    reproduction.claim(
        "the best number of metrics varies with the data",
        "highest mean here "
        + ", ".join(f"with {highest[scale]} ({words})" for scale, words in SCALES.items()),
    )


def timed(calls: Mapping[Any, Callable[[], Any]], n_timings: int) -> dict[Any, Floats]:
    """CPU seconds of each call. The calls take turns, several times over."""
    rounds = [[cpu_seconds(call) for call in calls.values()] for _ in range(n_timings)]
    return dict(zip(calls, np.array(rounds).T, strict=True))


def ratio_test(longer: Floats, shorter: Floats) -> PairedTest:
    """A paired test of times, by the logarithms of their ratios.

    Examples
    --------
    >>> test = ratio_test(np.array([2.0, 4.1, 3.9]), np.array([1.0, 2.0, 2.0]))
    >>> test.sign, round(np.exp(test.mean_difference), 2)
    (1, np.float64(2.0))
    """
    return paired_test(np.log(longer), np.log(shorter))


def figure_4(
    reproduction: Reproduction,
    methods: Mapping[str, Ranker],
    dimensions: Sequence[int],
    more: Sequence[int],
) -> None:
    """Seconds of training against the number of features."""
    data = {n: _made_up(n) for n in (*dimensions, *more)}
    for ranker in methods.values():
        # Compile before.
        ranker.fit(data[dimensions[0]])
    seconds: dict[tuple[str, int], Floats] = timed(
        {(m, n): partial(r.fit, data[n]) for n in dimensions for m, r in methods.items()}, N_TIMINGS
    )
    # R-MLR is too slow for more.
    seconds |= timed({(OURS, n): partial(methods[OURS].fit, data[n]) for n in more}, 1)
    means = {key: float(times.mean()) for key, times in seconds.items()}
    reproduction.table(
        "Figure 4: seconds of training against the number of features",
        ["features", *methods],
        [[n, *(means.get((name, n)) for name in methods)] for n in data],
        f"CPU seconds, 10 metrics, 50 made-up queries of 100 documents. Up to {dimensions[-1]} "
        f"features the mean of {N_TIMINGS} trainings of each, in turns; beyond, one training.",
    )
    curves = {name: [(n, means[name, n]) for n in data if (name, n) in means] for name in methods}
    reproduction.figure(
        "figure-4",
        "Figure 4: seconds of training against the number of features.",
        "curves",
        panels={
            "made-up queries": {
                name: ([n for n, _ in points], [time for _, time in points])
                for name, points in curves.items()
            }
        },
        x_label="features",
        y_label="seconds",
        log_y=True,
    )
    tests = corrected({n: ratio_test(seconds[RMLR_NAME, n], seconds[OURS, n]) for n in dimensions})
    reproduction.claim(
        f"{OURS} trains faster than {RMLR_NAME}",
        f"{RMLR_NAME} takes "
        + ", ".join(f"{ratio(test)} times as long with {n}" for n, test in tests.items())
        + " features",
        *tests.values(),
    )


def cost_of_metrics(
    reproduction: Reproduction, local: Callable[..., LGMML], numbers: Sequence[int]
) -> None:
    """Seconds of training against the number of metrics, beyond those of one metric."""
    data = _made_up(50)
    local(1).fit(data)
    seconds = timed({m: partial(local(m).fit, data) for m in (1, *numbers)}, N_TIMINGS)
    added = np.array([seconds[m] - seconds[1] for m in numbers])
    exponents = np.polyfit(np.log(numbers), np.log(np.maximum(added, 1e-9)), 1)[0]
    test = paired_test(exponents, np.ones(N_TIMINGS))
    reproduction.table(
        "Seconds of training against the number of metrics",
        ["metrics", "seconds"],
        [[m, float(times.mean())] for m, times in seconds.items()],
        f"CPU seconds, 50 features, 50 made-up queries of 100 documents, the mean of {N_TIMINGS} "
        f"trainings of each, in turns.",
    )
    reproduction.claim(
        "the computational complexity increases linearly with the number of metrics",
        f"the time beyond that of one metric grows with exponent "
        f"{1 + test.mean_difference:.2f}, 95 % interval "
        f"{_range((1 + test.interval[0], 1 + test.interval[1]))}; linear is within {LINEAR:g} of 1",
        Within(test.interval, -LINEAR, LINEAR),
    )


def ratio(test: PairedTest) -> str:
    """The mean ratio of a test of ratios, and p."""
    _, _, p = difference(test).partition(", ")
    return f"{np.exp(test.mean_difference):.2f} ({p})"


def table_4(
    reproduction: Reproduction,
    runs: Mapping[str, Runs],
    n_trees: int,
    n_metrics: int,
    n_tuned: int,
) -> None:
    """Table 4: boosted trees and local metrics."""
    few = [few_trees(name) for name in ("GBRT", TREES)]
    methods = ["GBRT", TREES, *few, OURS, MONOTONE]
    published = _published(reproduction, "test")
    rows: list[list[Value]] = []
    for name in methods:
        for measure in MEASURES:
            mean, spread = over_runs(by_run(runs[name], measure))
            row: list[Value] = [name, str(measure), mean]
            number = published.get((name, str(measure)))
            if published:
                row += [number, None if number is None else mean - number]
            row += [spread, fold_deviation(runs[name], measure)]
            if published:
                row.append(published.get(("deviation", name, str(measure))))
            rows.append(row)
    beside = ["published", "difference"] if published else []
    columns = ["method", "measure", "ours", *beside, "± seeds", "± folds"]
    choices = "; ".join(
        f"{name}: " + ", ".join(_choices(result) for result in runs[of(n_tuned, scale)])
        for scale, name in NAMES.items()
    )
    n_seeds = len(runs[OURS])
    reproduction.table(
        "Table 4: boosted trees and local metrics",
        columns + (["published ±"] if published else []),
        rows,
        f"{runs[OURS][0].test.n_queries:,} test queries, {n_trees:,} trees, {n_metrics} metrics. "
        f"Means over {n_seeds} seeds, with standard deviations between the seeds and between the "
        f"folds; the paper's are between folds. {n_trees:,} trees take most of the time and are "
        f"trained with one seed, so differences to them have no test. φ(1)/margin chosen in each "
        f"fold, seed by seed, with {n_tuned} metrics, of {_listed(STARTS)} and {_listed(MARGINS)} "
        f"times the number of metrics: {choices}. The paper does not say what weights unseen "
        f"queries have. Here they have the mean of the training queries' weights.",
    )
    tests = corrected({name: compared(runs[OURS], runs[name]) for name in few})
    for other in ("GBRT", TREES):
        once = over_runs(by_run(runs[OURS], NDCG_10))[0] - runs[other][0].mean(NDCG_10)
        reproduction.claim_better(
            f"{OURS} ranks better than {other}",
            f"NDCG@10 against {N_FEWER_TREES} trees",
            tests[few_trees(other)],
            f" (against {n_trees:,} trees, trained once, {once:+.4f})",
        )
    _compare_times(
        reproduction,
        "Table 4: time to train, over LambdaMART's",
        {name: fold_times(runs[name], "train_cpu_seconds") for name in methods},
        {
            method: value
            for (method, *at), value in _published(reproduction, "minutes").items()
            if at == [str(NDCG_10)]
        },
        "trains faster than",
        f"Ours in CPU seconds, without tuning; LambdaMART takes "
        f"{fold_times(runs[TREES], 'train_cpu_seconds').mean():.1f} in a fold. Published in "
        f"minutes, of the models for NDCG@10.",
        ours_longer=False,
    )


def fold_deviation(runs: Runs, measure: Measure) -> float:
    """Standard deviation between the folds, mean over the seeds. NaN: one fold."""
    means = np.array([list(result.fold_means(measure).values()) for result in runs])
    return float(np.std(means, axis=1, ddof=1).mean()) if means.shape[1] > 1 else float("nan")


def fold_times(runs: Runs, kind: str) -> Floats:
    """The seconds of each fold, mean over the seeds."""
    times = np.array([[getattr(run, kind) for run in result.runs] for result in runs])
    means: Floats = times.mean(axis=0)
    return means


def table_5(reproduction: Reproduction, runs: Mapping[str, Runs]) -> None:
    """Table 5: time to score a document."""
    few = [few_trees(name) for name in ("GBRT", TREES)]
    times = {
        name: fold_times(runs[name], "predict_seconds")
        for name in ("GBRT", TREES, *few, OURS, MONOTONE)
    }
    per_document = 1e6 * times[TREES].sum() / runs[TREES][0].test.n_documents
    _compare_times(
        reproduction,
        "Table 5: time to score a document, over LambdaMART's",
        times,
        {method: value for (method,), value in reproduction.published("table-5").items()},
        "takes longer to score a document than",
        f"Ten trees for each metric, as in the paper. LambdaMART takes {per_document:.1f} µs.",
        ours_longer=True,
    )


def _compare_times(
    reproduction: Reproduction,
    title: str,
    times: Mapping[str, Floats],
    published: Mapping[str, float],
    says: str,
    note: str,
    *,
    ours_longer: bool,
) -> None:
    """A table of times over LambdaMART's, and claims about them, tested over the folds."""
    n_folds = len(times[OURS])
    reproduction.compare(
        title,
        ["method"],
        {(method,): float(t.sum() / times[TREES].sum()) for method, t in times.items()},
        {(method,): value / published[TREES] for method, value in published.items()},
        f"{note} Claims are tested by the ratios of the {n_folds} folds."
        if n_folds > 1
        else f"{note} One fold: nothing is tested.",
    )
    pairs = {other: (OURS, other) if ours_longer else (other, OURS) for other in ("GBRT", TREES)}
    tests: dict[str, PairedTest] = {}
    if n_folds > 1:
        tests = corrected({o: ratio_test(times[a], times[b]) for o, (a, b) in pairs.items()})
    for other, (longer, shorter) in pairs.items():
        mean = f"{times[longer].sum() / times[shorter].sum():.2f}"
        reproduction.claim(
            f"{OURS} {says} {other}",
            f"{longer} takes {ratio(tests[other]) if tests else mean} times as long",
            *([tests[other]] if tests else []),
        )


def unseen_queries(reproduction: Reproduction, runs: Mapping[str, Runs], n_metrics: int) -> None:
    """Other weights for queries that were not trained on."""
    base = runs[of(n_metrics, "median")]
    tests = corrected({way: compared(runs[f"unseen {way}"], base) for way in UNSEEN})
    rows: list[list[Value]] = [["mean", *over_runs(by_run(base, NDCG_10)), ""]]
    rows += [
        [way, *over_runs(by_run(runs[f"unseen {way}"], NDCG_10)), difference(tests[way])]
        for way in UNSEEN
    ]
    reproduction.table(
        "Weights of unseen queries",
        ["weights", "ndcg@10", "± seeds", "over the mean"],
        rows,
        f"{n_metrics} metrics. The paper does not say what weights unseen queries have: the mean "
        f"of the training queries' weights, equal weights, or those of the nearest training query.",
    )


def papers_table_4(reproduction: Reproduction) -> None:
    """The paper's own comparison with trees: where its method loses, and how much folds differ."""
    rows: list[list[Value]] = []
    n_lost = 0
    for data in PAPER_DATA:
        cells = published_cells(PAPER, "table-4", data)
        for measure in map(str, MEASURES):
            ours = cells["test", OURS, measure]
            best = max(cells["test", method, measure] for method in ("GBRT", TREES))
            deviation = cells.get(("test", "deviation", OURS, measure))
            rows.append([data, measure, ours, best, ours - best, deviation])
            n_lost += ours < best
    reproduction.table(
        "Table 4 as the paper has it",
        ["data", "measure", OURS, "better trees", "difference", f"± of {OURS}"],
        rows,
        f"{OURS} is below the better of GBRT and LambdaMART in {n_lost} of {len(rows)} cells. "
        f"Deviations are those of the paper's five folds.",
    )


def _made_up(n_features: int) -> RankingDataset:
    """Queries to time training with."""
    return make_queries(50, n_documents=(100, 100), n_features=n_features)[0]


def _published(reproduction: Reproduction, kind: str) -> dict[tuple[str, ...], float]:
    """Values of Table 4 by method and measure; deviations begin with "deviation"."""
    cells = reproduction.published("table-4").items()
    return {names[1:]: value for names, value in cells if names[0] == kind}


def _choices(result: MethodResult) -> str:
    """φ(1)/margin of each fold."""
    chosen = [start_and_margin(run.chosen) for run in result.runs if run.chosen]
    return " ".join(f"{start:g}/{margin:g}" for start, margin in chosen)


def _range(interval: tuple[float, float]) -> str:
    return f"[{interval[0]:.4f}, {interval[1]:.4f}]"


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
