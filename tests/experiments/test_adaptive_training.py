"""The experiment on made-up queries, beside models that the tests train themselves."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from localrank import LocalRanker
from localrank.data import RankingDataset, folds, make_queries
from localrank.evaluation import clairvoyant_bounds, paired_test
from localrank.evaluation.significance import correct
from localrank.experiments import Reproduction, Setting, adaptive_training
from localrank.experiments.adaptive_training import (
    BASELINE,
    BEST,
    CONTROL,
    EQUAL,
    FAULTY,
    FEW,
    GROUPINGS,
    MERGED,
    MRR,
    NDCG_5,
    WAYS,
    Alike,
    Larger,
    Opposite,
    Rankings,
    calibrate,
    curves,
    differences,
    kinds_of_clusters,
    methods,
    named,
    number_of_clusters,
    oracle_beyond_chance,
    reproduce,
    table_2,
    tables_of_curves,
    where_the_feature_wins,
)
from localrank.experiments.reproduction import Verdict, difference
from localrank.grouping import Agglomerative, Refined, kmeans, ward
from localrank.measures import NDCG, ReciprocalRank
from localrank.rankers import BestFeature, LambdaMART
from localrank.representations import Gaussian, RelevantMean, TopDocuments
from localrank.selection import AllGroups, Clairvoyant, Classifier, NearestQueries

SEEDS = (3, 4)
OVR = OneVsRestClassifier(LogisticRegression(solver="liblinear"))


class Softmax(BaseEstimator):
    """Logistic regression of descriptions in units of the largest value that it learns from."""

    def fit(self, X, y):
        self.unit_ = np.abs(X).max()
        self.regression_ = LogisticRegression(max_iter=1000).fit(X / self.unit_, y)
        self.classes_ = self.regression_.classes_
        return self

    def predict_proba(self, X):
        return self.regression_.predict_proba(X / self.unit_)


SOFTMAX = Softmax()


def as_dicts(reproduction, beginning):
    (table,) = (table for table in reproduction.tables if table.title.startswith(beginning))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def rows_by(reproduction, beginning, *names):
    found = {}
    for row in as_dicts(reproduction, beginning):
        found[tuple(row[name] for name in names) if len(names) > 1 else row[names[0]]] = row
    return found


# One small run of everything.


@pytest.fixture(scope="module")
def parts():
    dataset, _ = make_queries(48, n_documents=(50, 60), n_features=4, n_types=2, random_state=3)
    return list(folds(dataset, 3))[:2]


@pytest.fixture(scope="module")
def run(parts):
    """The experiment with small models."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small clusters have nothing to split on
        patch.setattr(Setting, "folds", parts)
        patch.setattr(adaptive_training, "N_TREES", 4)
        patch.setattr(adaptive_training, "N_CLUSTERS", 3)
        patch.setattr(adaptive_training, "MIN_QUERIES", 5)
        patch.setattr(adaptive_training, "CLASSIFIERS", ("one-vs-rest", "softmax"))
        setting = Setting(Path("MQ2007"), seeds=SEEDS, n_jobs=1, say=lambda line: None)
        return reproduce(setting)


def local(grouping, seed, selector):
    """The paper's method from its parts, without the recipe."""
    return LocalRanker(
        RelevantMean(),
        Refined(grouping, rounds=3, random_state=seed),
        LambdaMART(4, random_state=seed),
        selector,
    )


