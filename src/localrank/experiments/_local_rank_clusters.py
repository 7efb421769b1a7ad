"""Figures 6 to 10 of LocalRank's paper: numbers of clusters, and similarities of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import (
    MethodResult,
    PairedTest,
    paired_test,
)
from localrank.evaluation.significance import corrected
from localrank.experiments._processor_time import milliseconds_of_each
from localrank.experiments.reproduction import (
    ClaimTest,
    Reproduction,
    Value,
    difference,
    difference_cells,
)
from localrank.experiments.setting import Setting, chosen
from localrank.grouping import Agglomerative, KnownGroups
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
from localrank.selection.clairvoyant import best_models

MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(1), NDCG(5)]
CLUSTERS = [1, 2, 3, 4, 6, 8, 12, 16]
# For the curves of Figures 6 to 8 only.
MORE_CLUSTERS = [24, 32]
OURS = "principal components"
SIMILARITIES: dict[str, Representation] = {
    "mean": Mean(),
    "variance": Variance(),
    "skew": Skew(),
    "symmetric KL": Gaussian("kl"),
    "Bhattacharyya": Gaussian("bhattacharyya"),
    OURS: PrincipalComponents(),
}


class Bound(NamedTuple):
    """Values of the test queries with the clusters of one number, by one measure.

    Attributes
    ----------
    best : ndarray of shape (n_queries,)
        Of the best cluster in hindsight.
    control : ndarray of shape (n_seeds, n_queries)
        The same choice among random groups.
    selected : ndarray of shape (n_seeds, n_queries)
        Of the random group of the most similar training query.
    """

    best: Floats
    control: Floats
    selected: Floats


Bounds = Mapping[tuple[int, Measure], Bound]


def in_random_groups(model: LocalRanker, train: RankingDataset, seed: int) -> LocalRanker:
    """The same ranker, with training queries in random groups of the same sizes."""
    home = np.random.default_rng(seed).permutation(model.groups_.home)
    categories = dict(zip(train.query_ids.tolist(), home.tolist(), strict=True))
    return clone(model).set_params(grouping=KnownGroups(categories)).fit(train)


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
    bounds: dict[tuple[int, Measure], list[tuple[Floats, ...]]] = {}
    choices: dict[int, list[Choice]] = {}

    def look(method: str, fold: Fold, model: Ranker) -> None:
        assert fold.valid is not None
        assert isinstance(model, LocalRanker)
        valid.setdefault(method, []).append(MAP.mean(fold.valid, model.predict(fold.valid)))
        if isinstance(model.representation, PrincipalComponents):
            n = model.grouping.n_clusters
            if n > 1:
                choices.setdefault(n, []).append(by_centres(model, fold))
            drawn = [in_random_groups(model, fold.train, seed) for seed in setting.seeds]
            for measure in MEASURES:
                best = best_models(fold.test, model.models_, measure)[1]
                control = [best_models(fold.test, other.models_, measure)[1] for other in drawn]
                selected = [measure(fold.test, other.predict(fold.test)) for other in drawn]
                bounds.setdefault((n, measure), []).append(
                    (best, np.array(control), np.array(selected))
                )

    def methods(C: float) -> dict[str, Ranker]:
        return {
            f"{n} by {name}": LocalRanker(
                SIMILARITIES[name], Agglomerative(n), SVMMap(C), NearestQuery()
            )
            for name, tried in numbers.items()
            for n in tried
        }

    results = setting.run_each([methods(C) for C in cs], folds, inspect=look)
    whole = {
        key: Bound(*(np.concatenate(part, axis=-1) for part in zip(*by_fold, strict=True)))
        for key, by_fold in bounds.items()
    }
    _curves(reproduction, curve, results, whole)
    _similarities(reproduction, compared, results, valid)
    _peaks(reproduction, compared, results, whole)
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
            best, control, _ = bounds[n, measure]
            ours = results[f"{n} by {OURS}"].mean(measure)
            means = [ours, float(best.mean()), float(control.mean())]
            for line, mean in zip(lines.values(), means, strict=True):
                line.append(mean)
            rows.append([str(measure), n, *means, spread(control)])
        panels[str(measure)] = {name: (list(curve), line) for name, line in lines.items()}
        panels[str(measure)]["global"] = (list(curve), [lines["LocalRank"][0]] * len(curve))
    n_seeds = len(bounds[curve[0], MAP].control)
    reproduction.table(
        "Figures 6 to 8: measures against the number of clusters",
        ["measure", "clusters", "LocalRank", "clairvoyant", "on random groups", "± of seeds"],
        rows,
        "With one cluster LocalRank is the global model. The clairvoyant choice takes the best of "
        "the clusters' models by the labels. 'On random groups' is the same choice among models "
        f"of random groups of the same sizes: the mean of {n_seeds} seeds, and the standard "
        "deviation between them.",
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
    best_slopes = slopes(curve, [bounds[n, MAP].best for n in curve])
    control_slopes = slopes(curve, [bounds[n, MAP].control for n in curve])
    several = [n for n in curve if n > 1]
    own_slopes = slopes(several, [results[f"{n} by {OURS}"].values(MAP) for n in several])
    tests = corrected(
        {
            "clairvoyant": paired_test(best_slopes, np.zeros_like(best_slopes)),
            "clairvoyant, less random groups": paired_test(best_slopes, control_slopes),
            f"LocalRank, from {several[0]} clusters": paired_test(
                own_slopes, np.zeros_like(own_slopes)
            ),
        }
    )
    reproduction.table(
        "Figures 6 to 8: slope of MAP for each doubling of the number of clusters",
        ["choice", "slope", "p (Holm)", "won/tied/lost"],
        [[name, *difference_cells(test)] for name, test in tests.items()],
        "The slope of each test query's values by least squares over the logarithm of the number, "
        "and a paired t-test over the queries.",
    )
    rising, beyond, own = tests.values()
    last = curve[-1]
    gains = [float(bounds[n, MAP].best.mean()) for n in (curve[0], last)]
    reproduction.claim(
        "the clairvoyant accuracy keeps on improving with the number of clusters",
        f"MAP {gains[0]:.4f} with 1 and {gains[1]:.4f} with {last} clusters, for each doubling "
        f"{difference(rising)}; less the slope on random groups {difference(beyond)}",
        Controlled(rising, beyond),
    )
    reproduction.claim(
        "accuracy decreases as the number of clusters increases further",
        f"MAP of LocalRank for each doubling from {several[0]} to {last} clusters "
        f"{difference(own)}",
        Opposite(own),
    )


def spread(by_seed: Floats) -> float | None:
    """The standard deviation of the seeds' means. None: there is one seed."""
    return float(by_seed.mean(axis=1).std(ddof=1)) if len(by_seed) > 1 else None


