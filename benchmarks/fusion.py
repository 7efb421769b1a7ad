"""Columns of neighbours next to numpy, query by query, and fused lists next to ranx.

Run with `python benchmarks/fusion.py`. Made-up lists of 100 candidates with vectors of 384 numbers;
one thread. Fusing starts from two lists as dictionaries, and ends with documents in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import ranx
from measuring import SMALL, options, row, seconds, sized
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from localrank._kernels.sorting import argsort_descending
from localrank.data._row_vectors import RowVectors
from localrank.fusion import Fusion, ReciprocalRankFusion, lists_dataset
from localrank.fusion._neighbours import neighbour_columns
from localrank.rankers import Ranker

N_QUERIES, N_CANDIDATES, N_DIMENSIONS = sized((10, 100, 384), (3, 20, 16))
REPEATS = sized(100, 2)
N_LISTS = sized(1000, 5)
# Milliseconds for the columns of a list.
MARK = 0.3


def quickest(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The time of the quickest of several calls: the others waited for other work."""
    return min(seconds(run) for _ in range(repeats))


def straight(
    vectors: NDArray[np.float32], values: NDArray[Any], offsets: NDArray[Any]
) -> NDArray[Any]:
    """All columns as one would write them with numpy."""
    return np.vstack([_of_query(vectors[b:e], values[b:e]) for b, e in pairwise(offsets)])


def _of_query(vectors: NDArray[np.float32], values: NDArray[Any]) -> NDArray[Any]:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (units @ units.T).astype(np.float64)
    x = np.column_stack([values, values.mean(axis=1)])
    others = cosines.copy()
    np.fill_diagonal(others, -np.inf)
    near = np.argpartition(-others, 10, axis=1)[:, :10]
    weights = np.maximum(np.take_along_axis(others, near, axis=1), 0.0)
    means = (weights[:, :, None] * x[near]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    np.fill_diagonal(cosines, 0.0)
    likeness = []
    for column, n in [*((column, 3) for column in range(x.shape[1])), (x.shape[1] - 1, 10)]:
        first = np.argpartition(-x[:, column], n)[:n]
        counts = n - np.isin(np.arange(len(x)), first)
        likeness.append(cosines[:, first].sum(axis=1) / counts)
    density = cosines.sum(axis=1) / (len(x) - 1)
    return np.column_stack([means, *likeness, weights.mean(axis=1), density])


def main() -> None:
    options(__doc__).parse_args()
    rng = np.random.default_rng(0)
    n = N_QUERIES * N_CANDIDATES
    vectors = rng.normal(size=(n, N_DIMENSIONS)).astype(np.float32)
    values = rng.normal(size=(n, 2))
    offsets = np.arange(0, n + 1, N_CANDIDATES)
    rows = RowVectors(vectors)
    ours = neighbour_columns(rows, values, offsets, 10)
    assert np.allclose(ours, straight(vectors, values, offsets), atol=1e-5)
    with threadpool_limits(1):
        own = quickest(lambda: neighbour_columns(rows, values, offsets, 10)) / N_QUERIES
        numpy = quickest(lambda: straight(vectors, values, offsets)) / N_QUERIES
    what = f"neighbour columns of {N_CANDIDATES} candidates × {N_DIMENSIONS}"
    row(what, 1e3 * own, "ms", peer="numpy", theirs=1e3 * numpy)
    row(f"{what}, in all", 1e3 * own, "ms", aim=MARK)

    fused()


def fused() -> None:
    """Lists of two retrievers, which share half of their documents."""
    rng = np.random.default_rng(0)
    lists = {
        name: {
            f"q{query}": {
                f"d{document}": float(rng.normal())
                for document in rng.permutation(3 * N_CANDIDATES // 2)[:N_CANDIDATES].tolist()
            }
            for query in range(N_LISTS)
        }
        for name in ("words", "vectors")
    }
    dataset = lists_dataset(lists)
    for ranker, norm, method in (
        (ReciprocalRankFusion(), None, "rrf"),
        (Fusion("equal"), "zmuv", "wsum"),
    ):
        ranker.fit(dataset)
        own = quickest(partial(_from_dictionaries, ranker, lists), 5)
        theirs = None
        if not SMALL:  # ranx compiles for a minute
            theirs = N_LISTS / quickest(partial(_by_ranx, lists, norm, method), 5)
        peer = None if theirs is None else "ranx"
        what = f"{type(ranker).__name__}: {N_LISTS:,} queries of two lists, from dictionaries"
        row(what, N_LISTS / own, "queries/s", peer=peer, theirs=theirs)
        spent = quickest(partial(ranker.predict, dataset))
        row(f"{type(ranker).__name__}: scores alone", N_LISTS / spent, "queries/s")


def _from_dictionaries(ranker: Ranker, lists: Any) -> Any:
    dataset = lists_dataset(lists)
    return argsort_descending(ranker.predict(dataset), dataset.offsets)


def _by_ranx(lists: Any, norm: str | None, method: str) -> Any:
    weights = {"weights": (0.5, 0.5)} if method == "wsum" else {"k": 60}
    return ranx.fuse([ranx.Run(run) for run in lists.values()], norm, method, weights)


if __name__ == "__main__":
    main()
