from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from localrank.data import RankingDataset, folds, make_queries
from localrank.experiments import Reproduction, Setting
from localrank.experiments.adaptive_training import (
    CONTROL,
    FAULTY,
    GROUPINGS,
    LOGISTIC,
    MRR,
    NDCG_5,
    calibrate,
    calibration_claims,
    classifiers,
    differences,
    faulty,
    methods,
    named,
    oracles,
    other_classifiers,
    reproduce,
    table_2,
)
from localrank.rankers import LambdaMART
from localrank.recipes import adaptive_training

CLASSIFIERS = [LOGISTIC, "gradient boosting", "random forest"]


def test_the_reciprocal_rank_of_the_authors_code_loses_single_relevant_documents_at_rank_1():
    labels = [1, 0, 0, 1, 1, 0, 0, 1, 0]
    dataset = RankingDataset.from_arrays(np.zeros((9, 1)), labels, np.repeat([1, 2, 3], 3))
    scores = np.array([3.0, 2, 1, 3, 2, 1, 3, 2, 1])
    assert MRR(dataset, scores).tolist() == [1, 1, 0.5]
    assert faulty(dataset, scores).tolist() == [0, 1, 0.5]


def test_it_differs_from_the_right_one_nowhere_else(queries):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=queries.n_documents)
    right, wrong = MRR(queries, scores), faulty(queries, scores)
    for query in range(queries.n_queries):
        labels = queries.labels[queries.offsets[query] : queries.offsets[query + 1]]
        lost = np.sum(labels > 0) == 1 and right[query] == 1
        assert wrong[query] == (0 if lost else right[query])


def test_the_model_is_the_papers():
    model = methods(7, random_state=5)["selective, ward"]
    assert (model.grouping.grouping.n_clusters, model.grouping.grouping.linkage) == (5, "ward")
    assert (model.ranker.n_trees, model.ranker.random_state) == (7, 5)
    assert model.grouping.rounds == 3


def test_the_control_differs_from_the_baseline_by_its_seed_alone():
    made = methods(7, random_state=5)
    baseline, control = made["baseline"].get_params(), made[CONTROL].get_params()
    assert {k for k in baseline if baseline[k] != control[k]} == {"random_state"}


class NoTrainingError(Exception):
    """Raised in the place of training."""


def trained(monkeypatch, quick):
    """The methods that the experiment trains."""
    seen = {}

    def run(self, methods, parts, **options):
        seen.update(methods)
        raise NoTrainingError

    monkeypatch.setattr(Setting, "run", run)
    monkeypatch.setattr(Setting, "folds", [])
    with pytest.raises(NoTrainingError):
        reproduce(Setting(Path("MQ2007"), quick=quick, seeds=(3,), say=lambda line: None))
    return seen


def test_the_whole_experiment_trains_500_trees(monkeypatch):
    made = trained(monkeypatch, quick=False)
    assert set(made) == {
        "best feature",
        "baseline",
        CONTROL,
        "selective, kmeans",
        "selective, ward",
    }
    assert {made[name].n_trees for name in ("baseline", CONTROL)} == {500}
    for grouping in GROUPINGS:
        model = made[f"selective, {grouping}"]
        assert (model.ranker.n_trees, model.ranker.random_state) == (500, 3)
        assert model.grouping.grouping.n_clusters == 5
        assert model.selector.hard
    assert made[CONTROL].random_state != made["baseline"].random_state == 3


def test_a_try_is_small(monkeypatch):
    assert trained(monkeypatch, quick=True)["baseline"].n_trees == 20


def test_classifiers_are_the_papers_and_two_others():
    made = classifiers(7)
    assert list(made) == CLASSIFIERS
    assert made[LOGISTIC] is None
    assert isinstance(made["gradient boosting"], GradientBoostingClassifier)
    assert isinstance(made["random forest"], RandomForestClassifier)
    for name in CLASSIFIERS[1:]:
        assert (made[name].n_estimators, made[name].random_state) == (100, 7)


@pytest.fixture(scope="module")
def graded():
    return make_queries(80, n_documents=(5, 12), n_features=3, n_types=1, random_state=0)[0]


@pytest.fixture(scope="module")
def scores(graded):
    """Rankings of different quality, so that no two methods have the same mean."""
    names = ["best feature", "baseline", CONTROL]
    for grouping in GROUPINGS:
        names += [f"oracle by {measure}, {grouping}" for measure in (NDCG_5, MRR)]
        names += [named(way, grouping, c) for way in ("selective", "fusion") for c in CLASSIFIERS]
    rng = np.random.default_rng(0)
    return {
        name: graded.relevance + (1 + place / 4) * rng.normal(size=graded.n_documents)
        for place, name in enumerate(names)
    }


def made(part, *arguments, data="MQ2007"):
    reproduction = Reproduction("adaptive-training", data)
    part(reproduction, *arguments)
    return reproduction


def rows_of(reproduction, beginning):
    (table,) = (table for table in reproduction.tables if table.title.startswith(beginning))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.fixture(scope="module")
