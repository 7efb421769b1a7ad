"""The gain of coordinates against the length of the lists.

The lists of training and test queries are cut to the same length, at random or to the documents
that one feature puts first. The coordinates are those of the cut list, or those that the documents
had in the whole list. If the second kind ranks better, a short list has too few documents to
describe the query. If the gain of both falls with the length, short lists leave less to gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data import Fold, RankingDataset
from localrank.data._offsets import offsets_of
from localrank.evaluation import MethodResult, PairedTest
from localrank.evaluation.plots import Chart
from localrank.evaluation.significance import corrected
from localrank.experiments._base import Reproduction, Value
from localrank.experiments._draws import MEASURES, NOTE, Draws, cell, gain_test, interval, slopes
from localrank.experiments._members import (
    COMPOSED,
    KINDS,
    NET,
    WITHOUT_NETS,
    Sources,
    composed,
    draw_seeds,
    for_coordinates,
    local,
    members,
    n_trees_of,
    needed,
    pairs_of,
    present,
    train,
    with_recipes,
)
from localrank.experiments._pooled import ALL
from localrank.experiments._setting import Setting
from localrank.rankers import BestFeature
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates

COLLECTIONS = ("OHSUMED", "ClueWeb09", "MSLR-sample")
LENGTHS, FEW_LENGTHS = (10, 20, 40, 80, 160), (10, 20)
N_DRAWS = 3
RANDOM, TOP = "at random", "to the top of one feature"
PAIRS = [*pairs_of(KINDS), (WITHOUT_NETS, "6 mixed")]
# Nets compute the coordinates from the list that they get.
WHOLE_PAIRS = [pair for pair in PAIRS if pair[0] not in (local(NET), "best")]
# Ending of the names of methods with coordinates of the whole list.
WHOLE = ", whole list"
LABELS = {"coordinates of the cut list": "", "of the whole list": WHOLE}

Tests = dict[tuple[str, ...], PairedTest]


def list_lengths(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the gain of coordinates against the length of the lists."""
    names = present(sources, COLLECTIONS)
    lengths = FEW_LENGTHS if setting.quick else LENGTHS
    draws = {
        (name, way, length): _draws(setting, sources, name, way, length)
        for name, way, length in product(names, (RANDOM, TOP), lengths)
    }
    pairs = [*PAIRS, *((f"{ours}{WHOLE}", other) for ours, other in WHOLE_PAIRS)]
    pairs += [(f"{ours}{WHOLE}", ours) for ours, _ in WHOLE_PAIRS]
    places = [*names, ALL] if len(names) > 1 else names
    gains: dict[tuple[str, ...], Floats] = {}
    for way, place, pair, measure in product((RANDOM, TOP), places, pairs, MEASURES):
        by_length = {
            length: np.concatenate(
                [
                    draws[name, way, length].gains(*pair, measure)
                    for name in (names if place == ALL else [place])
                ]
            )
            for length in lengths
        }
        key = (way, place, f"{pair[0]} − {pair[1]}", str(measure))
        gains |= {(*key, f"{length}"): values for length, values in by_length.items()}
        gains[*key, "per doubling"] = slopes(np.log2(lengths), np.array([*by_length.values()]))
    tests = corrected({key: gain_test(values) for key, values in gains.items()})
    for way, place, measure in product((RANDOM, TOP), places, MEASURES):
        _table(reproduction, tests, (way, place, str(measure)), pairs, lengths)
    _figures(reproduction, tests, places, lengths)


def cut_rows(dataset: RankingDataset, priorities: Floats, length: int) -> Integers:
    """The rows of the documents with the highest priorities, at most `length` of each query.

    Rows keep their order. Among documents with equal priorities the first are taken.
    """
    order = np.lexsort((-priorities, dataset.query_index))
    places = np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]
    return np.sort(order[places < length])


def cut(dataset: RankingDataset, rows: Integers) -> RankingDataset:
    """Some documents of each query: at least one, by their rows in ascending order."""
    sizes = np.bincount(dataset.query_index[rows], minlength=dataset.n_queries)
    return dataset.with_rows(rows, offsets_of(sizes), np.arange(dataset.n_queries))


def cut_folds(fold: Fold, way: str, length: int, seed: int) -> tuple[Fold, Fold]:
    """A fold with lists cut, and the same documents with their coordinates in the whole list.

    With the same seed, the longer random list holds the shorter one.
    """
    rng = np.random.default_rng(seed)
    feature = BestFeature().fit(fold.train).feature_
    plain, whole = [], []
    for part in (fold.train, fold.test):
        random = rng.random(part.n_documents)
        rows = cut_rows(part, random if way == RANDOM else part.features[:, feature], length)
        plain.append(cut(part, rows))
        whole.append(cut(query_coordinates(part), rows))
    return Fold(fold.name, plain[0], None, plain[1]), Fold(fold.name, whole[0], None, whole[1])


