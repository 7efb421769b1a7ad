"""Speed of RankSVM beside scikit-learn's LinearSVC on listed pairs and dlib's svm_rank_trainer.

Run with `OPENBLAS_NUM_THREADS=1 python benchmarks/speed_rank_svm.py`; dlib is left out where it
is not installed. Fold 1 of MQ2007 from the folder in LOCALRANK_DATA or from `../shared/data`
beside the project; synthetic queries of that size where neither is. Runs are interleaved, times
are medians, one thread is used. Objectives are those of RankSVM at the weights that each finds.
LinearSVC runs at the loosest of a row of tolerances that reaches the accuracy, RankSVM's hinge at
the loosest that reaches dlib's objective; dlib minimises the same objective with the same C. Its
`train` takes documents that were copied into its own vectors, one by one, so three times stand
beside it: `fit` from arrays, the solver alone from prepared pairs (as dlib starts from prepared
documents), and dlib's copying.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from measuring import gflops, mq2007_fold, options, row, seconds, sized
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from localrank.data import RankingDataset
from localrank.rankers.rank_svm._pairwise import minimize_hinge
from localrank.rankers.rank_svm._ranking_pairs import RankingPairs
from localrank.rankers.rank_svm.rank_svm import RankSVM

REPEATS = sized(5, 1)


def listed_pairs(dataset: RankingDataset) -> NDArray[np.float64]:
    rows = []
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        X, y = dataset.features[begin:end], dataset.labels[begin:end]
        higher, lower = np.nonzero(y[:, None] > y)
        rows.append(X[higher] - X[lower])
    return np.concatenate(rows)


def squared_hinge(dataset: RankingDataset) -> None:
    start = time.perf_counter()
    pairs = listed_pairs(dataset)
    signs = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    signed = pairs * signs[:, None]
    listing = time.perf_counter() - start
    print(
        f"\nsquared hinge, {len(pairs):,} pairs; listing them for LinearSVC takes {listing:.2f} s"
    )
    print("     C   fit ms  accuracy  LinearSVC s  ratio  with listing  objective: ours, LinearSVC")
    for C in sized((0.1, 1.0, 10.0, 100.0), (1.0,)):
        least = RankSVM(C, scaling=None, tol=1e-14).fit(dataset).objective_
        for accuracy in (1e-6, 1e-10):
            model = RankSVM(C, scaling=None, tol=accuracy).fit(dataset)
            for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
                peer = LinearSVC(C=C / len(pairs) / 2, dual=False, fit_intercept=False, tol=tol)
                peer.fit(signed, signs)
                slack = np.maximum(1 - pairs @ peer.coef_[0], 0)
                value = np.sum(peer.coef_**2) / 2 + C / 2 * np.mean(slack**2)
                if value <= least * (1 + accuracy):
                    break
            times = np.array(
                [
                    [
                        seconds(partial(model.fit, dataset)),
                        seconds(partial(peer.fit, signed, signs)),
                    ]
                    for _ in range(REPEATS)
                ]
            )
            ours, theirs = np.median(times, axis=0)
            print(
                f"{C:6g} {1e3 * ours:8.1f} {accuracy:9g} {theirs:12.2f} {theirs / ours:6.0f} "
                f"{(theirs + listing) / ours:13.0f}  {model.objective_:.12g} {value:.12g}"
            )
            if (C, accuracy) == (1.0, 1e-6):
                what = "RankSVM: squared hinge, C = 1, accuracy 1e-6"
                row(what, ours, "s", peer="LinearSVC on listed pairs", theirs=theirs, aim=3)


def in_dlib(dlib: Any, dataset: RankingDataset) -> Any:
    data = dlib.ranking_pairs()
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        labels = dataset.labels[begin:end]
        if labels.min() == labels.max():
            continue
        query = dlib.ranking_pair()
        for values, label in zip(dataset.features[begin:end].tolist(), labels, strict=True):
            (query.relevant if label > 0 else query.nonrelevant).append(dlib.vector(values))
        data.append(query)
    return data


def hinge(dataset: RankingDataset) -> None:
    if importlib.util.find_spec("dlib") is None:
        print("\nhinge: dlib is not installed")
        return
    dlib = importlib.import_module("dlib")
    binary = RankingDataset(
        dataset.features, (dataset.labels > 0).astype(float), dataset.offsets, dataset.query_ids
    )
    prepared = in_dlib(dlib, binary)
    copying = seconds(partial(in_dlib, dlib, binary))
    pairs = RankingPairs.of(binary, binary.features)
    print(f"\nhinge, labels y > 0, at the objective of dlib; dlib's copying takes {copying:.2f} s")
    print(
        "     C  fit ms  solver ms  dlib ms  dlib/fit  dlib/solver  objective: ours, dlib (epsilon)"
    )
    for C in sized((0.1, 1.0, 10.0), (1.0,)):
        for epsilon in (1e-3, 1e-4):
            trainer = dlib.svm_rank_trainer()
            trainer.c, trainer.epsilon = C, epsilon
            weights = np.array(trainer.train(prepared).weights)
            value = weights @ weights / 2 + C * pairs.losses(pairs.features @ weights, 0.5).hinge
            for tol in np.geomspace(0.1, 1e-7, 19).tolist():
                model = RankSVM(C, loss="hinge", scaling=None, tol=tol).fit(binary)
                if model.objective_ <= value * (1 + 1e-9):
                    break
            alone = partial(minimize_hinge, pairs, C, None, tol, 200)
            times = np.array(
                [
                    [
                        seconds(partial(model.fit, binary)),
                        seconds(alone),
                        seconds(partial(trainer.train, prepared)),
                    ]
                    for _ in range(3 * REPEATS)
                ]
            )
            fit, solver, theirs = 1e3 * np.median(times, axis=0)
            print(
                f"{C:6g} {fit:7.1f} {solver:10.1f} {theirs:8.1f} {theirs / fit:9.2f} "
                f"{theirs / solver:12.2f}  {model.objective_:.8g} {value:.8g} ({epsilon:g})"
            )
            if (C, epsilon) == (1.0, 1e-3):
                what = "RankSVM: hinge, C = 1, dlib's objective"
                row(what, solver, "ms", peer="dlib", theirs=theirs, aim=1)


def growth(name: str, sizes: list[tuple[int, int]], n_labels: int | None) -> None:
    """Time per fit as the queries, or their documents, become more; 5 features."""
    rng, n_documents, times = np.random.default_rng(0), [], []
    for n_queries, n_each in sizes:
        X = rng.normal(size=(n_queries * n_each, 5))
        y = X[:, 0] + rng.normal(size=len(X))
        y = y - y.min() if n_labels is None else np.clip(np.round(y + 1), 0, n_labels - 1)
        data = RankingDataset.from_arrays(X, y, np.repeat(np.arange(n_queries), n_each))
        model = RankSVM(10.0)
        model.fit(data)
        n_documents.append(len(X))
        times.append(min(seconds(partial(model.fit, data)) for _ in range(3)))
    slope = np.polyfit(np.log(n_documents[-3:]), np.log(times[-3:]), 1)[0]
    shown = ", ".join(f"{n:,}: {1e3 * t:.1f}" for n, t in zip(n_documents, times, strict=True))
    print(f"{name}: ms by documents {shown}; exponent of the last three {slope:.2f}")


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    options(__doc__).parse_args()
    dataset, _, source = mq2007_fold()
    print(
        f"{source}: {dataset.n_queries:,} queries, {dataset.n_documents:,} documents; "
        f"float64 matrix product {gflops():.0f} GFLOPS on one thread"
    )
    squared_hinge(dataset)
    hinge(dataset)
    print("\ncost growth, squared hinge, C = 10, 5 features")
    lengths = [(20, n) for n in sized((10, 100, 1000, 10_000), (5, 10, 20))]
    growth("documents per query, 5 labels", lengths, 5)
    growth("documents per query, real labels", lengths, None)
    growth("queries of 10", [(n, 10) for n in sized((100, 1000, 10_000, 100_000), (5, 10, 20))], 5)


if __name__ == "__main__":
    main()