def predictions(fold, seed):
    """Scores of a fold's test queries by models of its training queries, and what choosers know."""
    train, test = fold.train, fold.test
    scores, facts, chance = {}, {}, {}

    def keep(name, model):
        scores[name] = model.predict(test)

    top = TopDocuments(10)
    keep(BEST, BestFeature().fit(train))
    for name, other in ((BASELINE, seed), (CONTROL, seed + 1)):
        keep(name, LambdaMART(4, random_state=other).fit(train))
    for name, grouping in (
        ("kmeans", kmeans(3, random_state=seed)),
        ("ward", ward(3)),
        (FEW, kmeans(2, random_state=seed)),
    ):
        model = local(grouping, seed, Classifier(OVR, representation=top)).fit(train)
        keep(f"selective, {name}", model)
        chosen = {
            f"fusion, {name}": Classifier(OVR, hard=False, representation=top),
            f"oracle by ndcg@5, {name}": Clairvoyant("ndcg@5"),
            f"oracle by mrr@100, {name}": Clairvoyant("mrr@100"),
        }
        if name == "kmeans":
            chosen |= {
                f"{way}, {name}, softmax": Classifier(
                    SOFTMAX, hard=way == "selective", representation=top
                )
                for way in WAYS
            }
            chosen[EQUAL] = AllGroups(representation=top)
            bounds = clairvoyant_bounds(
                model, train, test, ("ndcg@5", "mrr@100"), n_controls=1, random_state=seed
            )
            chance = {str(bound.measure): bound.control[0] for bound in bounds}
            facts["one-vs-rest"] = model.selector_
        for method, selector in chosen.items():
            twin = model.with_selector(selector, train)
            keep(method, twin)
            if method == "selective, kmeans, softmax":
                facts["softmax"] = twin.selector_
    merged = LocalRanker(
        Gaussian(),
        Agglomerative(3),
        LambdaMART(4, random_state=seed),
        NearestQueries(10),
        min_queries=5,
    )
    keep(MERGED, merged.fit(train))
    return scores, facts, chance


@pytest.fixture(scope="module")
def expected(parts):
    """By method and measure: values of shape (n_seeds, n_queries). Beside them choosers."""
    values, facts = {}, {}
    for seed in SEEDS:
        of_seed = {}
        for fold in parts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores, known, chance = predictions(fold, seed)
            for method, of_method in scores.items():
                for measure in (NDCG(5), ReciprocalRank(100)):
                    key = method, str(measure)
                    of_seed.setdefault(key, []).append(measure(fold.test, of_method))
            for measure, of_measure in chance.items():
                of_seed.setdefault(("random groups", measure), []).append(of_measure)
            for name, selector in known.items():
                facts.setdefault(name, []).append(selector)
        for key, of_folds in of_seed.items():
            values.setdefault(key, []).append(np.concatenate(of_folds))
    values = {key: np.array(rows) for key, rows in values.items()}
    for g in GROUPINGS:
        for measure in ("ndcg@5", "mrr@100"):
            values[f"oracle, {g}", measure] = values[f"oracle by {measure}, {g}", measure]
    return values, facts


def test_the_data_tell_the_rows_apart(expected):
    """Otherwise one model could stand in the row of another."""
    values, _ = expected
    rows = [BEST, BASELINE, EQUAL, MERGED, "selective, kmeans, softmax"]
    rows += [f"{way}, {g}" for g in (*GROUPINGS, FEW) for way in WAYS]
    rows += [f"oracle, {g}" for g in GROUPINGS] + ["random groups"]
    means = {row: values[row, "ndcg@5"].mean().round(9) for row in rows}
    assert len(set(means.values())) == len(means), means


def test_table_2_has_the_means_of_models_trained_on_the_training_queries(run, expected):
    values, _ = expected
    rows = rows_by(run, "Table 2", "method", "measure")
    names = [BEST, BASELINE, *(f"{way}, {g}" for g in GROUPINGS for way in (*WAYS, "oracle"))]
    assert list(rows) == [
        (name, m) for name in [*names, EQUAL, MERGED] for m in ("ndcg@5", "mrr@100", FAULTY)
    ]
    for (name, measure), row in rows.items():
        if measure == FAULTY:
            continue
        assert_allclose(row["ours"], values[name, measure].mean(), err_msg=name)
        if name != BEST:
            by_seed = values[name, measure].mean(axis=1)
            assert_allclose(row["between seeds"], by_seed.std(ddof=1), atol=1e-12)
    assert rows[BEST, "ndcg@5"]["between seeds"] is None
    assert rows["selective, ward", "ndcg@5"]["published"] == 0.387
    assert rows["fusion, kmeans", FAULTY]["published"] == 0.557
    assert rows["fusion, kmeans", "mrr@100"]["published"] == 0.557
    assert rows[EQUAL, "mrr@100"]["published"] is None


