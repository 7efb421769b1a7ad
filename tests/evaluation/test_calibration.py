import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from scipy import stats

from localrank.data import RankingDataset
from localrank.evaluation.calibration import best_feature_calibration
from localrank.measures import NDCG, Precision


def noisy_scores(utility, scale, seed):
    return utility + np.random.default_rng(seed).normal(scale=scale, size=len(utility))


@pytest.fixture(scope="module")
def utility():
    return np.random.default_rng(0).normal(size=(900, 12)).ravel()


@pytest.fixture(scope="module")
def dataset(utility):
    """900 queries whose labels follow a known utility."""
    labels = np.digitize(utility, [0.5, 1.2, 2.0])
    return RankingDataset.from_arrays(utility[:, None], labels, np.repeat(np.arange(900), 12))


@pytest.fixture(scope="module")
def calibration(dataset, utility):
    """A method no better than the baseline, one better, a bound, and a control."""
    return best_feature_calibration(
        noisy_scores(utility, 1.0, 1),
        noisy_scores(utility, 1.2, 2),
        {
            "alike": noisy_scores(utility, 1.0, 3),
            "better": noisy_scores(utility, 0.7, 4),
            "oracle": utility,
        },
        dataset,
        control=noisy_scores(utility, 1.0, 5),
    )


@pytest.fixture(scope="module")
def small():
    """Five queries of ten documents, measured by p@10 of scores that leave documents out."""
    relevant = np.tile([1.0] * 10, 5)
    dataset = RankingDataset.from_arrays(np.zeros((50, 1)), relevant, np.repeat(list("abcde"), 10))

    def reaching(*tenths):
        """Scores that retrieve so many of each query's documents."""
        return np.concatenate([np.where(np.arange(10) < n, 1.0, -np.inf) for n in tenths])

    return dataset, reaching


def test_a_small_example_by_hand(small):
    dataset, reaching = small
    calibration = best_feature_calibration(
        reaching(5, 3, 4, 9, 2),
        reaching(7, 5, 4, 2, 2),
        {"method": reaching(6, 2, 4, 8, 0)},
        dataset,
        "p@10",
    )
    assert_array_equal(calibration.levels["failure_level"], [-0.2, -0.2, 0.0, 0.7, 0.0])
    assert_array_equal(calibration.levels["best_feature_score"], [0.7, 0.5, 0.4, 0.2, 0.2])
    table = pd.DataFrame(calibration.rows)
    method = table[(table.view == "failure_level") & (table.method == "method")]
    assert method.level.tolist() == [-0.2, 0.0, 0.7]
    assert method.n_queries.tolist() == [2, 2, 1]
    assert_allclose(method["mean"], [0.4, 0.2, 0.8])
    # Half of 0.6 and 0.2, and of 0.4 and 0.0: t(0.975, 1) = 12.706 times 0.2.
    assert_allclose(method.high - method["mean"], [2.5412, 2.5412, np.nan], rtol=1e-4)
    assert_allclose(method["mean"] - method.low, [2.5412, 2.5412, np.nan], rtol=1e-4)
    best = table[(table.view == "best_feature_score") & (table.method == "baseline")]
    assert best.level.tolist() == [0.2, 0.4, 0.5, 0.7]
    assert_allclose(best["mean"], [0.55, 0.4, 0.3, 0.5])


def test_intervals_are_those_of_a_mean(calibration):
    for view, levels in calibration.levels.items():
        for row in calibration.rows:
            if row["view"] == view and row["n_queries"] > 1:
                members = calibration.per_query[row["method"]][levels == row["level"]]
                expected = (
                    stats.ttest_1samp(members, 0).confidence_interval()
                    if np.ptp(members) > 1e-9
                    else (members[0], members[0])
                )
                assert_allclose([row["low"], row["high"]], expected, rtol=1e-9, atol=1e-12)


def test_values_of_each_query_are_those_of_the_measure(calibration, dataset, utility):
    expected = NDCG(5)(dataset, noisy_scores(utility, 0.7, 4))
    assert_array_equal(calibration.per_query["better"], expected)
    assert list(calibration.per_query) == [
        "best feature",
        "baseline",
        "control",
        "alike",
        "better",
        "oracle",
    ]
    assert_array_equal(calibration.query_ids, dataset.query_ids)


