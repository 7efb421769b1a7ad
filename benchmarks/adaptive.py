"""Adaptive training and best-feature calibration, beside the paper's Table 2.

Run with `python benchmarks/adaptive.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. Five folds, LambdaMART of 500 trees
trained on each fold's training part, 5 clusters, k-means and Ward, three rounds. The paper's
figures are of the whole MQ2007; its MRR gives 0 to a query whose only relevant document is at
rank 1, so MRR stands here by that rule as well. Writes the calibration plots into the folder
`plots` where plotly is installed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, collections, seconds
from numpy.typing import NDArray

from localrank.data import RankingDataset, concatenate, folds
from localrank.evaluation import (
    best_feature_calibration,
    clairvoyant_bounds,
    paired_test,
)
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, Measure, ReciprocalRank
from localrank.rankers import BestFeature, LambdaMART
from localrank.recipes import adaptive_training
from localrank.selection import Clairvoyant

N_TREES, N_CLUSTERS, N_CONTROLS = 500, 5, 3
NDCG_5: Measure = NDCG(5)
MRR: Measure = ReciprocalRank(100)
GROUPINGS = ("kmeans", "ward")
# Table 2 of the paper: NDCG@5 and MRR@100 on MQ2007.
PUBLISHED = {
    "best feature": (0.385, 0.527),
    "baseline": (0.417, 0.568),
    "selective, kmeans": (0.385, 0.538),
    "oracle, kmeans": (0.557, 0.727),
    "fusion, kmeans": (0.409, 0.557),
    "selective, ward": (0.387, 0.535),
    "oracle, ward": (0.559, 0.727),
    "fusion, ward": (0.404, 0.556),
}

Scores = NDArray[np.float64]


def adaptive(grouping: Any, n_jobs: int | None = -1) -> LocalRanker:
    return adaptive_training(
        N_CLUSTERS, grouping=grouping, ranker=LambdaMART(N_TREES), n_jobs=n_jobs
    )


def run(folder: Path) -> None:
    name = folder.name
    tests: list[RankingDataset] = []
    # Scores of the test documents, an oracle's by the measure it is best by.
    scores: dict[str, list[Scores]] = {}
    controls: dict[tuple[str, Measure], list[Scores]] = {}
    training = 0.0
    for fold in folds(folder):
        tests.append(fold.test)

        def keep(method: str, values: Scores) -> None:
            scores.setdefault(method, []).append(values)

        keep("best feature", BestFeature().fit(fold.train).predict(fold.test))
        for method, seed in (("baseline", 0), ("baseline, other seed", 1)):
            baseline = LambdaMART(N_TREES, n_jobs=-1, random_state=seed)
            keep(method, baseline.fit(fold.train).predict(fold.test))
        for grouping in GROUPINGS:
            start = time.perf_counter()
            model = adaptive(grouping).fit(fold.train)
            training += time.perf_counter() - start
            selector = model.selector_
            print(
                f"{fold.name}, {grouping}: groups of {model.groups_.sizes.tolist()} queries, "
                f"{model.n_changed_} changed; classifier right {selector.accuracy_:.2f} of the "
                f"time (largest group {selector.majority_:.2f}), calibration error "
                f"{selector.calibration_error_:.2f}"
            )
            keep(f"selective, {grouping}", model.predict(fold.test))
            selector.set_params(hard=False)
            keep(f"fusion, {grouping}", model.predict(fold.test))
            bounds = clairvoyant_bounds(
                model, fold.train, fold.test, (NDCG_5, MRR), n_controls=N_CONTROLS
            )
            for bound in bounds:
                measure = bound.measure
                controls.setdefault((grouping, measure), []).append(bound.control)
                oracle = Clairvoyant(measure).fit(
                    fold.train, model.groups_, selector.representation_, selector.descriptions_
                )
                model.selector_ = oracle
                keep(f"oracle by {measure}, {grouping}", model.predict(fold.test))
                model.selector_ = selector
    report(name, concatenate(tests), {k: np.concatenate(v) for k, v in scores.items()}, controls)
    n_models = len(GROUPINGS) * 3 * N_CLUSTERS * 5
    print(f"adaptive training: {training:.0f} s for {n_models} models of 5 folds, all cores")


def report(
    name: str,
    test: RankingDataset,
    scores: dict[str, Scores],
    controls: dict[tuple[str, Measure], list[Scores]],
) -> None:
    published = PUBLISHED if name == "MQ2007-85" else {}
    print(f"\n{name}{'':20}{'ndcg@5':>9}{'paper':>8}{'mrr@100':>9}{'faulty':>9}{'paper':>8}")
    oracles: dict[tuple[str, Measure], Scores] = {}
    for method in [*PUBLISHED, "baseline, other seed"]:
        if method.startswith("oracle"):
            grouping = method.removeprefix("oracle, ")
            by = {m: scores[f"oracle by {m}, {grouping}"] for m in (NDCG_5, MRR)}
            for measure in by:
                oracles[grouping, measure] = measure(test, by[measure])
        elif method in scores:
            by = dict.fromkeys((NDCG_5, MRR), scores[method])
        values = NDCG_5.mean(test, by[NDCG_5]), MRR.mean(test, by[MRR])
        wrong = faulty(test, by[MRR]).mean()
        paper = published.get(method)
        there = [f"{value:8.3f}" if paper else f"{'':8}" for value in paper or (0, 0)]
        row = f"{values[0]:9.4f}{there[0]}{values[1]:9.4f}{wrong:9.4f}{there[1]}"
        print(f"{method:{len(name) + 20}}{row}")
    for (grouping, measure), parts in controls.items():
        means = np.concatenate(parts, axis=1).mean(axis=1)
        print(
            f"oracle of random groups of the same sizes, {grouping}, {measure}: "
            f"{means.mean():.4f} ± {means.std(ddof=1):.4f}"
        )
    for measure in (NDCG_5, MRR):
        found = paired_test(oracles["kmeans", measure], oracles["ward", measure])
        print(f"oracle, k-means against Ward, {measure}: {found}")
    for method in ("selective, kmeans", "fusion, kmeans", "selective, ward", "fusion, ward"):
        found = paired_test(NDCG_5(test, scores[method]), NDCG_5(test, scores["baseline"]))
        print(f"{method} against the baseline, ndcg@5: {found}")
    calibrate(name, test, scores)


def faulty(test: RankingDataset, ranking: Scores) -> Scores:
    """The paper's reciprocal rank: 0 where the only relevant document is at rank 1."""
    values = MRR(test, ranking)
    n_relevant = np.add.reduceat(test.labels > 0, test.offsets[:-1], dtype=np.int64)
    return np.where((n_relevant == 1) & (values == 1), 0.0, values)


