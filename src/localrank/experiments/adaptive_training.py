"""Adaptive training: Table 2, Figures 4 and 5, the tests of section 5, and other classifiers.

Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering. They repeat
Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for Learning to Rank
in Information Retrieval. CIKM 2019, which introduces the method and best-feature calibration.

The authors' code gives reciprocal rank 0 to a query whose only relevant document is at rank 1. The
paper does not say so, so MRR is shown by that rule as well. The paper names scikit-learn 0.20.3,
whose logistic regression is one-vs-rest; the authors' notebooks print 0.22.2, whose is a softmax.
Neither scales. Table 2 has the first, and both stand among the classifiers. The text has no numbers
for the curves in Figures 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import (
    Calibration,
    PairedTest,
    best_feature_calibration,
    clairvoyant_bounds,
    paired_test,
    paired_tests,
)
from localrank.evaluation.significance import LEVEL, corrected
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, Measure, ReciprocalRank
from localrank.rankers import BestFeature, LambdaMART, Ranker
from localrank.recipes import adaptive_training
from localrank.representations import Gaussian
from localrank.selection import AllGroups, Clairvoyant, NearestQueries
from localrank.selection.classifier import CLASSIFIERS

PAPER = "adaptive-training"
SEEDS = (0, 1, 2)
N_TREES, N_CLUSTERS, FEW_CLUSTERS = 500, 5, 2
# Clusters by Kullback-Leibler divergence may be single queries, from which trees learn nothing.
MIN_QUERIES = 10
NDCG_5: Measure = NDCG(5)
MRR: Measure = ReciprocalRank(100)
# Kinds of clusters are alike if their oracles differ by less than this in either measure.
MARGIN = 0.01
GROUPINGS: tuple[Literal["kmeans", "ward"], ...] = ("kmeans", "ward")
BASELINE, BEST = "baseline", "best feature"
CONTROL = "baseline, other seed"
FAULTY = "mrr@100, as the authors' code counts"
# The classifier that the paper names.
PAPERS = "one-vs-rest"
WAYS = ("selective", "fusion")
EQUAL = "fusion with equal weights, kmeans"
MERGED = "local models merged by similarity"
FEW = f"kmeans, {FEW_CLUSTERS} clusters"
NO_CURVES = "The paper draws these curves without numbers, so ours stand alone."


def methods(n_trees: int, seed: int) -> dict[str, Ranker]:
    """What is trained with each seed: one model for all queries, and the local ones."""
    trees = LambdaMART(n_trees, random_state=seed)

    def adaptive(n_clusters: int, grouping: str) -> LocalRanker:
        return adaptive_training(
            n_clusters, grouping=grouping, ranker=trees, classifier=PAPERS, random_state=seed
        )

    return {
        BASELINE: trees,
        **{f"selective, {grouping}": adaptive(N_CLUSTERS, grouping) for grouping in GROUPINGS},
        f"selective, {FEW}": adaptive(FEW_CLUSTERS, "kmeans"),
        # Lin, Yu, Chen. Query-Dependent Rank Aggregation with Local Models. AIRS 2011.
        MERGED: LocalRanker(
            Gaussian("kl"),
            Agglomerative(N_CLUSTERS),
            trees,
            NearestQueries(),
            min_queries=MIN_QUERIES,
        ),
    }


def named(way: str, grouping: str, classifier: str = PAPERS) -> str:
    """A method's name. The paper's classifier is not named."""
    return f"{way}, {grouping}" + ("" if classifier == PAPERS else f", {classifier}")


@dataclass
class Rankings:
    """Scores of the test documents by method: one row per seed, one row if nothing is random.

    Attributes
    ----------
    test : RankingDataset
    scores : dict from method to ndarray of shape (n_seeds, n_documents)
    random_groups : dict from measure to ndarray of shape (n_seeds, n_queries)
        Values of the oracle's choice among models of random groups as large as the k-means ones.
    """

    test: RankingDataset
    scores: Mapping[str, Floats]
    random_groups: Mapping[Measure, Floats] = field(default_factory=dict)

    def values(self, method: str, measure: Measure = NDCG_5) -> Floats:
        """Values of the measure, with a row for each row of scores."""
        way, _, grouping = method.partition(", ")
        if way == "oracle":
            method = f"oracle by {measure}, {grouping}"
        return np.array([measure(self.test, scores) for scores in self.scores[method]])

    def faulty(self, method: str) -> Floats:
        """The reciprocal rank of the authors' code: 0 where the only relevant document is first."""
        values = self.values(method, MRR)
        lost = (self.test.count(self.test.labels > 0) == 1) & (values == 1)
        return np.where(lost, 0.0, values)


