"""Every global method beside other libraries' rankers, with default and with tuned parameters.

The other libraries are called as their users call them. "Tuned" chooses among four settings, the
default among them, for every method: in each fold by NDCG@10 of its validation queries, or, where
a collection has none, of a quarter of its training queries. Test queries are only scored.
Documents are shuffled within their queries, and equal scores share their ranks.

The recipes are put together from their members. A setting of a recipe is one of its LightGBM
trees; its other models keep their default parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np

from localrank.data import Fold, folds, read_letor
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._peers import CATBOOST, LIGHTGBM, PEERS, XGBOOST, XGBOOST_PAIRS
from localrank.experiments._tuned_methods import (
    N_SETTINGS,
    Chosen,
    methods,
    run_tuned,
    words,
)
from localrank.experiments.published_numbers import published_cells, source
from localrank.experiments.recipe_members import WITH_CATBOOST
from localrank.experiments.repeated_runs import MEASURES, Pooled, cell, with_all
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting, mean_of_folds, own_folds
from localrank.experiments.wins import FOR_INFORMATION, POOLED, collections, shuffled
from localrank.measures import Measure, parse_measure

EXPERIMENT = "scoreboard"
SEEDS = (0,)
YANDEX = "Yandex"
COLLECTIONS = (*POOLED, FOR_INFORMATION, YANDEX)
N_FOLDS = 5
RECIPES = ("6 mixed", WITH_CATBOOST, "fast", "one", "best")
# The methods of a quick run.
FEW = (LIGHTGBM, CATBOOST, "RankSVM", WITH_CATBOOST, "one", "best")
MEASURE = MEASURES[0]
# What `best` is to gain over six mixed models with CatBoost, and what `one` may lose to `best`.
WANTED, ALLOWED = 0.004, 0.002
LETOR = "OHSUMED"
LETOR_MAP = parse_measure("map", convention="letor3")


def tuned(method: str) -> str:
    """The name of a method with chosen parameters."""
    return f"{method}, tuned"


@dataclass(frozen=True)
class AtLeast:
    """Asks of a significant gain whether it is as large as wanted."""

    test: PairedTest
    gain: float

    @property
    def sign(self) -> int:
        """1: it is significant and large enough. -1: its interval ends below. 0: neither."""
        if self.test.sign > 0 and self.test.mean_difference >= self.gain:
            return 1
        return -1 if self.test.interval[1] < self.gain else 0


@dataclass(frozen=True)
class NeverWorse:
    """Asks whether none of several tests finds a loss."""

    tests: Sequence[PairedTest]

    @property
    def sign(self) -> int:
        """1: no loss is significant. -1: one is."""
        return -1 if any(test.sign < 0 for test in self.tests) else 1


def reproduce(setting: Setting) -> Reproduction:
    """Compare all methods on all collections of a folder."""
    folders = collections(setting, COLLECTIONS)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(folders), claimant="the aim", quick=setting.quick
    )
    names = [name for name in methods() if not setting.quick or name in FEW]
    chosen = {
        name: [
            run_tuned(setting, names, folds_of(setting, folder, seed), seed, f"{name}, {seed}")
            for seed in setting.seeds
        ]
        for name, folder in folders.items()
    }
    pooled = Pooled(
        {name: [_together(run) for run in runs] for name, runs in chosen.items()}, list(folders)
    )
    _claims(reproduction, pooled)
    for named, how in ((str, "default parameters"), (tuned, "tuned parameters")):
        _means(reproduction, pooled, [named(name) for name in names], how)
    for named, how in ((str, "default parameters"), (tuned, "tuned parameters")):
        if "best" in names:
            pairs = [(named("best"), named(name)) for name in names if name != "best"]
            _tested(reproduction, pooled, pairs, f"best against every other method, {how}", "")
    strongest = _strongest(pooled, names)
    pairs = [(name, strongest) for name in names if name in RECIPES]
    title = "The recipes against the strongest single model of another library"
    _tested(reproduction, pooled, pairs, title, STRONGEST)
    _settings(reproduction, chosen, names)
    if LETOR in folders:
        _published(reproduction, pooled)
    _figures(reproduction, pooled, names)
    return reproduction


def folds_of(setting: Setting, folder: Path, seed: int) -> list[Fold]:
    """The shuffled folds of a collection. One that is a single file is cut by query."""
    single = folder / "train.txt.gz"
    if single.is_file() and not (folder / "test.txt.gz").is_file():
        parts = folds(read_letor(single), N_FOLDS, validation=False, random_state=0)
    else:
        parts = own_folds(folder)
    return list(islice(shuffled(parts, seed, validation=True), setting.n_folds))


def _together(run: Chosen) -> dict[str, MethodResult]:
    return {**run.default, **{tuned(name): result for name, result in run.tuned.items()}}


def _claims(reproduction: Reproduction, pooled: Pooled) -> None:
    """The aims. Each is decided by tests of its own, corrected for their number."""
    place = _together_place(pooled)
    for named in (str, tuned):
        ours, other = named("best"), named(WITH_CATBOOST)
        if {ours, other} <= set(pooled.methods):
            test = pooled.test(place, ours, other, MEASURE)
            measured = f"{difference(test)}, on {place}"
            reproduction.claim(f"{ours} ranks better than {other}", measured, test)
            says = f"{ours} gains {WANTED} or more over {other}, significantly"
            reproduction.claim(says, measured, AtLeast(test, WANTED))
            tests = {name: pooled.test(name, ours, other, MEASURE) for name in pooled.names}
            told = "; ".join(f"{name} {difference(test)}" for name, test in tests.items())
            says = f"{ours} is significantly worse than {other} on no collection"
            reproduction.claim(says, told, NeverWorse(list(tests.values())))
        one, best = named("one"), named("best")
        if {one, best} <= set(pooled.methods):
            values = [pooled.by_run(place, name, MEASURE) for name in (one, best)]
            test, within = paired_test(*values), paired_test(values[0] + ALLOWED, values[1])
            told = f"{difference(test)}, on {place}; within: {difference(within)}"
            reproduction.claim(f"{one} loses less than {ALLOWED} to {best}", told, within)
    singles = [n for n in (CATBOOST, LIGHTGBM, XGBOOST, XGBOOST_PAIRS) if n in pooled.methods]
    if YANDEX in pooled.names and "best" in pooled.methods:
        tests = corrected({name: pooled.test(YANDEX, "best", name, MEASURE) for name in singles})
        for name, test in tests.items():
            reproduction.claim(f"best ranks better than {name} on {YANDEX}", difference(test), test)


def _together_place(pooled: Pooled) -> str:
    """All collections together, or the only one."""
    return with_all(pooled.names)[-1]


def _means(reproduction: Reproduction, pooled: Pooled, rows: Sequence[str], how: str) -> None:
    """Quality on every collection, and the costs. Numbers, not tests."""
    places = with_all(pooled.names)
    table: list[list[Value]] = []
    for method in rows:
        means = [
            " / ".join(f"{pooled.mean(place, method, m):.4f}"[1:] for m in MEASURES)
            for place in places
        ]
        seconds = f"{pooled.cpu_seconds(method):.1f} s"
        size = f"{kibibytes(pooled, method):,.0f} KiB"
        table.append([method, *means, seconds, f"{microseconds(pooled, method):.2g} µs", size])
    reproduction.table(
        f"Every method, {how}",
        ["", *places, "training", "a document", "file"],
        table,
        f"{' / '.join(map(str, MEASURES))}. Training is CPU seconds for the mean fold of each "
        "collection, added up; of tuned methods, that of the chosen setting alone. A document is "
        "the mean time to score one, queries given together. A file is the mean size of the saved "
        "model, in its library's own format. Of several models, costs are the sums of theirs.",
    )


def microseconds(pooled: Pooled, method: str) -> float:
    """Mean time to score a document of any collection."""
    results = [seed[method] for name in pooled.names for seed in pooled.results[name]]
    seconds = sum(run.predict_seconds for result in results for run in result.runs)
    return 1e6 * seconds / sum(result.test.n_documents for result in results)


def kibibytes(pooled: Pooled, method: str) -> float:
    """Mean size of a saved model, of collections."""
    sizes = [seed[method].model_bytes for name in pooled.names for seed in pooled.results[name]]
    return float(np.mean(sizes)) / 1024


def _tested(
    reproduction: Reproduction,
    pooled: Pooled,
    pairs: Sequence[tuple[str, str]],
    title: str,
    note: str,
) -> None:
    """A table of paired tests: a family for each collection, and one for all of them."""
    places = with_all(pooled.names)
    keys = list(product(pairs, MEASURES))
    tests = {
        place: corrected({(pair, m): pooled.test(place, *pair, m) for pair, m in keys})
        for place in places
    }
    reproduction.table(
        title,
        ["", "against", "measure", *places],
        [[*pair, str(m), *(cell(tests[place][pair, m]) for place in places)] for pair, m in keys],
        " ".join([f"{_note(tests)}", note]).strip(),
    )


def _note(tests: Mapping[str, Mapping[tuple[tuple[str, str], Measure], PairedTest]]) -> str:
    n_tests = len(next(iter(tests.values())))
    every = [test for family in tests.values() for test in family.values()]
    gains, losses = (sum(test.sign == sign for test in every) for sign in (1, -1))
    return (
        "Differences with their 95 % intervals; in brackets p before and after Holm's correction "
        f"for the {n_tests} tests of a column. After correction {gains} differences are "
        f"significant gains, and {losses} significant losses."
    )


STRONGEST = (
    "It is the one with the highest mean on all test queries, with default or tuned parameters: "
    "this choice favours the opponent."
)


def _strongest(pooled: Pooled, names: Sequence[str]) -> str:
    """The other library's model with the highest mean on all test queries."""
    singles = [named(name) for name in names if name in PEERS for named in (str, tuned)]
    place = _together_place(pooled)
    return max(singles, key=lambda name: pooled.mean(place, name, MEASURE))


