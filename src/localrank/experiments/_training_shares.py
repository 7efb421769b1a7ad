"""Figures 12 and 13 of LocalRank's paper: times against the share of the training data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from localrank.data import Fold
from localrank.evaluation.plots import Chart
from localrank.experiments._base import Reproduction
from localrank.experiments._published import published
from localrank.experiments._timing import milliseconds, milliseconds_of_each
from localrank.rankers import DuhKirchhoff, RankBoost, SVMMap
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import PrincipalComponents
from localrank.selection import LSH

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
N_NEIGHBOURS, N_CLUSTERS, N_TIMED, N_LAZY = 25, 4, 20, 2
TRAINING = ("LocalRank, training", "KNN, training", "SVMMap, training")
RANKING = ("LocalRank, ranking", "KNN, ranking", "D&K, ranking")
# The least ratio that is "several orders of magnitude", and the largest that counts as equal.
SEVERAL_ORDERS, EQUAL = 100, 1.1


def times(
    reproduction: Reproduction, fold: Fold, C: float, quick: bool, n_jobs: int | None
) -> None:
    """Add Figures 12 and 13, measured on one fold."""
    measured: list[dict[str, Any]] = [
        {"share": f"{share:.0%}", **_times(fold, share, C, n_jobs)}
        for share in (SHARES[1::2] if quick else SHARES)
    ]
    columns: dict[str, list[Any]] = {name: [row[name] for row in measured] for name in measured[0]}
    reproduction.table(
        "Figures 12 and 13: milliseconds against the share of the training data",
        list(columns),
        [list(row.values()) for row in measured],
        f"{fold.name}; {N_CLUSTERS} clusters of SVMMap, {N_NEIGHBOURS} neighbours of RankSVM. "
        "Times are processor times: of all models for training, of one query at a time for ranking "
        "and selecting. Recall is how often LSH finds the query that the exact search finds; so "
        "few queries need no hashing. The paper's times are of 7,900 queries of Yandex, so only "
        "their order can agree.",
    )
    x = columns["training queries"]
    for number, names in (("13", TRAINING), ("12", RANKING)):
        what = names[0].split(", ")[1]
        reproduction.figure(
            f"figure-{number}",
            f"Figure {number}: milliseconds of {what} against the number of training queries.",
            Chart(
                "curves",
                panels={
                    reproduction.data: {name.split(", ")[0]: (x, columns[name]) for name in names}
                },
                x_label="training queries",
                y_label="milliseconds",
                log_y=True,
            ),
        )
    _claims(reproduction, measured[-1])


def _times(fold: Fold, share: float, C: float, n_jobs: int | None) -> dict[str, float]:
    """Milliseconds of all methods on a share of the training queries, and the recall of LSH."""
    n_queries = max(N_CLUSTERS, round(share * fold.train.n_queries))
    train = fold.train.select(np.arange(n_queries))
    n_timed = min(N_TIMED, fold.test.n_queries)
    one_by_one = [fold.test.select([query]) for query in range(n_timed)]
    local = local_rank(N_CLUSTERS, ranker=SVMMap(C), n_jobs=n_jobs)
    neighbours = query_neighbours(N_NEIGHBOURS, n_jobs=n_jobs)
    lazy = DuhKirchhoff(RankBoost(), n_jobs=n_jobs).fit(train)
    components = PrincipalComponents().fit(train)
    known, asked = components.transform(train), components.transform(fold.test)
    exact, index = partial(components.nearest, known=known), LSH().fit(known)
    described = [asked[i : i + 1] for i in range(len(asked))]
    return {
        "training queries": n_queries,
        "LocalRank, training": milliseconds(partial(local.fit, train)),
        "KNN, training": milliseconds(partial(neighbours.fit, train)),
        "SVMMap, training": milliseconds(partial(SVMMap(C).fit, train)),
        "LocalRank, ranking": milliseconds_of_each(local.predict, one_by_one),
        "KNN, ranking": milliseconds_of_each(neighbours.predict, one_by_one),
        "D&K, ranking": milliseconds_of_each(lazy.predict, one_by_one[:N_LAZY], 1),
        "exact, selecting": milliseconds_of_each(exact, described),
        "LSH, selecting": milliseconds_of_each(index.nearest, described),
        "recall": float(np.mean(index.nearest(asked) == exact(asked))),
    }


def _claims(reproduction: Reproduction, last: dict[str, Any]) -> None:
    """The paper's claims about times, judged with all training queries."""
    hours = published(reproduction.experiment, "times", "YANDEX")
    stated = hours["KNN, training"] / hours["LocalRank, training"]
    ratio = last["KNN, training"] / last["LocalRank, training"]
    reproduction.claim(
        "KNN takes several orders of magnitude longer to train than LocalRank",
        ratio >= SEVERAL_ORDERS,
        f"{ratio:.1f} times, {last['KNN, training']:.0f} and {last['LocalRank, training']:.0f} "
        f"ms; by the hours in the paper's text more than {stated:.0f} times",
    )
    ratio = last["D&K, ranking"] / last["LocalRank, ranking"]
    reproduction.claim(
        "D&K takes several orders of magnitude longer to rank a query than LocalRank",
        ratio >= SEVERAL_ORDERS,
        f"{ratio:.0f} times, {last['D&K, ranking']:.2f} and {last['LocalRank, ranking']:.2f} ms",
    )
    ratio = last["LocalRank, ranking"] / last["KNN, ranking"]
    reproduction.claim(
        "LocalRank takes longer to rank a query than KNN",
        True if ratio > EQUAL else False if ratio < 1 / EQUAL else None,
        f"{ratio:.2f} times, {last['LocalRank, ranking']:.2f} and {last['KNN, ranking']:.2f} ms",
    )