def slopes(numbers: Sequence[int], values: Sequence[Floats]) -> Floats:
    """The least-squares slope of values over the logarithm of numbers, for each doubling.

    Examples
    --------
    >>> slopes([1, 2, 4], [np.array([0.1, 0.5]), np.array([0.2, 0.5]), np.array([0.3, 0.5])])
    array([0.1, 0. ])
    """
    x = np.log2(numbers)
    x -= x.mean()
    fitted: Floats = np.tensordot(x, np.array(values), axes=1) / (x @ x)
    return fitted


@dataclass(frozen=True)
class Controlled:
    """A test of a gain that counts only where it exceeds what a control gains."""

    test: PairedTest
    control: PairedTest

    @property
    def sign(self) -> int:
        """1: a gain, larger than the control's. -1: a loss. 0: neither is established."""
        return min(self.test.sign, max(self.control.sign, 0))


@dataclass(frozen=True)
class Opposite:
    """A test of the claim that there is a loss."""

    test: PairedTest

    @property
    def sign(self) -> int:
        """1: a loss. -1: a gain. 0: neither is established."""
        return -self.test.sign


@dataclass(frozen=True)
class Peak:
    """Tests of several numbers of clusters against one cluster, to find the highest value."""

    tests: Sequence[ClaimTest]

    @property
    def sign(self) -> int:
        """1: some number is better than one cluster. -1: one cluster is better than all."""
        signs = [test.sign for test in self.tests]
        return 1 if max(signs) > 0 else -1 if max(signs) < 0 else 0


