"""Coordinates against descriptors of the query, which say whether the gain is local.

Coordinates say where a document stands among those of its query. They also tell a global model
what the query is like. The control has that knowledge alone: beside the features about as many
columns as coordinates have, constant within the query. Trees may relate a document's values to
them. If the control gains as much, the gain is not that of local coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.evaluation import MethodResult, PairedTest
from localrank.evaluation.significance import corrected
from localrank.experiments.base import Reproduction, Value
from localrank.experiments.draws import MEASURES, NOTE, Draws, cell, gain_test, interval
from localrank.experiments.members import (
    COMPOSED,
    CROSS_ENTROPY,
    LAMBDA_MART,
    RANK_SVM,
    Sources,
    composed,
    kinds,
    local,
    members,
    n_trees_of,
    needed,
    present,
    train,
    with_recipes,
)
from localrank.experiments.pooled import ALL
from localrank.experiments.setting import Setting
from localrank.linalg import principal_axes
from localrank.measures import Measure
from localrank.plots import draw_intervals
from localrank.rankers import Ranker
from localrank.rankers.expanded import Expanded
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION

COLLECTIONS = ("MQ2007-85", "MQ2008", "OHSUMED", "ClueWeb09")
# Shares of the columns for each tree: that of the features, and that of coordinates.
FRACTIONS = (0.5, COORDINATES_FRACTION)
# By method: what it is in coordinates, on the features, and the control's beginning.
RIVALS = {
    LAMBDA_MART: (local(LAMBDA_MART), LAMBDA_MART),
    CROSS_ENTROPY: (local(CROSS_ENTROPY), CROSS_ENTROPY),
    "best": ("best", "6 mixed"),
}


class QueryDescriptors(Expanded):
    """Trains a ranker on the features and on what describes the query.

    Each document has beside its features the mean and the standard deviation of every feature
    over the documents of its query, the loadings of their first principal direction, and the
    number of documents: from 46 features 185 columns.

    Parameters
    ----------
    ranker : Ranker
    """

    block_bytes: ClassVar[int] = 2**24

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def n_expanded(self, n_features: int) -> int:
        return 4 * n_features + 1

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        own = descriptors(dataset)[dataset.query_index]
        features = np.hstack([dataset.features, own.astype(dataset.features.dtype)])
        return dataset.replaced(features=features, feature_names=None)

    def folded(self, values: Floats, n_features: int) -> Floats:
        """That of means, deviations and loadings to their features, that of the number to all."""
        blocks = values[..., :-1].reshape(*values.shape[:-1], 4, n_features)
        return np.concatenate([blocks.sum(axis=-2), values[..., -1:]], axis=-1)


def descriptors(dataset: RankingDataset) -> Array:
    """Means, deviations, first principal direction and number of documents, of each query."""
    begins, sizes = dataset.offsets[:-1], dataset.query_sizes[:, None]
    means = np.add.reduceat(dataset.features, begins) / sizes
    squares = (dataset.features - means[dataset.query_index]) ** 2
    deviations = np.sqrt(np.add.reduceat(squares, begins) / sizes)
    _, axes = principal_axes(dataset.features, dataset.offsets, 1)
    return np.hstack([means, deviations, axes[:, 0], sizes])


def query_descriptors(found: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add coordinates against descriptors of the query, at equal cost."""
    names = present(sources, COLLECTIONS)
    draws = {name: _draws(setting, sources, name) for name in names}
    places = [*names, ALL] if len(names) > 1 else names
    gains = {}
    chosen = {}
    for place, measure, rival in product(places, MEASURES, RIVALS):
        own = [draws[name] for name in (names if place == ALL else [place])]
        ours, plain = RIVALS[rival]
        control = _better(own, [described(rival, fraction) for fraction in FRACTIONS], measure)
        chosen[place, str(measure), rival] = control
        for label, pair in {
            "coordinates − descriptors": (ours, control),
            "coordinates − features": (ours, plain),
            "descriptors − features": (control, plain),
        }.items():
            values = np.concatenate([one.gains(*pair, measure) for one in own])
            gains[rival, label, str(measure), place] = values
    tests = corrected({key: gain_test(values) for key, values in gains.items()})
    _tables(found, tests, chosen, places)
    _means(found, draws)
    for rival, measure in product(RIVALS, MEASURES):
        found.claim_better(
            f"{rival} gains more from coordinates than from descriptors of the query by {measure}",
            f"on {places[-1]}",
            tests[rival, "coordinates − descriptors", str(measure), places[-1]],
        )


