"""Coordinates against descriptors of the query: they show whether the gain is local.

Coordinates say where a document stands among the documents of its query. They also tell a global
model what the query is like. The control has only that knowledge: beside the features it gets about
as many columns as coordinates have, constant within the query. Trees may relate a document's values
to them. If the control gains as much, the gain does not come from local coordinates.

A second control has the descriptors of another query, chosen at random. They say nothing about the
query. If they gain as much as the right ones, trees gain because they see fewer useful columns.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._kernels.linalg import principal_axes
from localrank.data import Fold, RankingDataset
from localrank.evaluation import MethodResult
from localrank.experiments.recipe_members import (
    COMPOSED,
    CROSS_ENTROPY,
    LAMBDA_MART,
    RANK_SVM,
    WITHOUT_NETS,
    Sources,
    available,
    composed,
    kinds,
    local,
    n_trees_of,
    train,
    train_members,
    with_recipes,
)
from localrank.experiments.repeated_runs import (
    ALL,
    MEASURES,
    Repeats,
    add_means,
    cell,
    gain_tests,
    interval,
    note_of,
    with_all,
)
from localrank.experiments.reproduction import Reproduction, difference
from localrank.experiments.setting import Setting
from localrank.rankers import Ranker
from localrank.rankers._expanded import Expanded
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION

COLLECTIONS = ("MQ2007-85", "MQ2008", "OHSUMED", "ClueWeb09")
# Shares of the columns for each tree: the one for features, and the one for coordinates.
FRACTIONS = (0.5, COORDINATES_FRACTION)
# The kinds that `best` uses in coordinates.
CONTROLLED = (LAMBDA_MART, CROSS_ENTROPY, RANK_SVM)
# Name of the models with the descriptors of other queries. They use the first share of columns.
OF_OTHERS = "with descriptors of other queries"
# By method: its name in coordinates, and its name on the features.
RIVALS = {
    LAMBDA_MART: (local(LAMBDA_MART), LAMBDA_MART),
    CROSS_ENTROPY: (local(CROSS_ENTROPY), CROSS_ENTROPY),
    WITHOUT_NETS: (WITHOUT_NETS, "6 mixed"),
}


def query_descriptors(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add coordinates against descriptors of the query, at equal cost."""
    names = available(sources, COLLECTIONS)
    repeats = {name: _repeats(setting, sources, name) for name in names}
    places = with_all(names)
    gains: dict[tuple[str, ...], Floats] = {}
    for place, measure, (rival, (ours, plain)) in product(places, MEASURES, RIVALS.items()):
        pairs = {"coordinates − features": (ours, plain)}
        for fraction in FRACTIONS:
            control = described(rival, fraction)
            pairs[f"coordinates − {control_label(fraction)}"] = (ours, control)
            pairs[f"{control_label(fraction)} − features"] = (control, plain)
        pairs["descriptors of other queries − features"] = (f"{rival}, {OF_OTHERS}", plain)
        for label, pair in pairs.items():
            those = names if place == ALL else [place]
            values = np.hstack([repeats[name].gains(*pair, measure) for name in those])
            gains[rival, label, str(measure), place] = values
    tests = gain_tests(gains)
    reproduction.table(
        "Coordinates against descriptors of the query",
        ["", "", "measure", *places],
        [
            [*key, *(cell(tests[*key, place]) for place in places)]
            for key in dict.fromkeys(key[:3] for key in tests)
        ],
        f"{note_of(tests)} The control is trained with two shares of columns for each tree, and "
        f"coordinates are compared with both. For {WITHOUT_NETS}, 'features' are the 6 mixed.",
    )
    reproduction.figure(
        "descriptors",
        "Gains over the same models on the features, for best over 6 mixed, with 95 % intervals; "
        "filled marks are p < 0.05 after correction.",
        "intervals",
        panels={
            rival: {
                label: [
                    interval(tests[rival, f"{label} − features", str(MEASURES[0]), place])
                    for place in places
                ]
                for label in (
                    "coordinates",
                    *map(control_label, FRACTIONS),
                    "descriptors of other queries",
                )
            }
            for rival in RIVALS
        },
        ticks=places,
    )
    methods = [
        method
        for rival, pair in RIVALS.items()
        for method in (*pair, *(described(rival, f) for f in FRACTIONS), f"{rival}, {OF_OTHERS}")
    ]
    add_means(reproduction, "Means with coordinates and with descriptors", methods, repeats)
    for rival, measure in product(RIVALS, MEASURES):
        both = [
            tests[rival, f"coordinates − {control_label(fraction)}", str(measure), places[-1]]
            for fraction in FRACTIONS
        ]
        reproduction.claim(
            f"{rival} gains more from coordinates than from descriptors of the query by {measure}",
            f"{' and '.join(map(difference, both))}, on {places[-1]}",
            *both,
        )


