"""Figures 12 to 14 of LocalRank's paper: times of training, ranking and searching.

The paper measures them on Yandex's queries, which are not public. So the queries are made up: as
many, with as many documents and features. For Figure 14 they are random orthonormal directions in
single precision, up to a million. The queries that are asked are copies of some of them, with each
direction turned by an angle. These times do not depend on a collection: one page has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats
from localrank.data import RankingDataset, make_queries
from localrank.evaluation import PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._processor_time import milliseconds, milliseconds_of_each
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import Reproduction, Value
from localrank.rankers import DuhKirchhoff, RankBoost
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import PrincipalComponents
from localrank.selection import LSH

# The collection whose page has the times.
TIMED_ON = "OHSUMED"

SIZES = (1_000, 7_900, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 4_000)
N_COMPONENTS, N_FEATURES = 4, 46
ANGLE = 30
N_ASKED, N_TIMED, N_CLUSTERS = 100, 10, 8
SEARCHES = EXACT, CENTRES, PAPERS, RESCORED = "exact", "centres", "LSH", "LSH, rescored"


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


def figure_14(reproduction: Reproduction, quick: bool, seeds: Sequence[int]) -> None:
    """Add the figure, with the recall of hashing beside its time."""
    sizes = QUICK_SIZES if quick else SIZES
    searched = [[_search(n, seed) for seed in seeds] for n in sizes]
    # One row per size: the microseconds of each seed.
    times = {name: np.array([[t[name] for t, _ in row] for row in searched]) for name in SEARCHES}
    recalls = {
        name: np.array([[r[name] for _, r in row] for row in searched])
        for name in (PAPERS, RESCORED)
    }
    mean = {name: values.mean(axis=1).tolist() for name, values in times.items()}
    rows: list[list[Value]] = [
        [
            n,
            mean[EXACT][i],
            mean[CENTRES][i],
            mean[EXACT][i] / mean[CENTRES][i],
            mean[PAPERS][i],
            _with_spread(recalls[PAPERS][i]),
            mean[RESCORED][i],
            _with_spread(recalls[RESCORED][i]),
        ]
        for i, n in enumerate(sizes)
    ]
    reproduction.table(
        "Figure 14: microseconds to find the nearest of made-up training queries",
        ["queries", EXACT, CENTRES, "exact / centres", PAPERS, "recall", RESCORED, "its recall"],
        rows,
        f"Training queries are {N_COMPONENTS} random orthonormal directions in {N_FEATURES} "
        f"features. {N_ASKED} copies turned by {ANGLE} degrees are asked, one at a time. Times are "
        f"processor times. Recall is how often hashing finds the query that the exact search "
        f"finds. Means of {len(seeds)} draws of queries and hyperplanes, ± their standard "
        f"deviation. 'LSH' is the paper's algorithm. 'rescored' is the default here: the "
        f"similarity decides among the candidates. 'centres' searches among the centres of "
        f"{N_CLUSTERS} clusters, which is another question: see compact clusters.",
    )
    reproduction.figure(
        "figure-14",
        "Figure 14: microseconds of selecting against the number of made-up training queries.",
        "curves",
        panels={"made-up queries": {name: (sizes, mean[name]) for name in SEARCHES}},
        x_label="training queries",
        y_label="microseconds",
        log_x=True,
        log_y=True,
    )
    grown = {name: times[name][1:] / times[name][0] for name in (EXACT, PAPERS)}
    n_published = published(reproduction.experiment, "collections", "YANDEX")["queries"]
    reproduction.claim(
        f"using LSH, the time to find the most similar model is almost constant, independent of "
        f"the number of queries, on Yandex's {n_published:,}",
        "the paper states no factor; made-up queries, "
        + "; ".join(
            f"from {sizes[0]:,} to {n:,}: {of_paper.mean():.2f} times the time, "
            f"{of_paper.min():.2f} to {of_paper.max():.2f} in {len(seeds)} draws, the exact search "
            f"{exact.mean():.1f} times"
            for n, of_paper, exact in zip(sizes[1:], grown[PAPERS], grown[EXACT], strict=True)
        ),
    )


def _with_spread(values: Floats) -> str:
    spread = f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def _search(n: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Microseconds of each search among n queries, and the recall of the searches by hashing."""
    rng = np.random.default_rng([seed, n])
    components = PrincipalComponents(N_COMPONENTS)
    known = made_up_directions(n, N_COMPONENTS, N_FEATURES, rng)
    asked = turned_copies(known[rng.integers(n, size=N_ASKED)], ANGLE, rng)
    index = LSH(random_state=seed).fit(known)
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
N_MODELS, N_NEIGHBOURS, N_REPEATS, N_RANKED = 4, 400, 5, 20
# Models of KNN that are trained. The time of all is theirs, scaled.
N_TRAINED = 20
# Training queries, documents of each, features, and neighbours of a quick run.
QUICK_SIZE = 200, 12, 20, 40
TRAINING = ("LocalRank, training", "KNN, training")
RANKING = ("LocalRank, ranking", "KNN, ranking", "D&K, ranking")
# "Several" orders of magnitude are two or more.
SEVERAL_ORDERS = 100