def _similarities(
    reproduction: Reproduction,
    compared: Sequence[int],
    results: Mapping[str, MethodResult],
    valid: Mapping[str, list[float]],
) -> None:
    """Figures 9 and 10: the number of clusters chosen in hindsight, and on validation queries."""
    hindsight: dict[tuple[str, ...], float] = {}
    by_map: dict[str, dict[str, Floats]] = {"in hindsight": {}, "tuned": {}}
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
                by_map["in hindsight"][name] = by_number[best].values(MAP)
                by_map["tuned"][name] = tuned
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
    tests = {
        words: corrected({n: paired_test(values[OURS], v) for n, v in values.items() if n != OURS})
        for words, values in by_map.items()
    }
    reproduction.table(
        "Figures 9 and 10: MAP of principal components less that of other similarities",
        ["similarity", "C", "difference", "p (Holm)", "won/tied/lost"],
        [
            [name, words, *difference_cells(test)]
            for words, against in tests.items()
            for name, test in against.items()
        ],
        "Holm's correction is for the five tests of each choice of C.",
    )
    of_all = tests["in hindsight"].values()
    signs = [test.sign for test in of_all]
    best_by_map = by_map["in hindsight"]
    reproduction.claim(
        "the similarity by principal components consistently outperforms the others, with C tuned "
        "for each to give the best accuracy",
        f"MAP {best_by_map[OURS].mean():.4f}, the others "
        + ", ".join(f"{name} {v.mean():.4f}" for name, v in best_by_map.items() if name != OURS)
        + f"; significantly better than {signs.count(1)} of {len(signs)}, significantly worse "
        f"than {signs.count(-1)}",
        *of_all,
    )


def _peaks(
    reproduction: Reproduction,
    compared: Sequence[int],
    results: Mapping[str, MethodResult],
    bounds: Bounds,
) -> None:
    """Whether measures are highest with several clusters."""
    ours = {n: results[f"{n} by {OURS}"] for n in compared}
    places = [(measure, n) for measure in MEASURES for n in compared[1:]]
    single = corrected({(m, n): ours[n].against(ours[1], m) for m, n in places})
    random = corrected(
        {(m, n): paired_test(ours[n].values(m), bounds[n, m].selected) for m, n in places}
    )
    reproduction.table(
        "Figures 6 to 8: LocalRank less one cluster, and less random groups",
        ["measure", "clusters", "difference", "p (Holm)", "won/tied/lost", "random", "p"],
        [
            [str(m), n, *difference_cells(single[m, n]), *difference_cells(random[m, n])[:2]]
            for m, n in places
        ],
        "Paired t-tests over the test queries, corrected in each column. The best number in "
        "hindsight is better by chance alone, so all are tested. 'random': less models of random "
        "groups of the same sizes, selected by the same most similar query, and p over queries "
        "and seeds.",
    )
    words = []
    for measure in MEASURES:
        means = {n: result.mean(measure) for n, result in ours.items()}
        best = max(means, key=lambda n: means[n])
        words.append(f"{measure} {means[best]:.4f} with {best}, {means[1]:.4f} with 1")
    signs = [test.sign for test in single.values()]
    reproduction.claim(
        "peak accuracy occurs uniformly with more than one cluster",
        f"in hindsight {'; '.join(words)}; significantly better than one cluster in "
        f"{signs.count(1)} of {len(signs)} cases, significantly worse in {signs.count(-1)}; "
        f"significantly better than random groups in "
        f"{sum(test.sign > 0 for test in random.values())}",
        *(Peak([Controlled(single[m, n], random[m, n]) for n in compared[1:]]) for m in MEASURES),
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
