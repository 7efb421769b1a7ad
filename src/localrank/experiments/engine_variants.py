"""What the variants that search engines can compute lose, against the recipes as they are.

Two variants. Fixed scales: the scores of an ensemble's members are divided by scales learned in
training (`combine="fixed"`), not standardised within the query. Engine coordinates: the recipe
`engine_coordinates`, whose coordinates are those that Vespa computes over its hits.

Folds, seeds and held-out queries are those of `wins`. Every member is trained once, as an ensemble
of itself with a fixed scale: its scores come divided by their scale. The mean of these is the
variant with fixed scales, and standardising takes the scale away again.

LETOR's files are normalised within the query. So the second part multiplies each feature of each
query by a random factor, as `where-coordinates-pay` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product

from localrank.aggregation import FixedScale, MeanScore, ZScore
from localrank.evaluation import MethodResult, PairedTest
from localrank.evaluation.significance import corrected
from localrank.experiments import recipe_members
from localrank.experiments.recipe_members import (
    COMPOSED,
    CROSS_ENTROPY,
    GBRT,
    LAMBDA_MART,
    RANK_SVM,
    Sources,
    available,
    composed,
    members,
    n_trees_of,
    train,
)
from localrank.experiments.repeated_runs import (
    ALL,
    MEASURES,
    Pooled,
    Worse,
    cell,
    less,
    note_of,
)
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting
from localrank.experiments.where_coordinates_pay import AS_THEY_ARE, MULTIPLIED, with_form
from localrank.experiments.wins import POOLED, sources_of
from localrank.rankers import Ensemble, QueryCoordinates, Ranker
from localrank.recipes import engine_coordinates

EXPERIMENT = "engine-variants"
SEEDS = recipe_members.SEEDS
ENGINE = "engine_coordinates"
# The collections of the second part.
MULTIPLIED_COLLECTIONS = ("MQ2008", "OHSUMED")

Tests = Mapping[tuple[tuple[str, str], str, str], PairedTest]


def in_engine(kind: str) -> str:
    """The name of a model in the coordinates of an engine."""
    return f"{kind}, in engine coordinates"


RECIPES = {name: COMPOSED[name] for name in ("6 mixed", "fast", "best")} | {
    ENGINE: [
        [LAMBDA_MART, GBRT, RANK_SVM],
        [in_engine(kind) for kind in (LAMBDA_MART, CROSS_ENTROPY, RANK_SVM)],
    ]
}


def fixed(name: str) -> str:
    """The name of a recipe with fixed scales, which engine coordinates have anyway."""
    return name if name == ENGINE else f"{name}, fixed"


def standardised(name: str) -> str:
    """The name of a recipe whose scores are standardised within the query."""
    return f"{name}, standardised" if name == ENGINE else name


SCALES = [(fixed(name), standardised(name)) for name in RECIPES]
COORDINATES = [(ENGINE, other) for other in ("best", "fast", "6 mixed", fixed("6 mixed"))]


def reproduce(setting: Setting) -> Reproduction:
    """Compare the variants with the recipes, on all collections of a folder."""
    sources = sources_of(setting)
    names = available(sources, POOLED)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(names), claimant="localrank", quick=setting.quick
    )
    pooled = _pooled(setting, sources, names, AS_THEY_ARE)
    scales = _compared(reproduction, pooled, SCALES, "Fixed scales", FIXED_SCALES)
    coordinates = _compared(reproduction, pooled, COORDINATES, "Engine coordinates", OF_ENGINE)
    place = ALL if ALL in pooled.places else names[0]
    for (ours, other), measure in product(SCALES, map(str, MEASURES)):
        _claim_worse(reproduction, scales, (ours, other), place, measure)
    for measure in map(str, MEASURES):
        _claim_worse(reproduction, coordinates, (ENGINE, "best"), place, measure)
        pair = ENGINE, "6 mixed"
        test = coordinates[pair, place, measure]
        says = f"{pair[0]} ranks better than {pair[1]} by {measure}"
        reproduction.claim(says, f"{difference(test)}, on {place}", test)
    _means(reproduction, pooled, "Everything")
    some = available(sources, MULTIPLIED_COLLECTIONS)
    crude = _pooled(setting, sources, some, MULTIPLIED)
    tests = _compared(reproduction, crude, COORDINATES, "Features that are not normalised", FACTORS)
    place = ALL if ALL in crude.places else some[0]
    for measure in map(str, MEASURES):
        test = tests[(ENGINE, "6 mixed"), place, measure]
        says = f"{ENGINE} ranks better than 6 mixed by {measure} where features are multiplied"
        reproduction.claim(says, f"{difference(test)}, on {place}", test)
    _means(reproduction, crude, "Everything, on multiplied features")
    return reproduction


FIXED_SCALES = (
    "'Fixed' divides each member's scores by a scale learned in training: the mean of its standard "
    "deviations within the training queries. engine_coordinates always has fixed scales."
)
OF_ENGINE = (
    "engine_coordinates has six models, trees and linear ones, on the features and on values that "
    "Vespa computes exactly over its hits."
)
FACTORS = (
    "Each feature of each query is multiplied by a random factor between 0.1 and 10. The factors "
    "are made up: the gain on a search engine's features depends on how much their scales differ "
    "from query to query."
)


def _claim_worse(
    reproduction: Reproduction, tests: Tests, pair: tuple[str, str], place: str, measure: str
) -> None:
    test = tests[pair, place, measure]
    says = f"{pair[0]} ranks worse than {pair[1]} by {measure}"
    reproduction.claim(says, f"{difference(test)}, on {place}", Worse(test))


def rankers(seed: int, n_trees: int) -> dict[str, Ranker]:
    """Every member once, its scores divided by their scale in training."""
    view = engine_coordinates(n_trees, random_state=seed).rankers[1]
    single = members(seed, n_trees) | {
        in_engine(type(ranker).__name__): QueryCoordinates(ranker, parts=view.parts)
        for ranker in view.ranker.rankers
    }
    names = dict.fromkeys(chain.from_iterable(chain(*RECIPES.values())))
    return {name: Ensemble([single[name]], aggregator=FixedScale()) for name in names}


def variants(results: Mapping[str, MethodResult]) -> dict[str, MethodResult]:
    """Each recipe in both variants, composed from the scores of its members."""
    ways = ((standardised, ZScore()), (fixed, MeanScore()))
    return {
        named(recipe): composed(results, named(recipe), views, aggregator)
        for recipe, views in RECIPES.items()
        for named, aggregator in ways
    }


def _pooled(setting: Setting, sources: Sources, names: Sequence[str], form: str) -> Pooled:
    results: dict[str, list[dict[str, MethodResult]]] = {}
    for name in names:
        results[name] = []
        for seed in setting.seeds:
            parts = [with_form(fold, form, seed) for fold in sources[name](seed)]
            kind = f"{name}, {seed}, {form}, fixed scales"
            trained = train(setting, rankers(seed, n_trees_of(setting)), parts, kind)
            results[name].append(variants(trained))
    return Pooled(results, list(names))


def _compared(
    reproduction: Reproduction,
    pooled: Pooled,
    duels: Sequence[tuple[str, str]],
    title: str,
    note: str,
) -> Tests:
    tests = corrected(
        {
            (duel, place, str(m)): pooled.test(place, *duel, m)
            for duel, place, m in product(duels, pooled.places, MEASURES)
        }
    )
    reproduction.table(
        title,
        ["", "measure", *pooled.places],
        [
            [less(duel), m, *(cell(tests[duel, place, m]) for place in pooled.places)]
            for duel, m in product(duels, map(str, MEASURES))
        ],
        f"{note_of(tests)} {note}",
    )
    return tests


def _means(reproduction: Reproduction, pooled: Pooled, title: str) -> None:
    rows: list[list[Value]] = []
    for method in pooled.methods:
        means = [
            " / ".join(f"{pooled.mean(place, method, m):.4f}" for m in MEASURES)
            for place in pooled.places
        ]
        seconds = f"{pooled.cpu_seconds(method):.1f} s"
        rows.append([method, *means, pooled.n_models(method), seconds])
    reproduction.table(
        title,
        ["", *pooled.places, "models", "training"],
        rows,
        f"{' / '.join(map(str, MEASURES))}, means of the seeds. Training is CPU seconds for the "
        f"mean fold of each collection, added up.",
    )
