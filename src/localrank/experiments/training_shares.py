"""Figures 12 to 14 of LocalRank's paper: times against the share of the training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from localrank.arrays import Array, Integers
from localrank.data import Fold
from localrank.experiments.base import Reproduction, Value
from localrank.experiments.timing import milliseconds
from localrank.plots import draw_curves
from localrank.rankers import DuhKirchhoff, RankBoost, SVMMap
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import PrincipalComponents
from localrank.selection import LSH

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
N_NEIGHBOURS, N_CLUSTERS, N_LAZY = 25, 4, 2
COLUMNS = (
    "LocalRank, training",
    "KNN, training",
    "SVMMap, training",
    "LocalRank, ranking",
    "KNN, ranking",
    "D&K, ranking",
    "exact, selecting",
    "LSH, selecting",
)


def times(found: Reproduction, fold: Fold, C: float, quick: bool, n_jobs: int | None) -> None:
    """Add Figures 12 to 14, of one fold."""
    test = fold.test
    one_by_one = [test.select([query]) for query in range(min(20, test.n_queries))]
    rows: list[list[Value]] = []
    for share in SHARES[1::2] if quick else SHARES:
        n_queries = max(N_CLUSTERS, round(share * fold.train.n_queries))
        train = fold.train.select(np.arange(n_queries))
        local = local_rank(N_CLUSTERS, ranker=SVMMap(C), n_jobs=n_jobs)
        neighbours = query_neighbours(N_NEIGHBOURS, n_jobs=n_jobs)
        lazy = DuhKirchhoff(RankBoost(), n_jobs=n_jobs).fit(train)
        training = [
            milliseconds(partial(ranker.fit, train)) for ranker in (local, neighbours, SVMMap(C))
        ]
        ranking = [
            _each(ranker.predict, queries, n_runs)
            for ranker, queries, n_runs in (
                (local, one_by_one, 3),
                (neighbours, one_by_one, 3),
                (lazy, one_by_one[:N_LAZY], 1),
            )
        ]
        components = PrincipalComponents().fit(train)
        known, asked = components.transform(train), components.transform(test)
        index = LSH().fit(known)
        exact = partial(_nearest, components, known)
        described = [asked[i : i + 1] for i in range(len(asked))]
        selecting = [_each(search, described, 3) for search in (exact, index.nearest)]
        recall = np.mean(index.nearest(asked) == exact(asked))
        rows.append([f"{share:.0%}", n_queries, *training, *ranking, *selecting, float(recall)])
    names = ("share", "training queries", *COLUMNS, "recall")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    found.table(
        "Figures 12 to 14: milliseconds against the share of the training data",
        list(columns),
        rows,
        f"{fold.name}; {N_CLUSTERS} clusters of SVMMap, {N_NEIGHBOURS} neighbours of RankSVM. "
        "Training is of all models, ranking and selecting of one query at a time. Recall is "
        "how often LSH finds the query that the exact search finds. The paper's times are of "
        "7,900 queries of Yandex; only their order can agree.",
    )
    x: Any = columns["training queries"]
    panels: dict[str, Any] = {}
    for name in COLUMNS:
        method, what = name.split(", ")
        panels.setdefault(what, {})[method] = (x, columns[name])
    for number, what in (("13", "training"), ("12", "ranking"), ("14", "selecting")):
        found.figure(
            f"figure-{number}",
            f"Figure {number}: milliseconds of {what} against the number of training queries.",
            draw_curves,
            panels={found.data: panels[what]},
            x_label="training queries",
            y_label="milliseconds",
            log_y=True,
        )
    last: dict[str, Any] = {name: values[-1] for name, values in columns.items()}
    found.claim(
        "KNN takes far longer to train than LocalRank",
        last["KNN, training"] > 2 * last["LocalRank, training"],
        f"{last['KNN, training']:.0f} and {last['LocalRank, training']:.0f} ms",
    )
    found.claim(
        "D&K takes far longer to rank a query than LocalRank",
        last["D&K, ranking"] > 2 * last["LocalRank, ranking"],
        f"{last['D&K, ranking']:.2f} and {last['LocalRank, ranking']:.2f} ms",
    )
    lsh: Any = columns["LSH, selecting"]
    found.claim(
        "with LSH the time to select a model hardly depends on the number of training queries",
        bool(lsh[-1] < 1.5 * lsh[0]),
        f"{lsh[0]:.3f} ms with {x[0]:,} queries, {lsh[-1]:.3f} ms with {x[-1]:,}, the exact "
        f"search {last['exact, selecting']:.3f} ms; recall {last['recall']:.0%}",
    )


def _nearest(components: PrincipalComponents, known: Array, asked: Array) -> Integers:
    nearest: Integers = np.argmin(components.distances(asked, known), axis=1)
    return nearest


def _each(run: Callable[[Any], Any], items: Sequence[Any], n_runs: int) -> float:
    """Milliseconds for one of several items, taken one by one."""
    return milliseconds(lambda: [run(item) for item in items], n_runs) / len(items)
