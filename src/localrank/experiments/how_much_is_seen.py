"""How much is seen where people differ by query, and on real logs.

Groups: a query is of one of two kinds, at random. People look further down in one of them. The
curve of all is compared with a curve for each kind, and with the true curves: what a model learns
from each, by the labels of test queries. Where both kinds are seen alike, nothing is to be lost.
Collections, logging ranker, trees and splits are those of `clicks`.

Real logs: a web search engine's result pages with grades at each position tell how much is seen
without any model of clicks but one: documents of the same grade are alike. Another log of it shows
documents at several positions, but has no grades.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank.clicks import (
    ClickLog,
    GroupedPositionBias,
    PositionBasedModel,
    PositionBehaviour,
    PositionBias,
    relevance_dataset,
    simulate_clicks,
)
from localrank.data import Fold, read_click_log
from localrank.evaluation import paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments.clicks import (
    LABELS,
    MEASURE,
    NAIVE,
    SHUFFLE,
    Source,
    logging_ranker,
    queries_of_seeds,
    sources_of,
    tests_the_same,
    trees_of,
)
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting

EXPERIMENT = "how-much-is-seen"
# A trial had the seeds 0 and 1: other queries to test, and other clicks.
SEEDS = (2, 3, 4)
COLLECTIONS = ("MQ2007-85", "Yandex")
SIZES, FEW_SESSIONS = (10_000, 100_000), (2_000, 4_000)
KINDS = ("first", "second")
DIFFERENT, ALIKE = "different curves", "one curve"
# How fast examination falls for each kind of query.
CURVES = {DIFFERENT: (0.5, 2.0), ALIKE: (1.0, 1.0)}
COMMON, BY_GROUP, TRUE = "one curve for all", "a curve for each kind", "the true curves"
METHODS = (LABELS, NAIVE, COMMON, BY_GROUP, TRUE)
# Real logs. Grades that people gave, from the best; other documents were not judged.
GRADED, SWAPPED = "graded-sessions.jsonl.gz", "swapped-sessions.jsonl.gz"
GRADES = ("VITAL", "USEFUL", "RELEVANT_PLUS", "RELEVANT_MINUS", "IRRELEVANT")
N_POSITIONS, N_BOOTSTRAP = 10, 200

# Condition, number of sessions, and method.
Key = tuple[str, int, str]


def reproduce(setting: Setting) -> Reproduction:
    """Compare curves for groups with one for all, and curves on real logs."""
    sources = sources_of(setting, COLLECTIONS)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(sources), claimant="the expectation", quick=setting.quick
    )
    _groups(reproduction, setting, sources)
    if (setting.folder / "clicks" / GRADED).is_file():
        _real_logs(reproduction, setting.folder / "clicks")
    return reproduction


def _groups(reproduction: Reproduction, setting: Setting, sources: Mapping[str, Source]) -> None:
    sizes = FEW_SESSIONS if setting.quick else SIZES
    ranked: dict[str, dict[Key, list[Floats]]] = {}
    errors: dict[Key, list[float]] = {}
    p_values: dict[tuple[str, int], list[float]] = {}
    for name, source in sources.items():
        ranked[name] = {}
        for seed, condition in product(setting.seeds, CURVES):
            setting.say(f"{name}, {seed}, {condition}")
            found = _learned(setting, source(seed), condition, seed, sizes)
            for key, (value, error, p_value) in found.items():
                ranked[name].setdefault(key, []).append(value)
                if error is not None:
                    errors.setdefault(key, []).append(error)
                if p_value is not None:
                    p_values.setdefault(key[:2], []).append(p_value)
    same = {name: tests_the_same(source, setting.seeds) for name, source in sources.items()}
    values = {
        key: np.concatenate([queries_of_seeds(ranked[n][key], same[n]) for n in ranked])
        for key in next(iter(ranked.values()))
    }
    rows: list[list[Value]] = []
    for condition, n in product(CURVES, sizes):
        means = [float(np.nanmean(values[condition, n, method])) for method in METHODS]
        off = [float(np.mean(errors[condition, n, method])) for method in (COMMON, BY_GROUP)]
        found_p = f"{min(p_values[condition, n]):.3f} to {max(p_values[condition, n]):.3f}"
        rows.append([condition, n, *means, *off, found_p])
    reproduction.table(
        "Two kinds of queries",
        ["kinds have", "sessions", *METHODS, f"error of {COMMON}", f"error of {BY_GROUP}", "p"],
        rows,
        f"{MEASURE} of {len(next(iter(values.values()))):,} test queries. Errors are the mean "
        f"absolute difference of log examination to the truth, over kinds and positions. p is of "
        f"the test whether kinds differ, in the {len(next(iter(p_values.values())))} logs.",
    )
    tests = corrected(
        {
            (condition, n): paired_test(
                values[condition, n, BY_GROUP], values[condition, n, COMMON]
            )
            for condition, n in product(CURVES, sizes)
        }
    )
    for condition, says in (
        (DIFFERENT, f"{BY_GROUP} ranks better than {COMMON} where the kinds differ"),
        (ALIKE, f"{BY_GROUP} ranks worse than {COMMON} where the kinds do not differ"),
    ):
        of_sizes = [tests[condition, n] for n in sizes]
        told = "; ".join(
            f"{n:,} sessions {difference(test)}" for n, test in zip(sizes, of_sizes, strict=True)
        )
        if condition == ALIKE:
            reproduction.claim(says, told, *(_Worse(test) for test in of_sizes))
        else:
            reproduction.claim(says, told, *of_sizes)
    for n in sizes:
        near, far = (-np.array(errors[DIFFERENT, n, method]) for method in (BY_GROUP, COMMON))
        test = paired_test(near, far)
        reproduction.claim(
            f"{BY_GROUP} is nearer to the truth where the kinds differ, from {n:,} sessions",
            f"log examination, {len(near)} logs: {difference(test)}",
            test,
        )


class _Worse:
    """A test turned round: its claim holds if the difference is below 0."""

    def __init__(self, test: Any) -> None:
        self.sign = -test.sign


def _learned(
    setting: Setting, fold: Fold, condition: str, seed: int, sizes: Sequence[int]
) -> dict[Key, tuple[Floats, float | None, float | None]]:
    """Values of the test queries, errors of the curves, and p-values that kinds differ."""
    train, test = fold.train.in_memory(), fold.test.in_memory()
    kinds = np.array(KINDS)[np.random.default_rng(seed).integers(2, size=train.n_queries)]
    people = {
        kind: PositionBehaviour(eta=eta) for kind, eta in zip(KINDS, CURVES[condition], strict=True)
    }
    shown_by, trees = logging_ranker(train, seed), trees_of(setting)
    log = simulate_clicks(
        train,
        shown_by,
        people,
        n_sessions=max(sizes),
        shuffle=SHUFFLE,
        groups=kinds,
        random_state=seed,
    )
    of_labels = MEASURE(test, trees.fit(train).predict(test))
    true = np.stack([people[kind].examination(log.n_positions) for kind in log.group_names])
    result: dict[Key, tuple[Floats, float | None, float | None]] = {}
    for n in sizes:
        first = log.select(np.arange(n))
        common, grouped = PositionBias().fit(first), GroupedPositionBias().fit(first)
        of_groups = grouped.examination_[
            [grouped.group_names_.tolist().index(kind) for kind in log.group_names]
        ]
        known = {
            NAIVE: relevance_dataset(first, train, prior=None),
            COMMON: relevance_dataset(first, train, common),
            BY_GROUP: relevance_dataset(first, train, grouped),
            TRUE: relevance_dataset(first, train, _Known(true)),
        }
        result[condition, n, LABELS] = of_labels, None, None
        for method, dataset in known.items():
            value = MEASURE(test, trees.fit(dataset).predict(test))
            result[condition, n, method] = value, None, None
        for method, curves in ((COMMON, common.examination_), (BY_GROUP, of_groups)):
            error = float(np.nanmean(np.abs(np.log(curves) - np.log(true))))
            p_value = grouped.p_value_ if method == BY_GROUP else None
            result[condition, n, method] = result[condition, n, method][0], error, p_value
    return result


class _Known:
    """The true curve of each group."""

    def __init__(self, curves: Floats) -> None:
        self.curves = curves

    def examination_of(self, log: ClickLog) -> Floats:
        if log.groups is None:
            raise TypeError("the log has no groups")
        seen: Floats = self.curves[log.groups[log.session_index], log.positions]
        return seen


def _real_logs(reproduction: Reproduction, folder: Path) -> None:
    """The curve that grades tell, and curves that clicks tell."""
    sessions, positions, grades, clicks = _graded(folder / GRADED)
    by_grade = partial(_by_grade, positions, grades, clicks)
    curve = by_grade(np.ones(len(clicks)))
    rng = np.random.default_rng(0)
    n_sessions = int(sessions.max()) + 1
    drawn = np.array(
        [
            by_grade(rng.multinomial(n_sessions, np.full(n_sessions, 1 / n_sessions))[sessions])
            for _ in range(N_BOOTSTRAP)
        ]
    )
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    log = read_click_log(folder / SWAPPED)
    first = PositionBias(n_positions=N_POSITIONS).fit(log)
    second = PositionBias(method="em", n_positions=N_POSITIONS).fit(log)
    model = PositionBasedModel().fit(log)
    rows: list[list[Value]] = []
    for k in range(N_POSITIONS):
        cells = [f"{curve[k]:.3f} [{low[k]:.3f}, {high[k]:.3f}]"]
        cells += [
            f"{bias.examination_[k]:.3f} [{bias.intervals_[k][0]:.3f}, {bias.intervals_[k][1]:.3f}]"
            for bias in (first, second)
        ]
        rows.append([k + 1, *cells, float(model.examination_[k])])
    reproduction.table(
        "Real logs",
        ["position", "by grades", "swaps", "em", "PositionBasedModel"],
        rows,
        f"By grades: {n_sessions:,} result pages, web results that people judged. The others: "
        f"{log.n_sessions:,} result pages of {log.n_queries} queries, another log. With 95 % "
        f"intervals, over sessions or queries. Grades do not tell all: of two documents of one "
        f"grade, the better one stands higher. So the curve by grades falls too fast, if anything.",
    )
    reproduction.figure(
        "real-logs",
        "Examination by position on real logs.",
        "curves",
        panels={
            "examination": {
                name: (list(range(1, N_POSITIONS + 1)), list(map(float, values)))
                for name, values in (
                    ("by grades", curve),
                    ("swaps", first.examination_),
                    ("em", second.examination_),
                )
            }
        },
        x_label="position",
        y_label="examination",
    )


def _graded(path: Path) -> tuple[Array, Array, Array, Array]:
    """Judged web results: session, position, grade and whether it was clicked."""
    rows = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            page = json.loads(line)
            clicked = set(page["clicks"])
            rows += [
                (number, k, GRADES.index(grade), k in clicked)
                for k, (grade, kind) in enumerate(zip(page["grades"], page["kinds"], strict=True))
                if kind == "WEB" and grade in GRADES and k < N_POSITIONS
            ]
    sessions, positions, grades, clicks = np.array(rows, np.int64).T
    return sessions, positions, grades, clicks


def _by_grade(positions: Array, grades: Array, clicks: Array, weights: Array) -> Floats:
    """Examination e[k] in click rates e[k] a[g] of grades g, by Poisson's likelihood."""
    cells = positions * len(GRADES) + grades
    shape = N_POSITIONS, len(GRADES)
    shown = np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape)
    clicked = np.bincount(cells, weights * clicks, shape[0] * shape[1]).reshape(shape)
    seen = np.ones(N_POSITIONS)
    for _ in range(200):
        attraction = clicked.sum(axis=0) / (seen @ shown)
        seen = clicked.sum(axis=1) / (shown @ attraction)
        seen = seen / seen[0]
    return seen
