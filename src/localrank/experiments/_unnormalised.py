"""The gain of coordinates on features with and without normalisation within the query.

LETOR's features are already normalised within the query, which is a part of what coordinates do.
Here a random factor for each query and feature undoes that normalisation, and then it is made
again. Such factors do not change coordinates, but the features beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from localrank._base.arrays import Array
from localrank.data import Fold, RankingDataset
from localrank.evaluation import PairedTest
from localrank.evaluation.plots import Chart
from localrank.evaluation.significance import corrected
from localrank.experiments._base import Reproduction, Value
from localrank.experiments._draws import MEASURES, NOTE, Draws, cell, gain_test, interval
from localrank.experiments._members import (
    LAMBDA_MART,
    Sources,
    local,
    members,
    n_trees_of,
    needed,
    present,
    train,
    with_recipes,
)
from localrank.experiments._setting import Setting

AS_THEY_ARE, MULTIPLIED, NORMALISED = "as they are", "multiplied", "normalised"
BOTH = "multiplied, then normalised"
# The forms of each collection's features. The last form is normalised.
FORMS = {
    "MSLR-sample": (AS_THEY_ARE, NORMALISED),
    "OHSUMED": (AS_THEY_ARE, MULTIPLIED, BOTH),
    "MQ2008": (AS_THEY_ARE, MULTIPLIED, BOTH),
}
# Factors lie between these powers of ten.
LOWEST, HIGHEST = -1.0, 1.0
METHODS = (LAMBDA_MART, local(LAMBDA_MART), "6 mixed", "best")
PAIRS = [(local(LAMBDA_MART), LAMBDA_MART), ("best", "6 mixed")]


def unnormalised(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the gain of coordinates for each form of the features."""
    names = present(sources, list(FORMS))
    forms = {name: FORMS.get(name, FORMS["OHSUMED"]) for name in names}
    draws = {
        (name, form): _draws(setting, sources, name, form) for name in names for form in forms[name]
    }
    gains = {}
    for measure, (name, form), pair in product(MEASURES, draws, PAIRS):
        key = (name, f"{pair[0]} − {pair[1]}", form, str(measure))
        gains[key] = draws[name, form].gains(*pair, measure)
    for measure, name, (ours, other) in product(MEASURES, names, PAIRS):
        first, *_, last = forms[name]
        crude = MULTIPLIED if MULTIPLIED in forms[name] else first
        before, after = draws[name, crude], draws[name, last]
        normal = after.values(other, measure)
        gains[name, f"{other}: normalised − {crude}", "", str(measure)] = normal - before.values(
            other, measure
        )
        gains[name, f"{ours}, {crude} − {other}, normalised", "", str(measure)] = (
            before.values(ours, measure) - normal
        )
    tests = corrected({key: gain_test(values) for key, values in gains.items()})
    _table(reproduction, tests)
    _means(reproduction, draws)
    _figure(reproduction, tests, forms)


def multiplied(dataset: RankingDataset, rng: np.random.Generator) -> RankingDataset:
    """Each feature times a random factor in each query, log-uniform."""
    powers = rng.uniform(LOWEST, HIGHEST, (dataset.n_queries, dataset.n_features))
    return dataset.replaced(features=dataset.features * (10.0**powers)[dataset.query_index])


def normalised(dataset: RankingDataset) -> RankingDataset:
    """Each feature scaled to 0…1 in each query. A feature that is constant in a query becomes 0."""
    begins, queries = dataset.offsets[:-1], dataset.query_index
    low = np.minimum.reduceat(dataset.features, begins)
    width = np.maximum.reduceat(dataset.features, begins) - low
    width[width == 0] = 1.0
    features: Array = (dataset.features - low[queries]) / width[queries]
    return dataset.replaced(features=features)


def changed(fold: Fold, form: str, seed: int) -> Fold:
    """A fold with another form of the features."""
    rng = np.random.default_rng(seed)
    steps: dict[str, list[Callable[[RankingDataset], RankingDataset]]] = {
        AS_THEY_ARE: [],
        NORMALISED: [normalised],
        MULTIPLIED: [lambda part: multiplied(part, rng)],
        BOTH: [lambda part: multiplied(part, rng), normalised],
    }
    parts = []
    for part in (fold.train, fold.test):
        for step in steps[form]:
            part = step(part)
        parts.append(part)
    return Fold(fold.name, parts[0], None, parts[1])


def _draws(setting: Setting, sources: Sources, name: str, form: str) -> Draws:
    results = []
    for seed in setting.seeds:
        all_members = members(seed, n_trees_of(setting))
        rankers = {member: all_members[member] for member in needed(METHODS)}
        parts = [changed(fold, form, seed) for fold in sources[name](seed)]
        kind = f"{name}, {seed}" + (f", {form}" if form != AS_THEY_ARE else "")
        results.append(with_recipes(train(setting, rankers, parts, kind)))
    return Draws(results)


def _table(reproduction: Reproduction, tests: dict[tuple[str, str, str, str], PairedTest]) -> None:
    rows: list[list[Value]] = [
        [*key, *(cell(tests[*key, str(measure)]) for measure in MEASURES)]
        for key in dict.fromkeys(key[:3] for key in sorted(tests, key=lambda key: key[:2]))
    ]
    reproduction.table(
        "Gain of coordinates and of normalisation within the query",
        ["", "", "features", *map(str, MEASURES)],
        rows,
        f"{NOTE.format(n=len(tests))} Normalised features lie between 0 and 1 in each query. "
        f"Multiplied ones have a factor between 0.1 and 10 for each query and feature.",
    )


def _means(reproduction: Reproduction, draws: dict[tuple[str, str], Draws]) -> None:
    reproduction.table(
        "Means for each form of the features",
        ["", "features", *METHODS],
        [
            [*key, *(" / ".join(f"{drawn.mean(m, x):.4f}" for x in MEASURES) for m in METHODS)]
            for key, drawn in draws.items()
        ],
        " / ".join(map(str, MEASURES)),
    )


def _figure(
    reproduction: Reproduction,
    tests: dict[tuple[str, str, str, str], PairedTest],
    forms: dict[str, tuple[str, ...]],
) -> None:
    measure = str(MEASURES[0])
    places = [(name, form) for name, tried in forms.items() for form in tried]
    reproduction.figure(
        "unnormalised",
        f"Gain of coordinates by {measure} for each form of the features, with 95 % intervals; "
        f"filled marks are p < 0.05 before correction.",
        Chart(
            "intervals",
            panels={
                f"gain in {measure}": {
                    f"{ours} − {other}": [
                        interval(tests[name, f"{ours} − {other}", form, measure])
                        for name, form in places
                    ]
                    for ours, other in PAIRS
                }
            },
            ticks=[f"{name}, {form}" for name, form in places],
        ),
    )