def times(reproduction: Reproduction, quick: bool, seeds: Sequence[int]) -> None:
    """Add Figures 12 and 13 on made-up queries of the paper's number and size."""
    yandex = published(reproduction.experiment, "collections", "YANDEX")
    n_queries, features = yandex["queries"], yandex["features"]
    n_documents, n_neighbours = round(yandex["documents"] / n_queries), N_NEIGHBOURS
    if quick:
        n_queries, n_documents, features, n_neighbours = QUICK_SIZE
    repeats = []
    for repeat in range(2 if quick else N_REPEATS):
        queries, _ = make_queries(
            n_queries + N_RANKED,
            n_documents=(n_documents, n_documents),
            n_features=features,
            n_types=N_MODELS,
            random_state=seeds[0] + repeat,
        )
        train = queries.select(range(n_queries))
        test = queries.select(range(n_queries, queries.n_queries))
        repeats.append(_times(train, test, n_neighbours))
    parts = [
        (share, _times(train.select(range(round(share * n_queries))), test, n_neighbours))
        for share in (() if quick else SHARES[:-1])
    ]
    whole = {name: float(np.mean([row[name] for row in repeats])) for name in repeats[0]}
    measured = [*parts, (1.0, whole)]
    reproduction.table(
        "Figures 12 and 13: milliseconds against the share of the training queries",
        ["share", "training queries", *whole],
        [[f"{share:.0%}", round(share * n_queries), *row.values()] for share, row in measured],
        f"{n_queries:,} made-up queries of {n_documents} documents with {features} features, as "
        f"many as Yandex's collection has in the paper. LocalRank has {N_MODELS} clusters of "
        f"SVMMap, by the distances of all pairs of queries. KNN has a RankSVM for each training "
        f"query and its {n_neighbours} neighbours; {N_TRAINED} of these models are trained, and "
        f"their time is scaled to all. D&K ranks one query. Times are processor times: of all "
        f"models for training, of one query at a time for ranking. With all queries, means of "
        f"{len(repeats)} repeats on queries drawn anew, the methods by turns.",
    )
    x = [round(share * n_queries) for share, _ in measured]
    for number, names in (("13", TRAINING), ("12", RANKING)):
        what = names[0].split(", ")[1]
        reproduction.figure(
            f"figure-{number}",
            f"Figure {number}: milliseconds of {what} against the number of training queries.",
            "curves",
            panels={
                "made-up queries": {
                    name.split(", ")[0]: (x, [row[name] for _, row in measured]) for name in names
                }
            },
            x_label="training queries",
            y_label="milliseconds",
            log_y=True,
        )
    _time_claims(reproduction, repeats)