def _settings(
    reproduction: Reproduction, chosen: Mapping[str, Sequence[Chosen]], names: Sequence[str]
) -> None:
    """The settings of every method, and how often each was chosen."""
    rows: list[list[Value]] = []
    for name in names:
        places = [p for runs in chosen.values() for run in runs for p in run.places[name]]
        counts = [places.count(place) for place in range(N_SETTINGS)]
        rows.append([name, *(f"{words(name, i)} ({n})" for i, n in enumerate(counts))])
    reproduction.table(
        "The settings of every method",
        ["", "default", *(f"setting {place + 1}" for place in range(1, N_SETTINGS))],
        rows,
        "In brackets: how many folds chose it. YetiRank's default here has a tenth of CatBoost's "
        "number of trees and ten times its rate, because of its cost. As in the recipes, "
        "CrossEntropyMART has half as many trees as LambdaMART, and SymmetricTrees have 500. "
        "RankLib's fork is not here: it needs a JVM.",
    )


def _published(reproduction: Reproduction, pooled: Pooled) -> None:
    """What others published on the same folds, and ours by their convention."""
    published = published_cells("letor", "baselines", LETOR)
    rows: list[list[Value]] = [
        [f"{name}, published", value] for (name, _), value in published.items()
    ]
    runs = pooled.results[LETOR]
    for method in pooled.methods:
        value = float(np.mean([mean_of_folds(run[method], LETOR_MAP) for run in runs]))
        rows.append([method, value])
    rows.sort(key=lambda row: -float(row[1] or 0))
    reproduction.table(
        f"Published figures on {LETOR}",
        ["", str(LETOR_MAP)],
        rows,
        f"By LETOR 3's convention, the mean of the folds: labels from 1 are relevant, and equal "
        f"scores keep the order of lines, which is random here. {source('letor')} These baselines "
        f"chose their parameters by MAP. Other published figures could not be checked, and are "
        f"left out.",
    )


def _figures(reproduction: Reproduction, pooled: Pooled, names: Sequence[str]) -> None:
    """Quality against the cost of training and of scoring."""
    place = _together_place(pooled)
    for name, cost, label in (
        ("training", pooled.cpu_seconds, "CPU seconds of training"),
        ("scoring", lambda method: microseconds(pooled, method), "µs to score a document"),
    ):
        reproduction.figure(
            name,
            f"{MEASURE} on {place} against {label}. Costs have a logarithmic scale.",
            "curves",
            panels={
                how: {
                    method: (
                        [cost(named(method))],
                        [pooled.mean(place, named(method), MEASURE)],
                    )
                    for method in names
                }
                for how, named in (("default parameters", str), ("tuned parameters", tuned))
            },
            x_label=label,
            y_label=str(MEASURE),
            log_x=True,
        )