# By classifier: accuracy, share of the largest cluster, log loss and calibration error.
Quality = dict[str, list[tuple[float, float, float, float]]]


def reproduce(setting: Setting) -> Reproduction:
    """Compare selection, fusion and oracle with one model for all queries, on all folds."""
    reproduction = Reproduction(PAPER, setting.data, quick=setting.quick)
    rankings, quality = trained(setting)
    table_2(reproduction, rankings)
    oracle_beyond_chance(reproduction, rankings)
    differences(reproduction, rankings)
    kinds_of_clusters(reproduction, rankings)
    number_of_clusters(reproduction, rankings)
    other_classifiers(reproduction, rankings, quality)
    where_the_feature_wins(reproduction, rankings)
    curves(reproduction, rankings)
    return reproduction


def trained(setting: Setting) -> tuple[Rankings, Quality]:
    """The rankings of all methods with all seeds, and how well classifiers choose."""
    n_trees, seeds = 20 if setting.quick else N_TREES, setting.seeds
    jobs = {(name, seed): m for seed in seeds for name, m in methods(n_trees, seed).items()}
    jobs[BEST, seeds[0]] = BestFeature()
    # The control of each seed is the next seed's baseline, so there is one more.
    jobs[BASELINE, max(seeds) + 1] = LambdaMART(n_trees, random_state=max(seeds) + 1)
    parts: dict[tuple[str, int], list[Floats]] = {}
    controls: dict[tuple[Measure, int], list[Floats]] = {}
    quality: Quality = {}

    def choose_otherwise(job: str, fold: Fold, model: Ranker) -> None:
        name, _, seed_text = job.rpartition(" #")
        seed = int(seed_text)
        if not isinstance(model, LocalRanker) or name == MERGED:
            return

        def keep(method: str, scores: Floats) -> None:
            parts.setdefault((method, seed), []).append(scores)

        grouping = name.removeprefix("selective, ")
        setting.say(
            f"{fold.name}, seed {seed}, {grouping}: groups of {model.groups_.sizes.tolist()} "
            f"queries, {list(model.groups_.n_changed)} changed"
        )
        for classifier in CLASSIFIERS if grouping == "kmeans" else (PAPERS,):
            chosen = model
            if classifier != PAPERS:
                chooser = clone(model.selector).set_params(classifier=classifier)
                chosen = model.with_selector(chooser, fold.train)
            selector = chosen.selector_
            for way in WAYS:
                selector.hard = way == "selective"
                keep(named(way, grouping, classifier), chosen.predict(fold.test))
            if grouping == "kmeans":
                quality.setdefault(classifier, []).append(
                    (
                        selector.accuracy_,
                        selector.majority_,
                        selector.log_loss_,
                        selector.calibration_error_,
                    )
                )
        if grouping == FEW:
            return
        for measure in (NDCG_5, MRR):
            chosen = model.with_selector(Clairvoyant(measure), fold.train)
            keep(f"oracle by {measure}, {grouping}", chosen.predict(fold.test))
        if grouping == "kmeans":
            equal = AllGroups(representation=model.selector.representation)
            keep(EQUAL, model.with_selector(equal, fold.train).predict(fold.test))
            for bound in clairvoyant_bounds(
                model, fold.train, fold.test, (NDCG_5, MRR), n_controls=1, random_state=seed
            ):
                controls.setdefault((bound.measure, seed), []).append(bound.control[0])

    results = setting.run(
        {f"{name} #{seed}": method for (name, seed), method in jobs.items()},
        setting.folds,
        inspect=choose_otherwise,
    )
    scores = {key: np.concatenate(values) for key, values in parts.items()}
    scores |= {(name, seed): results[f"{name} #{seed}"].scores for name, seed in jobs}
    baselines = [scores[BASELINE, seed] for seed in (*seeds, max(seeds) + 1)]
    by_method = {
        name: np.array([scores[name, seed] for seed in seeds if (name, seed) in scores])
        for name, _ in scores
    }
    by_method |= {BASELINE: np.array(baselines[:-1]), CONTROL: np.array(baselines[1:])}
    random_groups = {
        measure: np.array([np.concatenate(controls[measure, seed]) for seed in seeds])
        for measure, _ in controls
    }
    return Rankings(results[f"{BEST} #{seeds[0]}"].test, by_method, random_groups), quality