@pytest.mark.parametrize("view", ["failure_level", "best_feature_score"])
def test_levels_add_up_to_the_whole(calibration, view):
    table = pd.DataFrame(calibration.rows).query("view == @view")
    for name, rows in table.groupby("method"):
        assert rows.n_queries.sum() == 900
        mean = (rows.n_queries * rows["mean"]).sum() / 900
        assert_allclose(mean, calibration.per_query[name].mean(), rtol=1e-12)


@pytest.mark.parametrize(
    ("baseline", "level"),
    [(0.05, 0.1), (0.15, 0.2), (0.25, 0.3), (0.35, 0.4), (0.45, 0.5), (0.14, 0.1), (0.04, 0.0)],
)
def test_halves_go_away_from_zero(baseline, level):
    # Some of the differences of hundredths lie a little below their half in binary.
    n = round(baseline * 100)
    dataset = RankingDataset.from_arrays(np.zeros((200, 1)), np.ones(200), np.repeat([1, 2], 100))

    def reaching(first, second):
        ranks = np.tile(np.arange(100), 2)
        return np.where(ranks < np.repeat([first, second], 100), 1.0, -np.inf)

    calibration = best_feature_calibration(
        reaching(20 + n, 20), reaching(20, 20 + n), {}, dataset, "p@100"
    )
    assert_array_equal(calibration.levels["failure_level"], [level, -level])


def test_no_level_is_minus_zero(calibration):
    for levels in calibration.levels.values():
        assert not np.signbit(levels[levels == 0]).any()


def test_exchanging_baseline_and_best_feature_mirrors_the_levels(dataset, utility):
    first, second = noisy_scores(utility, 1, 1), noisy_scores(utility, 1, 2)
    forth = best_feature_calibration(first, second, {}, dataset)
    back = best_feature_calibration(second, first, {}, dataset)
    assert_array_equal(forth.levels["failure_level"], -back.levels["failure_level"])


def test_skipped_queries_are_in_no_level(small):
    dataset, reaching = small
    labels = dataset.relevance.copy()
    labels[10:20] = 0
    dataset = RankingDataset.from_arrays(dataset.features, labels, np.repeat(list("abcde"), 10))
    calibration = best_feature_calibration(
        reaching(5, 3, 4, 9, 2), reaching(7, 5, 4, 2, 2), {}, dataset, Precision(10, empty="skip")
    )
    assert_array_equal(calibration.levels["failure_level"], [-0.2, np.nan, 0.0, 0.7, 0.0])
    assert np.isnan(calibration.per_query["baseline"][1])
    table = pd.DataFrame(calibration.rows).query("method == 'baseline'")
    assert table.groupby("view").n_queries.sum().tolist() == [4, 4]
    assert not table["mean"].isna().any()
    assert "4 queries, 1 skipped" in repr(calibration)


def test_input_order_of_documents_is_kept(dataset, utility, rng):
    moved = rng.permutation(len(utility))
    shuffled = rearranged(dataset, moved)
    scores = noisy_scores(utility, 1, 1), noisy_scores(utility, 1, 2)
    expected = best_feature_calibration(*scores, {}, dataset)
    moved_too = best_feature_calibration(*(values[moved] for values in scores), {}, shuffled)
    places = np.argsort(shuffled.query_ids)
    assert_array_equal(moved_too.levels["failure_level"][places], expected.levels["failure_level"])


def test_smaller_is_better_turns_the_levels(dataset, utility):
    good, bad = noisy_scores(utility, 0.3, 1), noisy_scores(utility, 3, 2)
    calibration = best_feature_calibration(
        bad, good, {"good": noisy_scores(utility, 0.3, 3)}, dataset, "oer"
    )
    # The best feature wins, so levels are negative and the method gains.
    assert np.nanmean(calibration.levels["failure_level"]) < -0.1
    assert "good: both views show a gain over the baseline" in calibration.verdict
    assert "best feature − baseline" in repr(calibration)