def test_the_oracle_stands_beside_the_same_choice_among_random_groups(run, expected):
    values, _ = expected
    (table,) = (t for t in run.tables if t.title.startswith("The oracle beside"))
    for row, measure in zip(table.rows, ("ndcg@5", "mrr@100"), strict=True):
        oracle, chance = values["oracle, kmeans", measure], values["random groups", measure]
        assert row[0] == measure
        assert_allclose(row[1:4:2], [oracle.mean(), chance.mean()])
        assert_allclose(
            row[2::2], [v.mean(axis=1).std(ddof=1) for v in (oracle, chance)], atol=1e-12
        )


def test_differences_are_tested_over_queries_and_seeds(run, expected):
    values, _ = expected
    rows = rows_by(run, "NDCG@5 against the baseline", "method")
    base = values[BASELINE, "ndcg@5"]
    tests = {name: paired_test(values[name, "ndcg@5"], base) for name in rows}
    assert list(rows) == [
        *(f"{way}, {g}" for g in (*GROUPINGS, FEW) for way in WAYS),
        EQUAL,
        MERGED,
    ]
    p_values = correct([test.p_value for test in tests.values()])
    for (name, row), p_value in zip(rows.items(), p_values, strict=True):
        assert tests[name].n_runs == len(SEEDS)
        assert_allclose(row["difference"], tests[name].mean_difference)
        assert_allclose(row["p (Holm)"], p_value)
    fusion = rows_by(run, "NDCG@5 of fusion", "clusters")
    for g in GROUPINGS:
        apart = values[f"fusion, {g}", "ndcg@5"] - values[f"selective, {g}", "ndcg@5"]
        assert_allclose(fusion[f"{g}: fusion over selective"]["difference"], apart.mean())
    apart = values["fusion, kmeans", "ndcg@5"] - values[EQUAL, "ndcg@5"]
    assert_allclose(fusion["kmeans: fusion over equal weights"]["difference"], apart.mean())


def test_a_claim_has_the_p_value_of_its_table(run):
    rows = rows_by(run, "NDCG@5 against the baseline", "method")
    claims = {claim.says: claim.measured for claim in run.claims}
    measured = claims["in Table 2 the selected cluster's model ranks worse than the global model"]
    for g in GROUPINGS:
        row = rows[f"selective, {g}"]
        assert f"{g} {row['difference']:+.4f}, p = {row['p (Holm)']:.3f}" in measured
    rows = rows_by(run, "NDCG@5 where the best feature", "method")
    for g in GROUPINGS:
        (measured,) = (text for says, text in claims.items() if f"selection ({g})" in says)
        row = rows[f"selective, {g}"]
        gain, p_value = row["over another seed's"], row["p (Holm)"]
        assert f"{gain:+.4f}, p = {p_value:.3f}" in measured


def test_section_5_has_means_and_deviations_of_the_oracles(run, expected):
    values, _ = expected
    rows = rows_by(run, "Section 5", "measure", "quantity")
    for measure in ("ndcg@5", "mrr@100"):
        for g in GROUPINGS:
            oracle = values[f"oracle, {g}", measure]
            assert_allclose(rows[measure, f"mean, {g}"]["ours"], oracle.mean())
            deviation = np.mean([row.std(ddof=1) for row in oracle])
            assert_allclose(rows[measure, f"deviation, {g}"]["ours"], deviation)
    assert rows["ndcg@5", "deviation, ward"]["published"] == 0.35
    assert rows[FAULTY, "mean, kmeans"]["published"] == 0.73
    (claim,) = (claim for claim in run.claims if claim.says.startswith("k-means and Ward"))
    for measure in ("ndcg@5", "mrr@100"):
        kinds = [values[f"oracle, {g}", measure] for g in ("ward", "kmeans")]
        low, high = paired_test(*kinds, confidence=0.9).interval
        assert f"({low:+.4f} to {high:+.4f})" in claim.measured
    (table,) = (t for t in run.tables if t.title.startswith("Section 5"))
    assert "ndcg@5 t = 0.44, p = 0.66; mrr@100 t = 0.074, p = 0.94" in table.note


