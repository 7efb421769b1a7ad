"""Adaptive training: Table 2, Figures 4 and 5, the tests of section 5, and better classifiers.

Cremers, Kaur, Koesomo. Adaptive Training With K-Means and Hierarchical Clustering. They repeat
Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for Learning to Rank
in Information Retrieval. CIKM 2019, which introduces the method and best-feature calibration. The
authors' code gives reciprocal rank 0 to a query whose only relevant document is at rank 1. The
paper does not say so, so MRR is shown by that rule as well. The text has no numbers for the curves
in Figures 4 and 5.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import (
    Calibration,
    best_feature_calibration,
    clairvoyant_bounds,
    paired_test,
    paired_tests,
)
from localrank.evaluation.significance import LEVEL, corrected
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, Measure, ReciprocalRank
from localrank.rankers import BestFeature, LambdaMART, Ranker
from localrank.recipes import adaptive_training
from localrank.selection import Clairvoyant

PAPER = "adaptive-training"
N_TREES, N_CLUSTERS, N_CONTROLS = 500, 5, 3
NDCG_5: Measure = NDCG(5)
MRR: Measure = ReciprocalRank(100)
GROUPINGS: tuple[Literal["kmeans", "ward"], ...] = ("kmeans", "ward")
CONTROL = "baseline, other seed"
FAULTY = "mrr@100, as the authors' code counts"
LOGISTIC = "logistic regression"
WAYS = ("selective", "fusion")
NO_CURVES = "The paper draws these curves without numbers, so ours stand alone."

# By kind of clusters and classifier, for each fold: accuracy, largest cluster, calibration error.
Quality = dict[tuple[str, str], list[tuple[float, float, float]]]


def methods(n_trees: int, random_state: int) -> dict[str, Ranker]:
    """One model for all queries, and the paper's: 5 clusters, three rounds, LambdaMART."""
    trees, reseeded = (LambdaMART(n_trees, random_state=random_state + i) for i in range(2))
    return {
        "best feature": BestFeature(),
        "baseline": trees,
        CONTROL: reseeded,
        **{
            f"selective, {grouping}": adaptive_training(
                N_CLUSTERS, grouping=grouping, ranker=trees, random_state=random_state
            )
            for grouping in GROUPINGS
        },
    }


def classifiers(random_state: int, quick: bool = False) -> dict[str, Any]:
    """The paper's classifier, and two that its future work may mean."""
    n = 5 if quick else 100
    return {
        LOGISTIC: None,
        "gradient boosting": GradientBoostingClassifier(n_estimators=n, random_state=random_state),
        "random forest": RandomForestClassifier(n, random_state=random_state),
    }


def named(way: str, grouping: str, classifier: str = LOGISTIC) -> str:
    """A method's name. The paper's classifier is not named."""
    return f"{way}, {grouping}" + ("" if classifier == LOGISTIC else f", {classifier}")


def reproduce(setting: Setting) -> Reproduction:
    """Compare selection, fusion and oracle with one model for all queries, on all folds."""
    reproduction = Reproduction(PAPER, setting.data)
    n_trees, n_controls = (20, 1) if setting.quick else (N_TREES, N_CONTROLS)
    # Scores of other choices among the clusters' models, and the oracle's values on random groups.
    others: dict[str, list[Floats]] = {}
    controls: dict[tuple[str, Measure], list[Floats]] = {}
    quality: Quality = {}

    def choose_otherwise(method: str, fold: Fold, model: Ranker) -> None:
        if not isinstance(model, LocalRanker):
            return
        grouping = method.removeprefix("selective, ")
        setting.say(
            f"{fold.name}, {grouping}: groups of {model.groups_.sizes.tolist()} queries, "
            f"{list(model.groups_.n_changed)} changed"
        )
        for name, classifier in classifiers(setting.random_state, setting.quick).items():
            chooser = clone(model.selector).set_params(classifier=classifier)
            chosen = model.with_selector(chooser, fold.train)
            selector = chosen.selector_
            facts = selector.accuracy_, selector.majority_, selector.calibration_error_
            quality.setdefault((grouping, name), []).append(facts)
            for way in WAYS:
                selector.hard = way == "selective"
                others.setdefault(named(way, grouping, name), []).append(chosen.predict(fold.test))
        for bound in clairvoyant_bounds(
            model, fold.train, fold.test, (NDCG_5, MRR), n_controls=n_controls
        ):
            controls.setdefault((grouping, bound.measure), []).append(bound.control)
            chosen = model.with_selector(Clairvoyant(bound.measure), fold.train)
            name = f"oracle by {bound.measure}, {grouping}"
            others.setdefault(name, []).append(chosen.predict(fold.test))

    results = setting.run(
        methods(n_trees, setting.random_state), setting.folds, inspect=choose_otherwise
    )
    test = results["baseline"].test
    scores = {method: result.scores for method, result in results.items()}
    scores |= {method: np.concatenate(values) for method, values in others.items()}
    table_2(reproduction, test, scores, controls)
    differences(reproduction, test, scores)
    oracles(reproduction, test, scores)
    other_classifiers(reproduction, test, scores, quality)
    _calibrate(reproduction, test, scores)
    return reproduction


