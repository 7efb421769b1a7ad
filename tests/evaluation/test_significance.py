import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from localrank.evaluation.significance import TESTS, correct, paired_test, paired_tests


@pytest.fixture
def values(rng):
    """Two methods on 40 queries; they agree on every fourth."""
    a = rng.uniform(size=40)
    b = np.clip(a + rng.normal(-0.05, 0.15, size=40), 0, 1)
    b[::4] = a[::4]
    return a, b


def test_t_is_that_of_scipy(values):
    result = paired_test(*values, confidence=0.9)
    expected = stats.ttest_rel(*values)
    interval = expected.confidence_interval(0.9)
    assert_allclose(result.p_value, expected.pvalue, rtol=1e-12)
    assert_allclose(result.interval, [interval.low, interval.high], rtol=1e-12)
    assert_allclose(result.effect_size, expected.statistic / np.sqrt(40), rtol=1e-12)
    assert_allclose(result.mean_difference, np.mean(values[0]) - np.mean(values[1]), rtol=1e-12)


@pytest.mark.parametrize("n_queries", [24, 40])
def test_wilcoxon_is_that_of_scipy_with_pratts_zeros(values, n_queries):
    a, b = (column[:n_queries] for column in values)
    expected = stats.wilcoxon(a, b, zero_method="pratt").pvalue
    assert_allclose(paired_test(a, b, test="wilcoxon").p_value, expected, rtol=1e-12)


@pytest.mark.parametrize("n_queries", [6, 12])
def test_wilcoxon_is_exact_for_few_queries(values, n_queries):
    a, b = (column[:n_queries] for column in values)
    ranks = stats.rankdata(np.abs(a - b))
    signs = np.array(list(itertools.product([1, -1], repeat=n_queries))) * (a != b)
    expected = np.mean(np.abs(signs @ ranks) >= abs(np.sign(a - b) @ ranks) - 1e-9)
    assert_allclose(paired_test(a, b, test="wilcoxon").p_value, expected, rtol=1e-12)


def test_wilcoxon_is_the_sign_flip_test_of_the_ranks():
    # The differences are 0.1, -0.1, 0.2, 0.3, 0.4 and zero, which has the first rank. The
    # first two are of equal size though not in binary.
    a = np.array([0.2, 0.5, 0.4, 0.5, 0.7, 0.8])
    b = np.array([0.1, 0.6, 0.2, 0.2, 0.3, 0.8])
    ranks = np.array([2.5, 2.5, 4.0, 5.0, 6.0])
    sums = [np.dot(signs, ranks) for signs in itertools.product([1, -1], repeat=5)]
    expected = np.mean(np.abs(sums) >= ranks.sum() - 5)
    assert_allclose(paired_test(a, b, test="wilcoxon").p_value, expected, rtol=1e-12)


def test_few_queries_are_randomised_exactly(rng):
    differences = rng.normal(0.3, size=9).round(1)
    differences[2] = 0
    sums = [np.dot(signs, differences) for signs in itertools.product([1, -1], repeat=9)]
    expected = np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9)
    result = paired_test(differences + 0.7, np.full(9, 0.7), test="randomisation")
    assert_allclose(result.p_value, expected, rtol=1e-12)


def test_exact_randomisation_is_that_of_scipy(rng):
    differences = rng.normal(0.3, size=12)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=5000
    )
    result = paired_test(differences, np.zeros(12), test="randomisation", n_resamples=5000)
    assert_allclose(result.p_value, expected.pvalue, rtol=1e-12)


def test_drawn_randomisation_comes_near_the_exact_p(rng):
    differences = rng.normal(0.25, size=15)
    zeros = np.zeros(15)
    exact = paired_test(differences, zeros, test="randomisation", n_resamples=2**15)
    drawn = paired_test(differences, zeros, test="randomisation", n_resamples=2**15 - 1)
    error = np.sqrt(exact.p_value * (1 - exact.p_value) / 2**15)
    assert drawn.p_value != exact.p_value
    assert abs(drawn.p_value - exact.p_value) < 4 * error


def test_the_observed_values_count_among_the_drawn(rng):
    differences = rng.uniform(0.5, 1, size=100)
    result = paired_test(differences, np.zeros(100), test="randomisation", n_resamples=99)
    assert result.p_value == 1 / 100


def test_randomisation_in_steps_gives_what_one_step_gives(rng, monkeypatch):
    differences, zeros = rng.normal(0.4, size=14), np.zeros(14)
    whole = paired_test(differences, zeros, test="randomisation")
    monkeypatch.setattr("localrank.evaluation.significance._LOOKUPS", 1000)
    assert paired_test(differences, zeros, test="randomisation") == whole