def test_section_6_has_the_effects_of_number_and_kind(run, expected):
    values, _ = expected
    rows = rows_by(run, "Section 6", "way", "change")
    for way in WAYS:
        many, kind, few = (values[f"{way}, {g}", "ndcg@5"].mean() for g in (*GROUPINGS, FEW))
        assert_allclose(rows[way, "2 clusters for 3"]["difference"], few - many)
        assert_allclose(rows[way, "Ward for k-means"]["difference"], kind - many)


def test_classifiers_stand_in_their_own_rows(run, expected):
    values, facts = expected
    (table,) = (t for t in run.tables if t.title.startswith("Classifiers"))
    assert [row[0] for row in table.rows] == ["one-vs-rest", "softmax"]
    columns = {"accuracy": "accuracy_", "largest cluster": "majority_", "log loss": "log_loss_"}
    columns["calibration error"] = "calibration_error_"
    for row in table.rows:
        name, cells = row[0], dict(zip(table.columns, row, strict=True))
        for column, attribute in columns.items():
            mean = np.mean([getattr(selector, attribute) for selector in facts[name]])
            assert_allclose(cells[column], mean, err_msg=column)
        for way, mean in zip(WAYS, row[5::2], strict=True):
            method = f"{way}, kmeans" + (", softmax" if name == "softmax" else "")
            assert_allclose(mean, values[method, "ndcg@5"].mean())
    tests = [
        paired_test(values[f"{way}, kmeans, softmax", "ndcg@5"], values[f"{way}, kmeans", "ndcg@5"])
        for way in WAYS
    ]
    p_values = correct([test.p_value for test in tests])
    for cell, test, p_value in zip(table.rows[1][6::2], tests, p_values, strict=True):
        assert cell == f"{test.mean_difference:+.4f}, p = {p_value:.3f}"
    assert table.rows[0][6::2] == [None, None]
    losses = {n: np.mean([s.log_loss_ for s in known]) for n, known in facts.items()}
    assert f"{min(losses, key=losses.get)} has the smallest log loss" in table.note


def test_the_opponent_has_not_picked_the_queries_that_fail(run, expected):
    values, _ = expected
    base, picker, feature = (values[name, "ndcg@5"] for name in (BASELINE, CONTROL, BEST))
    fails = picker < feature
    assert 0 < fails.sum() < fails.size
    for method, row in rows_by(run, "NDCG@5 where the best feature", "method").items():
        chosen = values[method, "ndcg@5"]
        assert_allclose(row["over another seed's"], (chosen - base)[fails].mean())
        assert_allclose(row["over that model"], (chosen - picker)[fails].mean())


def test_curves_are_those_of_the_first_seed(run, expected):
    values, _ = expected
    for grouping in GROUPINGS:
        rows = as_dicts(run, f"Figure 4, {grouping}: ndcg@5 by the best")
        sizes = np.array([row["queries"] for row in rows])
        for curve, method in (
            ("selective", f"selective, {grouping}"),
            ("fusion", f"fusion, {grouping}"),
            ("oracle", f"oracle, {grouping}"),
            ("control", CONTROL),
            ("baseline", BASELINE),
        ):
            mean = np.average([row[curve] for row in rows], weights=sizes)
            assert_allclose(mean, values[method, "ndcg@5"][0].mean())
    assert [figure.name[-9:] for figure in run.figures] == [
        f"figure-{n}" for n in ("4a", "4b", "5a", "5b")
    ]
    assert all(figure.chart.options["note"].startswith("Trained") for figure in run.figures)


# The whole experiment and a try.


