"""Rank aggregation alone: ranks by 21 systems, made one.

Run with `python benchmarks/aggregation.py`. MQ2007-aggregation from the folder in LOCALRANK_DATA or
from `../shared/data` beside the project. P-values of paired t-tests against the system that is best
in training, corrected by Holm's rule. One thread.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measuring import collections, seconds
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from localrank.data import concatenate, folds
from localrank.evaluation import paired_tests
from localrank.experiments import difference
from localrank.experiments.multiple_hyperplanes import AGGREGATORS
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import BestFeature

MEASURES: list[Measure] = [NDCG(10), AveragePrecision()]
SYSTEM = "best system"


def report(folder: Path) -> None:
    """Ranks by 21 systems aggregated; the lower the number in the file, the better."""
    scores: dict[str, list[NDArray[np.float64]]] = {}
    times = dict.fromkeys([SYSTEM, *AGGREGATORS], 0.0)
    parts = list(folds(folder))
    for fold in parts:
        lists, new_lists = -fold.train.features, -fold.test.features
        # Documents that a system does not have come last, as for the aggregators.
        filled, new_filled = (np.where(np.isnan(x), -1e9, x) for x in (lists, new_lists))
        best = BestFeature(MEASURES[0]).fit(fold.train.with_features(filled))
        scores.setdefault(SYSTEM, []).append(new_filled[:, best.feature_])
        for name, aggregator in AGGREGATORS.items():
            aggregate = clone(aggregator).fit(fold.train, lists).aggregate
            scores.setdefault(name, []).append(aggregate(fold.test, new_lists))
            times[name] += seconds(lambda: aggregate(fold.test, new_lists))  # noqa: B023
    test = concatenate([fold.test for fold in parts])
    print(f"{test.n_queries} queries, {np.isnan(test.features).mean():.0%} of the ranks missing")
    print(f"{'':16}" + "".join(f"{measure!s:>28}" for measure in MEASURES) + "  µs per query")
    values = {
        measure: {
            name: measure(test, np.concatenate(fold_scores)) for name, fold_scores in scores.items()
        }
        for measure in MEASURES
    }
    for name in scores:
        line = f"{name:16}"
        for by_name in values.values():
            cell = f"{by_name[name].mean():.4f}"
            if name != SYSTEM:
                tests = paired_tests({key: by_name[key] for key in AGGREGATORS}, by_name[SYSTEM])
                cell += f" {difference(tests[name])}"
            line += f"{cell:>28}"
        print(line + f"{1e6 * times[name] / test.n_queries:14.0f}")


def main() -> None:
    with threadpool_limits(1, user_api="blas"):
        for folder in collections("MQ2007-aggregation"):
            report(folder)


if __name__ == "__main__":
    main()