def test_the_seed_decides_what_is_drawn(values):
    def p_value(seed):
        return paired_test(
            *values, test="randomisation", n_resamples=999, random_state=seed
        ).p_value

    assert p_value(3) == p_value(3)
    assert len({p_value(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_p_is_uniform_where_methods_are_equal(test):
    rng = np.random.default_rng(7)
    p_values = [
        paired_test(*rng.uniform(size=(2, 60)), test=test, n_resamples=2000).p_value
        for _ in range(500)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize(("wins", "ties", "losses"), [(7, 3, 1), (2, 0, 9), (4, 5, 4), (0, 2, 6)])
def test_the_sign_test_is_that_of_scipy_without_ties(wins, ties, losses, rng):
    differences = np.repeat([1.0, 0.0, -1.0], [wins, ties, losses])
    differences *= rng.uniform(0.1, 1, size=len(differences))
    result = paired_test(differences, np.zeros(len(differences)), test="sign")
    assert_allclose(result.p_value, stats.binomtest(wins, wins + losses).pvalue, rtol=1e-12)


def test_the_sign_test_never_exceeds_its_level():
    # All 2^12 patterns of signs are equally likely.
    patterns = np.array(list(itertools.product([1, -1], repeat=12)))
    numbers, times = np.unique((patterns > 0).sum(axis=1), return_counts=True)
    p_values = np.array(
        [
            paired_test(np.repeat([1.0, -1.0], [n, 12 - n]), np.zeros(12), test="sign").p_value
            for n in numbers
        ]
    )
    for p_value in p_values[p_values < 1]:
        share = times[p_values <= p_value * (1 + 1e-9)].sum() / 2**12
        assert_allclose(share, p_value, rtol=1e-9)


def test_the_sign_test_goes_by_the_number_of_queries():
    # Many small losses and one large win.
    differences = np.append(np.full(15, -0.01), 5.0)
    result = paired_test(differences, np.zeros(16), test="sign")
    assert result.mean_difference > 0
    assert result.sign == -1


@pytest.mark.parametrize("test", TESTS)
def test_p_is_small_where_methods_differ(test):
    rng = np.random.default_rng(8)
    a, b = rng.uniform(size=(2, 60))
    assert paired_test(a + 0.4, b, test=test).p_value < 0.001


@pytest.mark.parametrize("effect", [0.0, 0.6])
def test_intervals_hold_the_truth_as_often_as_they_say(effect):
    rng = np.random.default_rng(9)
    covered = []
    for _ in range(1000):
        result = paired_test(rng.normal(effect, 1, size=12), np.zeros(12), confidence=0.9)
        covered.append(
            [low <= effect <= high for low, high in (result.interval, result.effect_interval)]
        )
    # 900 of 1000 expected, with a standard deviation of 9.5.
    assert_allclose(np.sum(covered, axis=0), 900, atol=30)


@pytest.mark.parametrize(("mean", "n_queries"), [(0.3, 5), (-2.0, 8), (0.05, 200)])
def test_effect_interval_solves_the_noncentral_t(mean, n_queries):
    differences = np.random.default_rng(1).normal(size=n_queries)
    differences = mean + (differences - differences.mean()) / differences.std(ddof=1)
    result = paired_test(differences, np.zeros(n_queries))
    assert_allclose(result.effect_size, mean)
    root = np.sqrt(n_queries)
    tails = [
        _noncentral_t_below(root * mean, n_queries - 1, root * bound)
        for bound in result.effect_interval
    ]
    assert_allclose(tails, [0.975, 0.025], atol=1e-6)


def _noncentral_t_below(t, freedom, centre):
    """P((Z + centre) / S <= t), integrated over S."""
    scale = stats.chi(freedom, scale=1 / np.sqrt(freedom))

    def given_scale(s):
        return stats.norm.cdf(t * s - centre) * scale.pdf(s)

    low, high = scale.ppf([1e-12, 1 - 1e-12])
    return integrate.quad(given_scale, low, high, limit=200)[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_effect_interval_goes_on_where_the_limit_begins(sign):
    # Four differences with t just below and just above 1000.
    near, far = (
        paired_test(sign * t / 2 + np.array([-1, -1, 1, 1]) * np.sqrt(0.75), np.zeros(4))
        for t in (999.9, 1000.1)
    )
    assert_allclose(near.effect_interval, far.effect_interval, rtol=3e-3)
    assert near.effect_interval[0] < near.effect_size < near.effect_interval[1]


@pytest.mark.parametrize("test", TESTS)
def test_equal_methods_differ_in_nothing(values, test):
    a, _ = values
    result = paired_test(a, a + 1e-12, test=test)
    assert result.p_value == 1
    assert result.mean_difference == result.effect_size == 0
    assert result.interval == (0, 0)
    assert (result.wins, result.ties, result.losses) == (0, 40, 0)
    assert_allclose(result.effect_interval[0], -result.effect_interval[1], rtol=1e-6)
    assert result.effect_interval[0] < 0


def test_one_constant_difference_has_an_infinite_effect():
    base = np.array([0.1, 0.2, 0.3, 0.7])
    result = paired_test(base - 0.1, base)
    assert result.effect_size == -math.inf
    assert result.p_value == 0
    assert np.isnan(result.effect_interval).all()
    assert_allclose(result.interval, -0.1)
    assert paired_test(base - 0.1, base, test="randomisation").p_value == 2 / 16


def test_exchanging_the_methods_changes_signs_only(values):
    a, b = values
    for test in TESTS:
        forth, back = paired_test(a, b, test=test), paired_test(b, a, test=test)
        assert_allclose(back.p_value, forth.p_value, rtol=1e-12)
        assert_allclose(back.effect_interval, -np.array(forth.effect_interval)[::-1], rtol=1e-6)
        assert (back.wins, back.losses) == (forth.losses, forth.wins)


def test_wins_ties_and_losses_are_counted():
    result = paired_test([0.5, 0.5, 0.3 - 0.1, 0.1], [0.4, 0.3, 0.2, 0.9])
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)


@pytest.mark.parametrize("test", TESTS)
def test_queries_without_both_values_are_left_out(values, test):
    a, b = values
    holes = [[0, 5, 7], [5, 20]]
    with_holes = a.copy(), b.copy()
    for column, rows in zip(with_holes, holes, strict=True):
        column[rows] = np.nan
    kept = np.setdiff1d(np.arange(40), [0, 5, 7, 20])
    result = paired_test(*with_holes, test=test)
    expected = paired_test(a[kept], b[kept], test=test)
    assert (result.n_queries, result.n_left_out) == (36, 4)
    assert result.p_value == expected.p_value
    assert result.interval == expected.interval


def test_given_values_are_not_written_to():
    a, b = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.3, 0.1])
    a.flags.writeable = b.flags.writeable = False
    for test in TESTS:
        paired_test(a, b, test=test)


def test_results_read_as_a_sentence(values):
    text = str(paired_test(*values))
    assert "40 queries" in text
    assert "10 tied" in text
    assert "corrected" not in text
    assert "corrected" in str(paired_tests({"a": values[0]}, values[1])["a"])


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([1, 2], [1, 2, 3], {}, r"Got shapes \(2,\) and \(3,\) instead"),
        ([[[1, 2]]], [[[1, 2]]], {}, r"Got shapes \(1, 1, 2\)"),
        ([1, np.nan], [1, 2], {}, "two queries or more with values of both methods. Got 1"),
        ([1, np.inf], [1, 2], {}, "finite"),
        ([1, 2], [1, 2], {"test": "z"}, "'randomisation' or 'sign'. Got 'z' instead"),
        ([1, 2], [1, 2], {"confidence": 95}, "between 0 and 1. Got 95 instead"),
        ([1, 2], [1, 2], {"n_resamples": 0}, "1 or larger. Got 0"),
    ],
)
def test_wrong_arguments_are_refused(a, b, options, message):
    with pytest.raises(ValueError, match=message):
        paired_test(a, b, **options)


