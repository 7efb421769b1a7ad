"""Time and recall of the search for the nearest training query: Figure 14 of LocalRank's paper.

Run with `python benchmarks/selection.py [LARGEST]`; the largest number of training queries is
1,000,000 unless given, which takes some minutes and 4 GB. Queries are asked one at a time, on one
thread, the searches in turn; times are medians. "as published" is LSH(rescore=False).

Training queries are 10 orthonormal directions at random in 46 dimensions, in single precision.
Queries are copies of some of them: each direction turned by an angle towards a random one, made
orthonormal again, with a random sign. Recall is the share of queries for which the nearest
training query is found, as the exact search has it.

MQ2007 (85 %) from the folder in LOCALRANK_DATA or from `../shared/data` beside the project: the
test queries of five folds among the training queries.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from measuring import DATA, options, row, seconds, sized
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from localrank.data import folds, make_queries
from localrank.experiments import made_up_directions, turned_copies
from localrank.grouping.base import Groups
from localrank.representations import PrincipalComponents
from localrank.representations.base import Representation
from localrank.selection import LSH, NearestQuery

N_COMPONENTS, N_FEATURES = 10, 46
ANGLE, OTHER_ANGLES = 30, (20, 40)
N_QUERIES = sized(200, 20)
# How many queries the exact search is timed with.
N_EXACT = 20


def exact_search(representation: Representation, descriptions: NDArray[Any]) -> NearestQuery:
    dataset, _ = make_queries(4)  # not looked at, since descriptions are given
    groups = Groups.from_labels(np.zeros(len(descriptions)))
    return NearestQuery().fit(dataset, groups, representation, descriptions)


def as_published(index: LSH) -> LSH:
    """The same tables, with the search of the paper."""
    published = copy.copy(index)
    published.rescore = False
    return published


def microseconds(searches: list[Any], queries: NDArray[Any]) -> list[float]:
    """Median time of a query in each search."""
    for search in searches:
        search.nearest(queries[:1])
    times = [
        [seconds(partial(search.nearest, query[None])) for search in searches] for query in queries
    ]
    return [float(1e6 * time) for time in np.median(times, axis=0)]


def growth(largest: int) -> None:
    print(f"Copies turned by {ANGLE} degrees; LSH() with {LSH().n_repeats} tables per component")
    print(
        " training  hyper-  index  build     exact   as published       rescored\n"
        "  queries  planes     MB      s        µs      µs  recall      µs  recall"
    )
    published_times, rescored_times = {}, {}
    for n in (1000, 10_000, 100_000, 1_000_000):
        if n > largest:
            break
        rng = np.random.default_rng(n)
        training = made_up_directions(n, N_COMPONENTS, N_FEATURES, rng)
        sources = rng.integers(n, size=N_QUERIES)
        queries = turned_copies(training[sources], ANGLE, rng)
        exact = exact_search(PrincipalComponents(N_COMPONENTS), training)
        nearest = exact.nearest(queries.astype(np.float32))
        index = LSH()
        building = seconds(lambda: index.fit(training))  # noqa: B023
        arrays = (index.starts_, index.entries_, index.codes_, index.sketches_)
        searches = [as_published(index), index]
        times = microseconds(searches, queries)
        recalls = [np.mean(search.nearest(queries) == nearest) for search in searches]
        (exact_time,) = microseconds([exact], queries[:N_EXACT].astype(np.float32))
        published_times[n], rescored_times[n] = times
        print(
            f"{n:9,} {index.n_hyperplanes_:7} {sum(a.nbytes for a in arrays) / 1e6:6.0f} "
            f"{building:6.1f} {exact_time:9.0f} {times[0]:7.0f} {recalls[0]:7.3f} "
            f"{times[1]:7.0f} {recalls[1]:7.3f}",
            flush=True,
        )
    if n == 1_000_000 and n <= largest:
        for name, by_size in (("as published", published_times), ("rescored", rescored_times)):
            print(f"10,000 to 1,000,000, {name}: {by_size[n] / by_size[10_000]:.2f} times the time")
    row(
        f"nearest of {max(rescored_times):,} training queries",
        rescored_times[max(rescored_times)],
        "µs",
        peer="exact search",
        theirs=exact_time,
    )
    for degrees in OTHER_ANGLES:
        queries = turned_copies(training[sources], degrees, rng)
        nearest = exact.nearest(queries.astype(np.float32))
        published, rescored = (np.mean(each.nearest(queries) == nearest) for each in searches)
        print(
            f"Among the last, copies turned by {degrees} degrees: recall {published:.3f} as "
            f"published, {rescored:.3f} rescored"
        )


def mq2007() -> None:
    if not (DATA / "MQ2007-85").is_dir():
        print(f"\nMQ2007-85 is skipped: not in {DATA}; LOCALRANK_DATA can name the folder.")
        return
    parts = []
    for fold in folds(DATA / "MQ2007-85"):
        representation = PrincipalComponents().fit(fold.train)
        training = representation.transform(fold.train)
        parts.append((representation, training, representation.transform(fold.test)))
    default = LSH().fit(training)
    print(
        f"\nMQ2007 (85 %): {sum(len(part[2]) for part in parts):,} queries, each among about "
        f"{len(training):,} with {representation.n_components_} components; * is LSH()\n"
        " hyper-  tables per     exact   as published       rescored\n"
        " planes   component        µs      µs  recall      µs  recall"
    )
    usual = (default.n_hyperplanes_, default.n_repeats)
    grid = {(4, 16), (10, 16), (10, 30), *((usual[0], m) for m in (4, 8, 24)), usual}
    for n_hyperplanes, n_repeats in sorted(grid):
        hits, times = [], []
        for representation, training, test in parts:
            exact = exact_search(representation, training)
            distances = representation.distances(test, training)
            nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-12
            index = LSH(n_hyperplanes, n_repeats).fit(training)
            searches = [as_published(index), index]
            times.append(microseconds([exact, *searches], test))
            hits.append([nearest[np.arange(len(test)), each.nearest(test)] for each in searches])
        exact_time, *hashed_times = np.median(times, axis=0)
        published, rescored = np.concatenate(hits, axis=1).mean(axis=1)
        mark = "*" if (n_hyperplanes, n_repeats) == usual else " "
        print(
            f"{mark}{n_hyperplanes:6} {n_repeats:11} {exact_time:9.0f} {hashed_times[0]:7.0f} "
            f"{published:7.3f} {hashed_times[1]:7.0f} {rescored:7.4f}"
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("largest", nargs="?", type=int, default=sized(1_000_000, 1_000))
    given = parser.parse_args()
    with threadpool_limits(1):
        growth(given.largest)
        mq2007()


if __name__ == "__main__":
    main()