@dataclass(frozen=True)
class Opposite:
    """The test of the opposite claim."""

    test: PairedTest

    @property
    def sign(self) -> int:
        """1: a loss is established. -1: a gain is."""
        return -self.test.sign


@dataclass(frozen=True)
class Alike:
    """The test that two methods differ by less than a margin: two one-sided t-tests.

    Attributes
    ----------
    test : PairedTest
        A test whose interval has confidence 1 - 2 `LEVEL`.
    margin : float
    """

    test: PairedTest
    margin: float

    @property
    def sign(self) -> int:
        """1: the interval lies within the margin. -1: it lies outside. 0: neither."""
        low, high = self.test.interval
        if -self.margin < low and high < self.margin:
            return 1
        return -1 if low > self.margin or high < -self.margin else 0


@dataclass(frozen=True)
class Larger:
    """The test that one effect is larger than another, whatever their signs.

    |N| > |K| is the same as (N + K) (N - K) > 0, so two tests decide it.

    Attributes
    ----------
    sum, difference : PairedTest
        The tests of N + K and of N - K.
    """

    sum: PairedTest
    difference: PairedTest

    @property
    def sign(self) -> int:
        """1: the first effect is larger. -1: the second is. 0: neither is established."""
        return self.sum.sign * self.difference.sign


def _between(values: Floats) -> float | None:
    """The standard deviation of the means of the seeds."""
    return float(values.mean(axis=1).std(ddof=1)) if len(values) > 1 else None


def _seeds(n: int) -> str:
    return f"{n} trainings with other seeds" if n > 1 else "one training"


def _rows(measure: str) -> list[str]:
    """The rows that a published measure stands beside."""
    return [measure, FAULTY] if measure == str(MRR) else [measure]


def table_2(reproduction: Reproduction, rankings: Rankings) -> None:
    """Table 2: means over queries and seeds."""
    published = {
        (method, row): value
        for (method, name), value in reproduction.published("table-2").items()
        for row in _rows(name)
    }
    rows: list[list[Value]] = []
    names = [BEST, BASELINE, *(f"{way}, {g}" for g in GROUPINGS for way in (*WAYS, "oracle"))]
    for method in [*names, EQUAL, MERGED]:
        for row, values in (
            (str(NDCG_5), rankings.values(method, NDCG_5)),
            (str(MRR), rankings.values(method, MRR)),
            (FAULTY, rankings.faulty(method)),
        ):
            mean, there = float(values.mean()), published.get((method, row))
            apart = None if there is None else mean - there
            rows.append([method, row, mean, _between(values), there, apart])
    n_runs = len(rankings.scores[BASELINE])
    reproduction.table(
        "Table 2: means over the test queries",
        ["method", "measure", "ours", "between seeds", "published", "difference"],
        rows,
        f"{rankings.test.n_queries:,} test queries; {_seeds(n_runs)}, mean and standard deviation "
        f"of their means. The code of the paper's authors gives reciprocal rank 0 to a query whose "
        f"only relevant document is at rank 1. The paper does not say so, so its numbers stand "
        f"beside ours by both rules. An oracle chooses the best cluster of each query by its "
        f"labels. The last two methods are of papers that this one cites: the fusion of Kuzi et "
        f"al. (2019) without a classifier, and the local models of Lin, Yu and Chen (2011), "
        f"clustered by the Kullback-Leibler divergence of queries and merged by similarity. Their "
        f"formulas were not at hand: equal weights, and the clusters, standardised scores and "
        f"weights of LocalRanker(Gaussian('kl'), Agglomerative({N_CLUSTERS}), …, "
        f"NearestQueries(), min_queries={MIN_QUERIES}), were settled here. Clusters of fewer than "
        f"{MIN_QUERIES} queries are merged into their nearest one.",
    )


