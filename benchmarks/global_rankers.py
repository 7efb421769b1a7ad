"""The global rankers on public collections: five folds, test parts, ties averaged.

Prints the feature that BestFeature takes in each fold, and mean NDCG@5, NDCG@10 and MAP over
all test queries. Boosted trees have their default parameters and stop on the validation part.
"""

from __future__ import annotations

import time

import numpy as np
from measuring import DATA

from localrank.data import folds
from localrank.measures import NDCG, AveragePrecision, evaluate
from localrank.rankers import GBRT, BestFeature, LambdaMART

COLLECTIONS = ("MQ2008", "MQ2007-85", "OHSUMED")
MEASURES = [NDCG(5), NDCG(10), AveragePrecision()]


def main() -> None:
    for name in COLLECTIONS:
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        print(f"\n{name}")
        parts = list(folds(DATA / name))
        for ranker in (BestFeature(), BestFeature(both_directions=True), GBRT(), LambdaMART()):
            values: list[list[np.ndarray]] = [[] for _ in MEASURES]
            notes = []
            start = time.perf_counter()
            for fold in parts:
                ranker.fit(fold.train, valid=fold.valid)
                found = evaluate(fold.test, ranker.predict(fold.test), MEASURES)
                for column, measure in zip(values, MEASURES, strict=True):
                    column.append(found[measure])
                if isinstance(ranker, BestFeature):
                    sign = "" if ranker.direction_ == 1 else "-"
                    notes.append(f"{sign}{fold.train.feature_label(ranker.feature_)}")
                else:
                    notes.append(f"{ranker.n_trees_} trees")
            seconds = time.perf_counter() - start
            means = "  ".join(
                f"{measure} {np.concatenate(column).mean():.4f}"
                for measure, column in zip(MEASURES, values, strict=True)
            )
            by_fold = np.mean([column.mean() for column in values[0]])
            print(f"  {ranker!s:35} {means}  (mean of folds {by_fold:.4f})  {seconds:5.1f} s")
            print(f"    {', '.join(notes)}")


if __name__ == "__main__":
    main()
