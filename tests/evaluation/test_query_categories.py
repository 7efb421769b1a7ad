import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from localrank.evaluation import category_tests, paired_test
from localrank.evaluation.query_categories import welch_p_value


def test_two_groups_have_the_p_of_welchs_t(rng):
    a, b = rng.normal(0, 1, 12), rng.normal(0.5, 3, 30)
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert_allclose(welch_p_value([a, b]), expected, rtol=1e-10)


def test_several_groups_have_the_p_of_welchs_anova(rng):
    groups = [rng.normal(mean, scale, n) for mean, scale, n in [(0, 1, 9), (1, 2, 20), (0, 3, 15)]]
    # Written out from Welch (1951).
    k = len(groups)
    weights = [len(g) / np.var(g, ddof=1) for g in groups]
    centre = sum(w * g.mean() for w, g in zip(weights, groups, strict=True)) / sum(weights)
    between = sum(w * (g.mean() - centre) ** 2 for w, g in zip(weights, groups, strict=True))
    lost = sum(
        (1 - w / sum(weights)) ** 2 / (len(g) - 1) for w, g in zip(weights, groups, strict=True)
    )
    F = between / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    assert_allclose(welch_p_value(groups), stats.f.sf(F, k - 1, (k**2 - 1) / (3 * lost)))


def normal(rng, sizes, scales):
    return [rng.normal(0, scale, size) for size, scale in zip(sizes, scales, strict=True)]


def mostly_zero(rng, sizes, shares):
    return [
        np.where(rng.random(n) < share, rng.choice([-1, 1], n) * rng.beta(1, 3, n), 0.0)
        for n, share in zip(sizes, shares, strict=True)
    ]


@pytest.mark.parametrize(
    ("draw", "sizes", "spreads", "most"),
    [
        (normal, [10, 10, 10], [1, 1, 1], 0.05),
        (normal, [10, 40], [3, 1], 0.05),
        (normal, [10, 40], [1, 3], 0.05),
        (normal, [10, 15, 60], [3, 1, 1], 0.055),
        (normal, [10] * 8, [1, 2, 3, 1, 1, 3, 1, 2], 0.06),
        (mostly_zero, [10, 20, 50], [0.3, 0.5, 0.1], 0.05),
        (mostly_zero, [10, 100], [0.8, 0.1], 0.05),
    ],
)
def test_the_interaction_keeps_its_level(draw, sizes, spreads, most):
    rng = np.random.default_rng(11)
    n_draws = 3000
    alarms = sum(welch_p_value(draw(rng, sizes, spreads)) < 0.05 for _ in range(n_draws))
    assert alarms / n_draws < most + 3 * np.sqrt(0.05 * 0.95 / n_draws)
    # It is a test, not a constant: normal groups come near the level.
    assert alarms / n_draws > (0.035 if draw is normal else 0)


def test_the_interaction_finds_a_difference():
    rng = np.random.default_rng(12)
    found = [
        welch_p_value([rng.normal(0, 1, 20), rng.normal(1.5, 2, 30)]) < 0.05 for _ in range(200)
    ]
    assert np.mean(found) > 0.8


def test_a_group_of_equal_differences_does_not_decide_alone(rng):
    constant = np.zeros(10)
    assert 0.01 < welch_p_value([constant, rng.normal(0, 1, 30)]) < 1
    assert welch_p_value([constant, np.zeros(12)]) == 1
    assert welch_p_value([constant, np.ones(12)]) == 0


@pytest.fixture
def values(rng):
    """Two methods on 70 queries, of which the last 30 gain."""
    a = rng.uniform(size=70)
    return a + np.repeat([0.0, 0.3], [40, 30]) + rng.normal(0, 0.1, 70), a


def test_tests_within_categories_are_paired_tests_with_joint_intervals(values):
    a, b = values
    result = category_tests(a, b, ["de"] * 40 + ["en"] * 30)
    assert list(result.tests) == ["de", "en"]
    for name, queries in (("de", slice(0, 40)), ("en", slice(40, 70))):
        alone = paired_test(a[queries], b[queries], confidence=0.975)
        assert result.tests[name].interval == alone.interval
        assert result.tests[name].p_value == alone.p_value
    expected = stats.ttest_ind((a - b)[:40], (a - b)[40:], equal_var=False).pvalue
    assert_allclose(result.interaction_p_value, expected, rtol=1e-9)
    assert result.overall.n_queries == 70
    assert "The gain differs between the categories (p < 0.001)" in result.verdict


def test_equal_gains_are_not_said_to_differ(values):
    a, b = values
    result = category_tests(a, b, np.tile(["x", "y"], 35))
    assert "not established that the gain differs" in result.verdict


def test_joint_intervals_hold_all_gains_as_often_as_they_say():
    rng = np.random.default_rng(6)
    categories = np.repeat(["a", "b", "c"], 12)
    held = 0
    for _ in range(500):
        tests = category_tests(rng.normal(0.2, 1, 36), np.zeros(36), categories).tests.values()
        held += all(test.interval[0] <= 0.2 <= test.interval[1] for test in tests)
    # 475 of 500 expected at least, with a standard deviation of 4.9.
    assert 460 < held <= 500


def test_small_categories_are_pooled(values):
    result = category_tests(*values, ["de"] * 30 + ["en"] * 28 + ["fr"] * 6 + ["it"] * 6)
    assert list(result.tests) == ["de", "en", "(others)"]
    assert result.tests["(others)"].n_queries == 12
    assert result.pooled == {"fr": 6, "it": 6}
    assert "Too few queries, counted as (others): fr (6), it (6)." in repr(result)


def test_a_category_that_stays_small_is_left_out(values):
    result = category_tests(*values, ["de"] * 30 + ["en"] * 34 + ["fr"] * 6)
    assert list(result.tests) == ["de", "en"]
    assert result.left_out == {"fr": 6}
    assert "left out: fr (6)" in result.note


def test_queries_without_a_category_or_a_value_are_left_out(values):
    a, b = (column.copy() for column in values)
    a[0] = np.nan
    result = category_tests(a, b, ["de"] * 40 + [None] * 10 + [7] * 20)
    assert {name: test.n_queries for name, test in result.tests.items()} == {"7": 20, "de": 39}
    assert result.overall.n_queries == 59


def test_one_category_is_compared_with_nothing(values):
    result = category_tests(*values, ["de"] * 70)
    assert result.interaction_p_value is None
    assert "fewer than two categories" in result.verdict


def test_results_become_frames(values):
    frame = category_tests(*values, ["de"] * 40 + ["en"] * 30).to_frame("pandas")
    assert frame["category"].tolist() == ["de", "en"]
    assert frame["n_queries"].tolist() == [40, 30]


@pytest.mark.parametrize(
    ("categories", "options", "message"),
    [
        (["a"] * 3, {}, r"Got shapes \(4,\) and \(4,\), and 3 categories"),
        (["a"] * 4, {"min_queries": 1}, "2 or larger"),
        ([None] * 4, {}, "No query has two values and a category"),
    ],
)
def test_wrong_arguments_are_refused(categories, options, message):
    with pytest.raises(ValueError, match=message):
        category_tests([1, 2, 3, 4], [1, 1, 2, 2], categories, **options)