def controls(scores, graded):
    rng = np.random.default_rng(1)
    return {
        (g, m): [rng.random((3, 30)), rng.random((3, 50))] for g in GROUPINGS for m in (NDCG_5, MRR)
    }


def test_table_2_has_each_methods_own_mean_beside_the_published(graded, scores, controls):
    reproduction = made(table_2, graded, scores, controls)
    rows = {(row["method"], row["measure"]): row for row in rows_of(reproduction, "Table 2")}
    assert len(rows) == 9 * 3
    for method in ("best feature", "baseline", CONTROL, "selective, ward", "fusion, kmeans"):
        assert rows[method, "ndcg@5"]["ours"] == NDCG_5.mean(graded, scores[method])
        assert rows[method, "mrr@100"]["ours"] == MRR.mean(graded, scores[method])
        assert rows[method, FAULTY]["ours"] == faulty(graded, scores[method]).mean()
    for grouping in GROUPINGS:
        for measure in (NDCG_5, MRR):
            best_scores = scores[f"oracle by {measure}, {grouping}"]
            ours = rows[f"oracle, {grouping}", str(measure)]["ours"]
            assert ours == measure.mean(graded, best_scores)
    assert rows["selective, ward", "ndcg@5"]["published"] == 0.387
    assert rows["fusion, kmeans", FAULTY]["published"] == 0.557
    assert rows["fusion, kmeans", "mrr@100"]["published"] == 0.557
    assert rows[CONTROL, "mrr@100"]["published"] is None
    for row in rows_of(reproduction, "The oracle beside"):
        drawn = np.concatenate(
            controls[row["clusters"], NDCG_5 if "ndcg" in row["measure"] else MRR], axis=1
        )
        assert_allclose(row["on random groups"], drawn.mean())
        assert_allclose(row["deviation"], np.std(drawn.mean(axis=1), ddof=1))
        assert row["oracle"] == rows[f"oracle, {row['clusters']}", row["measure"]]["ours"]


@pytest.mark.parametrize(("control", "holds"), [(0.1, True), (0.99, False)])
def test_an_oracle_shows_something_only_beyond_random_groups(graded, scores, control, holds):
    right = {**scores, f"oracle by {NDCG_5}, kmeans": graded.relevance}
    drawn = {
        key: [np.full((2, 80), control)]
        for key in ((g, m) for g in GROUPINGS for m in (NDCG_5, MRR))
    }
    (claim,) = made(table_2, graded, right, drawn).claims
    base, best = (
        NDCG_5.mean(graded, chosen_scores)
        for chosen_scores in (scores["baseline"], graded.relevance)
    )
    assert claim.holds is holds
    assert (
        f"{best - base:+.4f} NDCG@5; random groups alone give {control - base:+.4f}"
        in claim.measured
    )


def test_differences_are_those_of_each_method_to_the_baseline(graded, scores):
    reproduction = made(differences, graded, scores)
    base = NDCG_5(graded, scores["baseline"])
    rows = {row["method"]: row for row in rows_of(reproduction, "NDCG@5 against")}
    assert set(rows) == {f"{way}, {g}" for way in ("selective", "fusion") for g in GROUPINGS}
    for method, row in rows.items():
        apart = NDCG_5(graded, scores[method]) - base
        assert_allclose(row["difference"], apart.mean())
        counts = [np.sum(apart > 1e-9), np.sum(abs(apart) <= 1e-9), np.sum(apart < -1e-9)]
        assert row["won/tied/lost"] == "/".join(map(str, counts))


def test_claims_of_selection_and_fusion_have_their_direction(graded, scores):
    good, bad = graded.relevance, -graded.relevance
    ways = {"selective, kmeans": bad, "fusion, kmeans": good, "baseline": 0.0 * good}
    worse, fusion = made(differences, graded, {**scores, **ways}).claims
    assert (worse.holds, fusion.holds) == (True, True)
    ways = {"selective, kmeans": good, "fusion, kmeans": bad, "baseline": 0.0 * good}
    worse, fusion = made(differences, graded, {**scores, **ways}).claims
    assert (worse.holds, fusion.holds) == (False, False)


def test_oracles_are_compared_as_in_section_5(graded, scores):
    reproduction = made(oracles, graded, scores)
    rows = {(row["measure"], row["quantity"]): row for row in rows_of(reproduction, "Section 5")}
    for name, by, measure in (
        ("ndcg@5", NDCG_5, NDCG_5),
        ("mrr@100", MRR, MRR),
        (FAULTY, MRR, faulty),
    ):
        kmeans, ward = (measure(graded, scores[f"oracle by {by}, {g}"]) for g in GROUPINGS)
        expected = stats.ttest_rel(ward, kmeans)
        assert_allclose(rows[name, "t"]["ours"], abs(expected.statistic))
        assert_allclose(rows[name, "p"]["ours"], expected.pvalue)
        for grouping, by_query in (("kmeans", kmeans), ("ward", ward)):
            assert_allclose(rows[name, f"mean, {grouping}"]["ours"], by_query.mean())
            assert_allclose(rows[name, f"deviation, {grouping}"]["ours"], by_query.std(ddof=1))
    assert rows["ndcg@5", "deviation, ward"]["published"] == 0.35
    assert rows[FAULTY, "t"]["published"] == 0.074
    assert rows["mrr@100", "t"]["published"] == 0.074


