"""The gain of coordinates against the number of training queries."""

from __future__ import annotations

from itertools import product

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import Fold
from localrank.evaluation import PairedTest
from localrank.evaluation.plots import Chart
from localrank.evaluation.significance import corrected
from localrank.experiments._base import Reproduction, Value
from localrank.experiments._draws import (
    MEASURES,
    NOTE,
    Draws,
    cell,
    gain_test,
    interval,
    slopes,
)
from localrank.experiments._members import (
    LAMBDA_MART,
    NET,
    WITHOUT_NETS,
    Sources,
    draw_seeds,
    local,
    members,
    n_trees_of,
    needed,
    present,
    train,
    with_recipes,
)
from localrank.experiments._setting import Setting

COLLECTIONS = ("MQ2007-85", "MQ2008")
SIZES, FEW_SIZES = (15, 30, 60, 120, 250, 500), (12, 24)
# Few queries are drawn more often.
N_DRAWS, MOST_DRAWN = 3, 120
METHODS = (
    LAMBDA_MART,
    local(LAMBDA_MART),
    local(NET),
    "6 LambdaMARTs",
    "2 mixed",
    "6 mixed",
    "fast",
    WITHOUT_NETS,
    "best",
)
PAIRS = [
    (local(LAMBDA_MART), LAMBDA_MART),
    ("fast", "2 mixed"),
    ("best", "6 LambdaMARTs"),
    ("best", "6 mixed"),
    ("best", WITHOUT_NETS),
]
# The pairs of the figure, by their labels; one row has no place for more.
SHOWN = {PAIRS[0][0]: PAIRS[0]} | {f"{ours} − {other}": (ours, other) for ours, other in PAIRS[2:]}
DOUBLING = "per doubling"

Tests = dict[tuple[str, str, str, str], PairedTest]


def learning_curves(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the methods and the gain of coordinates against the number of training queries."""
    draws = {name: _curve(setting, sources, name) for name in present(sources, COLLECTIONS)}
    gains: dict[tuple[str, str, str, str], Floats] = {}
    for name, pair, measure in product(draws, PAIRS, MEASURES):
        by_size = {size: drawn.gains(*pair, measure) for size, drawn in draws[name].items()}
        key = (name, f"{pair[0]} − {pair[1]}", str(measure))
        gains |= {(*key, str(size)): values for size, values in by_size.items()}
        gains[*key, DOUBLING] = slopes(np.log2([*by_size]), np.array([*by_size.values()]))
    tests = corrected({key: gain_test(values) for key, values in gains.items()})
    for name in draws:
        _tables(reproduction, tests, name, draws[name])
    _figures(reproduction, tests, draws)


def fewer_queries(fold: Fold, size: int, seed: int) -> Fold:
    """A fold with some of its training queries, drawn at random.

    With the same seed, the larger draw holds the smaller one.
    """
    order = np.random.default_rng(seed).permutation(fold.train.n_queries)
    return Fold(fold.name, fold.train.select(np.sort(order[:size])), None, fold.test)


def _curve(setting: Setting, sources: Sources, name: str) -> dict[int, Draws]:
    """The draws by the number of training queries. The last number is all of them."""
    first = list(sources[name](setting.seeds[0]))
    every = round(float(np.mean([fold.train.n_queries for fold in first])))
    sizes = [size for size in (FEW_SIZES if setting.quick else SIZES) if size < every]
    curve = {}
    for size in [*sizes, every]:
        results = []
        for seed in draw_seeds(setting, N_DRAWS if size <= MOST_DRAWN else 1):
            all_members = members(seed, n_trees_of(setting))
            rankers = {member: all_members[member] for member in needed(METHODS)}
            parts, kind = list(sources[name](seed)), f"{name}, {seed}"
            if size != every:
                parts = [fewer_queries(fold, size, seed) for fold in parts]
                kind += f", {size} queries"
            results.append(with_recipes(train(setting, rankers, parts, kind)))
        curve[size] = Draws(results)
    return curve


def _tables(reproduction: Reproduction, tests: Tests, name: str, curve: dict[int, Draws]) -> None:
    columns = [*map(str, curve), DOUBLING]
    rows: list[list[Value]] = [
        [
            f"{ours} − {other}",
            str(m),
            *(cell(tests[name, f"{ours} − {other}", str(m), column]) for column in columns),
        ]
        for (ours, other), m in product(PAIRS, MEASURES)
    ]
    n_draws = ", ".join(str(len(drawn.results)) for drawn in curve.values())
    note = f"Columns are numbers of training queries, the last all of a fold; draws: {n_draws}."
    reproduction.table(
        f"Gain against the number of training queries: {name}",
        ["", "measure", *columns],
        rows,
        f"{NOTE.format(n=len(tests))} {note} The last column is the slope of each query's gain "
        f"for twice as many training queries.",
    )
    reproduction.table(
        f"Means against the number of training queries: {name}",
        ["", *map(str, curve)],
        [
            [
                m,
                *(
                    " / ".join(f"{drawn.mean(m, x):.4f}" for x in MEASURES)
                    for drawn in curve.values()
                ),
            ]
            for m in METHODS
        ],
        f"{' / '.join(map(str, MEASURES))}. {note}",
    )


def _figures(reproduction: Reproduction, tests: Tests, draws: dict[str, dict[int, Draws]]) -> None:
    measure = MEASURES[0]
    reproduction.figure(
        "learning-curves",
        f"{measure} against the number of training queries.",
        Chart(
            "curves",
            panels={
                name: {
                    method: ([*curve], [drawn.mean(method, measure) for drawn in curve.values()])
                    for method in METHODS
                }
                for name, curve in draws.items()
            },
            x_label="training queries",
            y_label=str(measure),
            log_x=True,
        ),
    )
    for name, curve in draws.items():
        reproduction.figure(
            f"learning-gains-{name}",
            f"Gains by {measure} on {name} against the number of training queries, of LambdaMART "
            f"over itself on the features and of best over global models, with 95 % intervals; "
            f"filled marks are p < 0.05 before correction.",
            Chart(
                "intervals",
                panels={
                    name: {
                        label: [
                            interval(tests[name, f"{ours} − {other}", str(measure), str(size)])
                            for size in curve
                        ]
                        for label, (ours, other) in SHOWN.items()
                    }
                },
                ticks=[f"{size} queries" for size in curve],
            ),
        )
