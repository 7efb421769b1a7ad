"""The global rankers on public collections: five folds, test parts, ties averaged.

Run with `python benchmarks/global_rankers.py [COLLECTION ...]`. Prints mean NDCG@5, NDCG@10 and MAP
over all test queries, and what was chosen in each fold: the feature, l2, or the number of trees.
Rankers have their default parameters. With "validated", boosted trees stop on the validation part,
AdaRank and CoordinateAscent choose a model by it, and ListwiseLinear chooses l2 there; otherwise
by cross-validation. The time is that of training.
"""

from __future__ import annotations

import os

# Before numpy is loaded: these are measurements of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from measuring import collections, sized

from localrank.data import Fold, folds
from localrank.evaluation import run
from localrank.measures import NDCG, AveragePrecision
from localrank.rankers import (
    GBRT,
    AdaRank,
    BestFeature,
    CoordinateAscent,
    CrossEntropyMART,
    LambdaMART,
    ListNet,
    ListwiseLinear,
    McRank,
    RandomForest,
    Ranker,
    RankNet,
    RankSVM,
)

MEASURES = [NDCG(5), NDCG(10), AveragePrecision()]
RANKERS: dict[bool, list[Ranker]] = {
    False: [
        BestFeature(),
        BestFeature(both_directions=True),
        RankSVM(),
        ListwiseLinear(0.3),
        ListwiseLinear(),
        LambdaMART(),
        AdaRank(),
        CoordinateAscent(),
        ListNet(),
        ListNet(10),
        RankNet(),
        McRank(),
        RandomForest(),
    ],
    True: [
        ListwiseLinear(),
        GBRT(),
        LambdaMART(),
        CrossEntropyMART(),
        AdaRank(),
        CoordinateAscent(),
        McRank(),
    ],
}


def note(ranker: Ranker, fold: Fold) -> str:
    if isinstance(ranker, BestFeature):
        sign = "" if ranker.direction_ == 1 else "-"
        return f"{sign}{fold.train.feature_label(ranker.feature_)}"
    if isinstance(ranker, ListwiseLinear):
        return f"l2 {ranker.l2_:g}"
    if isinstance(ranker, AdaRank):
        return f"{ranker.n_rounds_} rounds"
    if isinstance(ranker, CoordinateAscent):
        return f"{len(ranker.performances_) - 1} passes"
    if isinstance(ranker, ListNet | RankNet):
        return f"{ranker.n_units} units"
    return f"C {ranker.C:g}" if isinstance(ranker, RankSVM) else f"{ranker.n_trees_} trees"


def main() -> None:
    for folder in collections("MQ2008", "MQ2007-85", "OHSUMED"):
        print(f"\n{folder.name}")
        parts = list(folds(folder))
        for validated, all_rankers in RANKERS.items():
            rankers = sized(all_rankers, all_rankers[:3])
            notes: dict[str, list[str]] = {}

            def look(
                name: str, fold: Fold, ranker: Ranker, notes: dict[str, list[str]] = notes
            ) -> None:
                notes.setdefault(name, []).append(note(ranker, fold))

            methods = {f"{ranker}{', validated' * validated}": ranker for ranker in rankers}
            for name, result in run(methods, parts, valid=validated, inspect=look).items():
                means = "  ".join(f"{measure} {result.mean(measure):.4f}" for measure in MEASURES)
                print(f"  {name:45} {means}  {result.train_seconds:5.2f} s")
                print(f"    {', '.join(notes[name])}")


if __name__ == "__main__":
    main()