def oracle_beyond_chance(reproduction: Reproduction, rankings: Rankings) -> None:
    """The oracle beside its control: the same choice among models of random groups."""
    oracle, chance = rankings.values("oracle, kmeans"), rankings.random_groups[NDCG_5]
    base = rankings.values(BASELINE)
    tests = corrected(
        {
            "over the global model": paired_test(oracle, base),
            "over random groups": paired_test(oracle, chance),
        }
    )
    rows: list[list[Value]] = []
    for measure in (NDCG_5, MRR):
        values, drawn = rankings.values("oracle, kmeans", measure), rankings.random_groups[measure]
        means = float(values.mean()), float(drawn.mean())
        rows.append([str(measure), means[0], _between(values), means[1], _between(drawn)])
    reproduction.table(
        "The oracle beside its control",
        ["measure", "oracle, kmeans", "between seeds", "on random groups", "between seeds"],
        rows,
        "The best of several models gains by chance alone: the control is the same choice among "
        "models of random groups of the same sizes, drawn anew for each seed.",
    )
    over_base, over_chance = tests.values()
    reproduction.claim(
        "the oracle beats the global model, so that with a good choice of cluster adaptive "
        "training would",
        f"NDCG@5 {difference(over_base)}; random groups of the same sizes gain "
        f"{chance.mean() - base.mean():+.4f} by the same choice, and clusters "
        f"{difference(over_chance)} over them",
        over_base,
        over_chance,
    )


def differences(reproduction: Reproduction, rankings: Rankings) -> None:
    """Paired tests of all methods against the baseline, and of fusion against selection."""
    names = [f"{way}, {g}" for g in (*GROUPINGS, FEW) for way in WAYS] + [EQUAL, MERGED]
    tests = paired_tests({m: rankings.values(m) for m in names}, rankings.values(BASELINE))
    fusion = {
        f"{g}: fusion over selective": paired_test(
            rankings.values(f"fusion, {g}"), rankings.values(f"selective, {g}")
        )
        for g in GROUPINGS
    }
    fusion["kmeans: fusion over equal weights"] = paired_test(
        rankings.values("fusion, kmeans"), rankings.values(EQUAL)
    )
    fusion = corrected(fusion)
    columns = ["difference", "95 % interval", "p (Holm)", "won/tied/lost"]
    words = (
        f"Paired t-tests over the test queries and {_seeds(tests[names[0]].n_runs)}. P-values are "
        f"corrected for the rows of the table."
    )
    for title, first, family in (
        ("NDCG@5 against the baseline", "method", tests),
        ("NDCG@5 of fusion", "clusters", fusion),
    ):
        rows: list[list[Value]] = []
        for name, test in family.items():
            (low, high), cells = test.interval, difference_cells(test)
            rows.append([name, cells[0], f"{low:+.4f} to {high:+.4f}", *cells[1:]])
        reproduction.table(title, [first, *columns], rows, words)
    worse = [tests[f"selective, {g}"] for g in GROUPINGS]
    reproduction.claim(
        "in Table 2 the selected cluster's model ranks worse than the global model",
        "NDCG@5 "
        + "; ".join(f"{g} {difference(t)}" for g, t in zip(GROUPINGS, worse, strict=True)),
        *map(Opposite, worse),
    )
    better = [fusion[f"{g}: fusion over selective"] for g in GROUPINGS]
    reproduction.claim(
        "fusion may rank slightly better than selection",
        "NDCG@5 "
        + "; ".join(f"{g} {difference(t)}" for g, t in zip(GROUPINGS, better, strict=True)),
        *better,
    )


