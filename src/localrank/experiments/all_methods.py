"""Every method of the package on several collections, with default parameters.

Nothing is tuned. Validation queries, where a collection has them, go to the methods that use them.
Test queries are only scored. Methods are compared with LambdaMART, and methods of several models
with the stronger of two global opponents that have as many models. Every seed trains everything
again; tests cover the chance of queries and of training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from localrank.evaluation import Comparison, PairedTest, compare
from localrank.evaluation._opponents import LEFT_OUT
from localrank.evaluation.significance import corrected
from localrank.experiments.repeated_runs import MEASURES, Repeats, short_p
from localrank.experiments.reproduction import Reproduction, Value
from localrank.experiments.setting import Setting, own_folds
from localrank.experiments.wins import FOR_INFORMATION, collections
from localrank.measures import Measure
from localrank.rankers import Ranker, SharedRankSVM
from localrank.recipes import query_blend
from localrank.registry import METHODS, make_ranker

EXPERIMENT = "all-methods"
SEEDS = (0, 1)
BASELINE = "lambdamart"
# Ni et al.'s own form of shared-specific: a specific part for each training query.
PER_QUERY = "shared-specific, per query"
# The methods with a model for each group of queries.
GROUPED = (
    "local-rank",
    "adaptive-training",
    "pca-queries",
    "query-neighbours",
    "query-blend",
    "shared-specific",
    PER_QUERY,
    "topical-rank-svm",
)
# The methods of a quick run.
FEW = ("rank-svm", "pca-queries")


def reproduce(setting: Setting) -> Reproduction:
    """Compare all methods on all collections of a folder."""
    folders = {
        name: folder for name, folder in collections(setting).items() if name != FOR_INFORMATION
    } or collections(setting)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(folders), claimant="localrank", quick=setting.quick
    )
    seeds = {
        name: [
            compare(
                rankers(setting, seed),
                own_folds(folder)[: setting.n_folds],
                MEASURES,
                baseline=BASELINE,
                n_controls=0,
                store=None if setting.store is None else setting.store / f"{name}, {seed}",
                n_jobs=setting.n_jobs,
                random_state=seed,
                say=setting.say,
            )
            for seed in setting.seeds
        ]
        for name, folder in folders.items()
    }
    repeats = {name: Repeats([c.finished for c in runs]) for name, runs in seeds.items()}
    for measure in MEASURES:
        _against_baseline(reproduction, seeds, repeats, measure)
    _at_equal_cost(reproduction, seeds, repeats)
    return reproduction


def rankers(setting: Setting, seed: int) -> dict[str, Ranker]:
    """The methods with their default parameters, and Ni et al.'s form of shared-specific."""
    names = FEW if setting.quick else [name for name in METHODS if name not in LEFT_OUT]
    made = {name: make_ranker(name, (), setting.n_jobs, seed) for name in names}
    return made | {PER_QUERY: query_blend(ranker=SharedRankSVM(), n_jobs=setting.n_jobs)}


def methods_of(comparisons: Mapping[str, Sequence[Comparison]]) -> list[str]:
    """The methods that every collection and seed has, without opponents."""
    every = [c for runs in comparisons.values() for c in runs]
    names = [name for name, entry in every[0].entries.items() if entry.role != "opponent"]
    return [name for name in names if all(name in c.finished for c in every)]


def _against_baseline(
    reproduction: Reproduction,
    comparisons: Mapping[str, Sequence[Comparison]],
    repeats: Mapping[str, Repeats],
    measure: Measure,
) -> None:
    others = [name for name in methods_of(comparisons) if name != BASELINE]
    # One family for each collection, as the command `compare` has it.
    tests = {
        place: corrected({name: runs.test(name, BASELINE, measure) for name in others})
        for place, runs in repeats.items()
    }
    gains = {
        name: float(np.mean([by_method[name].mean_difference for by_method in tests.values()]))
        for name in others
    } | {BASELINE: 0.0}
    rows: list[list[Value]] = []
    for name in sorted(gains, key=lambda name: -gains[name]):
        cells = [f"{runs.mean(name, measure):.4f}" for runs in repeats.values()]
        if name != BASELINE:
            cells = [
                f"{mean} {_marked(by_method[name])}"
                for mean, by_method in zip(cells, tests.values(), strict=True)
            ]
        rows.append([f"`{name}`", *cells])
    grouped = [name for name in others if name in GROUPED]
    reproduction.table(
        f"Every method by {measure}",
        ["method", *repeats],
        rows,
        f"The mean over {_n_seeds(repeats)} seeds, the difference from `{BASELINE}`, and p after "
        f"Holm's correction for the {len(others)} methods of the collection. Differences with "
        f"p < 0.05 are bold. Sorted by the mean difference. `{BASELINE} reseeded` is the baseline "
        f"with other seeds: it shows the chance of training. "
        f"{_counted('methods', others, tests)} "
        f"{_counted('methods with models for groups of queries', grouped, tests)}",
    )


def _at_equal_cost(
    reproduction: Reproduction,
    comparisons: Mapping[str, Sequence[Comparison]],
    repeats: Mapping[str, Repeats],
) -> None:
    """Methods of several models against the stronger opponent with as many."""
    measure = MEASURES[0]
    tests: dict[str, dict[str, PairedTest]] = {}
    # A single model meets the baseline, which is in the tables before.
    opponents = {
        place: {name: other for name, other in runs[0].opponents.items() if other != BASELINE}
        for place, runs in comparisons.items()
    }
    methods = [
        name
        for name in methods_of(comparisons)
        if all(
            opponents[place].get(name) in c.finished
            for place in opponents
            for c in comparisons[place]
        )
    ]
    for place, runs in repeats.items():
        tests[place] = corrected(
            {name: runs.test(name, opponents[place][name], measure) for name in methods}
        )
    reproduction.table(
        "At equal cost",
        ["method", *repeats],
        [
            [
                f"`{name}`",
                *(f"{_marked(tests[place][name])} ({opponents[place][name]})" for place in repeats),
            ]
            for name in methods
        ],
        f"Differences by {measure} from an opponent with as many models, which is named, and p "
        f"after Holm's correction for the methods of the collection. The opponent is the stronger "
        f"of two on the test queries with the first seed, which favours the opponent. Methods with "
        f"hundreds of models have none. {_counted('methods', methods, tests)}",
    )
    for name, place in product(methods, repeats):
        test = tests[place][name]
        if name in ("best", "fast", "one"):
            says = f"{name} ranks better than {opponents[place][name]} on {place} by {measure}"
            measured = f"{test.mean_difference:+.4f}, p {short_p(test.p)}"
            reproduction.claim(says, measured, test)


def _marked(test: PairedTest) -> str:
    gap = f"{test.mean_difference:+.4f}"
    return f"{f'**{gap}**' if test.sign else gap} ({short_p(test.p)})"


def _counted(what: str, names: Sequence[str], tests: Mapping[str, Mapping[str, PairedTest]]) -> str:
    """How many of some methods are significantly better and worse, collection by collection."""
    parts = [
        f"{place} {better} significantly better and {worse} significantly worse"
        for place, by_method in tests.items()
        for better, worse in [
            [sum(by_method[name].sign == sign for name in names) for sign in (1, -1)]
        ]
    ]
    return f"Of {len(names)} {what}: {'; '.join(parts)}."


def _n_seeds(repeats: Mapping[str, Repeats]) -> int:
    return len(next(iter(repeats.values())).results)
