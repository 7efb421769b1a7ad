"""The papers' baselines on LETOR's folds, beside LETOR's published figures.

Run with `python benchmarks/letor_baselines.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. C (or the number of rounds) is chosen on
each fold's validation part by MAP; test parts are only scored. Once by LETOR 3's convention, with
ties in line order, and once with ties averaged: OHSUMED's lines come in the order of a good
feature, from which a ranker with many ties profits in the first.
"""

from __future__ import annotations

from dataclasses import replace

from measuring import collections, sized

from localrank.data import folds
from localrank.evaluation import run
from localrank.experiments import mean_of_folds, published_cells
from localrank.measures import parse_measure
from localrank.rankers import RankBoost, Ranker, RankSVM, SVMMap

NAMES = ("map", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "p@10")
LETOR = [parse_measure(name, convention="letor3") for name in NAMES]
AVERAGED = [replace(measure, ties="averaged") for measure in LETOR]
METHODS: dict[str, Ranker] = {
    "RankSVM, squared hinge": RankSVM(scaling=None),
    "RankSVM, hinge": RankSVM(loss="hinge", scaling=None),
    "SVMMap": SVMMap(scaling=None),
    "RankBoost": RankBoost(sized(500, 10), measure=LETOR[0], patience=100),
}
DECADES = {"C": [10.0**k for k in sized(range(-4, 6), range(1))]}
GRIDS = {method: DECADES for method in METHODS if method != "RankBoost"}
# How near to the published MAP we must come.
MARGINS = dict(zip(METHODS, (0.001, 0.003, 0.003, 0.006), strict=True))


def main() -> None:
    for folder in collections("OHSUMED", "MQ2008"):
        print(f"\n{folder.name}\n{'':38}" + "".join(f"{name:>9}" for name in NAMES))
        results = run(METHODS, folds(folder), grids=GRIDS, measure=LETOR[0])
        published = published_cells("letor", "baselines", folder.name)
        for method, result in results.items():
            for label, measures in (("letor3", LETOR), ("ties averaged", AVERAGED)):
                means = [mean_of_folds(result, measure) for measure in measures]
                print(f"{method}, {label}".ljust(38) + "".join(f"{mean:9.4f}" for mean in means))
                if label == "letor3" and (method, "map") in published:
                    difference = means[0] - published[method, "map"]
                    verdict = "within" if abs(difference) <= MARGINS[method] else "OUTSIDE"
                    print(
                        f"  published MAP {published[method, 'map']:.4f}, difference "
                        f"{difference:+.4f}: {verdict} {MARGINS[method]}"
                    )


if __name__ == "__main__":
    main()