def kinds_of_clusters(reproduction: Reproduction, rankings: Rankings) -> None:
    """Section 5: the oracles of the two kinds of clusters, and whether they are alike."""
    ours: dict[tuple[str, str], float] = {}
    tests = {}
    published = reproduction.published("oracles")
    for name, by, values_of in (
        (str(NDCG_5), NDCG_5, lambda method: rankings.values(method, NDCG_5)),
        (str(MRR), MRR, lambda method: rankings.values(method, MRR)),
        (FAULTY, MRR, rankings.faulty),
    ):
        values = {g: values_of(f"oracle, {g}") for g in GROUPINGS}
        for grouping, of_kind in values.items():
            ours[name, f"mean, {grouping}"] = float(of_kind.mean())
            ours[name, f"deviation, {grouping}"] = float(of_kind.std(axis=1, ddof=1).mean())
        if name == str(by):
            tests[name] = paired_test(values["ward"], values["kmeans"], confidence=1 - 2 * LEVEL)
    of_paper = "; ".join(
        f"{name} t = {published[name, 't']:g}, p = {published[name, 'p']:g}"
        for name in tests
        if (name, "t") in published
    )
    reproduction.compare(
        "Section 5: the oracles of k-means and Ward over the queries",
        ["measure", "quantity"],
        ours,
        {
            (row, quantity): value
            for (measure, quantity), value in published.items()
            for row in _rows(measure)
        },
        "Standard deviations are over the queries of one training, and then averaged over seeds. "
        f"The paper's t-tests of one training: {of_paper}. A large p does not show that two "
        "methods are alike, so the claim is tested by an interval."
        if of_paper
        else "Standard deviations are over the queries of one training, then averaged over seeds.",
    )
    reproduction.claim(
        f"k-means and Ward do not differ, which is read here as: by less than {MARGIN:g}",
        "oracles, Ward less k-means with 90 % intervals: "
        + "; ".join(
            f"{name} {test.mean_difference:+.4f} ({test.interval[0]:+.4f} to "
            f"{test.interval[1]:+.4f})"
            for name, test in tests.items()
        ),
        *(Alike(test, MARGIN) for test in tests.values()),
    )


def number_of_clusters(reproduction: Reproduction, rankings: Rankings) -> None:
    """Section 6: whether the number of clusters matters more than their kind."""
    rows: list[list[Value]] = []
    tests, means = [], []
    for way in WAYS:
        many, ward, few = (rankings.values(f"{way}, {g}") for g in (*GROUPINGS, FEW))
        number, kind = few - many, ward - many
        tests.append(Larger(paired_test(number, -kind), paired_test(number, kind)))
        means.append(f"{way} {number.mean():+.4f} and {kind.mean():+.4f}")
        for name, effect in (
            (f"{FEW_CLUSTERS} clusters for {N_CLUSTERS}", number),
            ("Ward for k-means", kind),
        ):
            rows.append([way, name, float(effect.mean()), _between(effect)])
    reproduction.table(
        "Section 6: the number of clusters and their kind",
        ["way", "change", "difference", "between seeds"],
        rows,
        f"The change of NDCG@5 from {N_CLUSTERS} clusters by k-means. One effect is larger than "
        "another if both their sum and their difference have the sign of the first: two paired "
        "t-tests, both of which must say so.",
    )
    reproduction.claim(
        "the number of clusters may matter more than their kind",
        f"NDCG@5 changes with {FEW_CLUSTERS} clusters for {N_CLUSTERS}, and with Ward for "
        f"k-means: {'; '.join(means)}",
        *tests,
    )


def other_classifiers(reproduction: Reproduction, rankings: Rankings, quality: Quality) -> None:
    """The paper's future work: whether another classifier chooses better."""
    values = {
        (way, name): rankings.values(named(way, "kmeans", name)) for way in WAYS for name in quality
    }
    tests = corrected(
        {
            (way, name): paired_test(chosen, values[way, PAPERS])
            for (way, name), chosen in values.items()
            if name != PAPERS
        }
    )
    rows: list[list[Value]] = []
    for name, facts in quality.items():
        row: list[Value] = [name, *map(float, np.mean(facts, axis=0))]
        for way in WAYS:
            test = tests.get((way, name))
            row += [float(values[way, name].mean()), None if test is None else difference(test)]
        rows.append(row)
    losses = {name: float(np.mean(facts, axis=0)[2]) for name, facts in quality.items()}
    against = f"against {PAPERS}"
    reproduction.table(
        "Classifiers as selectors, k-means",
        [
            "classifier",
            "accuracy",
            "largest cluster",
            "log loss",
            "calibration error",
            *(cell for way in WAYS for cell in (f"{way}, ndcg@5", against)),
        ],
        rows,
        f"The paper names scikit-learn 0.20.3, whose logistic regression is {PAPERS} by liblinear. "
        f"The authors' notebooks print 0.22.2, whose logistic regression is a softmax. Neither "
        f"scales. The paper leaves better classifiers to future work. Accuracy, log loss and "
        f"calibration error are measured on training queries that the classifier has not seen; "
        f"means of folds and seeds. 'Largest cluster' is the accuracy of always choosing the "
        f"largest cluster. On these training queries {min(losses, key=lambda n: losses[n])} has "
        f"the smallest log loss. P-values are of paired t-tests over the test queries and seeds, "
        f"corrected for all {len(tests)} of them.",
    )


