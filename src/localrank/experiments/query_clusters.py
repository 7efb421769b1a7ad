"""Figures 6 to 10 of LocalRank's paper: numbers of clusters, and similarities of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localrank.data import Fold
from localrank.evaluation import clairvoyant_bounds, paired_test, paired_tests
from localrank.experiments.base import (
    Claim,
    Reproduction,
    Say,
    Table,
    Value,
    decided,
    difference,
)
from localrank.experiments.charts import save_curves
from localrank.experiments.published import published
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, AveragePrecision, Measure, evaluate
from localrank.rankers import SVMMap
from localrank.representations import (
    Gaussian,
    Mean,
    PrincipalComponents,
    Representation,
    Skew,
    Variance,
)
from localrank.selection import NearestQuery

MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(1), NDCG(5)]
CLUSTERS = [1, 2, 3, 4, 6, 8, 12, 16]
# Beyond those that similarities are compared by, for the curves of Figures 6 to 8.
MORE_CLUSTERS = [24, 32]
N_CONTROLS = 3
OURS = "principal components"
SIMILARITIES: dict[str, Representation] = {
    "mean": Mean(),
    "variance": Variance(),
    "skew": Skew(),
    "symmetric KL": Gaussian("kl"),
    "Bhattacharyya": Gaussian("bhattacharyya"),
    OURS: PrincipalComponents(),
}

Values = NDArray[np.float64]


def clusters(
    found: Reproduction,
    folds: Sequence[Fold],
    chosen: Sequence[float],
    quick: bool,
    random_state: int | None,
    n_jobs: int | None,
    say: Say,
) -> None:
    """Figures 6 to 10: the measure against the number of clusters, for each similarity."""
    compared = [1, 2, 4] if quick else CLUSTERS
    smallest = min(fold.train.n_queries for fold in folds)
    compared = [n for n in compared if n <= smallest]
    curve = [*compared, *(n for n in ([] if quick else MORE_CLUSTERS) if n <= smallest)]
    # Values on test queries, and mean on validation queries, of each fold.
    tests: dict[tuple[str, int], list[dict[Measure, Values]]] = {}
    valid: dict[tuple[str, int], list[float]] = {}
    bounds: dict[tuple[int, Measure], list[tuple[Values, Values]]] = {}
    for fold, C in zip(folds, chosen, strict=True):
        assert fold.valid is not None
        for name, representation in SIMILARITIES.items():
            for n in curve if name == OURS else compared:
                model = LocalRanker(
                    representation, Agglomerative(n), SVMMap(C), NearestQuery(), n_jobs=n_jobs
                ).fit(fold.train)
                scores = evaluate(fold.test, model.predict(fold.test), MEASURES)
                tests.setdefault((name, n), []).append(scores)
                mean = MAP.mean(fold.valid, model.predict(fold.valid))
                valid.setdefault((name, n), []).append(mean)
                if name == OURS:
                    for bound in clairvoyant_bounds(
                        model,
                        fold.train,
                        fold.test,
                        MEASURES,
                        n_controls=1 if quick else N_CONTROLS,
                        random_state=random_state,
                    ):
                        own = bound.values, bound.control.mean(axis=0)
                        bounds.setdefault((n, bound.measure), []).append(own)
        say(f"{fold.name}: {len(SIMILARITIES)} similarities, up to {curve[-1]} clusters")

    def column(name: str, n: int, measure: Measure) -> Values:
        return np.concatenate([values[measure] for values in tests[name, n]])

    _curves(found, curve, column, bounds)
    _similarities(found, compared, column, tests, valid)


def _curves(
    found: Reproduction,
    curve: Sequence[int],
    column: Callable[[str, int, Measure], Values],
    bounds: dict[tuple[int, Measure], list[tuple[Values, Values]]],
) -> None:
    rows: list[list[Value]] = []
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    for measure in MEASURES:
        lines: dict[str, list[float]] = {"LocalRank": [], "clairvoyant": [], "random groups": []}
        for n in curve:
            best, control = (
                float(np.concatenate(values).mean())
                for values in zip(*bounds[n, measure], strict=True)
            )
            means = float(column(OURS, n, measure).mean()), best, control
            for line, mean in zip(lines.values(), means, strict=True):
                line.append(mean)
            rows.append([str(measure), n, *means])
        panels[str(measure)] = {name: (list(curve), line) for name, line in lines.items()}
        panels[str(measure)]["global"] = (list(curve), [lines["LocalRank"][0]] * len(curve))
    found.tables.append(
        Table(
            "Figures 6 to 8: measures against the number of clusters",
            ["measure", "clusters", "LocalRank", "clairvoyant", "on random groups"],
            rows,
            "With one cluster LocalRank is the global model. The clairvoyant choice among the "
            "clusters' models is by the labels; beside it the same choice among models of random "
            "groups of the same sizes.",
        )
    )
    found.figure(
        "figures-6-7-8",
        "Figures 6 to 8: measures against the number of clusters.",
        partial(save_curves, panels=panels, x_label="clusters", y_label="mean", log_x=True),
    )
    last = curve[-1]
    above = [float(np.concatenate([a - b for a, b in bounds[n, MAP]]).mean()) for n in curve[1:]]
    gains = [float(np.concatenate([a for a, _ in bounds[n, MAP]]).mean()) for n in curve]
    found.claims.append(
        Claim(
            "the clairvoyant choice of a cluster gets better and better with their number",
            bool(gains[-1] > gains[len(gains) // 2] > gains[0]),
            f"MAP {gains[0]:.4f} with 1 and {gains[-1]:.4f} with {last} clusters; above the "
            f"control of random groups by {np.mean(above):+.4f} on average",
        )
    )


def _similarities(
    found: Reproduction,
    compared: Sequence[int],
    column: Callable[[str, int, Measure], Values],
    tests: dict[tuple[str, int], list[dict[Measure, Values]]],
    valid: dict[tuple[str, int], list[float]],
) -> None:
    """Figures 9 and 10: with the best number of clusters in hindsight, and one chosen honestly."""
    there = published(found.experiment, "figures-9-10", found.data)
    hindsight: dict[tuple[str, ...], float] = {}
    tuned: dict[str, dict[Measure, Values]] = {}
    rows: list[list[Value]] = []
    for name in SIMILARITIES:
        picked = [
            compared[int(np.argmax([valid[name, n][i] for n in compared]))]
            for i in range(len(valid[name, compared[0]]))
        ]
        tuned[name] = {
            m: np.concatenate([tests[name, n][i][m] for i, n in enumerate(picked)])
            for m in MEASURES
        }
        for measure in MEASURES:
            means = [float(column(name, n, measure).mean()) for n in compared]
            best = int(np.argmax(means))
            hindsight[name, str(measure)] = means[best]
            own = float(tuned[name][measure].mean())
            rows.append(
                [name, str(measure), means[best], compared[best], own, ", ".join(map(str, picked))]
            )
    found.tables += [
        Table(
            "Figures 9 and 10: similarities of queries",
            ["similarity", "measure", "C in hindsight", "C", "C tuned", "C in each fold"],
            rows,
            "The paper chooses the number of clusters C in hindsight, by the test queries; tuned, "
            "it is chosen on validation queries. One cluster, the global model, is among the "
            "choices.",
        )
    ]
    if there:
        numbers = {(s, m): v for s, own in there.items() for m, v in own.items()}
        found.tables.append(
            Table.compared(
                "Figures 9 and 10: C in hindsight", ["similarity", "measure"], hindsight, numbers
            )
        )
    best_by_map = {
        name: max((column(name, n, MAP) for n in compared), key=np.mean) for name in SIMILARITIES
    }
    tuned_by_map = {name: own[MAP] for name, own in tuned.items()}
    rows = []
    for words, values in (("in hindsight", best_by_map), ("tuned", tuned_by_map)):
        others = {name: own for name, own in values.items() if name != OURS}
        against = paired_tests(others, values[OURS])
        rows += [
            [
                name,
                words,
                one.mean_difference,
                one.corrected_p_value,
                f"{one.wins}/{one.ties}/{one.losses}",
            ]
            for name, one in against.items()
        ]
        verdicts = [decided(one) for one in against.values()]
        order = sorted(values, key=lambda name: -values[name].mean())
        found.claims.append(
            Claim(
                f"principal components are the best similarity, with C {words}",
                False if True in verdicts else None if None in verdicts else True,
                f"place {order.index(OURS) + 1} of {len(order)} by MAP, "
                f"{values[OURS].mean():.4f}, first {order[0]}, {values[order[0]].mean():.4f}; "
                f"better than {verdicts.count(False)} of {len(verdicts)} by more than noise, worse "
                f"than {verdicts.count(True)}",
            )
        )
    found.tables.append(
        Table(
            "Figures 9 and 10: MAP of other similarities less that of principal components",
            ["similarity", "C", "difference", "p (Holm)", "won/tied/lost"],
            rows,
        )
    )
    one = paired_test(tuned[OURS][MAP], column(OURS, 1, MAP))
    means = [float(column(OURS, n, MAP).mean()) for n in compared]
    found.claims.append(
        Claim(
            "clustering is clearly useful, with a peak above one cluster",
            decided(one),
            f"MAP is best in hindsight with {compared[int(np.argmax(means))]} clusters, "
            f"{max(means):.4f} against {means[0]:.4f}; with C tuned {difference(one)}",
        )
    )
