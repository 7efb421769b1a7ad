"""Figures 6 to 10 of LocalRank's paper: numbers of clusters, and similarities of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank.data import Fold
from localrank.evaluation import (
    MethodResult,
    clairvoyant_bounds,
    paired_test,
    paired_tests,
)
from localrank.evaluation.significance import corrected
from localrank.experiments._processor_time import milliseconds_of_each
from localrank.experiments.reproduction import (
    Reproduction,
    Value,
    decided,
    difference,
    difference_cells,
)
from localrank.experiments.setting import Setting, chosen
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import Ranker, SVMMap
from localrank.representations import (
    Gaussian,
    Mean,
    PrincipalComponents,
    RelevantContrast,
    Representation,
    Skew,
    TopContrast,
    Variance,
)
from localrank.selection import NearestCentroid, NearestQuery

MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(1), NDCG(5)]
CLUSTERS = [1, 2, 3, 4, 6, 8, 12, 16]
# For the curves of Figures 6 to 8 only.
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

# By number of clusters and measure: the values of the best cluster in hindsight and of the control,
# one pair for each fold.
Bounds = Mapping[tuple[int, Measure], list[tuple[Floats, Floats]]]


def clusters(
    reproduction: Reproduction, setting: Setting, folds: Sequence[Fold], cs: Sequence[float]
) -> None:
    """Figures 6 to 10: the measure against the number of clusters, for each similarity."""
    smallest = min(fold.train.n_queries for fold in folds)
    compared = [n for n in ([1, 2, 4] if setting.quick else CLUSTERS) if n <= smallest]
    curve = [*compared, *(n for n in ([] if setting.quick else MORE_CLUSTERS) if n <= smallest)]
    numbers = {name: curve if name == OURS else compared for name in SIMILARITIES}
    # MAP on the validation queries of each fold.
    valid: dict[str, list[float]] = {}
    bounds: dict[tuple[int, Measure], list[tuple[Floats, Floats]]] = {}
    choices: dict[int, list[Choice]] = {}

    def look(method: str, fold: Fold, model: Ranker) -> None:
        assert fold.valid is not None
        assert isinstance(model, LocalRanker)
        valid.setdefault(method, []).append(MAP.mean(fold.valid, model.predict(fold.valid)))
        if isinstance(model.representation, PrincipalComponents):
            n = model.grouping.n_clusters
            if n > 1:
                choices.setdefault(n, []).append(by_centres(model, fold))
            for bound in clairvoyant_bounds(
                model,
                fold.train,
                fold.test,
                MEASURES,
                n_controls=1 if setting.quick else N_CONTROLS,
                random_state=setting.random_state,
            ):
                values = bound.values, bound.control.mean(axis=0)
                bounds.setdefault((n, bound.measure), []).append(values)

    def methods(C: float) -> dict[str, Ranker]:
        return {
            f"{n} by {name}": LocalRanker(
                SIMILARITIES[name], Agglomerative(n), SVMMap(C), NearestQuery()
            )
            for name, tried in numbers.items()
            for n in tried
        }

    results = setting.run_each([methods(C) for C in cs], folds, inspect=look)
    _curves(reproduction, curve, results, bounds)
    _similarities(reproduction, compared, results, valid)
    compact_clusters(reproduction, choices)


def _curves(
    reproduction: Reproduction,
    curve: Sequence[int],
    results: Mapping[str, MethodResult],
    bounds: Bounds,
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
            means = results[f"{n} by {OURS}"].mean(measure), best, control
            for line, mean in zip(lines.values(), means, strict=True):
                line.append(mean)
            rows.append([str(measure), n, *means])
        panels[str(measure)] = {name: (list(curve), line) for name, line in lines.items()}
        panels[str(measure)]["global"] = (list(curve), [lines["LocalRank"][0]] * len(curve))
    reproduction.table(
        "Figures 6 to 8: measures against the number of clusters",
        ["measure", "clusters", "LocalRank", "clairvoyant", "on random groups"],
        rows,
        "With one cluster LocalRank is the global model. The clairvoyant choice takes the best of "
        "the clusters' models by the labels. The last column is the same choice among models of "
        "random groups of the same sizes.",
    )
    reproduction.figure(
        "figures-6-7-8",
        "Figures 6 to 8: measures against the number of clusters.",
        "curves",
        panels=panels,
        x_label="clusters",
        y_label="mean",
        log_x=True,
    )
    last = curve[-1]
    above = [float(np.concatenate([a - b for a, b in bounds[n, MAP]]).mean()) for n in curve[1:]]
    gains = [float(np.concatenate([a for a, _ in bounds[n, MAP]]).mean()) for n in curve]
    reproduction.claim(
        "the clairvoyant choice of a cluster keeps improving with the number of clusters",
        bool(np.all(np.diff(gains) > 0)),
        f"MAP {gains[0]:.4f} with 1 and {gains[-1]:.4f} with {last} clusters, higher with each "
        f"number than with the one before in {np.sum(np.diff(gains) > 0)} of {len(gains) - 1} "
        f"cases; above the control of random groups by {np.mean(above):+.4f} on average",
    )


def _similarities(
    reproduction: Reproduction,
    compared: Sequence[int],
    results: Mapping[str, MethodResult],
    valid: Mapping[str, list[float]],
) -> None:
    """Figures 9 and 10: the number of clusters chosen in hindsight, and on validation queries."""
    hindsight: dict[tuple[str, ...], float] = {}
    best_by_map: dict[str, Floats] = {}
    tuned_by_map: dict[str, Floats] = {}
    rows: list[list[Value]] = []
    for name in SIMILARITIES:
        by_number = [results[f"{n} by {name}"] for n in compared]
        picked = np.argmax([valid[f"{n} by {name}"] for n in compared], axis=0)
        numbers = ", ".join(str(compared[place]) for place in picked)
        for measure in MEASURES:
            means = [result.mean(measure) for result in by_number]
            best = int(np.argmax(means))
            hindsight[name, str(measure)] = means[best]
            tuned = _of_each_fold([by_number[place] for place in picked], measure)
            rows.append(
                [name, str(measure), means[best], compared[best], float(tuned.mean()), numbers]
            )
            if measure is MAP:
                best_by_map[name], tuned_by_map[name] = by_number[best].values(MAP), tuned
    reproduction.table(
        "Figures 9 and 10: similarities of queries",
        ["similarity", "measure", "C in hindsight", "C", "C tuned", "C in each fold"],
        rows,
        "The paper chooses the number of clusters C in hindsight, by the test queries. 'C tuned' "
        "is chosen on validation queries. One cluster, the global model, is among the choices.",
    )
    published = reproduction.published("figures-9-10")
    if published:
        reproduction.compare(
            "Figures 9 and 10: C in hindsight", ["similarity", "measure"], hindsight, published
        )
    by_map = {"in hindsight": best_by_map, "tuned": tuned_by_map}
    tests = {
        words: paired_tests({n: v for n, v in values.items() if n != OURS}, values[OURS])
        for words, values in by_map.items()
    }
    reproduction.table(
        "Figures 9 and 10: MAP of other similarities less that of principal components",
        ["similarity", "C", "difference", "p (Holm)", "won/tied/lost"],
        [
            [name, words, *difference_cells(test)]
            for words, against in tests.items()
            for name, test in against.items()
        ],
    )
    signs = [test.sign for test in tests["in hindsight"].values()]
    order = sorted(best_by_map, key=lambda name: -best_by_map[name].mean())
    tuned_order = sorted(tuned_by_map, key=lambda name: -tuned_by_map[name].mean())
    reproduction.claim(
        "principal components are the best similarity, with C chosen in hindsight for each",
        max(signs) < 0 if max(signs) else None,
        f"place {order.index(OURS) + 1} of {len(order)} by MAP, "
        f"{best_by_map[OURS].mean():.4f}, first {order[0]}, {best_by_map[order[0]].mean():.4f}; "
        f"better than {signs.count(-1)} of {len(signs)} by more than noise, worse "
        f"than {signs.count(1)}; with C tuned place {tuned_order.index(OURS) + 1}",
    )
    ours = [results[f"{n} by {OURS}"] for n in compared]
    _peaks(reproduction, ours, compared, tuned_by_map[OURS])


def _peaks(
    reproduction: Reproduction,
    results: Sequence[MethodResult],
    compared: Sequence[int],
    tuned: Floats,
) -> None:
    """Whether measures are highest with several clusters, and fall with many."""
    places = {str(m): int(np.argmax([result.mean(m) for result in results])) for m in MEASURES}
    heights = ", ".join(
        f"{name} {results[place].mean(name):.4f} with {compared[place]} against "
        f"{results[0].mean(name):.4f} with 1"
        for name, place in places.items()
    )
    best, single = results[places[str(MAP)]].values(MAP), results[0].values(MAP)
    reproduction.claim(
        "accuracy is highest with more than one cluster, by every measure",
        decided(paired_test(best, single)) if min(places.values()) > 0 else False,
        f"in hindsight {heights}; MAP {difference(paired_test(best, single))} against one cluster, "
        f"with C tuned {difference(paired_test(tuned, single))}",
    )
    reproduction.claim_better(
        "accuracy decreases as clusters become many",
        f"the best number's MAP against that of {compared[-1]} clusters",
        paired_test(best, results[-1].values(MAP)),
    )


def _of_each_fold(results: Sequence[MethodResult], measure: Measure) -> Floats:
    """The first fold's values from the first result, the second's from the second, and so on."""
    names = np.array(results[0].fold_names)
    folds = [run.fold for run in results[0].runs]
    return np.concatenate(
        [result.values(measure)[names == fold] for result, fold in zip(results, folds, strict=True)]
    )


N_TIMED = 20


class Choice(NamedTuple):
    """Results on a fold's test queries when clusters are chosen by all their queries or by centres.

    Attributes
    ----------
    by_queries, by_centres : ndarray of shape (n_queries,)
        Average precision.
    same : bool ndarray of shape (n_queries,)
        Whether both choose the same cluster.
    microseconds : (float, float)
        Time of one search among all training queries, and of one among centres.
    """

    by_queries: Floats
    by_centres: Floats
    same: Flags
    microseconds: tuple[float, float]


def by_centres(model: LocalRanker, fold: Fold) -> Choice:
    """The choices of a model, and of the same clusters and models with `NearestCentroid`."""
    compact = model.with_selector(NearestCentroid(), fold.train)
    queries, centres = model.selector_, compact.selector_
    assert isinstance(centres, NearestCentroid)
    chosen = [
        selector.weights(fold.test, model.models_).argmax(axis=1) for selector in (queries, centres)
    ]
    described = queries.representation_.transform(fold.test)[:N_TIMED]
    search = partial(_microseconds, queries.representation_, described)
    return Choice(
        AveragePrecision()(fold.test, model.predict(fold.test)),
        AveragePrecision()(fold.test, compact.predict(fold.test)),
        chosen[0] == chosen[1],
        (search(queries.descriptions_), search(centres.centroids_)),
    )


def compact_clusters(reproduction: Reproduction, choices: Mapping[int, Sequence[Choice]]) -> None:
    """Add the table of all numbers of clusters.

    Parameters
    ----------
    reproduction : Reproduction
    choices : dict from number of clusters to the choices in each fold
    """
    queries, centres, same = (
        {
            n: np.concatenate([getattr(choice, name) for choice in by_fold])
            for n, by_fold in choices.items()
        }
        for name in ("by_queries", "by_centres", "same")
    )
    tests = corrected({n: paired_test(centres[n], queries[n]) for n in choices})
    names = ("difference", "p (Holm)", "won/tied/lost")
    rows: list[dict[str, Value]] = []
    for n, by_fold in choices.items():
        among_queries, among_centres = np.mean([choice.microseconds for choice in by_fold], axis=0)
        rows.append(
            {
                "clusters": n,
                "MAP, queries": float(queries[n].mean()),
                "MAP, centres": float(centres[n].mean()),
                **dict(zip(names, difference_cells(tests[n]), strict=True)),
                "same cluster": float(same[n].mean()),
                "µs, queries": float(among_queries),
                "µs, centres": float(among_centres),
                "ratio of µs": float(among_queries / among_centres),
            }
        )
    reproduction.table(
        "Compact clusters: chosen by all their queries, and by their centres",
        list(rows[0]),
        [list(row.values()) for row in rows],
        "The same clusters and models. A centre is one direction for each component, the one "
        "that agrees best with those of the cluster's queries. Processor times of searching for "
        "one query; with more training queries see Figure 14. Not in the paper, which leaves a "
        "compact representation to future work.",
    )


def _microseconds(representation: Representation, asked: Array, known: Array) -> float:
    one_by_one = [asked[i : i + 1] for i in range(len(asked))]
    return 1000 * milliseconds_of_each(partial(representation.nearest, known=known), one_by_one)


CLOUD_MEASURES: list[Measure] = [MAP, NDCG(5), NDCG(10)]
CLOUD_CLUSTERS, N_FIXED = [1, 2, 4, 8], 4
COMPONENTS = "components"
# The descriptions that group training queries, and those that find the nearest one.
DESCRIPTIONS: dict[str, tuple[Representation, Representation]] = {
    COMPONENTS: (PrincipalComponents(), PrincipalComponents()),
    "labels, then components": (RelevantContrast(), PrincipalComponents()),
    "labels, then top 5": (RelevantContrast(), TopContrast(n=5)),
    "labels, then top 10": (RelevantContrast(), TopContrast(n=10)),
    "top 5": (TopContrast(n=5), TopContrast(n=5)),
    "top 10": (TopContrast(n=10), TopContrast(n=10)),
}


def labelled_clouds(
    reproduction: Reproduction, setting: Setting, folds: Sequence[Fold], cs: Sequence[float]
) -> None:
    """Add a table of descriptions with and without labels."""
    grid = {"grouping__n_clusters": CLOUD_CLUSTERS[:2] if setting.quick else CLOUD_CLUSTERS}
    grids = {_tuned(name): grid for name in DESCRIPTIONS}
    results = setting.run_each([_cloud_methods(C) for C in cs], folds, grids=grids, measure=MAP)
    rows: list[list[Value]] = []
    for named in (_tuned, _fixed):
        tests = corrected(
            {
                name: results[named(name)].against(results[named(COMPONENTS)], MAP)
                for name in DESCRIPTIONS
                if name != COMPONENTS
            }
        )
        for name in DESCRIPTIONS:
            result, test = results[named(name)], tests.get(name)
            numbers = ", ".join(chosen(result)) if named is _tuned else str(N_FIXED)
            means = [result.mean(measure) for measure in CLOUD_MEASURES]
            rows.append(
                [name, numbers, *means, *(difference_cells(test) if test else (None, None, ""))]
            )
    reproduction.table(
        "Clouds with labels: how training queries are grouped, and how new ones are compared",
        [
            "description",
            "clusters",
            *map(str, CLOUD_MEASURES),
            "difference",
            "p (Holm)",
            "won/tied/lost",
        ],
        rows,
        "'labels' are the directions in which relevant documents differ from the others. 'top' "
        "takes the first documents by the best feature for the relevant ones, so new queries have "
        "it too. The number of clusters is chosen on validation queries, or fixed. Differences are "
        "of MAP, against 'components'. Not in the paper, which leaves labels to future work.",
    )


def _cloud_methods(C: float) -> Mapping[str, Ranker]:
    return {
        named(name): LocalRanker(
            grouped, Agglomerative(N_FIXED), SVMMap(C), NearestQuery(representation=compared)
        )
        for name, (grouped, compared) in DESCRIPTIONS.items()
        for named in (_tuned, _fixed)
    }


def _tuned(name: str) -> str:
    return f"{name}, tuned"


def _fixed(name: str) -> str:
    return f"{name}, fixed"
