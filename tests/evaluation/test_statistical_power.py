import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from localrank.evaluation import paired_test, power
from localrank.evaluation.statistical_power import MAX_QUERIES, t_test_power


def differences(n_queries, deviation=0.1, mean=0.0):
    """Differences with exactly this mean and standard deviation."""
    values = np.random.default_rng(0).normal(size=n_queries)
    return mean + deviation * (values - values.mean()) / values.std(ddof=1)


def integrated_power(effect, n_queries, level):
    """P(|(Z + effect √n) / S| > critical), integrated over S."""
    freedom = n_queries - 1
    critical, scale = stats.t.isf(level / 2, freedom), stats.chi(freedom, scale=freedom**-0.5)
    centre = effect * np.sqrt(n_queries)

    def given_scale(s):
        outside = stats.norm.sf(critical * s - centre) + stats.norm.cdf(-critical * s - centre)
        return outside * scale.pdf(s)

    low, high = scale.ppf([1e-13, 1 - 1e-13])
    return integrate.quad(given_scale, low, high, limit=400, points=[(low + high) / 2])[0]


@pytest.mark.parametrize(
    ("effect", "n_queries", "level"),
    [(0.0, 12, 0.05), (0.5, 34, 0.05), (0.2, 200, 0.01), (1.5, 4, 0.05), (8.0, 2, 0.05)],
)
def test_power_is_that_of_the_noncentral_t(effect, n_queries, level):
    found = t_test_power(effect, n_queries, level)
    assert_allclose(found, integrated_power(effect, n_queries, level), atol=1e-7)


def test_power_is_how_often_simulated_tests_find_the_gain():
    rng = np.random.default_rng(3)
    drawn = rng.normal(0.02, 0.1, size=(4000, 60))
    found = np.mean(stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05)
    claimed = power(differences(60), [0.02]).gains[0].power
    assert abs(found - claimed) < 4 * np.sqrt(claimed * (1 - claimed) / 4000)


@pytest.mark.parametrize("gain", [0.01, 0.03, 0.1, 0.5])
def test_one_query_less_is_too_few(gain):
    n = power(differences(50), [gain]).gains[0].n_queries
    assert t_test_power(gain / 0.1, n, 0.05) >= 0.8
    assert n == 2 or t_test_power(gain / 0.1, n - 1, 0.05) < 0.8


def test_published_sample_sizes():
    # Cohen (1988): d = 0.5 and 0.8, two-sided 5 %, power 80 %.
    sizes = [gain.n_queries for gain in power(differences(30, 1.0), [0.5, 0.8]).gains]
    assert sizes == [34, 15]


def test_the_detectable_gain_has_the_wanted_power():
    result = power(differences(50), power=0.9, level=0.01)
    assert_allclose(t_test_power(result.detectable / 0.1, 50, 0.01), 0.9, atol=1e-9)
    assert_allclose(
        result.detectable_interval,
        np.array(result.deviation_interval) * result.detectable / 0.1,
    )


def test_the_interval_of_the_deviation_holds_it_as_often_as_it_says():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        low, high = power(rng.normal(0, 0.2, size=15), [0.1]).deviation_interval
        held += low <= 0.2 <= high
    # 285 of 300 expected, with a standard deviation of 3.8.
    assert abs(held - 285) < 13


def test_numbers_of_queries_follow_the_interval_of_the_deviation():
    result = power(differences(40), [0.02])
    at_ends = [
        power(differences(40, end), [0.02]).gains[0].n_queries for end in result.deviation_interval
    ]
    assert list(result.gains[0].interval) == at_ends
    assert at_ends[0] < result.gains[0].n_queries < at_ends[1]


def test_more_tests_need_more_queries():
    alone, first = power(differences(40), [0.02]), power(differences(40), [0.02], n_tests=5)
    stricter = power(differences(40), [0.02], level=0.01)
    assert first.gains[0].n_queries > alone.gains[0].n_queries
    assert first.gains == stricter.gains


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation", "sign"])
def test_a_paired_test_says_the_same_as_its_differences(test):
    values = differences(25, mean=0.03)
    compared = paired_test(values, np.zeros(25), test=test, confidence=0.95, n_resamples=100)
    found, expected = power(compared), power(values)
    assert found.gains == expected.gains
    assert_allclose(found.deviation, 0.1)
    assert found.verdict == expected.verdict


def test_a_gain_out_of_reach_says_so():
    result = power(differences(20), [1e-9])
    assert result.gains[0].n_queries == MAX_QUERIES
    assert "over 1,000,000,000" in repr(result)


def test_the_plot_has_the_power_of_each_gain():
    found = power(differences(50), gains=(0.02, 0.05), n_tests=3)
    ((_, curves),) = found.chart().options["panels"].items()
    assert list(curves) == ["gain 0.02", "gain 0.05"]
    for gain, (counts, chances) in zip(found.gains, curves.values(), strict=True):
        enough = [n for n, chance in zip(counts, chances, strict=True) if chance >= 0.8]
        before = [n for n in counts if n not in enough]
        assert max(before, default=0) < gain.n_queries <= min(enough)
        effect = gain.gain / found.deviation
        assert chances[5] == t_test_power(effect, counts[5], 0.05 / 3)
    found.plot()


def test_an_interval_ends_at_the_largest_possible_gain():
    values = np.random.default_rng(0).normal(0, 0.5, size=8)
    found = power(values, largest=0.5)
    assert found.detectable < 0.5 < found.detectable_interval[1]
    assert f"{found.detectable:.4f} [{found.detectable_interval[0]:.4f}" in found.verdict
    assert ", over 0.5] in 80 %" in found.verdict


def test_queries_without_a_value_do_not_count():
    values = np.append(differences(30), np.nan)
    assert power(values).test.n_queries == 30


def test_results_become_frames():
    frame = power(differences(30), [0.01, 0.02]).to_frame("pandas")
    assert list(frame) == ["gain", "power", "n_queries", "low", "high"]
    assert frame["gain"].tolist() == [0.01, 0.02]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.full(5, 0.1), {}, "All of these are equal"),
        ([0.1, 0.2], {"level": 0}, "'level' argument must lie between 0 and 1"),
        ([0.1, 0.2], {"power": 80}, "'power' argument must lie between 0 and 1"),
        ([0.1, 0.2], {"power": 0.04}, "above the level"),
        ([0.1, 0.2], {"n_tests": 0}, "1 or larger"),
        ([0.1, 0.2], {"gains": [0.1, 0]}, "numbers above 0"),
        ([0.1, 0.2], {"largest": 0}, "'largest' argument must be above 0"),
        (paired_test([[0.1, 0.2], [0.3, 0.1]], [0, 0]), {}, "2 runs"),
    ],
)
def test_wrong_arguments_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        power(values, **options)