def means(calibration, view, name, *, below):
    levels = calibration.levels[view]
    return calibration.per_query[name][levels < below]


def test_regression_to_the_mean_shows_in_the_failure_levels_alone(calibration):
    # "alike" and the baseline are equally good: utility with noise of the same size.
    def p_value(view, below):
        return stats.ttest_rel(
            means(calibration, view, "alike", below=below),
            means(calibration, view, "baseline", below=below),
        )

    conditioned, overall = p_value("failure_level", 0), p_value("best_feature_score", 2)
    assert conditioned.statistic > 0
    assert conditioned.pvalue < 1e-6
    assert overall.pvalue > 0.05
    bins = np.unique(calibration.levels["best_feature_score"])
    by_bin = [
        stats.ttest_rel(
            *(
                calibration.per_query[name][calibration.levels["best_feature_score"] == level]
                for name in ("alike", "baseline")
            )
        ).pvalue
        for level in bins
    ]
    assert min(by_bin) > 0.05 / len(bins)
    assert "alike: only the failure levels show a gain over the baseline" in calibration.verdict
    assert "neither view shows a gain over the control" in calibration.verdict


def test_a_better_method_gains_in_both_views(calibration):
    line = next(line for line in calibration.verdict.splitlines() if line.startswith("better:"))
    assert "both views show a gain over the baseline" in line
    assert "both views show a gain over the control" in line
    assert "better where the best feature reaches" in line


def test_a_worse_method_gains_nowhere(dataset, utility):
    words = best_feature_calibration(
        noisy_scores(utility, 1, 1),
        noisy_scores(utility, 1, 2),
        {"noise": noisy_scores(utility, 9, 3)},
        dataset,
    ).verdict
    assert "noise: neither view shows a gain over the baseline" in words
    assert "worse where the best feature reaches" in words


def test_a_gain_over_all_queries_counts_in_the_second_view_alone(dataset, utility):
    # Where the best feature loses throughout, no query has a negative level.
    words = best_feature_calibration(
        utility, -utility, {"worse": noisy_scores(utility, 1, 3)}, dataset
    ).verdict
    assert "at negative levels;" not in words
    words = best_feature_calibration(
        noisy_scores(utility, 1, 3), -utility, {"ideal": utility}, dataset
    ).verdict
    assert "ideal: only the best feature's score shows a gain over the baseline" in words


def test_noise_makes_no_gain_where_the_best_feature_fails(dataset, utility):
    # The baseline leans on the best feature and shares its errors.
    feature = noisy_scores(utility, 2, 1)
    calibration = best_feature_calibration(
        noisy_scores(feature, 0.2, 2),
        feature,
        {"noise": noisy_scores(utility, 9, 3)},
        dataset,
        "mrr",
    )
    lowest = calibration.levels["best_feature_score"] <= 0.3
    gain = calibration.per_query["noise"] - calibration.per_query["baseline"]
    assert stats.ttest_1samp(gain[lowest], 0, alternative="greater").pvalue < 0.001
    line = calibration.verdict.splitlines()[-1]
    assert "better where the best feature reaches" in line
    assert "best feature's score shows a gain" not in line
    assert "both views" not in line


def test_the_control_stands_in_the_verdict(calibration, dataset, utility):
    difference = calibration.per_query["control"] - calibration.per_query["baseline"]
    gain = difference[calibration.levels["failure_level"] < 0].mean()
    assert f"control (the same model with another seed): {gain:+.3f}, p < 0.001" in (
        calibration.verdict
    )
    alone = best_feature_calibration(utility, utility, {"same": utility}, dataset)
    assert "There is no control" in alone.verdict
    assert "over the control" not in alone.verdict


def test_bounds_and_the_best_feature_are_not_judged(calibration):
    assert "oracle" not in calibration.verdict
    assert not re.search("^best feature:", calibration.verdict, re.MULTILINE)


