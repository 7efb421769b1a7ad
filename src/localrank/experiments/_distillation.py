"""One model that learns the scores of six, and what lists without labels add."""

from __future__ import annotations

from itertools import product

import numpy as np

from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import MethodResult
from localrank.evaluation.significance import corrected
from localrank.experiments._base import Reproduction
from localrank.experiments._draws import MEASURES, NOTE, Draws, cell, gain_test
from localrank.experiments._members import Sources, n_trees_of, present, train
from localrank.experiments._setting import Setting
from localrank.rankers import Distilled, Ranker
from localrank.rankers.base import HeldOut, Weights
from localrank.recipes import best, one

COLLECTIONS = ("MQ2007-85", "MQ2008", "OHSUMED")
# The share of the training queries whose labels are used: the rest are lists without labels.
LABELLED = 1 / 3
TEACHER, STUDENT, MORE = "best", "one", "one, lists without labels too"
PAIRS = [(STUDENT, TEACHER), (MORE, TEACHER), (MORE, STUDENT)]


class TaughtByMore(Distilled):
    """Learns the scores of all training lists. The teacher saw the labels of the first third."""

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        teacher: Ranker = clone(self.ranker)
        teacher.fit_rows(dataset.taken(np.arange(n_labelled(dataset))))
        self._teach(dataset.replaced(relevance=teacher.predict_rows(dataset)))


def distillation(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add what lists without labels teach one model when a third of the queries has labels."""
    names = present(sources, COLLECTIONS)
    draws = {name: Draws(_results(setting, sources, name)) for name in names}
    gains = {
        (pair, measure, name): drawn.gains(*pair, measure)
        for pair, measure, (name, drawn) in product(PAIRS, MEASURES, draws.items())
    }
    for pair, measure in product(PAIRS, MEASURES):
        gains[pair, measure, "all"] = np.concatenate([gains[pair, measure, n] for n in names])
    tests = corrected({key: gain_test(values) for key, values in gains.items()})
    places = [*names, "all"]
    reproduction.table(
        "Lists without labels",
        ["", "measure", *places],
        [
            [
                f"{pair[0]} − {pair[1]}",
                str(measure),
                *(cell(tests[pair, measure, place]) for place in places),
            ]
            for pair, measure in product(PAIRS, MEASURES)
        ],
        f"{NOTE.format(n=len(tests))} A third of each fold's training queries has labels; best is "
        f"trained on them. One model learns its scores of these lists, or of all training lists.",
    )
    reproduction.table(
        "Lists without labels: means",
        ["", *names],
        [
            [
                method,
                *(
                    " / ".join(f"{drawn.mean(method, m):.4f}" for m in MEASURES)
                    for drawn in draws.values()
                ),
            ]
            for method in (TEACHER, STUDENT, MORE)
        ],
        " / ".join(map(str, MEASURES)),
    )


def n_labelled(dataset: RankingDataset) -> int:
    """How many of the queries have labels."""
    return max(round(LABELLED * dataset.n_queries), 1)


def shuffled_queries(fold: Fold, seed: int) -> Fold:
    """A fold whose training queries come in a random order: the first ones have labels."""
    order = np.random.default_rng(seed).permutation(fold.train.n_queries)
    return Fold(fold.name, fold.train.select(order), None, fold.test)


def _results(setting: Setting, sources: Sources, name: str) -> list[dict[str, MethodResult]]:
    results = []
    for seed in setting.seeds:
        n_trees = n_trees_of(setting)
        every = [shuffled_queries(fold, seed) for fold in sources[name](seed)]
        few = [
            Fold(fold.name, fold.train.select(range(n_labelled(fold.train))), None, fold.test)
            for fold in every
        ]
        student = one(n_trees, random_state=seed)
        more = TaughtByMore(student.ranker, student.student)
        teacher = best(n_trees, random_state=seed)
        taught = train(
            setting, {TEACHER: teacher, STUDENT: student}, few, f"{name}, {seed}, a third"
        )
        results.append(taught | train(setting, {MORE: more}, every, f"{name}, {seed}, by more"))
    return results
