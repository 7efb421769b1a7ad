"""LocalRank: Figures 1 and 4 to 15 as far as the data allows.

Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for Ranking. 2009.
Queries are cleaned as in the paper. The trade-off of the SVMs, numbers of clusters, neighbours and
rounds are chosen by MAP on the fold's validation part; test parts are only scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from localrank.data import Fold, clean
from localrank.evaluation import clairvoyant_bounds, paired_test, paired_tests
from localrank.experiments.base import (
    Claim,
    Reproduction,
    Say,
    Table,
    Value,
    decided,
    difference,
    with_validation,
)
from localrank.experiments.charts import save_bars, save_curves
from localrank.experiments.local_rank_methods import all_methods
from localrank.experiments.point_clouds import figure_1
from localrank.experiments.published import published
from localrank.experiments.training_shares import times
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, AveragePrecision, Measure, evaluate
from localrank.parallel import in_parallel
from localrank.queries import (
    Gaussian,
    Mean,
    PrincipalComponents,
    Representation,
    Skew,
    Variance,
)
from localrank.rankers import SVMMap
from localrank.selection import NearestQuery

PAPER = "local-rank"
MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(1), NDCG(5)]
CS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
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


def reproduce(
    parts: Sequence[Fold],
    data: str,
    *,
    quick: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = -1,
    say: Say = print,
) -> Reproduction:
    """Compare local models with one for all queries, and similarities of queries, on all folds.

    Parameters
    ----------
    parts : sequence of Fold
    data : str
        Name of the collection, for the published numbers.
    quick : bool, default=False
        Two folds, few clusters and values of C.
    random_state : int or None, default=0
    n_jobs : int or None, default=-1
    say : callable
        Takes a line about the progress.
    """
    found = Reproduction(PAPER, data)
    folds = _cleaned(found, with_validation(parts)[: 2 if quick else None])
    cs = CS[2:5] if quick else CS
    figure_1(found, random_state)
    chosen = [best_c(fold, cs) for fold in folds]
    say(f"C of SVMMap in each fold: {', '.join(f'{C:g}' for C in chosen)}")
    single_queries(found, folds, chosen, n_jobs)
    say("Figures 4 and 5: done")
    clusters(found, folds, chosen, quick, random_state, n_jobs, say)
    all_methods(found, folds, cs, quick, n_jobs, say)
    times(found, folds[0], chosen[0], quick, n_jobs)
    return found


def _cleaned(found: Reproduction, parts: Sequence[Fold]) -> list[Fold]:
    folds = []
    n_documents = n_queries = 0
    for fold in parts:
        train, _ = clean(fold.train)
        test, report = clean(fold.test)
        valid = None if fold.valid is None else clean(fold.valid)[0]
        folds.append(replace(fold, train=train, valid=valid, test=test))
        n_documents += report.n_documents
        n_queries += report.n_queries
    found.tables.append(
        Table(
            "Section 4.1.1: cleaning of the test parts",
            ["", "removed", "left"],
            [
                ["documents", n_documents, sum(fold.test.n_documents for fold in folds)],
                ["queries", n_queries, sum(fold.test.n_queries for fold in folds)],
            ],
            "Documents whose features occur in the same query with another label go, then queries "
            "without a relevant document.",
        )
    )
    return folds


def best_c(fold: Fold, cs: Sequence[float]) -> float:
    """The trade-off at which one SVMMap for all queries ranks the validation queries best."""
    assert fold.valid is not None
    models = SVMMap().fit_path(fold.train, Cs=cs)
    means = [MAP.mean(fold.valid, model.predict(fold.valid)) for model in models]
    return float(cs[int(np.argmax(means))])


def single_queries(
    found: Reproduction, folds: Sequence[Fold], chosen: Sequence[float], n_jobs: int | None
) -> None:
    """Figures 4 and 5: one model per training query."""
    values: dict[str, dict[Measure, list[Values]]] = {}
    ranks, chances = [], []
    for fold, C in zip(folds, chosen, strict=True):
        train, test = fold.train, fold.test
        teaching = np.flatnonzero(SVMMap(C).learns_from(train))

        def fit(query: int, fold: Fold = fold, C: float = C) -> SVMMap:
            return SVMMap(C).fit(fold.train.select([query]))

        models = in_parallel(fit, teaching.tolist(), n_jobs=n_jobs, description="Query models")
        components = PrincipalComponents().fit(train)
        distances = components.distances(
            components.transform(test), components.transform(train)[teaching]
        )
        order = np.argsort(distances, axis=1, kind="stable")
        scored = [evaluate(test, model.predict(test), MEASURES) for model in models]
        together = evaluate(test, SVMMap(C).fit(train).predict(test), MEASURES)
        for measure in MEASURES:
            single = np.array([one[measure] for one in scored]).T
            for name, own in {
                "global": together[measure],
                "most similar": single[np.arange(len(single)), order[:, 0]],
                "any": single.mean(axis=1),
                "clairvoyant": single.max(axis=1),
            }.items():
                values.setdefault(name, {}).setdefault(measure, []).append(own)
            if measure is MAP:
                best = single >= single.max(axis=1, keepdims=True) - 1e-12
                # Of equally good queries the most similar one.
                ranks.append(np.argmax(np.take_along_axis(best, order, axis=1), axis=1) + 1)
                chances.append(best.mean(axis=1))
    whole = {name: {m: np.concatenate(v) for m, v in own.items()} for name, own in values.items()}
    rows: list[list[Value]] = [
        [name, *(float(own[m].mean()) for m in MEASURES)] for name, own in whole.items()
    ]
    found.tables.append(
        Table(
            "Figure 4: one model per training query",
            ["model", *map(str, MEASURES)],
            rows,
            "The model of all queries, of the most similar query, of any query on average, and of "
            "the query whose model ranks the test query best by its labels. The best of many "
            "models gains by chance alone.",
        )
    )
    first, chance = np.concatenate(ranks), np.concatenate(chances)
    share = float(np.mean(first == 1))
    there = published(PAPER, "figure-5", "LETOR")
    found.tables.append(
        Table.compared(
            "Figure 5: where the clairvoyant query stands in the order of similarity",
            ["share of the test queries"],
            {
                ("at rank 1",): share,
                ("at rank 1 in a random order",): float(chance.mean()),
                ("among the first 5",): float(np.mean(first <= 5)),
                ("among the first 10",): float(np.mean(first <= 10)),
            },
            {(k,): v for k, v in there.items()},
            "Of equally good queries the most similar one counts.",
        )
    )
    similar, all_, any_ = (whole[name][MAP] for name in ("most similar", "global", "any"))
    clairvoyant = paired_test(whole["clairvoyant"][MAP], all_)
    against = paired_test(similar, all_)
    control = paired_test(similar, any_)
    found.claims += [
        Claim(
            "the clairvoyant query's model ranks far better than the global one",
            decided(clairvoyant),
            f"MAP {difference(clairvoyant)}",
        ),
        Claim(
            "the most similar query's model is no better than the global one",
            decided(against) is not True,
            f"MAP {difference(against)}; against any query's model {difference(control)}",
        ),
        Claim(
            "the most similar query is rarely the clairvoyant one, in about 11 % of the cases",
            share < 0.25,
            f"{share:.1%}, by chance {chance.mean():.1%}",
        ),
    ]
    n_ranks = int(min(30, first.max()))
    heights = [float(np.mean(first == rank)) for rank in range(1, n_ranks + 1)]
    ticks = [str(rank) if rank % 5 == 0 or rank == 1 else "" for rank in range(1, n_ranks + 1)]
    found.figure(
        "figure-4",
        "Figure 4: one model per training query.",
        partial(
            save_bars,
            panels={
                found.data: {
                    name: [float(own[m].mean()) for m in MEASURES] for name, own in whole.items()
                }
            },
            ticks=[str(m) for m in MEASURES],
            y_label="mean over the test queries",
        ),
    )
    found.figure(
        "figure-5",
        f"Figure 5: similarity rank of the clairvoyant query, the first {n_ranks}.",
        partial(
            save_bars,
            panels={found.data: {"clairvoyant query": heights}},
            ticks=ticks,
            y_label="share of the test queries",
        ),
    )


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
    there = published(PAPER, "figures-9-10", found.data)
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
    for words, values in (
        ("with C in hindsight", {k: v for (k, m), v in hindsight.items() if m == "map"}),
        ("with C tuned", {k: float(own[MAP].mean()) for k, own in tuned.items()}),
    ):
        order = sorted(values, key=lambda name: -values[name])
        place = order.index(OURS) + 1
        found.claims.append(
            Claim(
                f"principal components are the best similarity, {words}",
                place == 1,
                f"place {place} of {len(order)} by MAP, {values[OURS]:.4f}; best is {order[0]} "
                f"with {values[order[0]]:.4f}",
            )
        )
    others = {name: own[MAP] for name, own in tuned.items() if name != OURS}
    found.tables.append(
        Table(
            "Figures 9 and 10: MAP of other similarities against principal components, C tuned",
            ["similarity", "difference", "p (Holm)", "won/tied/lost"],
            [
                [
                    name,
                    one.mean_difference,
                    one.corrected_p_value,
                    f"{one.wins}/{one.ties}/{one.losses}",
                ]
                for name, one in paired_tests(others, tuned[OURS][MAP]).items()
            ],
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