def control_label(fraction: float) -> str:
    """The name of the control with a share of the columns."""
    return f"descriptors, {fraction:g}"


def described(method: str, fraction: float) -> str:
    """The name of a model with descriptors."""
    return f"{method}, with descriptors, {fraction:g}"


def controls(seed: int, n_trees: int) -> dict[str, Ranker]:
    """The models with descriptors, for each share of the columns."""
    result: dict[str, Ranker] = {}
    for fraction in FRACTIONS:
        rankers = kinds(seed, n_trees, feature_fraction=fraction)
        for kind in CONTROLLED:
            result[described(kind, fraction)] = QueryDescriptors(rankers[kind])
    return result


def described_by_others(fold: Fold, seed: int) -> Fold:
    """A fold whose documents have descriptors of another query beside their features."""
    rng = np.random.default_rng(seed)
    parts = []
    for part in (fold.train, fold.test):
        others = descriptors(part)[rng.permutation(part.n_queries)]
        parts.append(part.with_features(np.hstack([part.features, others[part.query_index]])))
    return Fold(fold.name, parts[0], None, parts[1])


def with_controls(results: dict[str, MethodResult]) -> dict[str, MethodResult]:
    """The results, and `best` without nets with descriptors instead of coordinates."""
    plain, coordinates = COMPOSED[WITHOUT_NETS]
    for end in (*(described("", fraction) for fraction in FRACTIONS), f", {OF_OTHERS}"):
        view = [member.replace(local(""), end) for member in coordinates]
        name = f"{WITHOUT_NETS}{end}"
        results[name] = composed(results, name, [plain, view])
    return results


def _repeats(setting: Setting, sources: Sources, name: str) -> Repeats:
    methods = [method for pair in RIVALS.values() for method in pair]
    results = []
    for seed in setting.seeds:
        n_trees, parts, kind = n_trees_of(setting), list(sources[name](seed)), f"{name}, {seed}"
        trained = train_members(setting, seed, methods, parts, kind, controls(seed, n_trees))
        uninformed = {
            f"{kind}, {OF_OTHERS}": ranker
            for kind, ranker in kinds(seed, n_trees, feature_fraction=FRACTIONS[0]).items()
            if kind in CONTROLLED
        }
        others = [described_by_others(fold, seed) for fold in parts]
        trained |= train(setting, uninformed, others, f"{kind}, {OF_OTHERS}")
        results.append(with_controls(with_recipes(trained)))
    return Repeats(results)


class QueryDescriptors(Expanded):
    """Trains a ranker on the features and on descriptors of the query.

    Each document also gets the mean and the standard deviation of every feature over the
    documents of its query, the loadings of their first principal direction, and the number of
    documents. 46 features become 185 columns.

    Parameters
    ----------
    ranker : Ranker
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def n_expanded(self, n_features: int) -> int:
        return 4 * n_features + 1

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        described = descriptors(dataset)[dataset.query_index]
        features = np.hstack([dataset.features, described.astype(dataset.features.dtype)])
        return dataset.replaced(features=features, feature_names=None)

    def folded(self, values: Floats, n_features: int) -> Floats:
        """Means, deviations and loadings added up by feature; the value of the size is last."""
        blocks = values[..., :-1].reshape(*values.shape[:-1], 4, n_features)
        return np.concatenate([blocks.sum(axis=-2), values[..., -1:]], axis=-1)


def descriptors(dataset: RankingDataset) -> Array:
    """Means, deviations, first principal direction and number of documents for each query.

    A missing value counts as the mean of its query's known values, or as 0 if it has none.
    """
    begins, queries = dataset.offsets[:-1], dataset.query_index
    known = ~np.isnan(dataset.features)
    n_known = np.maximum(np.add.reduceat(known, begins, dtype=np.int64), 1)
    means = np.add.reduceat(np.where(known, dataset.features, 0), begins) / n_known
    filled = np.where(known, dataset.features, means[queries].astype(dataset.features.dtype))
    squares = (filled - means[queries]) ** 2
    deviations = np.sqrt(np.add.reduceat(squares, begins) / n_known)
    _, axes = principal_axes(filled, dataset.offsets, 1)
    return np.hstack([means, deviations, axes[:, 0], dataset.query_sizes[:, None]])