@pytest.mark.parametrize(("quick", "n_trees"), [(False, 500), (True, 20)])
def test_the_whole_experiment_trains_500_trees_and_a_try_20(monkeypatch, quick, n_trees):
    seen = {}

    def run(self, methods, parts, **options):
        seen.update(methods)
        raise InterruptedError

    monkeypatch.setattr(Setting, "run", run)
    monkeypatch.setattr(Setting, "folds", [])
    with pytest.raises(InterruptedError):
        reproduce(Setting(Path("MQ2007"), quick=quick, seeds=(3, 7), say=lambda line: None))
    assert {name.rpartition(" #")[2] for name in seen} == {"3", "7", "8"}
    trees = [seen[f"{BASELINE} #{seed}"] for seed in (3, 7, 8)]
    assert [(t.n_trees, t.random_state) for t in trees] == [(n_trees, s) for s in (3, 7, 8)]
    assert seen[f"selective, ward #{7}"].ranker.n_trees == n_trees


def test_the_model_is_the_papers():
    made = methods(7, seed=5)
    for grouping in GROUPINGS:
        model = made[f"selective, {grouping}"]
        assert (model.grouping.grouping.n_clusters, model.grouping.rounds) == (5, 3)
        assert (model.ranker.n_trees, model.ranker.random_state) == (7, 5)
        assert model.selector.classifier == "one-vs-rest"
    assert made["selective, ward"].grouping.grouping.linkage == "ward"
    assert made["selective, kmeans"].grouping.grouping.random_state == 5
    assert made[f"selective, {FEW}"].grouping.grouping.n_clusters == 2


# Verdicts, on rankings that were made up to be good or bad.


@pytest.fixture(scope="module")
def graded():
    return make_queries(80, n_documents=(5, 12), n_features=3, n_types=1, random_state=0)[0]


NAMES = [BASELINE, CONTROL, BEST, EQUAL, MERGED]
NAMES += [f"{way}, {g}" for g in (*GROUPINGS, FEW) for way in WAYS]
NAMES += [f"oracle by {measure}, {g}" for g in GROUPINGS for measure in (NDCG_5, MRR)]


@pytest.fixture(scope="module")
def rankings(graded):
    """Makes rankings: noise of the given sizes on the labels, the same for all but those named."""

    def make(chance=None, **noise):
        scores = {}
        for place, name in enumerate(NAMES):
            size = noise.get(name, 1.0)
            rng = np.random.default_rng(0 if size is None else place)
            n_rows = 1 if name == BEST else 3
            draws = rng.normal(size=(n_rows, graded.n_documents))
            scores[name] = graded.relevance + (1.0 if size is None else size) * draws
        if chance is None:
            return Rankings(graded, scores)
        rng = np.random.default_rng(99)
        drawn = graded.relevance + chance * rng.normal(size=(3, graded.n_documents))
        values = {m: np.array([m(graded, row) for row in drawn]) for m in (NDCG_5, MRR)}
        return Rankings(graded, scores, values)

    return make


def verdicts(part, rankings, quick=False):
    reproduction = Reproduction("adaptive-training", "MQ2007", quick=quick)
    part(reproduction, rankings)
    return [claim.verdict for claim in reproduction.claims]


@pytest.mark.parametrize(
    ("oracle", "chance", "verdict"),
    [
        (0.0, 1.0, Verdict.YES),
        # As good as the choice among random groups, however much better than the baseline.
        (0.01, 0.01, Verdict.UNDECIDED),
        (0.5, 0.0, Verdict.NO),
        (9.0, 20.0, Verdict.NO),
    ],
)
def test_an_oracle_shows_something_only_beyond_random_groups(rankings, oracle, chance, verdict):
    noise = {f"oracle by {measure}, kmeans": oracle for measure in (NDCG_5, MRR)}
    assert verdicts(oracle_beyond_chance, rankings(chance, **noise)) == [verdict]


def test_a_try_gives_no_verdict(rankings):
    noise = {f"oracle by {measure}, kmeans": 0.0 for measure in (NDCG_5, MRR)}
    made = rankings(1.0, **noise)
    assert verdicts(oracle_beyond_chance, made, quick=True) == [Verdict.NOT_TESTED]