def _times(train: RankingDataset, test: RankingDataset, n_neighbours: int) -> dict[str, float]:
    """Milliseconds of all methods with some training queries."""
    one_by_one = [test.select([query]) for query in range(test.n_queries)]
    local = local_rank(N_MODELS).set_params(grouping__max_queries=None)
    single, several = (
        query_neighbours(n_neighbours).set_params(grouping__max_centres=n)
        for n in (1, 1 + N_TRAINED)
    )
    of_local = milliseconds(partial(local.fit, train))
    # What all models share, such as the descriptions of queries, is in both.
    of_one, of_several = (milliseconds(partial(knn.fit, train)) for knn in (single, several))
    each = (of_several - of_one) / N_TRAINED
    lazy = DuhKirchhoff(RankBoost()).fit(train)
    return {
        "LocalRank, training": of_local,
        "KNN, training": of_one + (train.n_queries - 1) * each,
        "LocalRank, ranking": milliseconds_of_each(local.predict, one_by_one),
        "KNN, ranking": milliseconds_of_each(several.predict, one_by_one),
        "D&K, ranking": milliseconds_of_each(lazy.predict, one_by_one[:1], 1),
    }


def time_ratio(slow: Sequence[float], fast: Sequence[float], factor: float = 1.0) -> PairedTest:
    """Test whether one of two repeated times is more than a factor of the other, by logarithms.

    Examples
    --------
    >>> time_ratio([300, 310, 290], [2, 2, 2], 100).sign, time_ratio([2, 3, 2], [2, 2, 3]).sign
    (1, 0)
    """
    return paired_test(np.log(slow), np.log(fast) + np.log(factor))


def _time_claims(reproduction: Reproduction, repeats: Sequence[Mapping[str, float]]) -> None:
    """The paper's claims about times, tested by the repeats with all training queries."""
    hours = published(reproduction.experiment, "times", "YANDEX")
    stated = hours["KNN, training"] / hours["LocalRank, training"]
    compared = {
        (TRAINING[1], TRAINING[0]): stated,
        (RANKING[2], RANKING[1]): SEVERAL_ORDERS,
        (RANKING[2], RANKING[0]): SEVERAL_ORDERS,
        (RANKING[0], RANKING[1]): 1.0,
    }
    tests = corrected(
        {
            (slow, fast): time_ratio([r[slow] for r in repeats], [r[fast] for r in repeats], factor)
            for (slow, fast), factor in compared.items()
        }
    )
    ratios = {
        pair: [
            compared[pair] * float(np.exp(value))
            for value in (test.mean_difference, *test.interval)
        ]
        for pair, test in tests.items()
    }
    reproduction.table(
        "Figures 12 and 13: ratios of times with all training queries",
        ["slow", "fast", "ratio", "from", "to", "tested against", "p (Holm)"],
        [[*pair, *ratios[pair], compared[pair], test.p] for pair, test in tests.items()],
        f"Geometric means of {len(repeats)} repeats with their 95 % intervals, and t-tests of the "
        f"logarithms. The paper's hours for training, more than {hours['KNN, training']:g} and "
        f"{hours['LocalRank, training']:g}, are {stated:.0f} times apart. Its several orders of "
        f"magnitude are read as two or more.",
    )

    def claim(says: str, *pairs: tuple[str, str]) -> None:
        words = "; ".join(
            f"{slow.split(',')[0]} {ratios[slow, fast][0]:.3g} times {fast.split(',')[0]}, "
            f"{ratios[slow, fast][1]:.3g} to {ratios[slow, fast][2]:.3g}, tested against "
            f"{compared[slow, fast]:.3g}"
            for slow, fast in pairs
        )
        reproduction.claim(says, words, *(tests[pair] for pair in pairs))

    training, lazy_knn, lazy_local, ranking = tests
    claim(
        f"KNN with {N_NEIGHBOURS} neighbours or more takes more than 1.5 days to train, and "
        f"LocalRank only {hours['LocalRank, training']:g} hours",
        training,
    )
    claim(
        "D&K is several orders of magnitude slower than KNN as well as LocalRank at test time",
        lazy_knn,
        lazy_local,
    )
    claim("LocalRank is slower than KNN at test time", ranking)
