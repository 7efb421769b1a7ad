import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from localrank.data import RankingDataset
from localrank.data.trec import read_qrels
from localrank.evaluation import holes, paired_tests
from localrank.evaluation._hole_verdicts import largest_p_value
from localrank.measures import parse_measure


def collection(n_queries=30, unjudged=0.2, *, gain=1.0, seed=0, n_documents=30):
    """Judged documents with holes; "good" sees the true grade more clearly than "base"."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    truth = rng.choice(4, p=[0.7, 0.15, 0.1, 0.05], size=n).astype(float)
    labels = np.where(rng.random(n) < unjudged, -1, truth)
    dataset = RankingDataset.from_arrays(
        np.empty((n, 0)),
        labels,
        np.repeat([f"q{i}" for i in range(n_queries)], n_documents),
        document_ids=[f"d{i}" for i in range(n)],
    )
    scores = {
        "base": rng.normal(size=n) + 0.3 * truth,
        "good": rng.normal(size=n) + gain * truth,
        "same": rng.normal(size=n) + 0.3 * truth,
    }
    for values in scores.values():
        values[rng.random(n) < 0.3] = -np.inf
    return dataset, scores, truth


def test_shares_of_judged_documents_are_counted_in_the_first_ones():
    dataset, scores, _ = collection(6)
    result = holes(dataset, scores, baseline="base", depth=7)
    for name, values in scores.items():
        for q in range(6):
            rows = np.flatnonzero((dataset.query_index == q) & (values > -np.inf))
            first = rows[np.argsort(-values[rows])][:7]
            expected = np.mean(dataset.labels[first] >= 0)
            assert_allclose(result.runs[name].judged[q], expected)


def test_tied_documents_are_judged_in_expectation():
    dataset = RankingDataset.from_arrays(np.empty((4, 0)), [1, -1, -1, 0], list("aaab"))
    scores = {"a": np.array([2.0, 1, 1, -np.inf]), "b": np.array([1.0, 1, 1, 1])}
    result = holes(dataset, scores, "mrr", baseline="a", depth=2)
    assert_allclose(result.runs["a"].judged, [1 / 2, np.nan])
    assert_allclose(result.runs["b"].judged, [1 / 3, 1])


def test_readings_are_those_of_the_measure():
    dataset, scores, _ = collection()
    measure = parse_measure("map")
    result = holes(dataset, scores, "map", baseline="base")
    for name, values in scores.items():
        run, judged = result.runs[name], dataset.labels >= 0
        assert_array_equal(run.as_judged, measure.of_rows(dataset, values))
        kept = RankingDataset.from_arrays(
            np.empty((judged.sum(), 0)), dataset.labels[judged], dataset.query_index[judged]
        )
        assert_allclose(run.condensed, measure.of_rows(kept, values[judged]))
        assert (run.low <= run.as_judged + 1e-12).all()
        assert (run.high >= run.as_judged - 1e-12).all()
    expected = paired_tests(
        {name: result.runs[name].as_judged for name in ("good", "same")},
        result.runs["base"].as_judged,
    )
    for name, test in expected.items():
        assert_allclose(result.tests[name].as_judged.p, test.p)
        assert_allclose(result.tests[name].as_judged.mean_difference, test.mean_difference)


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "p@5", "mrr"])
def test_the_truth_lies_within_the_bounds(measure):
    dataset, scores, truth = collection(unjudged=0.5, seed=3)
    complete = dataset.replaced(relevance=truth)
    result = holes(dataset, scores, measure, baseline="base")
    values = {name: parse_measure(measure).of_rows(complete, s) for name, s in scores.items()}
    for name, run in result.runs.items():
        assert (run.low <= values[name] + 1e-12).all()
        assert (run.high >= values[name] - 1e-12).all()
    for name, test in result.tests.items():
        mean = np.mean(values[name] - values["base"])
        assert test.worst.mean_difference <= mean <= test.best.mean_difference


def test_a_complete_collection_leaves_nothing_open():
    dataset, scores, _ = collection(unjudged=0)
    result = holes(dataset, scores, baseline="base")
    good = result.tests["good"]
    assert not good.depends
    assert good.best.mean_difference == pytest.approx(good.worst.mean_difference)
    assert good.verdict.endswith("stands: every document is judged.")
    assert_allclose(result.runs["good"].judged, 1)
    assert len(result.to_judge) == 0


def test_a_large_gain_stands_whatever_few_holes_are():
    dataset, scores, _ = collection(60, unjudged=0.02, gain=3.0)
    good = holes(dataset, scores, baseline="base").tests["good"]
    assert not good.depends
    assert good.largest_p < 0.05
    assert f"stands whatever the {good.n_unjudged} unjudged documents are" in good.verdict


def test_a_gain_that_stands_survives_grades_at_random():
    dataset, scores, _ = collection(60, unjudged=0.05, gain=3.0)
    measure = parse_measure("ndcg@10")
    result = holes(dataset, scores, measure, baseline="base")
    assert not result.tests["good"].depends
    rng = np.random.default_rng(0)
    is_hole = dataset.labels < 0
    for _ in range(50):
        grades = rng.choice([0, 1, 2, 3], size=len(is_hole), p=rng.dirichlet(np.ones(4)))
        filled = dataset.replaced(relevance=np.where(is_hole, grades, dataset.labels))
        values = {name: measure.of_rows(filled, s) for name, s in scores.items()}
        tests = paired_tests({k: values[k] for k in ("good", "same")}, values["base"])
        assert tests["good"].sign == 1
        assert tests["good"].p <= result.tests["good"].largest_p + 1e-12


def test_a_gain_made_of_holes_depends_on_them():
    # The run's unjudged documents count as irrelevant, so that it loses.
    n = 40
    labels = np.tile([-1.0, 1, 0], n)
    dataset = RankingDataset.from_arrays(np.empty((3 * n, 0)), labels, np.repeat(np.arange(n), 3))
    rng = np.random.default_rng(0)
    scores = {
        "base": np.tile([-np.inf, 2.0, 1.0], n),
        "new": np.tile([3.0, 2.0, 1.0], n) + np.where(rng.random(3 * n) < 0.2, 2, 0),
    }
    new = holes(dataset, scores, "ndcg@3", baseline="base").tests["new"]
    assert new.as_judged.sign == -1
    assert new.depends
    assert "the loss against base" in new.verdict
    assert "depends on the 40 unjudged documents: if they favour new" in new.verdict


def test_documents_to_judge_move_the_difference_as_they_say(tmp_path):
    dataset, scores, _ = collection(12, unjudged=0.3, seed=5)
    for name in ("ndcg@10", "map", "mrr@10"):
        measure = parse_measure(name)
        to_judge = holes(dataset, scores, measure, baseline="base", depth=5).to_judge
        rows = {document: row for row, document in enumerate(dataset.document_ids)}
        before = {k: measure.of_rows(dataset, s).mean() for k, s in scores.items()}
        for place in (0, len(to_judge) // 2, len(to_judge) - 1):
            row = rows[to_judge.document_ids[place]]
            assert dataset.query_ids[dataset.query_index[row]] == to_judge.query_ids[place]
            assert dataset.labels[row] < 0
            labels = dataset.labels.copy()
            labels[row] = 3
            filled = dataset.replaced(relevance=labels)
            after = {k: measure.of_rows(filled, s).mean() for k, s in scores.items()}
            for run, moves in to_judge.moves.items():
                expected = after[run] - after["base"] - (before[run] - before["base"])
                assert_allclose(moves[place], expected, atol=1e-12)
        assert min(np.nanmin(np.stack(list(to_judge.ranks.values())), axis=0)) >= 1
        assert max(np.nanmin(np.stack(list(to_judge.ranks.values())), axis=0)) <= 5


def test_documents_that_could_turn_a_conclusion_come_first():
    dataset, scores, _ = collection(30, unjudged=0.3, gain=0.9)
    result = holes(dataset, {k: scores[k] for k in ("base", "good")}, baseline="base")
    assert result.tests["good"].as_judged.sign == 1
    assert result.tests["good"].depends
    moves, could = result.to_judge.moves["good"], result.to_judge.could_turn
    assert_array_equal(could, np.sort(could)[::-1])
    assert_array_equal(could, moves < 0)
    assert (np.diff(moves[could]) >= 0).all()


def test_documents_to_judge_are_written_as_qrels(tmp_path):
    dataset, scores, _ = collection(5)
    to_judge = holes(dataset, scores, baseline="base").to_judge
    to_judge.write(tmp_path / "qrels.tsv")
    qrels = read_qrels(tmp_path / "qrels.tsv")
    assert_array_equal(qrels.query_ids, to_judge.query_ids)
    assert_array_equal(qrels.document_ids, to_judge.document_ids)
    assert_array_equal(qrels.relevance, -1)


def test_a_measure_without_bounds_is_read_two_ways():
    dataset, scores, _ = collection()
    result = holes(dataset, scores, "err@10", baseline="base")
    assert result.tests["good"].best is None
    assert result.runs["good"].low is None
    assert "Bounds are not known" in result.verdict
    assert len(result.to_judge) == 0
    assert "err@10" in repr(result)


def test_smaller_is_better_for_some_measures():
    dataset, scores, _ = collection(gain=2.0)
    result = holes(dataset, scores, "oer", baseline="base")
    assert result.tests["good"].as_judged.sign == 1


def test_a_skipped_query_is_skipped_everywhere():
    labels = [-1, 0, 1, 0, 2, -1]
    dataset = RankingDataset.from_arrays(np.empty((6, 0)), labels, list("aabbcc"))
    scores = {"x": np.array([2.0, 1, 2, 1, 2, 1]), "y": np.array([1.0, 2, 1, 2, 1, 2])}
    result = holes(dataset, scores, parse_measure("map(empty=skip)"), baseline="x")
    for values in (result.runs["y"].low, result.runs["y"].high, result.runs["y"].as_judged):
        assert_array_equal(np.isnan(values), [True, False, False])
    assert result.tests["y"].best.n_queries == 2
    assert set(result.to_judge.query_ids) == {"c"}


@pytest.mark.parametrize(("measure", "n_marks"), [("ndcg@5", 3), ("err@5", 2)])
def test_the_plot_has_the_readings_of_each_run(measure, n_marks):
    dataset, scores, _ = collection()
    result = holes(dataset, scores, measure, baseline="base")
    ((_, marks),) = result.chart().options["panels"].items()
    assert len(marks) == n_marks
    assert result.chart().options["ticks"] == list(result.tests)
    for row, test in enumerate(result.tests.values()):
        for name, reading in (("as judged", test.as_judged), ("condensed", test.condensed)):
            mean, interval, filled = marks[name][row]
            assert (mean, interval) == (reading.mean_difference, reading.interval)
            assert filled == (reading.sign != 0)
        if n_marks == 3:
            mean, ends, _ = marks["over all grades of unjudged documents"][row]
            assert np.isnan(mean)
            assert ends == (test.worst.mean_difference, test.best.mean_difference)
    result.plot()


def test_results_print_and_become_frames():
    dataset, scores, _ = collection()
    result = holes(dataset, scores, baseline="base")
    frame = result.to_frame("pandas")
    assert frame["run"].tolist() == ["base", "good", "same"]
    assert_allclose(frame["low"][1], np.mean(result.runs["good"].low))
    assert isinstance(result.to_judge.to_frame("pandas"), pd.DataFrame)
    assert "judged@10" in repr(result)
    assert "best rank" in repr(result.to_judge)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "none"}, "one of the runs, base, good, same. Got 'none' instead"),
        ({"depth": 0}, "1 or larger. Got 0"),
        ({"scores": {"base": np.zeros(3)}}, "Scores of 'base' need one number"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    dataset, scores, _ = collection(3)
    with pytest.raises(ValueError, match=message):
        holes(dataset, **{"scores": scores, "baseline": "base"} | changes)


@given(st.integers(0, 2**32 - 1))
def test_no_differences_within_the_bounds_have_a_larger_p(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    low = rng.normal(0.5, 0.4, n)
    high = low + rng.exponential(0.2, n) * (rng.random(n) < 0.7)
    sign = rng.choice([1, -1])
    low, high = (low, high) if sign > 0 else (-high, -low)
    largest = largest_p_value(low, high)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    inner = rng.uniform(low, high, size=(50, n))
    p_values = stats.ttest_1samp(np.concatenate([corners, inner]), 0, axis=1).pvalue
    assert largest >= np.nanmax(p_values, initial=0) - 1e-9


def test_the_largest_p_is_nearly_reached():
    rng = np.random.default_rng(4)
    excess = []
    for _ in range(100):
        low = rng.normal(0.5, 0.4, 8)
        high = low + rng.exponential(0.2, 8)
        if low.sum() > 0:
            corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
            reached = stats.ttest_1samp(corners, 0, axis=1).pvalue.max()
            excess.append(largest_p_value(low, high) - reached)
    assert np.mean(excess) < 0.01


def test_the_mean_alone_is_not_enough():
    # The lower bounds are all equal: no variance, p = 0. One larger difference is a larger p.
    low = np.full(5, 0.1)
    high = np.array([0.1, 0.1, 0.1, 0.1, 5.0])
    assert stats.ttest_1samp(high, 0).pvalue > 0.3
    assert largest_p_value(low, high) > 0.3