def calibrate(name: str, test: RankingDataset, scores: dict[str, Scores]) -> None:
    calibration = best_feature_calibration(
        scores["baseline"],
        scores["best feature"],
        {
            "selective": scores["selective, kmeans"],
            "fusion": scores["fusion, kmeans"],
            "oracle": scores["oracle by ndcg@5, kmeans"],
        },
        test,
        NDCG_5,
        control=scores["baseline, other seed"],
        bounds=("oracle",),
    )
    print(calibration.text())
    folder = Path("plots")
    folder.mkdir(exist_ok=True)
    for suffix in ("html", "svg"):
        calibration.save_plot(folder / f"calibration-{name}.{suffix}")


def efficiency() -> None:
    """One fold with one job and with two."""
    fold = next(iter(folds(DATA / "MQ2007-85")))
    one, two = (
        seconds(lambda: adaptive("kmeans", jobs).fit(fold.train))  # noqa: B023
        for jobs in (1, 2)
    )
    print(f"\none fold, k-means: {one:.1f} s with one job, {two:.1f} s with two: {one / two:.2f} x")


def main() -> None:
    for folder in collections("MQ2007-85", "MQ2008"):
        run(folder)
    if (DATA / "MQ2007-85").is_dir() and not sys.argv[1:]:
        efficiency()


if __name__ == "__main__":
    main()