@pytest.mark.parametrize(
    ("kmeans_noise", "ward_noise", "worse"),
    [
        (99.0, 99.0, Verdict.YES),
        (0.0, 0.0, Verdict.NO),
        # One kind alone does not decide.
        (99.0, None, Verdict.UNDECIDED),
        (99.0, 0.0, Verdict.NO),
    ],
)
def test_selection_is_worse_only_if_both_kinds_of_clusters_are(
    rankings, kmeans_noise, ward_noise, worse
):
    made = rankings(**{"selective, kmeans": kmeans_noise, BASELINE: None})
    made.scores["selective, ward"] = (
        made.scores[BASELINE]
        if ward_noise is None
        else rankings(**{"selective, ward": ward_noise}).scores["selective, ward"]
    )
    assert verdicts(differences, made)[0] is worse


@pytest.mark.parametrize(
    ("fusion", "selective", "verdict"), [(0.0, 3.0, Verdict.YES), (3.0, 0.0, Verdict.NO)]
)
def test_fusion_is_compared_with_selection(rankings, fusion, selective, verdict):
    noise = {f"fusion, {g}": fusion for g in GROUPINGS}
    noise |= {f"selective, {g}": selective for g in GROUPINGS}
    assert verdicts(differences, rankings(**noise))[1] is verdict


def test_kinds_are_alike_if_intervals_lie_within_the_margin(rankings):
    noise = {f"oracle by {measure}, {g}": 1.0 for g in GROUPINGS for measure in (NDCG_5, MRR)}
    made = rankings(**noise)
    # Far apart, unknown, and the same.
    assert verdicts(kinds_of_clusters, made) == [Verdict.UNDECIDED]
    apart = rankings(**{f"oracle by {m}, ward": 0.0 for m in (NDCG_5, MRR)})
    assert verdicts(kinds_of_clusters, apart) == [Verdict.NO]
    for measure in (NDCG_5, MRR):
        made.scores[f"oracle by {measure}, ward"] = made.scores[f"oracle by {measure}, kmeans"]
    assert verdicts(kinds_of_clusters, made) == [Verdict.YES]


def test_alike_is_two_one_sided_tests_at_the_level():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.004, 0.0075, 0.01, 0.05, -0.05):
        a = rng.normal(size=100) / 30
        b = a + shift + rng.normal(size=100) / 100
        lower = stats.ttest_1samp(b - a, -0.01, alternative="greater").pvalue
        upper = stats.ttest_1samp(b - a, 0.01, alternative="less").pvalue
        sign = Alike(paired_test(b, a, confidence=0.9), 0.01).sign
        assert (sign == 1) == (max(lower, upper) < 0.05)
        assert (sign == -1) == (max(lower, upper) > 0.95)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (0, 1), (-3, 1), (1, -3), (2, 2), (-2, 2), (0, 0)])
def test_the_larger_of_two_effects_is_told_whatever_their_signs(n, k):
    rng = np.random.default_rng(0)
    number, kind = n + rng.normal(size=400) / 2, k + rng.normal(size=400) / 2
    test = Larger(paired_test(number, -kind), paired_test(number, kind))
    assert test.sign == np.sign(abs(n) - abs(k))


@pytest.mark.parametrize(
    ("few", "kind", "verdict"),
    [(0.0, 1.0, Verdict.YES), (9.0, 1.0, Verdict.YES), (1.0, 0.0, Verdict.NO)],
)
def test_the_number_of_clusters_is_compared_with_their_kind(rankings, few, kind, verdict):
    noise = {f"{way}, {FEW}": few for way in WAYS} | {f"{way}, ward": kind for way in WAYS}
    assert verdicts(number_of_clusters, rankings(**noise)) == [verdict]


def test_where_the_feature_wins_the_gain_must_exceed_that_of_another_seed(rankings, graded):
    """A global model that picks the queries is beaten by any other one, and that is no gain."""
    made = rankings(**{BEST: 0.5, CONTROL: 3.0, BASELINE: 1.0})
    assert verdicts(where_the_feature_wins, made) == [Verdict.UNDECIDED] * 2
    biased = made.values("selective, kmeans") - made.values(CONTROL)
    fails = made.values(CONTROL) < made.values(BEST)
    assert stats.ttest_1samp(biased[fails], 0).pvalue < 1e-3
    right = rankings(**{BEST: 0.5, "selective, kmeans": 0.0, "selective, ward": 20.0})
    assert verdicts(where_the_feature_wins, right) == [Verdict.YES, Verdict.NO]