def faulty(test: RankingDataset, ranking: Floats) -> Floats:
    """The reciprocal rank of the authors' code: 0 where the only relevant document is first."""
    values = MRR(test, ranking)
    return np.where((test.count(test.labels > 0) == 1) & (values == 1), 0.0, values)


def _rows(measure: str) -> list[str]:
    """The rows that a published measure stands beside."""
    return [measure, FAULTY] if measure == str(MRR) else [measure]


def table_2(
    reproduction: Reproduction,
    test: RankingDataset,
    scores: dict[str, Floats],
    controls: dict[tuple[str, Measure], list[Floats]],
) -> None:
    """Table 2, and the oracles beside their controls."""
    ours: dict[tuple[str, ...], float] = {}
    methods = ["best feature", "baseline", CONTROL]
    methods += [f"{way}, {g}" for g in GROUPINGS for way in ("selective", "fusion", "oracle")]
    for method in methods:
        way, _, grouping = method.partition(", ")
        by = {
            m: scores[f"oracle by {m}, {grouping}" if way == "oracle" else method]
            for m in (NDCG_5, MRR)
        }
        ours[method, "ndcg@5"] = NDCG_5.mean(test, by[NDCG_5])
        ours[method, "mrr@100"] = MRR.mean(test, by[MRR])
        ours[method, FAULTY] = float(faulty(test, by[MRR]).mean())
    numbers = {
        (method, row): value
        for (method, name), value in reproduction.published("table-2").items()
        for row in _rows(name)
    }
    rows: list[list[Value]] = []
    gains = {}
    for (grouping, measure), parts in controls.items():
        drawn = np.concatenate(parts, axis=1).mean(axis=1)
        oracle = ours[f"oracle, {grouping}", str(measure)]
        spread = float(drawn.std(ddof=1)) if len(drawn) > 1 else None
        rows.append([grouping, str(measure), oracle, float(drawn.mean()), spread])
        gains[grouping, str(measure)] = oracle - float(drawn.mean())
    reproduction.compare(
        "Table 2: means over the test queries",
        ["method", "measure"],
        ours,
        numbers,
        f"{test.n_queries:,} test queries. The code of the paper's authors gives reciprocal rank 0 "
        f"to a query whose only relevant document is at rank 1. The paper does not say so, so its "
        f"numbers stand beside ours by both rules. An oracle chooses the best cluster of each "
        f"query by its labels.",
    )
    reproduction.table(
        "The oracle beside its control",
        ["clusters", "measure", "oracle", "on random groups", "deviation"],
        rows,
        "The best of several models gains by chance alone: the control is the same choice "
        "among models of random groups of the same sizes, mean and standard deviation over "
        "the draws.",
    )
    base = ours["baseline", "ndcg@5"]
    oracle = ours["oracle, kmeans", "ndcg@5"]
    gain, chance = oracle - base, oracle - base - gains["kmeans", "ndcg@5"]
    reproduction.claim(
        "with a good choice of cluster adaptive training would beat the global model",
        # A bound that models of random groups reach too says nothing about the clusters.
        gain > 0 and gains["kmeans", "ndcg@5"] > chance,
        f"the oracle gains {gain:+.4f} NDCG@5; random groups alone give {chance:+.4f}",
    )


def differences(
    reproduction: Reproduction, test: RankingDataset, scores: dict[str, Floats]
) -> None:
    """Paired tests of selection and fusion against the baseline, and against each other."""
    base = NDCG_5(test, scores["baseline"])
    methods = [named(way, grouping) for grouping in GROUPINGS for way in WAYS]
    tests = paired_tests({m: NDCG_5(test, scores[m]) for m in methods}, base)
    rows: list[list[Value]] = []
    for method, comparison in tests.items():
        (low, high), cells = comparison.interval, difference_cells(comparison)
        rows.append([method, cells[0], f"{low:+.4f} to {high:+.4f}", *cells[1:]])
    reproduction.table(
        "NDCG@5 against the baseline",
        ["method", "difference", "95 % interval", "p (Holm)", "won/tied/lost"],
        rows,
        "Paired t-tests over the test queries.",
    )
    selective = tests["selective, kmeans"]
    reproduction.claim(
        "in Table 2 the selected cluster's model ranks worse than the global model",
        selective.sign < 0 if selective.sign else None,
        f"NDCG@5 {difference(selective)}",
    )
    fusion, selection = (NDCG_5(test, scores[f"{way}, kmeans"]) for way in ("fusion", "selective"))
    versus = paired_test(fusion, selection)
    reproduction.claim_better("fusion ranks better than selection", "NDCG@5", versus)