def _draws(setting: Setting, sources: Sources, name: str, way: str, length: int) -> Draws:
    """All methods on cut lists, with both kinds of coordinates."""
    n_trees = n_trees_of(setting)
    seeds = draw_seeds(setting, N_DRAWS) if way == RANDOM else setting.seeds
    results = []
    for seed in seeds:
        pairs = [cut_folds(fold, way, length, seed) for fold in sources[name](seed)]
        all_members = members(seed, n_trees)
        kind = f"{name}, {seed}, {length} {way}"
        plain = train(
            setting,
            {member: all_members[member] for member in needed(m for pair in PAIRS for m in pair)},
            [pair[0] for pair in pairs],
            kind,
        )
        rankers = for_coordinates(seed, n_trees)
        # The models that some method uses in coordinates.
        those = [kind for kind in rankers if local(kind) in plain and kind != NET]
        whole = train(
            setting,
            {local(kind): rankers[kind] for kind in those},
            [pair[1] for pair in pairs],
            f"{kind}{WHOLE}",
        )
        results.append(with_recipes(plain) | _of_whole(plain, whole))
    return Draws(results, two_labels=True)


def _of_whole(
    plain: Mapping[str, MethodResult], whole: Mapping[str, MethodResult]
) -> dict[str, MethodResult]:
    """The methods with coordinates of the whole list."""
    both = {**plain, **whole}
    methods = [ours for ours, _ in WHOLE_PAIRS]
    return {
        f"{method}{WHOLE}": composed(both, method, COMPOSED[method])
        if method in COMPOSED
        else whole[method]
        for method in methods
    }


def _table(
    reproduction: Reproduction,
    tests: Tests,
    key: tuple[str, str, str],
    pairs: list[tuple[str, str]],
    lengths: tuple[int, ...],
) -> None:
    way, place, measure = key
    columns = [*map(str, lengths), "per doubling"]
    rows: list[list[Value]] = []
    for ours, other in pairs:
        name = f"{ours} − {other}"
        row_tests = [tests[way, place, name, measure, column] for column in columns]
        rows.append([name, *map(cell, row_tests)])
    first = f"{pairs[0][0]} − {pairs[0][1]}"
    counted = [str(tests[way, place, first, measure, column].n_queries) for column in columns]
    reproduction.table(
        f"Gain of coordinates by {measure} on lists cut {way}: {place}",
        ["", *columns],
        rows,
        f"{NOTE.format(n=len(tests))} Columns are documents per list; shorter lists stay whole. "
        f"'Whole list' means coordinates computed before cutting. Queries whose documents have one "
        f"label in every draw do not count; queries counted: {', '.join(counted)}. The last "
        f"column is the slope of each query's gain for twice as many documents.",
    )


def _figures(
    reproduction: Reproduction, tests: Tests, places: list[str], lengths: tuple[int, ...]
) -> None:
    measure = str(MEASURES[0])
    ways = {RANDOM: "lengths-random", TOP: "lengths-top"}
    for way, file in ways.items():
        reproduction.figure(
            f"{file}-kinds",
            f"Gain of coordinates by {measure} against the length of lists cut {way}, for each "
            f"kind of model.",
            Chart(
                "curves",
                panels={
                    place: {
                        f"{ours} − {other}": (
                            lengths,
                            [
                                tests[
                                    way, place, f"{ours} − {other}", measure, f"{n}"
                                ].mean_difference
                                for n in lengths
                            ],
                        )
                        for ours, other in PAIRS
                    }
                    for place in places
                },
                x_label="documents per list",
                y_label=f"gain in {measure}",
                log_x=True,
            ),
        )
        ours, other = PAIRS[-1]
        reproduction.figure(
            f"{file}-best",
            f"Gain of {ours} over {other} by {measure} on lists cut {way}, with 95 % intervals; "
            f"filled marks are p < 0.05 before correction.",
            Chart(
                "intervals",
                panels={
                    place: {
                        label: [
                            interval(tests[way, place, f"{ours}{whole} − {other}", measure, f"{n}"])
                            for n in lengths
                        ]
                        for label, whole in LABELS.items()
                    }
                    for place in places
                },
                ticks=[f"{n} documents" for n in lengths],
            ),
        )
