"""How long SVMMap trains, beside a plain version of the same algorithm, and how that grows.

Run with `OPENBLAS_NUM_THREADS=1 python benchmarks/speed_svm_map.py`. Fold 1 of MQ2007 from the
folder in LOCALRANK_DATA or from `../shared/data` beside the project; synthetic queries of that
size where neither is. C is divided by the number of queries, as in svm_struct. The plain version
is one-slack cutting planes with the paper's greedy search for the most violated ranking: every
place is tried for every irrelevant document, nothing is kept between iterations, and there is no
line search. Both stop at the same gap. Times are the shortest of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from measuring import gflops, mq2007_fold, options, row, seconds, sized
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, make_queries
from localrank.rankers.svm_map.svm_map import CuttingPlanes, SVMMap

REPEATS, TOL, PLAIN_LIMIT = sized(9, 1), 1e-3, sized(5.0, 0.2)
# Seconds on a machine that multiplies float64 matrices at 52 GFLOPS with one thread.
MARKS = {10.0: 0.07, 100.0: 0.18, 1000.0: 0.25}

Array = NDArray[np.float64]


@njit(nogil=True)
def greedy(
    scores: Array, relevant: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Loss of each query's most violated ranking, and the contributions of its documents."""
    losses = np.zeros(len(offsets) - 1)
    contributions = np.zeros(len(scores))
    for query in range(len(losses)):
        rows = np.arange(offsets[query], offsets[query + 1])
        good, bad = rows[relevant[rows]], rows[~relevant[rows]]
        a, b = len(good), len(bad)
        if a == 0 or b == 0:
            continue
        good = good[np.argsort(-scores[good])]
        bad = bad[np.argsort(-scores[bad])]
        for j in range(1, b + 1):
            total, best, above = 0.0, 0.0, 0
            for m in range(a, 0, -1):
                total += (m / (m + j - 1) - m / (m + j)) / a
                total -= 2 / (a * b) * (scores[good[m - 1]] - scores[bad[j - 1]])
                if total > best:
                    best, above = total, a - m + 1
            for m in range(a, a - above, -1):
                losses[query] += (m / (m + j - 1) - m / (m + j)) / a
                contributions[good[m - 1]] -= 2 / (a * b)
            contributions[bad[j - 1]] += above * 2 / (a * b)
    return losses, contributions


def plain(dataset: RankingDataset, C: float) -> tuple[float, float, int]:
    """Objective, gap and number of iterations, until the gap or the time is used up."""
    X, offsets, relevant = dataset.features, dataset.offsets, dataset.labels > 0
    shares = np.add.reduceat(relevant, offsets[:-1], dtype=np.int64) / dataset.query_sizes
    n_used = int(np.sum((shares > 0) & (shares < 1)))
    planes = CuttingPlanes(dataset.n_features, 0.0)
    w, objective, n_iter = np.zeros(dataset.n_features), np.inf, 0
    end = time.perf_counter() + PLAIN_LIMIT
    while True:
        losses, contributions = greedy(X @ w, relevant, offsets)
        slope, intercept = contributions @ X / n_used, losses.sum() / n_used
        objective = min(objective, float(w @ w / 2 + C * (slope @ w + intercept)))
        planes.add(slope, intercept)
        w, bound = planes.minimum(C)
        n_iter += 1
        gap = (objective - bound) / objective
        if gap <= TOL or time.perf_counter() > end:
            return objective, gap, n_iter


def marks() -> None:
    dataset, _, source = mq2007_fold()
    print(f"{source}: {dataset.n_queries:,} queries, {dataset.n_documents:,} documents")
    plain(dataset, 0.1)  # compiles
    for C, mark in MARKS.items():
        ranker = SVMMap(C, scaling=None, tol=TOL).fit(dataset)
        ours = min(seconds(partial(ranker.fit, dataset)) for _ in range(REPEATS))
        print(
            f"  C = {C:<5g} SVMMap {ours:6.3f} s (mark {mark} s)  objective {ranker.objective_:.4f}"
            f"  gap {ranker.duality_gap_:.1e}  {ranker.n_iter_} iterations"
        )
        start = time.perf_counter()
        objective, gap, n_iter = plain(dataset, C)
        theirs = time.perf_counter() - start
        print(
            f"  {'':9} plain  {theirs:6.3f} s  objective {objective:.4f}  gap {gap:.1e}  "
            f"{n_iter} iterations"
        )
        row(f"SVMMap: C = {C:g}", ours, "s", peer="plain cutting planes", theirs=theirs, aim=2.5)
    path = seconds(lambda: SVMMap(scaling=None, tol=TOL).fit_path(dataset, Cs=list(MARKS)))
    print(f"  all three as a path {path:.3f} s")


def growth(name: str, sizes: Sequence[int], make: Callable[[int], RankingDataset]) -> None:
    print(f"growth with the number of {name}, C = 10, standard scaling")
    times, steps = [], []
    for size in sizes:
        dataset = make(size)
        ranker = SVMMap(10.0, tol=TOL).fit(dataset)
        times.append(min(seconds(partial(ranker.fit, dataset)) for _ in range(3)))
        steps.append(times[-1] / ranker.n_iter_)
        print(f"  {size:6,}  {times[-1]:.4f} s  {ranker.n_iter_} iterations")
    whole, step = (np.polyfit(np.log(sizes), np.log(values), 1)[0] for values in (times, steps))
    print(f"  exponent {whole:.2f}, per iteration {step:.2f}")


def main() -> None:
    options(__doc__).parse_args()
    with threadpool_limits(1):
        print(f"one thread multiplies float64 matrices at {gflops():.0f} GFLOPS")
        marks()
        growth(
            "documents per query, 20 queries",
            sized((10, 30, 100, 300, 1_000, 3_000, 10_000), (10, 20)),
            lambda n: make_queries(20, n_documents=(n, n), n_features=20)[0],
        )
        growth(
            "queries of 20 documents",
            sized((100, 300, 1_000, 3_000, 10_000), (10, 20)),
            lambda n: make_queries(n, n_documents=(20, 20), n_features=20)[0],
        )


if __name__ == "__main__":
    main()
