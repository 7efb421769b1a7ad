"""Figures 12 to 14 of LocalRank's paper: times of training, ranking and searching.

Figure 14 is the time to find the nearest query among up to a million. The public
collections have a few hundred training queries, where no search is slow. So the training queries
are made up: random orthonormal directions in single precision, as many as MQ2008 has. The queries
that are asked are copies of some of them, with each direction turned by an angle.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats
from localrank.data import Fold
from localrank.experiments._processor_time import milliseconds, milliseconds_of_each
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import Reproduction, Value
from localrank.rankers import DuhKirchhoff, RankBoost, SVMMap
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import PrincipalComponents
from localrank.selection import LSH

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 4_000)
N_COMPONENTS, N_FEATURES = 4, 46
ANGLE = 30
N_ASKED, N_TIMED, N_CLUSTERS = 100, 10, 8
# The number of the paper's queries is between the first two sizes. "Almost constant" means that the
# time grows at most by this factor.
CONSTANT = 2.0
EXACT, CENTRES, PAPERS, RESCORED = "exact", "centres", "LSH", "LSH, rescored"


def made_up_directions(
    n: int, n_components: int, n_features: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Random queries, each of `n_components` orthonormal directions."""
    directions = np.empty((n, n_components, n_features), np.float32)
    for part in np.array_split(directions, max(n // 20_000, 1)):
        part[:] = _orthonormal(rng.standard_normal(part.shape, dtype=np.float32))
    return directions


def turned_copies(directions: Array, degrees: float, rng: np.random.Generator) -> Floats:
    """Copies with each direction turned by an angle to a random side, and with a random sign.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> directions = made_up_directions(1, 1, 9, rng)
    >>> abs(np.sum(directions * turned_copies(directions, 60, rng))).round(3)
    np.float64(0.5)
    """
    U = directions.astype(np.float64)
    aside = rng.standard_normal(U.shape)
    aside -= np.sum(aside * U, axis=2, keepdims=True) * U
    aside /= np.linalg.norm(aside, axis=2, keepdims=True)
    angle = np.radians(degrees)
    signs = rng.choice([-1.0, 1.0], size=(*U.shape[:2], 1))
    turned: Floats = signs * _orthonormal(np.cos(angle) * U + np.sin(angle) * aside)
    return turned


def _orthonormal(matrices: Array) -> Array:
    """Directions along the second axis, made orthonormal one after another."""
    directions = np.empty_like(matrices)
    for p in range(matrices.shape[1]):
        before, rest = directions[:, :p], matrices[:, p]
        rest = rest - np.einsum("qk,qkd->qd", np.einsum("qd,qkd->qk", rest, before), before)
        directions[:, p] = rest / np.linalg.norm(rest, axis=1, keepdims=True)
    return directions


def figure_14(reproduction: Reproduction, quick: bool, random_state: int | None) -> None:
    """Add the figure, with the recall of hashing beside its time."""
    sizes = QUICK_SIZES if quick else SIZES
    rng = np.random.default_rng(random_state)
    searched = [_search(n, rng) for n in sizes]
    times, recalls = [t for t, _ in searched], [r for _, r in searched]
    rows: list[list[Value]] = [
        [
            n,
            time[EXACT],
            time[CENTRES],
            time[EXACT] / time[CENTRES],
            time[PAPERS],
            recall[PAPERS],
            time[RESCORED],
            recall[RESCORED],
        ]
        for n, time, recall in zip(sizes, times, recalls, strict=True)
    ]
    reproduction.table(
        "Figure 14: microseconds to find the nearest of made-up training queries",
        ["queries", EXACT, CENTRES, "exact / centres", PAPERS, "recall", RESCORED, "its recall"],
        rows,
        f"Training queries are {N_COMPONENTS} random orthonormal directions in {N_FEATURES} "
        f"features. {N_ASKED} copies turned by {ANGLE} degrees are asked, one at a time. Times are "
        f"processor times. Recall is how often hashing finds the query that the exact search "
        f"finds. 'LSH' is the paper's algorithm. 'rescored' is the default here: the similarity "
        f"decides among the candidates. 'centres' searches among the centres of {N_CLUSTERS} "
        f"clusters, which is another question: see compact clusters.",
    )
    reproduction.figure(
        "figure-14",
        "Figure 14: microseconds of selecting against the number of made-up training queries.",
        "curves",
        panels={
            "made-up queries": {
                name: (sizes, [time[name] for time in times])
                for name in (EXACT, CENTRES, PAPERS, RESCORED)
            }
        },
        x_label="training queries",
        y_label="microseconds",
        log_x=True,
        log_y=True,
    )
    growth = {name: [t[name] / times[0][name] for t in times] for name in (EXACT, PAPERS)}
    n_published = published(reproduction.experiment, "collections", "YANDEX")["queries"]
    reproduction.claim(
        f"with LSH the time to find the most similar training query is almost constant, "
        f"on Yandex's {n_published:,} queries",
        growth[PAPERS][1] <= CONSTANT,
        f"made-up queries, {sizes[0]:,} to {sizes[1]:,}: {growth[PAPERS][1]:.1f} times the time, "
        f"the exact search {growth[EXACT][1]:.1f} times; to {sizes[-1]:,}: "
        f"{growth[PAPERS][-1]:.1f} and {growth[EXACT][-1]:.0f} times; recall "
        f"{recalls[0][PAPERS]:.0%} and {recalls[-1][PAPERS]:.0%}, at most {CONSTANT:g} times "
        f"counts as constant",
    )


def _search(n: int, rng: np.random.Generator) -> tuple[dict[str, float], dict[str, float]]:
    """Microseconds of each search among n queries, and the recall of the searches by hashing."""
    components = PrincipalComponents(N_COMPONENTS)
    known = made_up_directions(n, N_COMPONENTS, N_FEATURES, rng)
    asked = turned_copies(known[rng.integers(n, size=N_ASKED)], ANGLE, rng)
    index = LSH(random_state=0).fit(known)
    of_paper = copy(index)
    of_paper.rescore = False
    centres = np.array([components.centroid(known[i::N_CLUSTERS]) for i in range(N_CLUSTERS)])
    single = asked.astype(np.float32)
    searches: dict[str, tuple[Any, Array]] = {
        EXACT: (partial(components.nearest, known=known), single),
        CENTRES: (partial(components.nearest, known=centres), asked),
        PAPERS: (of_paper.nearest, asked),
        RESCORED: (index.nearest, asked),
    }
    nearest = components.nearest(single, known)
    times = {}
    for name, (search, queries) in searches.items():
        one_by_one = [queries[i : i + 1] for i in range(N_TIMED)]
        times[name] = 1000 * milliseconds_of_each(search, one_by_one)
    recalls = {
        name: float(np.mean(searches[name][0](asked) == nearest)) for name in (PAPERS, RESCORED)
    }
    return times, recalls


SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
N_NEIGHBOURS, N_MODELS, N_RANKED, N_LAZY = 25, 4, 20, 2
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
        f"{fold.name}; {N_MODELS} clusters of SVMMap, {N_NEIGHBOURS} neighbours of RankSVM. "
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
            "curves",
            panels={reproduction.data: {name.split(", ")[0]: (x, columns[name]) for name in names}},
            x_label="training queries",
            y_label="milliseconds",
            log_y=True,
        )
    _time_claims(reproduction, measured[-1])


def _times(fold: Fold, share: float, C: float, n_jobs: int | None) -> dict[str, float]:
    """Milliseconds of all methods on a share of the training queries, and the recall of LSH."""
    n_queries = max(N_MODELS, round(share * fold.train.n_queries))
    train = fold.train.select(np.arange(n_queries))
    n_timed = min(N_RANKED, fold.test.n_queries)
    one_by_one = [fold.test.select([query]) for query in range(n_timed)]
    local = local_rank(N_MODELS, ranker=SVMMap(C), n_jobs=n_jobs)
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


def _time_claims(reproduction: Reproduction, last: dict[str, Any]) -> None:
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
