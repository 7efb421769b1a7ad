import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from localrank.data import Qrels, Run, judged
from localrank.evaluation import judge_agreement, paired_tests
from localrank.evaluation._agreement import (
    disagreement,
    kappa,
    kappa_error,
    kendall_tau,
    tau_ap,
)
from localrank.measures import parse_measure

WEIGHTS = {"unweighted": None, "linear": "linear", "quadratic": "quadratic"}


def judgments(n_queries=40, n_documents=15, *, noise=0.5, seed=0, n_judges=2):
    """Grades 0 to 3 of several judges that see the same truth, each with some noise."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    truth = rng.normal(0.8, 1, size=n) + np.repeat(rng.normal(0, 0.5, n_queries), n_documents)
    queries = np.repeat([f"q{i:02}" for i in range(n_queries)], n_documents)
    documents = np.array([f"d{i}" for i in range(n)])
    return {
        f"judge {j}": Qrels(
            queries,
            documents,
            np.clip((truth + rng.normal(0, noise, n)).round(), 0, 3),
        )
        for j in range(n_judges)
    }, truth


def runs_of(qrels, truth, noises, seed=1):
    rng = np.random.default_rng(seed)
    return {
        f"run {i}": Run(
            qrels.query_ids, qrels.document_ids, truth + rng.normal(0, noise, len(truth))
        )
        for i, noise in enumerate(noises)
    }


@pytest.mark.parametrize("kind", WEIGHTS)
def test_kappa_is_that_of_scikit_learn(kind):
    by_judge, _ = judgments()
    pair = judge_agreement(by_judge).pairs["judge 0", "judge 1"]
    first, second = (qrels.relevance.astype(int) for qrels in by_judge.values())
    expected = cohen_kappa_score(first, second, weights=WEIGHTS[kind], labels=[0, 1, 2, 3])
    assert_allclose(pair.kappas[kind].value, expected, rtol=1e-12)
    assert pair.agreement == np.mean(first == second)


def test_weights_are_of_grades_not_of_places():
    # Grade 2 was never given. scikit-learn has the same if it is told of it.
    first, second = np.array([0, 1, 3, 3, 0, 1, 0]), np.array([0, 3, 3, 1, 1, 1, 0])
    names = np.array(list("abcdefg"))
    result = judge_agreement(
        {"x": Qrels(names, names, first.astype(float)), "y": Qrels(names, names, second * 1.0)}
    )
    for kind, weights in WEIGHTS.items():
        expected = cohen_kappa_score(first, second, weights=weights, labels=[0, 1, 2, 3])
        assert_allclose(result.pairs["x", "y"].kappas[kind].value, expected)


def test_only_documents_that_both_judged_count():
    by_judge, _ = judgments(6, 5)
    first, second = by_judge.values()
    few = Qrels(
        *(column[10:25] for column in (first.query_ids, first.document_ids, first.relevance))
    )
    # In another order.
    back = Qrels(second.query_ids[::-1], second.document_ids[::-1], second.relevance[::-1])
    pair = judge_agreement({"few": few, "back": back}, same_scale=True).pairs["few", "back"]
    assert (pair.n_documents, pair.n_queries) == (15, 3)
    expected = cohen_kappa_score(first.relevance[10:25], second.relevance[10:25])
    assert_allclose(pair.kappas["unweighted"].value, expected)
    table = np.zeros((4, 4), int)
    np.add.at(table, (first.relevance[10:25].astype(int), second.relevance[10:25].astype(int)), 1)
    assert_array_equal(pair.table, table[np.ix_(pair.grades.astype(int), pair.grades.astype(int))])


@pytest.mark.parametrize("kind", WEIGHTS)
def test_the_analytic_error_is_that_of_independent_documents(kind):
    # Simulated tables of 300 independent documents.
    rng = np.random.default_rng(2)
    shares = np.array([[0.3, 0.1, 0.02], [0.05, 0.2, 0.08], [0.02, 0.03, 0.2]])
    weights = disagreement(np.arange(3.0), kind)
    drawn = kappa(rng.multinomial(300, shares.ravel(), size=20_000).astype(float), weights)
    table = (shares * 300).round().astype(int)
    value = float(kappa(table.reshape(1, -1).astype(float), weights)[0])
    assert_allclose(kappa_error(table, weights, value), drawn.std(), rtol=0.05)


def test_the_bootstrap_knows_that_documents_of_a_query_depend_on_each_other():
    # Whole queries are judged well or badly, so there is less evidence than documents.
    rng = np.random.default_rng(3)
    queries = np.repeat(np.arange(30), 20)
    truth = rng.integers(0, 2, 600).astype(float)
    wrong = np.repeat(rng.random(30) < 0.3, 20) & (rng.random(600) < 0.8)
    result = judge_agreement(
        {
            "a": Qrels(queries, np.arange(600), truth),
            "b": Qrels(queries, np.arange(600), np.where(wrong, 1 - truth, truth)),
        }
    )
    estimate = result.pairs["a", "b"].kappas["unweighted"]
    widths = [np.ptp(estimate.interval), np.ptp(estimate.analytic)]
    assert widths[0] > 2 * widths[1]


def test_bootstrap_intervals_hold_the_truth_nearly_as_often_as_they_say():
    def drawn(seed, n_queries):
        by_judge, _ = judgments(n_queries, 10, seed=seed)
        options = {"n_resamples": 300, "same_scale": True}
        return judge_agreement(by_judge, **options).pairs["judge 0", "judge 1"].kappas["linear"]

    truth = drawn(999, 20_000).value
    held = sum(low <= truth <= high for low, high in (drawn(s, 40).interval for s in range(200)))
    # 190 of 200 expected, with a standard deviation of 3.1; percentiles are a little narrow.
    assert 176 <= held <= 199


def test_one_grade_for_all_has_no_kappa():
    names = np.array(["a", "b"])
    ones = Qrels(names, names, np.ones(2))
    pair = judge_agreement({"x": ones, "y": ones}).pairs["x", "y"]
    assert np.isnan(pair.kappas["linear"].value)
    assert pair.agreement == 1


def test_alpha_is_that_of_its_definition():
    by_judge, _ = judgments(4, 6, n_judges=3)
    kept = {name: np.random.default_rng(i).random(24) < 0.8 for i, name in enumerate(by_judge)}
    by_judge = {
        name: Qrels(q.query_ids[kept[name]], q.document_ids[kept[name]], q.relevance[kept[name]])
        for name, q in by_judge.items()
    }
    units = {}
    for qrels in by_judge.values():
        for document, grade in zip(qrels.document_ids, qrels.relevance, strict=True):
            units.setdefault(document, []).append(grade)
    units = [grades for grades in units.values() if len(grades) > 1]
    values = [grade for grades in units for grade in grades]
    n = len(values)
    seen = sum(
        sum((a - b) ** 2 for a, b in itertools.permutations(grades, 2)) / (len(grades) - 1)
        for grades in units
    )
    chance = sum((a - b) ** 2 for a, b in itertools.permutations(values, 2)) / (n - 1)
    result = judge_agreement(by_judge, same_scale=True)
    assert_allclose(result.alpha, 1 - seen / chance)
    assert len(result.pairs) == 3


def test_different_scales_are_refused_without_a_level():
    by_judge, _ = judgments()
    binary = Qrels(
        by_judge["judge 1"].query_ids,
        by_judge["judge 1"].document_ids,
        (by_judge["judge 1"].relevance > 1).astype(float),
    )
    both = {"people": by_judge["judge 0"], "model": binary}
    with pytest.raises(
        ValueError, match=r"largest grades of the judges differ: 3 \(people\), 1 \(m"
    ):
        judge_agreement(both)
    result = judge_agreement(both, relevance_level={"people": 2, "model": 1})
    expected = cohen_kappa_score(by_judge["judge 0"].relevance > 1, binary.relevance > 0)
    assert_allclose(result.pairs["people", "model"].kappas["unweighted"].value, expected)
    assert "2 (people), 1 (model)" in repr(result)
    assert judge_agreement(both, same_scale=True).relevance_levels is None
    with pytest.raises(ValueError, match="no level for 'model'"):
        judge_agreement(both, relevance_level={"people": 2})


def test_tau_is_that_of_scipy(rng):
    for _ in range(20):
        a, b = rng.integers(0, 4, size=(2, 7))
        if len(set(a)) > 1 and len(set(b)) > 1:
            expected = stats.kendalltau(a, b).statistic
            assert_allclose(kendall_tau(a[None].astype(float), b[None].astype(float)), expected)


def test_tau_ap_counts_the_top_more():
    order = [5, 4, 3, 2, 1]
    assert tau_ap(order, order) == 1
    assert tau_ap(order, order[::-1]) == -1
    top, bottom = tau_ap(order, [4, 5, 3, 2, 1]), tau_ap(order, [5, 4, 3, 1, 2])
    assert top < bottom
    # The definition: of the 1, 2, 3, 4 items above each, 0, 2, 3, 4 are above by both.
    assert_allclose(top, 2 * np.mean([0, 1, 1, 1]) - 1)


def test_runs_are_compared_by_each_judge():
    by_judge, truth = judgments(30)
    first = by_judge["judge 0"]
    runs = runs_of(first, truth, [1.0, 0.3, 1.0, 3.0])
    result = judge_agreement(by_judge, runs=runs, measure="ndcg@5", baseline="run 0")
    measure = parse_measure("ndcg@5")
    means = {}
    for name, qrels in by_judge.items():
        values = {run: measure(*judged(of_run, qrels)) for run, of_run in runs.items()}
        means[name] = [v.mean() for v in values.values()]
        assert_allclose(list(result.means[name].values()), means[name])
        reference = values.pop("run 0")
        for run, test in paired_tests(values, reference).items():
            assert result.tests[name][run].p == pytest.approx(test.p)
    pair = result.pairs["judge 0", "judge 1"]
    expected = stats.kendalltau(means["judge 0"], means["judge 1"]).statistic
    assert_allclose(pair.tau.value, expected)
    assert pair.tau.interval[0] <= pair.tau.value <= pair.tau.interval[1]
    assert result.verdict == "All judges give the same conclusion for the 3 runs against run 0."
    assert "a gain" in repr(result)


def test_a_judge_that_changes_a_conclusion_is_named():
    by_judge, truth = judgments(30)
    first = by_judge["judge 0"]
    runs = runs_of(first, truth, [1.0, 0.3])
    shuffled = np.random.default_rng(0).permutation(first.relevance)
    result = judge_agreement(
        {"people": first, "random": Qrels(first.query_ids, first.document_ids, shuffled)}, runs=runs
    )
    assert result.baseline == "run 0"
    assert result.verdict == (
        "The conclusion depends on the judge: run 1: a gain by people, not established by random."
    )


def test_runs_are_compared_on_queries_of_all_judges():
    by_judge, truth = judgments(10)
    first, second = by_judge.values()
    few = Qrels(second.query_ids[45:], second.document_ids[45:], second.relevance[45:])
    result = judge_agreement(
        {"a": first, "b": few}, runs=runs_of(first, truth, [1.0, 0.5]), same_scale=True
    )
    assert_array_equal(result.query_ids, [f"q{i:02}" for i in range(3, 10)])


def test_the_plot_has_the_kappas_of_each_pair():
    result = judge_agreement(judgments(n_judges=3)[0])
    chart = result.chart()
    assert chart.options["ticks"] == ["judge 0, judge 1", "judge 0, judge 2", "judge 1, judge 2"]
    ((_, marks),) = chart.options["panels"].items()
    for kind, rows in marks.items():
        estimates = [pair.kappas[kind] for pair in result.pairs.values()]
        assert [(kappa.value, kappa.interval, True) for kappa in estimates] == rows
    chart.draw()


def test_results_become_frames():
    by_judge, truth = judgments(8, n_judges=3)
    runs = runs_of(by_judge["judge 0"], truth, [1.0, 0.5])
    frame = judge_agreement(by_judge, runs=runs, n_resamples=50).to_frame("pandas")
    assert len(frame) == 3
    assert {"judge", "kappa_linear", "kappa_linear_low", "tau", "tau_ap"} <= set(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "between 0 and 1. Got 95"),
        ({"n_resamples": 0}, "1 or larger"),
        ({"baseline": "z", "runs": True}, "one of the runs, run 0, run 1. Got 'z' instead"),
        ({"measure": "oer", "runs": True}, "better when larger. Got oer"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    by_judge, truth = judgments(5)
    if options.get("runs"):
        options = options | {"runs": runs_of(by_judge["judge 0"], truth, [1, 2])}
    with pytest.raises(ValueError, match=message):
        judge_agreement(by_judge, **options)


def test_judges_need_company_and_common_documents():
    by_judge, _ = judgments(5)
    first = by_judge["judge 0"]
    with pytest.raises(ValueError, match="two judges or more. Got 1"):
        judge_agreement({"a": first})
    elsewhere = Qrels(first.query_ids, np.char.add(first.document_ids, "x"), first.relevance)
    with pytest.raises(ValueError, match="a and b have judged no document in common"):
        judge_agreement({"a": first, "b": elsewhere})
