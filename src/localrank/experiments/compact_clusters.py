"""A cluster of queries by its centre: future work in Section 5 of LocalRank's paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from localrank.arrays import Array, Flags, Floats
from localrank.data import Fold
from localrank.evaluation import paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments.base import Reproduction, Value, counts
from localrank.experiments.timing import milliseconds_of_each
from localrank.local_ranker import LocalRanker
from localrank.measures import AveragePrecision
from localrank.representations import Representation
from localrank.selection import NearestCentroid

N_TIMED = 20


class Choice(NamedTuple):
    """Results on a fold's test queries when clusters are chosen by all their queries or by centres.

    Attributes
    ----------
    by_queries, by_centres : ndarray of shape (n_queries,)
        Average precision.
    same : bool ndarray of shape (n_queries,)
        Whether both choose the same cluster.
    microseconds : (float, float)
        Time of one search among all training queries, and of one among centres.
    """

    by_queries: Floats
    by_centres: Floats
    same: Flags
    microseconds: tuple[float, float]


def by_centres(model: LocalRanker, fold: Fold) -> Choice:
    """The choices of a model, and of the same clusters and models with `NearestCentroid`."""
    compact = model.with_selector(NearestCentroid(), fold.train)
    queries, centres = model.selector_, compact.selector_
    assert isinstance(centres, NearestCentroid)
    chosen = [
        selector.weights(fold.test, model.models_).argmax(axis=1) for selector in (queries, centres)
    ]
    described = queries.representation_.transform(fold.test)[:N_TIMED]
    search = partial(_microseconds, queries.representation_, described)
    return Choice(
        AveragePrecision()(fold.test, model.predict(fold.test)),
        AveragePrecision()(fold.test, compact.predict(fold.test)),
        chosen[0] == chosen[1],
        (search(queries.descriptions_), search(centres.centroids_)),
    )


def compact_clusters(reproduction: Reproduction, choices: Mapping[int, Sequence[Choice]]) -> None:
    """Add the table of all numbers of clusters.

    Parameters
    ----------
    reproduction : Reproduction
    choices : dict from number of clusters to the choices in each fold
    """
    queries, centres, same = (
        {
            n: np.concatenate([getattr(choice, name) for choice in by_fold])
            for n, by_fold in choices.items()
        }
        for name in ("by_queries", "by_centres", "same")
    )
    tests = corrected({n: paired_test(centres[n], queries[n]) for n in choices})
    rows: list[dict[str, Value]] = []
    for n, by_fold in choices.items():
        among_queries, among_centres = np.mean([choice.microseconds for choice in by_fold], axis=0)
        rows.append(
            {
                "clusters": n,
                "MAP, queries": float(queries[n].mean()),
                "MAP, centres": float(centres[n].mean()),
                "difference": tests[n].mean_difference,
                "p (Holm)": tests[n].p,
                "won/tied/lost": counts(tests[n]),
                "same cluster": float(same[n].mean()),
                "µs, queries": float(among_queries),
                "µs, centres": float(among_centres),
                "ratio of µs": float(among_queries / among_centres),
            }
        )
    reproduction.table(
        "Compact clusters: chosen by all their queries, and by their centres",
        list(rows[0]),
        [list(row.values()) for row in rows],
        "The same clusters and models. A centre is one direction for each component, the one "
        "that agrees best with those of the cluster's queries. Processor times of searching for "
        "one query; with more training queries see Figure 14. Not in the paper, which leaves a "
        "compact representation to future work.",
    )


def _microseconds(representation: Representation, asked: Array, known: Array) -> float:
    one_by_one = [asked[i : i + 1] for i in range(len(asked))]
    return 1000 * milliseconds_of_each(partial(representation.nearest, known=known), one_by_one)
