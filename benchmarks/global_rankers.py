"""The global rankers on public collections: five folds, test parts, ties averaged.

Prints the feature that BestFeature takes in each fold, and mean NDCG@5, NDCG@10 and MAP over
all test queries. Rankers have their default parameters; boosted trees stop on the validation
part, and ListwiseLinear chooses l2 there or by cross-validation. The time is that of training.
"""

from __future__ import annotations

import os

# Before numpy is loaded: these are measurements of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np
from measuring import DATA

from localrank.data import RankingDataset, folds
from localrank.measures import NDCG, AveragePrecision, evaluate
from localrank.rankers import (
    GBRT,
    BestFeature,
    CrossEntropyMART,
    LambdaMART,
    ListwiseLinear,
    Ranker,
    RankSVM,
)

COLLECTIONS = ("MQ2008", "MQ2007-85", "OHSUMED")
MEASURES = [NDCG(5), NDCG(10), AveragePrecision()]


RANKERS: list[tuple[Ranker, bool]] = [
    (BestFeature(), False),
    (BestFeature(both_directions=True), False),
    (RankSVM(), False),
    (ListwiseLinear(0.3), False),
    (ListwiseLinear(), False),
    (ListwiseLinear(), True),
    (GBRT(), True),
    (LambdaMART(), True),
    (CrossEntropyMART(), True),
]


def main() -> None:
    for name in COLLECTIONS:
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        print(f"\n{name}")
        parts = list(folds(DATA / name))
        for ranker, validated in RANKERS:
            # Compile first.
            ranker.fit(parts[0].train.select(range(10)))
            values: list[list[np.ndarray]] = [[] for _ in MEASURES]
            notes = []
            seconds = 0.0
            for fold in parts:
                start = time.perf_counter()
                ranker.fit(fold.train, valid=fold.valid if validated else None)
                seconds += time.perf_counter() - start
                found = evaluate(fold.test, ranker.predict(fold.test), MEASURES)
                for column, measure in zip(values, MEASURES, strict=True):
                    column.append(found[measure])
                notes.append(_note(ranker, fold.train))
            means = "  ".join(
                f"{measure} {np.concatenate(column).mean():.4f}"
                for measure, column in zip(MEASURES, values, strict=True)
            )
            by_fold = np.mean([column.mean() for column in values[0]])
            title = f"{ranker}{', validated' if validated else ''}"
            print(f"  {title:45} {means}  (mean of folds {by_fold:.4f})  {seconds:5.2f} s")
            print(f"    {', '.join(notes)}")


def _note(ranker: Ranker, train: RankingDataset) -> str:
    if isinstance(ranker, BestFeature):
        sign = "" if ranker.direction_ == 1 else "-"
        return f"{sign}{train.feature_label(ranker.feature_)}"
    if isinstance(ranker, ListwiseLinear):
        return f"l2 {ranker.l2_:g}"
    return f"C {ranker.C:g}" if isinstance(ranker, RankSVM) else f"{ranker.n_trees_} trees"


if __name__ == "__main__":
    main()