def test_the_sign_of_a_difference_is_established_by_the_corrected_p_value():
    ahead = paired_test([0.1, 0.11, 0.12, 0.13], np.zeros(4))
    behind = paired_test(np.zeros(4), [0.1, 0.11, 0.12, 0.13])
    assert (ahead.sign, behind.sign) == (1, -1)
    assert replace(ahead, corrected_p_value=0.05).sign == 0


def test_several_methods_are_corrected_together(values, rng):
    a, b = values
    methods = {"a": a, "noise": rng.uniform(size=40), "b": b}
    results = paired_tests(methods, b, test="wilcoxon", correction="benjamini-hochberg")
    alone = {name: paired_test(column, b, test="wilcoxon") for name, column in methods.items()}
    expected = stats.false_discovery_control([result.p_value for result in alone.values()])
    assert list(results) == ["a", "noise", "b"]
    assert_allclose([result.corrected_p_value for result in results.values()], expected)
    assert all(results[name].p_value == alone[name].p_value for name in methods)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_the_step_down_rule(p_values):
    corrected = correct(p_values)
    # The corrected p-value of a hypothesis is the least level at which Holm rejects it.
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[index] * (len(p_values) - place) > level:
                break
            rejected.add(index)
        assert set(np.flatnonzero(corrected <= level)) == rejected


