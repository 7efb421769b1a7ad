"""Principal components of the training queries of an MQ2007 fold, next to scikit-learn's PCA.

Run with `python benchmarks/principal_components.py`. Data from the folder in LOCALRANK_DATA, or
from `../shared/data` beside the project; synthetic queries where neither is there. One thread.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from measuring import mq2007_fold, row, seconds, sized
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from localrank.data import RankingDataset
from localrank.representations.principal_components import PrincipalComponents

REPEATS, LIST_REPEATS = sized((15, 200), (2, 2))
MARK = 5.0


def main() -> None:
    data, _, source = mq2007_fold()
    print(f"{data.n_queries:,} queries, {data.n_documents:,} documents: {source}")
    first_call = seconds(lambda: PrincipalComponents().fit(data).transform(data))
    print(f"first call ever, compiling or loading kernels: {1e3 * first_call:.0f} ms")
    representation = PrincipalComponents().fit(data)
    P = representation.n_components_

    def theirs() -> list[Any]:
        return [PCA().fit(data.features[b:e]).components_ for b, e in pairwise(data.offsets)]

    ours = representation.transform(data)
    for U, V in zip(ours, theirs(), strict=True):
        # A component is far from its peer only where two variances are nearly equal.
        n_compared = min(P, len(V))
        assert np.abs((U[:n_compared] * V[:n_compared]).sum(axis=1)).min() > 1 - 1e-6
    calls: dict[str, Callable[[], Any]] = {
        f"transform, {P} components": lambda: representation.transform(data),
        "fit, by the share of variance": lambda: PrincipalComponents().fit(data),
        "distances of all pairs": lambda: representation.distances(ours, ours),
        "scikit-learn, a loop of PCA()": theirs,
    }
    times: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for name, call in calls.items():
            times.setdefault(name, []).append(1e3 * seconds(call))
    best, *_, peer = (median(values) for values in times.values())
    for name, values in times.items():
        print(f"{name:32} {median(values):8.1f} ms   {median(values) / best:6.1f} x")
    row(
        f"principal components of {data.n_queries:,} queries",
        best,
        "ms",
        peer="a loop of scikit-learn's PCA",
        theirs=peer,
        aim=MARK,
    )

    documents = np.random.default_rng(0).normal(size=(1000, 64))
    query = RankingDataset.from_arrays(documents, qid=np.zeros(1000, int))
    alone = PrincipalComponents(10).fit(query)
    once = median(seconds(lambda: alone.transform(query)) for _ in range(LIST_REPEATS))
    print(f"one query of 1,000 documents × 64 features: {1e3 * once:.2f} ms")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
