"""Query coordinates of a collection and of one list, next to numpy and scipy query by query.

Run with `python benchmarks/query_coordinates.py`. MQ2007 (85 %) from the folder in LOCALRANK_DATA,
or from `../shared/data` beside the project; synthetic queries where neither is there. One thread,
processor time.
The last lines say what share of scoring a list with LambdaMART the coordinates are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
from measuring import DATA, SMALL, mq2007_fold, row, seconds, sized
from numpy.typing import NDArray
from scipy.stats import median_abs_deviation, rankdata
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset, concatenate, read_letor
from localrank.rankers import LambdaMART
from localrank.rankers.query_coordinates.query_coordinates import (
    QueryCoordinates,
    query_coordinates,
)

REPEATS, LIST_REPEATS = sized((7, 300), (1, 10))
# Seconds for the collection, and for a list by its length.
MARK, LIST_MARKS = 1.0, {100: 2e-4, 1_000: 2e-3}


def straight(dataset: RankingDataset) -> RankingDataset:
    """All coordinates as one would write them with numpy and scipy."""
    parts = [_of_query(dataset.features[b:e]) for b, e in pairwise(dataset.offsets)]
    return dataset.with_features(np.vstack(parts))


def _of_query(X: NDArray[Any]) -> NDArray[Any]:
    n = len(X)
    varies = np.ptp(X, axis=0) > 0
    deviation = np.where(varies, X.std(axis=0), 1.0)
    z = (X - X.mean(axis=0)) / deviation
    p = rankdata(X, axis=0) / n
    scale = 1.4826 * median_abs_deviation(X, axis=0) + 0.1 * deviation
    b = np.clip((X - np.median(X, axis=0)) / scale, -20, 20)
    P, Z = p[:, varies], z[:, varies]
    scores = [P.mean(axis=1), (10 / (10 + n * (1 - P))).mean(axis=1)]
    for table in (P - P.mean(axis=0), Z):
        loadings = np.linalg.svd(table, full_matrices=False)[2][0]
        scores.append(table @ loadings * np.sign(loadings.sum()))
    columns = [column for s in scores for column in (s, rankdata(s.round(9)) / n)]
    return np.column_stack([X, z, p, *columns, P.std(axis=1), b])


def collection() -> tuple[RankingDataset, str]:
    files = [] if SMALL else sorted((DATA / "MQ2007-85").glob("S*.txt*"))
    if files:
        return concatenate([read_letor(file) for file in files]), "MQ2007 (85 %)"
    train, valid, source = mq2007_fold()
    return concatenate([train, valid]), source


def compared(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least time of each call, what it takes undisturbed; calls take turns."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            times[name] = min(times[name], processor_seconds(call))
    return times


def processor_seconds(call: Callable[[], Any]) -> float:
    """Processor time of a call, which other programs disturb less."""
    start = process_time()
    call()
    return process_time() - start


def report(what: str, times: dict[str, float], mark: float) -> None:
    ours, theirs = (1e3 * value for value in times.values())
    row(f"coordinates: {what}", ours, "ms", peer="numpy and scipy", theirs=theirs)
    print(f"  to reach: {1e3 * mark:g} ms, {'ok' if ours < 1e3 * mark else 'MISSED'}")


def main() -> None:
    data, source = collection()
    first_call = seconds(lambda: query_coordinates(data))
    print(f"first call ever, compiling or loading kernels: {first_call:.1f} s")
    expanded, peers = query_coordinates(data), straight(data)
    # Components agree where the first variance stands out, which it does in every query here.
    assert np.abs(expanded.features - peers.features).max() < 1e-6
    print(f"{data.n_documents:,} documents of {source}, {expanded.n_features} columns")
    ours, peer = partial(query_coordinates, data), partial(straight, data)
    times = compared({"localrank": ours, "numpy and scipy": peer}, REPEATS)
    report(f"{data.n_documents:,} documents", times, MARK)

    rng = np.random.default_rng(0)
    # Noise, the slowest to find a first component of, and features that agree a little.
    for n, mark in LIST_MARKS.items():
        for name, common in {"noise": 0.0, "features that agree": 0.7}.items():
            documents = rng.normal(size=(n, 46)) + common * rng.normal(size=(n, 1))
            query = RankingDataset.from_arrays(documents, qid=np.zeros(n, int))
            ours, peer = partial(query_coordinates, query), partial(straight, query)
            repeats = LIST_REPEATS * 100 // n
            times = compared({"localrank": ours, "numpy and scipy": peer}, repeats)
            report(f"one list of {n:,} × 46, {name}", times, mark)

    fold, _, _ = mq2007_fold()
    n = 100
    ranker = QueryCoordinates(LambdaMART(n_jobs=1)).fit(fold)
    trees = ranker.ranker_
    documents = np.vstack([fold.features, fold.features])[:n]
    query = RankingDataset.from_arrays(documents, qid=np.zeros(n, int))
    wide = query_coordinates(query)
    shares: dict[str, Callable[[], Any]] = {
        "QueryCoordinates(LambdaMART()).predict": partial(ranker.predict, query),
        "of it, coordinates": partial(query_coordinates, query),
        "of it, trees": partial(trees.predict, wide),
    }
    print(f"one list of {n} × 46 of real documents, {trees.n_trees_} trees")
    times = compared(shares, LIST_REPEATS)
    whole = next(iter(times.values()))
    for name, value in times.items():
        print(f"  {name:40} {1e3 * value:7.2f} ms   {value / whole:5.0%}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