def described(method: str, fraction: float) -> str:
    """The name of a model with descriptors."""
    return f"{method}, with descriptors, {fraction:g}"


def controls(seed: int, n_trees: int) -> dict[str, Ranker]:
    """The models with descriptors, for each share of the columns."""
    result: dict[str, Ranker] = {}
    for fraction in FRACTIONS:
        own = kinds(seed, n_trees, feature_fraction=fraction)
        for kind in (LAMBDA_MART, CROSS_ENTROPY, RANK_SVM):
            result[described(kind, fraction)] = QueryDescriptors(own[kind])
    return result


def with_controls(results: dict[str, MethodResult]) -> dict[str, MethodResult]:
    """The results and `best` with descriptors in the place of coordinates."""
    plain, coordinates = COMPOSED["best"]
    for fraction in FRACTIONS:
        name = described("best", fraction)
        kept = {local(kind): described(kind, fraction) for kind in (*RIVALS, RANK_SVM)}
        view = [kept[member] for member in coordinates]
        results[name] = composed(results, name, [plain, view])
    return results


def _draws(setting: Setting, sources: Sources, name: str) -> Draws:
    results = []
    for seed in setting.seeds:
        n_trees = n_trees_of(setting)
        own = members(seed, n_trees)
        methods = [method for pair in RIVALS.values() for method in pair]
        rankers = {member: own[member] for member in needed(methods)} | controls(seed, n_trees)
        trained = train(setting, rankers, sources[name](seed), f"{name}, {seed}")
        results.append(with_controls(with_recipes(trained)))
    return Draws(results)


def _better(draws: Sequence[Draws], methods: Sequence[str], measure: Measure) -> str:
    """The method with the highest mean over the queries of some collections."""
    means = {
        method: np.concatenate([own.values(method, measure) for own in draws]).mean()
        for method in methods
    }
    return max(means, key=lambda method: means[method])


def _tables(
    found: Reproduction,
    tests: dict[tuple[str, str, str, str], PairedTest],
    chosen: dict[tuple[str, str, str], str],
    places: list[str],
) -> None:
    rows: list[list[Value]] = [
        [*key, *(cell(tests[*key, place]) for place in places)]
        for key in dict.fromkeys(key[:3] for key in tests)
    ]
    shares = "; ".join(
        f"{rival} by {measure} "
        + ", ".join(chosen[place, measure, rival].rsplit(" ", 1)[1] for place in places)
        for rival, measure in product(RIVALS, map(str, MEASURES))
    )
    found.table(
        "Coordinates against descriptors of the query",
        ["", "", "measure", *places],
        rows,
        f"{NOTE.format(n=len(tests))} Of the two shares of columns for each tree of the control, "
        f"the one with the higher mean on these test queries counts, which favours the control: "
        f"{shares}. 'Features' of best are the 6 mixed.",
    )
    found.figure(
        "descriptors",
        "Gains over the same models on the features, for best over 6 mixed, with 95 % intervals; "
        "filled marks are p < 0.05 before correction.",
        draw_intervals,
        panels={
            rival: {
                label: [
                    interval(tests[rival, f"{label} − features", str(MEASURES[0]), place])
                    for place in places
                ]
                for label in ("coordinates", "descriptors")
            }
            for rival in RIVALS
        },
        ticks=places,
    )


def _means(found: Reproduction, draws: dict[str, Draws]) -> None:
    methods = [
        method
        for rival, pair in RIVALS.items()
        for method in (*pair, *(described(rival, fraction) for fraction in FRACTIONS))
    ]
    found.table(
        "Means with coordinates and with descriptors",
        ["", *draws],
        [
            [m, *(" / ".join(f"{own.mean(m, x):.4f}" for x in MEASURES) for own in draws.values())]
            for m in methods
        ],
        " / ".join(map(str, MEASURES)),
    )