def test_nothing_is_said_where_the_feature_never_wins(rankings, graded):
    made = rankings(**{CONTROL: 0.0})
    assert verdicts(where_the_feature_wins, made) == []


def test_the_opposite_of_a_test():
    loss = paired_test([0.1, 0.2, 0.11, 0.3], [0.8, 0.9, 0.85, 1.0])
    assert (loss.sign, Opposite(loss).sign) == (-1, 1)
    assert difference(loss).startswith("-0.7")


# Measures and curves.


def test_the_reciprocal_rank_of_the_authors_code_loses_single_relevant_documents_at_rank_1():
    labels = [1, 0, 0, 1, 1, 0, 0, 1, 0]
    dataset = RankingDataset.from_arrays(np.zeros((9, 1)), labels, np.repeat([1, 2, 3], 3))
    made = Rankings(dataset, {"a": np.array([[3.0, 2, 1, 3, 2, 1, 3, 2, 1]])})
    assert made.values("a", MRR).tolist() == [[1, 1, 0.5]]
    assert made.faulty("a").tolist() == [[0, 1, 0.5]]


def test_the_row_of_the_authors_code_has_its_mean(rankings):
    made = rankings()
    reproduction = Reproduction("adaptive-training", "MQ2007")
    table_2(reproduction, made)
    rows = rows_by(reproduction, "Table 2", "method", "measure")
    for method in (BASELINE, "selective, ward", "oracle, kmeans"):
        assert_allclose(rows[method, FAULTY]["ours"], made.faulty(method).mean())
        assert rows[method, FAULTY]["ours"] < rows[method, "mrr@100"]["ours"]


@pytest.mark.parametrize("measure", [NDCG_5, MRR])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_curves_are_those_of_the_methods_they_are_named_after(graded, rankings, measure, grouping):
    made = rankings()
    calibration = calibrate(made, measure, grouping)
    names = {
        "best feature": BEST,
        "baseline": BASELINE,
        "control": CONTROL,
        "selective": f"selective, {grouping}",
        "fusion": f"fusion, {grouping}",
        "oracle": f"oracle by {measure}, {grouping}",
    }
    assert list(calibration.per_query) == list(names)
    for curve, method in names.items():
        assert_allclose(calibration.per_query[curve], measure(graded, made.scores[method][0]))


def test_the_failure_level_is_the_baseline_less_the_best_feature(graded, rankings):
    made = rankings()
    made.scores[BASELINE], made.scores[BEST] = -graded.relevance[None], graded.relevance[None]
    levels = calibrate(made, NDCG_5, "kmeans").levels["failure_level"]
    apart = NDCG_5(graded, -graded.relevance) - NDCG_5(graded, graded.relevance)
    assert np.all(levels <= 0)
    assert_allclose(levels, apart, atol=0.05 + 1e-9)


def test_tables_of_curves_have_the_means_of_their_columns(rankings):
    calibration = calibrate(rankings(), NDCG_5, "ward")
    reproduction = Reproduction("adaptive-training", "MQ2007")
    tables_of_curves(reproduction, calibration, "ward")
    for view, words in (("failure_level", "failure level"), ("best_feature_score", "own score")):
        (table,) = (table for table in reproduction.tables if table.title.endswith(words))
        for level, n_queries, *means in table.rows:
            members = np.isclose(calibration.levels[view], float(level))
            assert members.sum() == n_queries
            for name, mean in zip(table.columns[2:], means, strict=True):
                assert_allclose(mean, calibration.per_query[name][members].mean())


def test_figures_4_and_5_are_of_their_measures(rankings):
    reproduction = Reproduction("adaptive-training", "MQ2007")
    curves(reproduction, rankings())
    labels = [figure.chart.options["y_label"] for figure in reproduction.figures]
    assert labels == ["mean ndcg@5"] * 2 + ["mean mrr@100"] * 2


def test_the_papers_classifier_is_not_named():
    assert named("fusion", "ward") == "fusion, ward"
    assert named("fusion", "ward", "softmax") == "fusion, ward, softmax"
