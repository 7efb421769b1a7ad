"""How long RankBoost trains, and how that grows, one thread.

Run with `python benchmarks/speed_rank_boost.py`. The training part of fold 1 of MQ2007 from the
folder in LOCALRANK_DATA or from `../shared/data` beside the project; synthetic queries of that
size where neither is. Three questions: the time of 100 rounds against the mark, which was set on
a machine with 52 GFLOPS; the time beside a plain numpy version that keeps all pairs; and the
exponents of growth with documents per query and with queries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

# RankBoost uses one thread; so shall the matrix product it is compared with.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from measuring import gflops, mq2007_fold, options, row, sized
from numpy.typing import NDArray

from localrank.data import RankingDataset, make_queries
from localrank.rankers.rank_boost.rank_boost import RankBoost

N_ROUNDS, REPEATS, MARK, MARK_GFLOPS = 100, sized(7, 1), 0.4, 52


def has_pairs(dataset: RankingDataset) -> NDArray[np.bool_]:
    begins = dataset.offsets[:-1]
    low, high = (f.reduceat(dataset.labels, begins) for f in (np.minimum, np.maximum))
    return np.asarray(low < high)


def over_all_pairs(dataset: RankingDataset, n_rounds: int) -> NDArray[np.float64]:
    """The losses of RankBoost with an array of all pairs, thresholds by numpy's histograms."""
    upper, lower = [], []
    for begin, end in pairwise(dataset.offsets):
        labels = dataset.labels[begin:end]
        i, j = np.nonzero(labels[:, None] > labels)
        upper.append(begin + i)
        lower.append(begin + j)
    i, j = np.concatenate(upper), np.concatenate(lower)
    bins = []
    for column in dataset.features.T:
        values = np.unique(column)[:-1]
        if len(values) > 255:
            values = values[((np.arange(255) + 0.5) * (len(values) / 255)).astype(int)]
        bins.append(np.searchsorted(values, column))
    n = dataset.n_documents
    scores, losses = np.zeros(n), []
    for _ in range(n_rounds):
        weights = np.exp(scores[j] - scores[i])
        weights /= weights.sum()
        potentials = np.bincount(i, weights, n) - np.bincount(j, weights, n)
        sums = [np.abs(np.cumsum(np.bincount(row, potentials, 256))) for row in bins]
        feature = int(np.argmax([row.max() for row in sums]))
        above = bins[feature] > np.argmax(sums[feature])
        right = weights[above[i] & ~above[j]].sum()
        wrong = weights[above[j] & ~above[i]].sum()
        scores += 0.5 * np.log(max(right, 1e-6) / max(wrong, 1e-6)) * above
        losses.append(np.exp(scores[j] - scores[i]).mean())
    return np.array(losses)


def median_seconds(
    run: Callable[[], Any], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return median(times)


def growth(sizes: list[int], make: Callable[[int], RankingDataset], what: str) -> None:
    """Print the time of ten rounds at each size, and the exponent fitted to all of them."""
    times = []
    for size in sizes:
        dataset = make(size)
        times.append(median_seconds(partial(RankBoost(10).fit, dataset), 3))
        print(f"  {size:>6,} {what:19}  {dataset.n_documents:>7,} documents  {times[-1]:.4f} s")
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    last = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
    print(f"  grows as size^{exponent:.2f} over all sizes, ^{last:.2f} between the largest two")


def main() -> None:
    options(__doc__).parse_args()
    train, _, source = mq2007_fold()
    RankBoost(2).fit(train)
    print(f"{source}: {train.n_queries:,} queries, {train.n_documents:,} documents")
    taken = median_seconds(lambda: RankBoost(N_ROUNDS).fit(train))
    worked = median_seconds(lambda: RankBoost(N_ROUNDS).fit(train), clock=time.process_time)
    print(
        f"  {N_ROUNDS} rounds {taken:.3f} s, {worked:.3f} s of processor time, medians of "
        f"{REPEATS} (mark {MARK} s at {MARK_GFLOPS} GFLOPS; this machine now {gflops():.0f})"
    )
    part = train.select(np.flatnonzero(has_pairs(train))[:200])
    ours = RankBoost(20).fit(part)
    fast = median_seconds(lambda: RankBoost(20).fit(part))
    slow = median_seconds(lambda: over_all_pairs(part, 20), 3)
    same = np.allclose(ours.losses_, over_all_pairs(part, 20), rtol=1e-9)
    print(
        f"  20 rounds on 200 queries, {ours.n_pairs_:,} pairs: "
        f"losses {'equal' if same else 'DIFFER'}"
    )
    row("RankBoost: 20 rounds, 200 queries", fast, "s", peer="numpy, over all pairs", theirs=slow)
    print("Ten rounds, 20 features, 100 queries of growing length")
    growth(
        sized([10, 100, 1_000, 10_000], [10, 20]),
        lambda size: make_queries(100, n_documents=(size, size))[0],
        "documents per query",
    )
    print("Ten rounds, 20 features, queries of 20 to 60 documents")
    growth(sized([100, 1_000, 10_000], [10, 20]), lambda size: make_queries(size)[0], "queries")


if __name__ == "__main__":
    main()
