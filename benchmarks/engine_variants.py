"""What the variants that search engines can compute lose, against the recipes as they are.

Run with `python benchmarks/engine_variants.py [COLLECTION ...] [--seed N ...] [--store DIR]`.
Collections from the folder in LOCALRANK_DATA or from `../shared/data` beside the project. Two
seeds on the four collections take 12 minutes on one core; work that is in the store is not done
again. With `--multiplied` each feature of each query has a random factor, because LETOR's files
are normalised within the query already.

Two variants. Fixed scales: the scores of an ensemble's members are divided by scales learned in
training (`combine="fixed"`), not standardised within the query. Engine coordinates: the recipe
`engine_coordinates`, whose coordinates are those that Vespa computes over its hits.

Folds, seeds, tests and held-out queries are those of `localrank reproduce wins`. Every member is
trained once, as an ensemble of itself with a fixed scale: its scores come divided by their scale.
The mean of these is the variant with fixed scales, and standardising takes the scale away again.
"""

from __future__ import annotations

import argparse
from itertools import chain, product
from pathlib import Path

from measuring import DATA

from localrank.aggregation import FixedScale, MeanScore, ZScore
from localrank.evaluation import MethodResult, PairedTest
from localrank.evaluation.significance import corrected
from localrank.experiments import Pooled, Setting, composed, members, with_form
from localrank.experiments.recipe_members import (
    COMPOSED,
    CROSS_ENTROPY,
    GBRT,
    LAMBDA_MART,
    RANK_SVM,
)
from localrank.experiments.where_coordinates_pay import AS_THEY_ARE, MULTIPLIED
from localrank.experiments.wins import POOLED, shuffled_folds
from localrank.measures import parse_measure
from localrank.rankers import Ensemble, QueryCoordinates, Ranker
from localrank.recipes import engine_coordinates

MEASURES = [parse_measure("ndcg@10"), parse_measure("map")]
SEEDS = (0, 1000)
ENGINE = "engine_coordinates"


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
COORDINATES = [
    (ENGINE, other)
    for other in ("best", "fast", "6 mixed", fixed("best"), fixed("fast"), fixed("6 mixed"))
]


def rankers(seed: int) -> dict[str, Ranker]:
    """Every member once, its scores divided by their scale in training."""
    view = engine_coordinates(random_state=seed).rankers[1]
    single = members(seed) | {
        in_engine(type(ranker).__name__): QueryCoordinates(ranker, parts=view.parts)
        for ranker in view.ranker.rankers
    }
    names = dict.fromkeys(chain.from_iterable(chain(*RECIPES.values())))
    return {name: Ensemble([single[name]], aggregator=FixedScale()) for name in names}


def run(name: str, seed: int, form: str, store: Path | None) -> dict[str, MethodResult]:
    """The recipes and their variants on a collection."""
    setting = Setting(DATA / name, n_jobs=1, say=lambda line: None)
    parts = [with_form(fold, form, seed) for fold in shuffled_folds(DATA / name, seed)]
    kept = None if store is None else store / f"{name}, {seed}"
    results = setting.run(rankers(seed), parts, store=kept)
    recipes = {}
    for recipe, views in RECIPES.items():
        for variant, aggregator in ((standardised(recipe), ZScore()), (fixed(recipe), MeanScore())):
            recipes[variant] = composed(results, variant, views, aggregator)
    return recipes


def cell(test: PairedTest) -> str:
    """The difference, its interval, and p before and after correction."""
    low, high = test.interval
    before, after = ("< .001" if p < 0.001 else f"{p:.3f}" for p in (test.p_value, test.p))
    return f"{test.mean_difference:+.4f} [{low:+.4f}, {high:+.4f}] ({before}; {after})"


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def report(pooled: Pooled) -> None:
    """Print means, and both comparisons with Holm's correction for all tests of a table."""
    print_row("", *pooled.places, "models", "training")
    print("|---" * (len(pooled.places) + 3) + "|")
    for method in pooled.methods:
        means = [
            " / ".join(f"{pooled.values(place, method, m).mean():.4f}" for m in MEASURES)
            for place in pooled.places
        ]
        seconds = f"{pooled.cpu_seconds(method):.1f} s"
        print_row(method, *means, pooled.n_models(method), seconds)
    for title, duels in {"Fixed scales": SCALES, "Engine coordinates": COORDINATES}.items():
        tests = corrected(
            {
                (duel, place, m): pooled.test(place, *duel, m)
                for duel, place, m in product(duels, pooled.places, MEASURES)
            }
        )
        print(f"\n{title}\n")
        print_row("", "measure", *pooled.places)
        print("|---" * (len(pooled.places) + 2) + "|")
        for duel, m in product(duels, MEASURES):
            cells = [cell(tests[duel, place, m]) for place in pooled.places]
            print_row(" − ".join(duel), m, *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description="What exportable variants of recipes lose.")
    parser.add_argument("names", nargs="*", default=list(POOLED), metavar="COLLECTION")
    parser.add_argument("--seed", type=int, action="append", dest="seeds")
    parser.add_argument("--multiplied", action="store_true", help="features times random factors")
    parser.add_argument("--store", type=Path, help="a folder for finished work")
    options = parser.parse_args()
    form = MULTIPLIED if options.multiplied else AS_THEY_ARE
    results: dict[str, list[dict[str, MethodResult]]] = {}
    for name in options.names:
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        results[name] = [run(name, seed, form, options.store) for seed in options.seeds or SEEDS]
    if results:
        report(Pooled(results, list(results)))


if __name__ == "__main__":
    main()
