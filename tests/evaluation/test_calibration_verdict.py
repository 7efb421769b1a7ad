import re

import numpy as np

from localrank.evaluation import paired_tests
from localrank.evaluation.calibration import findings
from localrank.evaluation.significance import p_text


def views_of(differences, bins, negative=None):
    """The verdict on one method that differs from the baseline by so much."""
    negative = np.zeros(len(bins), bool) if negative is None else negative
    values = {"baseline": np.zeros(len(bins)), "method": differences}
    return findings(values, negative=negative, bins=bins).text().splitlines()[-1]


def test_single_bins_are_named_but_make_no_gain(rng):
    bins = np.repeat([0.2, 0.3, 0.9], 40)
    differences = np.repeat([0.1, 0.0, -0.1], 40) + rng.normal(scale=0.1, size=120)
    line = views_of(differences, bins)
    assert "neither view shows a gain" in line
    assert (
        "better where the best feature reaches 0.2; worse where the best feature reaches 0.9"
        in (line)
    )


def test_a_gain_over_all_queries_is_a_gain(rng):
    # Twenty bins of six queries, too few for one of them to decide anything.
    differences = rng.normal(0.05, 0.1, size=120)
    line = views_of(differences, np.repeat(np.arange(20) / 10, 6))
    assert "only the best feature's score shows a gain" in line
    assert "reaches" not in line


def test_p_values_in_the_verdict_are_corrected_for_the_methods(rng):
    bins, negative = np.full(30, 0.5), np.arange(30) < 12
    values = {"baseline": np.zeros(30)}
    values |= {name: rng.normal(shift, 0.1, 30) for name, shift in (("a", 0.05), ("b", 0.02))}
    lines = list(findings(values, negative=negative, bins=bins).by_method.values())
    for queries, place in ((negative, 0), (slice(None), 1)):
        expected = paired_tests(
            {name: values[name][queries] for name in "ab"},
            values["baseline"][queries],
            test="randomisation",
            n_resamples=10_000,
        )
        for line, result in zip(lines, expected.values(), strict=True):
            assert re.findall("p [=<] [0-9.]+", line)[place] == p_text(result.corrected_p_value)
        assert any(p_text(r.p_value) != p_text(r.corrected_p_value) for r in expected.values())


def test_the_summary_sorts_the_methods_by_the_views_that_show_a_gain(rng):
    bins, negative = np.repeat([0.1, 0.5], 60), np.arange(120) < 60
    noise = rng.normal(scale=0.01, size=(5, 120))
    values = {
        "baseline": noise[0],
        "both": noise[1] + 0.1,
        "failing": noise[2] + np.where(negative, 0.1, -0.1),
        "neither": noise[3],
        "also neither": noise[4] - 0.1,
    }
    result = findings(values, negative=negative, bins=bins)
    assert result.summary == (
        "Both views show a gain over the baseline: both. Only the failure levels show a gain: "
        "failing. Neither view shows a gain: neither, also neither."
    )
    assert result.text().splitlines()[0] == result.summary
    assert list(result.by_method) == ["both", "failing", "neither", "also neither"]


def test_a_gain_in_the_summary_is_one_over_the_control_too(rng):
    bins, negative = np.full(60, 0.5), np.zeros(60, bool)
    noise = rng.normal(scale=0.01, size=(3, 60))
    values = {"baseline": noise[0], "control": noise[1] + 0.1, "method": noise[2] + 0.1}
    result = findings(values, negative=negative, bins=bins)
    assert result.summary == (
        "Neither view shows a gain over the baseline and the control: method."
    )
    assert (
        "only the best feature's score shows a gain over the baseline"
        in (result.by_method["method"])
    )