@given(st.lists(st.floats(0, 1), max_size=12))
def test_benjamini_hochberg_is_the_step_up_rule(p_values):
    corrected = correct(p_values, "benjamini-hochberg")
    ordered = sorted(p_values)
    n = len(p_values)
    for p_value, result in zip(p_values, corrected, strict=True):
        expected = min([1.0] + [q * n / (i + 1) for i, q in enumerate(ordered) if q >= p_value])
        assert_allclose(result, expected, rtol=1e-12)


def test_holm_of_a_published_example():
    # Four tests at 0.01, 0.04, 0.03, 0.005: multiplied by 3, 1, 2 and 4, then made monotone.
    assert_allclose(correct([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_names_stay_with_their_p_values():
    assert correct({"b": 0.5, "a": 0.01}) == {"b": 0.5, "a": 0.02}
    assert correct({}) == {}


@pytest.mark.parametrize("p_values", [[0.5, 1.5], [-0.1], [np.nan]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        correct(p_values)


def test_an_unknown_correction_is_refused():
    with pytest.raises(ValueError, match="'holm' or 'benjamini-hochberg'. Got 'bonferroni'"):
        correct([0.5], "bonferroni")


def two_way(rng, n_runs, n_queries, of_queries, of_runs, of_both):
    """Differences with mean 0: a part of each query, a part of each run, and the rest."""
    return (
        rng.normal(0, of_queries, n_queries)
        + rng.normal(0, of_runs, (n_runs, 1))
        + rng.normal(0, of_both, (n_runs, n_queries))
    )


@pytest.mark.parametrize(
    ("of_queries", "of_runs", "of_both"), [(0.1, 0, 0.05), (0.1, 0.05, 0.1), (0, 0.05, 0.01)]
)
def test_several_runs_cover_the_chance_of_training(of_queries, of_runs, of_both):
    rng = np.random.default_rng(5)
    draws = [two_way(rng, 4, 60, of_queries, of_runs, of_both) for _ in range(1500)]
    alarms = np.mean([paired_test(d, np.zeros(60)).p_value < 0.05 for d in draws])
    # Five per cent, and two standard errors of 1,500 draws.
    assert alarms < 0.061
    if of_runs:  # one run alone takes the chance of training for a gain
        assert np.mean([paired_test(d[0], np.zeros(60)).p_value < 0.05 for d in draws]) > 0.3


def test_runs_that_agree_are_one_run():
    rng = np.random.default_rng(6)
    a, b = rng.random((2, 30))
    one, three = paired_test(a, b), paired_test([a, a, a], b)
    assert three.n_runs == 3
    assert_allclose(three.p_value, one.p_value, rtol=1e-12)
    assert_allclose(three.interval, one.interval, rtol=1e-12)
    assert_allclose(three.effect_interval, one.effect_interval, rtol=1e-12)
    assert "3 runs; 30 queries" in repr(three)


def test_the_variance_of_several_runs_is_the_sum_of_two():
    rng = np.random.default_rng(7)
    d = two_way(rng, 5, 20, 0.1, 0.1, 0.1) + 0.2
    result = paired_test(d, np.zeros(20))
    parts = np.array([d.mean(axis=0).var(ddof=1) / 20, d.mean(axis=1).var(ddof=1) / 5])
    # The p-value is the level at which the interval ends at zero.
    critical = parts @ stats.t.isf(result.p_value / 2, [19, 4]) / parts.sum()
    assert_allclose(critical * np.sqrt(parts.sum()), d.mean(), rtol=1e-7)
    ends = paired_test(d, np.zeros(20), confidence=1 - result.p_value).interval
    assert_allclose(ends[0], 0, atol=1e-8)
    assert_allclose(result.effect_size, d.mean() / d.mean(axis=0).std(ddof=1), rtol=1e-12)
    assert result.effect_interval[0] < result.effect_size < result.effect_interval[1]


def test_runs_of_both_methods_are_paired_and_must_be_as_many():
    rng = np.random.default_rng(8)
    a, b = rng.random((2, 3, 9))
    assert paired_test(a, b).mean_difference == pytest.approx((a - b).mean())
    assert paired_test(b[0], a).n_runs == 3
    with pytest.raises(ValueError, match="two values for each query"):
        paired_test(a, b[:2])
    with pytest.raises(ValueError, match="Several runs"):
        paired_test(a, b, test="wilcoxon")
