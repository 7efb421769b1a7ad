"""The papers' baselines on LETOR's folds, beside LETOR's published figures.

Run with `python benchmarks/letor_baselines.py`. Collections from the folder in LOCALRANK_DATA or
from `../shared/data` beside the project. C (or the number of rounds) is chosen on each fold's
validation part by MAP; test parts are only scored. Once by LETOR 3's convention, with ties in
line order, and once with ties averaged: OHSUMED's lines come in the order of a good feature,
from which a ranker with many ties profits in the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from measuring import DATA
from numpy.typing import NDArray

from localrank.data import Fold, folds
from localrank.experiments import published
from localrank.measures import evaluate, parse_measure
from localrank.rankers import RankBoost, Ranker, RankSVM, SVMMap

NAMES = ("map", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "p@10")
LETOR = [parse_measure(name, convention="letor3") for name in NAMES]
AVERAGED = [replace(measure, ties="averaged") for measure in LETOR]
# Five-fold mean test MAP on OHSUMED as LETOR 3 publishes it, and how near we must come.
PUBLISHED = {
    method: values["map"] for method, values in published("letor", "baselines", "OHSUMED").items()
}
MARGINS = {
    "RankSVM, squared hinge": 0.001,
    "RankSVM, hinge": 0.003,
    "SVMMap": 0.003,
    "RankBoost": 0.006,
}


def candidates(method: str, fold: Fold) -> Iterable[Ranker]:
    """The models among which the validation part chooses."""
    decades = [10.0**k for k in range(-4, 6)]
    if method == "RankBoost":
        return [RankBoost(500, measure=LETOR[0], patience=100).fit(fold.train, valid=fold.valid)]
    if method == "SVMMap":
        return SVMMap(scaling=None).fit_path(fold.train, Cs=decades)
    model = RankSVM(loss="hinge" if method == "RankSVM, hinge" else "squared_hinge", scaling=None)
    return model.fit_path(fold.train, Cs=decades)


def five_folds(method: str, parts: list[Fold]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measures of each fold's test part, by LETOR's convention and with averaged ties."""
    rows: tuple[list[list[float]], list[list[float]]] = ([], [])
    for fold in parts:
        valid = fold.valid
        assert valid is not None
        best = max(
            candidates(method, fold), key=lambda model: LETOR[0].mean(valid, model.predict(valid))
        )
        scores = best.predict(fold.test)
        for table, measures in zip(rows, (LETOR, AVERAGED), strict=True):
            values = evaluate(fold.test, scores, measures)
            table.append([float(values[measure].mean()) for measure in measures])
    return np.array(rows[0]), np.array(rows[1])


def main() -> None:
    for name in ("OHSUMED", "MQ2008"):
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        parts = list(folds(DATA / name))
        print(f"\n{name}\n{'':38}" + "".join(f"{measure:>9}" for measure in NAMES))
        for method, margin in MARGINS.items():
            start = time.perf_counter()
            letor, averaged = five_folds(method, parts)
            seconds = time.perf_counter() - start
            for fold, row in zip(parts, letor, strict=True):
                print(f"  {fold.name:36}" + "".join(f"{value:9.4f}" for value in row))
            for label, table in (("letor3", letor), ("ties averaged", averaged)):
                means = "".join(f"{value:9.4f}" for value in table.mean(axis=0))
                print(f"{method}, {label}".ljust(38) + means)
            if name == "OHSUMED":
                difference = letor[:, 0].mean() - PUBLISHED[method]
                verdict = "within" if abs(difference) <= margin else "OUTSIDE"
                print(
                    f"  published MAP {PUBLISHED[method]:.4f}, difference {difference:+.4f}: "
                    f"{verdict} {margin}"
                )
            print(f"  {seconds:.1f} s")


if __name__ == "__main__":
    main()