def oracles(reproduction: Reproduction, test: RankingDataset, scores: dict[str, Floats]) -> None:
    """Section 5: the oracles of the two kinds of clusters, and the t-test between them."""
    ours: dict[tuple[str, str], float] = {}
    for name, by, measure in (
        ("ndcg@5", NDCG_5, NDCG_5),
        ("mrr@100", MRR, MRR),
        (FAULTY, MRR, faulty),
    ):
        values = {g: measure(test, scores[f"oracle by {by}, {g}"]) for g in GROUPINGS}
        for grouping, by_query in values.items():
            ours[name, f"mean, {grouping}"] = float(np.mean(by_query))
            ours[name, f"deviation, {grouping}"] = float(np.std(by_query, ddof=1))
        comparison = paired_test(values["ward"], values["kmeans"])
        ours[name, "t"] = abs(comparison.effect_size) * np.sqrt(comparison.n_queries)
        ours[name, "p"] = comparison.p_value
    reproduction.compare(
        "Section 5: the oracles of k-means and Ward over the queries, and paired t-tests",
        ["measure", "quantity"],
        ours,
        {
            (row, quantity): value
            for (measure, quantity), value in reproduction.published("oracles").items()
            for row in _rows(measure)
        },
        "Standard deviations are over the queries. t is without its sign.",
    )
    p_value = ours["ndcg@5", "p"]
    reproduction.claim(
        "k-means and Ward do not differ", p_value >= LEVEL, f"oracles by NDCG@5, p = {p_value:.2f}"
    )


def other_classifiers(
    reproduction: Reproduction, test: RankingDataset, scores: dict[str, Floats], quality: Quality
) -> None:
    """The paper's future work: whether another classifier chooses better."""
    values = {
        (way, grouping, name): NDCG_5(test, scores[named(way, grouping, name)])
        for grouping, name in quality
        for way in WAYS
    }
    tests = corrected(
        {
            key: paired_test(by_query, values[*key[:2], LOGISTIC])
            for key, by_query in values.items()
            if key[2] != LOGISTIC
        }
    )
    rows: list[list[Value]] = []
    for (grouping, name), folds in quality.items():
        row: list[Value] = [grouping, name, *map(float, np.mean(folds, axis=0))]
        for way in WAYS:
            comparison = tests.get((way, grouping, name))
            mean = float(values[way, grouping, name].mean())
            row += [mean, None if comparison is None else difference(comparison)]
        rows.append(row)
    against = "against logistic regression"
    reproduction.table(
        "Other classifiers as selectors",
        [
            "clusters",
            "classifier",
            "accuracy",
            "largest cluster",
            "calibration error",
            *(cell for way in WAYS for cell in (f"{way}, ndcg@5", against)),
        ],
        rows,
        "The paper leaves better classifiers to future work. Accuracy and calibration error are "
        "measured on training queries that the classifier has not seen; means of the folds. "
        "'Largest cluster' is the accuracy of always choosing the largest cluster. P-values are of "
        "paired t-tests over the test queries, corrected by Holm's rule.",
    )


def _calibrate(reproduction: Reproduction, test: RankingDataset, scores: dict[str, Floats]) -> None:
    """Figures 4 and 5, with what the paper lacks: a control and the unconditioned view."""
    for number, measure in (("4", NDCG_5), ("5", MRR)):
        for part, grouping in zip("ab", GROUPINGS, strict=True):
            calibration = calibrate(test, scores, measure, grouping)
            reproduction.figure(
                f"figure-{number}{part}",
                f"Figure {number}{part}: {measure} against the failure level, {grouping}.",
                calibration.chart(),
            )
            if number == "4":
                calibration_claims(reproduction, calibration, grouping)


def calibrate(
    test: RankingDataset, scores: dict[str, Floats], measure: Measure, grouping: str
) -> Calibration:
    """Best-feature calibration of the methods with one kind of clusters."""
    return best_feature_calibration(
        scores["baseline"],
        scores["best feature"],
        {
            "selective": scores[f"selective, {grouping}"],
            "fusion": scores[f"fusion, {grouping}"],
            "oracle": scores[f"oracle by {measure}, {grouping}"],
        },
        test,
        measure,
        control=scores[CONTROL],
        bounds=("oracle",),
    )


def calibration_claims(reproduction: Reproduction, calibration: Calibration, grouping: str) -> None:
    """The curves of a calibration as tables, and what the paper says about them."""
    for view, title in (
        ("failure_level", "the failure level"),
        ("best_feature_score", "the best feature's own score"),
    ):
        names = list(calibration.per_query)
        rows = [
            [f"{cells[0]['level']:.1f}", cells[0]["n_queries"], *(cell["mean"] for cell in cells)]
            for cells in calibration.by_level(view)
        ]
        reproduction.table(
            f"Figure 4, {grouping}: {calibration.measure} by {title}",
            ["level", "queries", *names],
            rows,
            NO_CURVES if view == "failure_level" else calibration.verdict.replace("\n", "\n\n"),
        )
    negative = calibration.levels["failure_level"] < 0
    if negative.sum() < 2:
        return
    selective, baseline, control = (
        calibration.per_query[name][negative] for name in ("selective", "baseline", "control")
    )
    over_baseline, over_control = (paired_test(selective, other) for other in (baseline, control))
    reproduction.claim_better(
        f"where the best feature beats the global model, selection ({grouping}) beats the "
        f"global model",
        "NDCG@5",
        over_baseline,
        f"; over a global model with another seed, which regression to the mean favours as much, "
        f"{difference(over_control)}",
    )
