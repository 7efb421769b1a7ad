"""Ranking with multiple hyperplanes, and rank aggregation, beside the paper's Tables 3, 5, 6, 7.

Run with `python benchmarks/mhr.py [COLLECTION ...]`. Collections from the folder in LOCALRANK_DATA
or from `../shared/data` beside the project. The experiment is that of `localrank reproduce
multiple-hyperplanes`; MQ2007-aggregation, ranks by 21 systems, is for the aggregators alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measuring import collections, seconds
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, concatenate, folds
from localrank.evaluation import paired_tests
from localrank.experiments.multiple_hyperplanes import AGGREGATORS, NDCG_10, Scores, reproduce
from localrank.measures import AveragePrecision, Measure
from localrank.rankers import BestFeature


def aggregators_alone(folder: Path) -> None:
    """Ranks by 21 systems aggregated; the lower the number in the file, the better."""
    measures: list[Measure] = [NDCG_10, AveragePrecision()]
    tests: list[RankingDataset] = []
    scores: dict[str, list[Scores]] = {}
    times = dict.fromkeys(AGGREGATORS, 0.0)
    systems = []
    for fold in folds(folder):
        tests.append(fold.test)
        lists, new_lists = -fold.train.features, -fold.test.features
        # Documents that a system does not have come last, as for the aggregators.
        filled, new_filled = (np.where(np.isnan(x), -1e9, x) for x in (lists, new_lists))
        best = BestFeature(NDCG_10).fit(fold.train.with_features(filled))
        systems.append(str(best.feature_ + 1))
        scores.setdefault("best system", []).append(new_filled[:, best.feature_])
        for name, aggregator in AGGREGATORS.items():
            aggregate = clone(aggregator).fit(fold.train, lists).aggregate
            scores.setdefault(name, []).append(aggregate(fold.test, new_lists))
            times[name] += seconds(lambda: aggregate(fold.test, new_lists))  # noqa: B023
    test = concatenate(tests)
    values = {
        measure: {name: measure(test, np.concatenate(own)) for name, own in scores.items()}
        for measure in measures
    }
    print(f"\n== {folder.name}: {test.n_queries} queries, 21 systems, 5 folds")
    print(f"{np.isnan(test.features).mean():.0%} of the entries are missing; ", end="")
    print(f"best system in training: number {', '.join(systems)}; p Holm-corrected, against it")
    print(f"{'':16}" + "".join(f"{measure!s:>26}" for measure in measures) + "  µs per query")
    for name in scores:
        line = f"{name:16}"
        for measure in measures:
            own = values[measure]
            cell = f"{own[name].mean():.4f}"
            if name in AGGREGATORS:
                others = {key: own[key] for key in AGGREGATORS}
                found = paired_tests(others, own["best system"])[name]
                cell += f" {found.mean_difference:+.4f} p {found.corrected_p_value:.0e}"
            line += f"{cell:>26}"
        print(line + (f"{1e6 * times[name] / test.n_queries:12.0f}" if name in times else ""))


def main() -> None:
    for folder in collections(
        "OHSUMED", "MQ2008", "ClueWeb09", "MSLR-sample", "MQ2007-aggregation"
    ):
        if folder.name == "MQ2007-aggregation":
            # One thread, for times that can be compared.
            with threadpool_limits(1, user_api="blas"):
                aggregators_alone(folder)
        else:
            found = reproduce(list(folds(folder)), folder.name)
            print(found.markdown(f"python benchmarks/mhr.py {folder.name}", figures=False))


if __name__ == "__main__":
    main()