def where_the_feature_wins(reproduction: Reproduction, rankings: Rankings) -> None:
    """Section 5: adaptive training where the best feature beats the global model.

    The queries are those where the best feature beats the control. A model that has not picked
    them is the opponent: the one that has looks bad in them by its own noise.
    """
    base, control, feature = (rankings.values(name) for name in (BASELINE, CONTROL, BEST))
    fails = (control < feature).astype(float)
    if not fails.any():
        return
    # A mean over the queries that fail, in any training: the other ones weigh nothing.
    weights = fails / fails.mean()
    names = [f"{way}, {g}" for g in GROUPINGS for way in WAYS]
    tests = corrected({m: paired_test(weights * rankings.values(m), weights * base) for m in names})
    rows: list[list[Value]] = []
    for method, test in tests.items():
        biased = float((weights * (rankings.values(method) - control)).mean())
        low, high = test.interval
        interval = f"{low:+.4f} to {high:+.4f}"
        rows.append([method, biased, test.mean_difference, interval, test.p])
    reproduction.table(
        "NDCG@5 where the best feature beats a global model",
        ["method", "over that model", "over another seed's", "95 % interval", "p (Holm)"],
        rows,
        f"{fails.sum(axis=1).mean():,.0f} of {fails.shape[1]:,} queries, mean of seeds. A global "
        "model looks bad where the best feature beats it, in part by its own noise: regression to "
        "the mean. The same model trained with another seed has not picked these queries. It is "
        "the opponent that is tested.",
    )
    for grouping in GROUPINGS:
        test = tests[f"selective, {grouping}"]
        reproduction.claim_better(
            f"where the best feature beats the global model, selection ({grouping}) beats the "
            f"global model",
            "NDCG@5",
            test,
            " over a global model with another seed than the one that picks the queries",
        )


def curves(reproduction: Reproduction, rankings: Rankings) -> None:
    """Figures 4 and 5, with what the paper lacks: a control and the unconditioned view."""
    for number, measure in (("4", NDCG_5), ("5", MRR)):
        for part, grouping in zip("ab", GROUPINGS, strict=True):
            calibration = calibrate(rankings, measure, grouping)
            chart = calibration.chart()
            # The page has one test for each claim, over all seeds.
            chart.options["note"] = "Trained with the first seed."
            reproduction.figure(
                f"figure-{number}{part}",
                f"Figure {number}{part}: {measure} against the failure level, {grouping}.",
                chart,
            )
            if number == "4":
                tables_of_curves(reproduction, calibration, grouping)


def calibrate(rankings: Rankings, measure: Measure, grouping: str) -> Calibration:
    """Best-feature calibration of the methods with one kind of clusters, for the first seed."""
    first = {name: scores[0] for name, scores in rankings.scores.items()}
    return best_feature_calibration(
        first[BASELINE],
        first[BEST],
        {
            "selective": first[f"selective, {grouping}"],
            "fusion": first[f"fusion, {grouping}"],
            "oracle": first[f"oracle by {measure}, {grouping}"],
        },
        rankings.test,
        measure,
        control=first[CONTROL],
        bounds=("oracle",),
    )


def tables_of_curves(reproduction: Reproduction, calibration: Calibration, grouping: str) -> None:
    """The curves of a calibration as tables."""
    for view, title in (
        ("failure_level", "the failure level"),
        ("best_feature_score", "the best feature's own score"),
    ):
        rows = [
            [f"{cells[0]['level']:.1f}", cells[0]["n_queries"], *(cell["mean"] for cell in cells)]
            for cells in calibration.by_level(view)
        ]
        reproduction.table(
            f"Figure 4, {grouping}: {calibration.measure} by {title}",
            ["level", "queries", *calibration.per_query],
            rows,
            f"Trained with the first seed. {NO_CURVES}",
        )