def test_one_query_shows_nothing():
    dataset = RankingDataset.from_arrays([[1.0], [2.0]], [0, 1], [1, 1])
    calibration = best_feature_calibration([1, 2], [2, 1], {"a": [1, 2]}, dataset)
    assert calibration.verdict == "One query shows nothing."
    assert "nan" not in repr(calibration)


def test_it_prints_both_views_and_the_verdict(calibration):
    text = " ".join(repr(calibration).split())
    assert "ndcg@5 by failure level (baseline − best feature): 900 queries" in text
    assert "ndcg@5 by the best feature's score" in text
    assert text.endswith(" ".join(calibration.verdict.split()))
    for row in calibration.rows:
        assert f"{row['mean']:.3f}" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": [1.0]}, r"Scores of 'baseline': .* one number per document \(24\)"),
        ({"control": np.zeros(23)}, r"Scores of 'control': .* Got shape \(23,\)"),
        ({"methods": {"a": np.full(24, np.nan)}}, "Scores of 'a': .* 24 of 24 are NaN"),
        ({"methods": {"control": np.zeros(24)}}, "may not be called 'control'"),
        ({"bounds": ["best"]}, "names no method with 'best'"),
        ({"measure": "p(empty=skip,rel=9)@5"}, r"skips every query"),
        ({"measure": "ndgc@5"}, "There is no measure 'ndgc'"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    dataset = RankingDataset.from_arrays(
        np.zeros((24, 1)), np.arange(24) % 2, np.repeat([1, 2], 12)
    )
    scores = np.arange(24.0)
    arguments = {"baseline": scores, "best_feature": scores, "methods": {}, "dataset": dataset}
    with pytest.raises(ValueError, match=message):
        best_feature_calibration(**(arguments | change))


def drawn_lines(axes):
    return [line for line in axes.lines if not line.get_label().startswith("_")]


def test_the_plot_draws_every_method_in_both_views(calibration):
    figure = calibration.plot()
    names = list(calibration.per_query)
    assert [text.get_text() for text in figure.legends[0].texts] == names
    table = pd.DataFrame(calibration.rows)
    for axes, view in zip(figure.axes[:2], calibration.levels, strict=True):
        lines = drawn_lines(axes)
        assert [line.get_label() for line in lines] == names
        for line, intervals in zip(lines, axes.collections, strict=True):
            rows = table[(table.view == view) & (table.method == line.get_label())]
            assert_allclose(line.get_ydata(), rows["mean"])
            ends = np.array([segment[:, 1] for segment in intervals.get_segments()])
            assert_allclose(ends, rows[["low", "high"]].dropna())
            # Methods stand side by side, each nearest to its own level.
            assert_allclose(line.get_xdata(), rows.level, atol=0.04)
    for axes in figure.axes[2:]:
        assert sum(bar.get_height() for bar in axes.patches) == 900
    shown = " ".join(figure.get_supxlabel().split())
    assert shown == " ".join(calibration.verdict.split())


def test_the_control_is_dotted_and_the_bound_dashed(calibration):
    lines = {line.get_label(): line for line in drawn_lines(calibration.plot().axes[0])}
    styles = {name: line.get_linestyle() for name, line in lines.items()}
    assert styles == dict.fromkeys(lines, "-") | {"control": ":", "oracle": "--"}
    assert lines["control"].get_color() == lines["baseline"].get_color()
    assert len({line.get_color() for line in lines.values()}) == len(lines) - 1


def test_named_bounds_are_dashed(dataset, utility):
    methods = {name: noisy_scores(utility, 1, i) for i, name in enumerate(["a", "top", "b"])}
    figure = best_feature_calibration(
        utility, utility, methods, dataset, bounds=["top", "b"]
    ).plot()
    lines = {line.get_label(): line for line in drawn_lines(figure.axes[0])}
    assert [lines[name].get_linestyle() for name in methods] == ["-", "--", "--"]
    assert len({line.get_color() for line in lines.values()}) == 5


def test_the_plot_is_written(calibration, tmp_path):
    calibration.save_plot(tmp_path / "plot.svg")
    content = (tmp_path / "plot.svg").read_text()
    for name in calibration.per_query:
        assert f">{name}</text>" in content