def test_classifiers_stand_in_their_own_rows(graded, scores):
    rng = np.random.default_rng(2)
    quality = {(g, c): rng.random((2, 3)).tolist() for g in GROUPINGS for c in CLASSIFIERS}
    rows = made(other_classifiers, graded, scores, quality).tables[0].rows
    assert len(rows) == 6
    for grouping, name, *cells in rows:
        assert_allclose(cells[:3], np.mean(quality[grouping, name], axis=0))
        for way, mean, apart in (("selective", *cells[3:5]), ("fusion", *cells[5:7])):
            by_query, paper = (
                NDCG_5(graded, scores[named(way, grouping, c)]) for c in (name, LOGISTIC)
            )
            assert mean == by_query.mean()
            if name == LOGISTIC:
                assert apart is None
            else:
                assert apart.startswith(f"{np.mean(by_query - paper):+.4f}, p")


@pytest.mark.parametrize("measure", [NDCG_5, MRR])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_curves_are_those_of_the_methods_they_are_named_after(graded, scores, measure, grouping):
    calibration = calibrate(graded, scores, measure, grouping)
    names = {
        "best feature": "best feature",
        "baseline": "baseline",
        "control": CONTROL,
        "selective": f"selective, {grouping}",
        "fusion": f"fusion, {grouping}",
        "oracle": f"oracle by {measure}, {grouping}",
    }
    assert list(calibration.per_query) == list(names)
    for curve, method in names.items():
        assert_allclose(calibration.per_query[curve], measure(graded, scores[method]))


@pytest.mark.slow
def test_selection_and_fusion_are_those_of_the_recipe(monkeypatch):
    dataset, _ = make_queries(45, n_documents=(110, 120), n_features=5, n_types=2, random_state=3)
    parts = list(folds(dataset, 2, validation=False))
    monkeypatch.setattr(Setting, "folds", parts)
    reproduction = reproduce(Setting(Path("made-up"), quick=True, n_jobs=1, say=lambda line: None))
    rows = {tuple(row[:2]): row[2] for row in reproduction.tables[0].rows}
    accuracies = []
    for way in ("selective", "fusion"):
        values = []
        for fold in parts:
            model = adaptive_training(5, ranker=LambdaMART(20), select=way).fit(fold.train)
            values.append(NDCG_5(fold.test, model.predict(fold.test)))
            accuracies.append(model.selector_.accuracy_)
        assert_allclose(rows[f"{way}, kmeans", "ndcg@5"], np.concatenate(values).mean())
    (others,) = (
        table for table in reproduction.tables if table.title.startswith("Other classifiers")
    )
    assert_allclose(others.rows[0][2], np.mean(accuracies))
    assert others.rows[0][5] == rows["selective, kmeans", "ndcg@5"]
    assert others.rows[0][7] == rows["fusion, kmeans", "ndcg@5"]


def test_the_failure_level_is_the_baseline_less_the_best_feature(graded, scores):
    labels = graded.relevance
    fails = {**scores, "baseline": -labels, "best feature": labels}
    levels = calibrate(graded, fails, NDCG_5, "kmeans").levels["failure_level"]
    apart = NDCG_5(graded, -labels) - NDCG_5(graded, labels)
    assert np.all(levels <= 0)
    assert_allclose(levels, apart, atol=0.05 + 1e-9)


def test_tables_of_curves_have_the_means_of_their_columns(graded, scores):
    calibration = calibrate(graded, scores, NDCG_5, "ward")
    reproduction = made(calibration_claims, calibration, "ward")
    for view, words in (("failure_level", "failure level"), ("best_feature_score", "own score")):
        (table,) = (table for table in reproduction.tables if table.title.endswith(words))
        for level, n_queries, *means in table.rows:
            members = np.isclose(calibration.levels[view], float(level))
            assert members.sum() == n_queries
            for name, mean in zip(table.columns[2:], means, strict=True):
                assert_allclose(mean, calibration.per_query[name][members].mean())


def test_a_claim_of_failures_is_about_queries_where_the_best_feature_wins(graded, scores):
    labels = graded.relevance
    # Selection is right in the queries that the baseline fails, and wrong in the others.
    even = graded.query_index % 2 == 0
    scores = {
        **scores,
        "best feature": labels,
        "baseline": np.where(even, -labels, labels),
        CONTROL: np.where(even, -labels, labels),
        "selective, kmeans": np.where(even, labels, -labels),
    }
    calibration = calibrate(graded, scores, NDCG_5, "kmeans")
    (claim,) = made(calibration_claims, calibration, "kmeans").claims
    assert claim.holds is True
