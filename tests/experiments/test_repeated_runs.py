import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import RankingDataset
from localrank.evaluation import FoldResult, MethodResult, paired_test
from localrank.experiments.repeated_runs import MEASURES, Repeats, cell, gain_test, slopes
from localrank.experiments.repeated_runs import interval as plotted

MAP = MEASURES[1]


def result(labels, scores):
    """A method on three queries of two documents."""
    dataset = RankingDataset.from_arrays(np.zeros((6, 1)), labels, np.repeat([1, 2, 3], 2))
    return {
        "m": MethodResult("m", [FoldResult("Fold1", np.array(scores), [])], dataset, ["Fold1"] * 3)
    }


@pytest.fixture
def two():
    """In the first run query 2 has one label, in both runs query 3."""
    return [
        result([1, 0, 1, 1, 0, 0], [2.0, 1, 2, 1, 2, 1]),
        result([1, 0, 1, 0, 0, 0], [1.0, 2, 1, 2, 2, 1]),
    ]


def test_values_are_means_of_the_runs(two):
    assert_allclose(Repeats(two).values("m", MAP), [0.75, 0.75, 0.0])


def test_a_query_with_one_label_in_some_run_does_not_count(two):
    runs = Repeats(two, two_labels=True)
    assert_allclose(runs.by_run("m", MAP), [[1.0, np.nan, np.nan], [0.5, 0.5, np.nan]])
    assert_allclose(runs.values("m", MAP), [0.75, np.nan, np.nan])
    assert runs.mean("m", MAP) == pytest.approx(0.75)


def test_the_spread_is_that_of_the_means_of_runs(two):
    assert Repeats(two).spread("m", MAP) == pytest.approx(np.std([2 / 3, 1 / 3], ddof=1))
    assert np.isnan(Repeats(two[:1]).spread("m", MAP))


def test_gains_are_tested_as_pairs_of_values():
    gains = np.array([0.1, -0.2, 0.4, 0.3, np.nan])
    test, pairs = gain_test(gains), paired_test(gains + 0.5, np.full(5, 0.5))
    assert test.p_value == pytest.approx(pairs.p_value)
    assert test.interval == pytest.approx(pairs.interval)
    assert test.n_queries == 4


def test_a_mark_is_filled_below_five_percent():
    assert plotted(gain_test(np.array([0.1, 0.2, 0.3, 0.2])))[2]
    assert not plotted(gain_test(np.array([0.1, -0.2, 0.3, 0.0])))[2]


def test_a_cell_has_the_difference_its_interval_and_p():
    test = gain_test(np.array([0.1, 0.2, 0.3]))
    assert cell(test) == "+0.2000 [-0.0484, +0.4484] (.074; .074)"


def test_slopes_are_those_of_least_squares(rng):
    x, gains = np.log2([10.0, 20.0, 40.0, 80.0]), rng.normal(size=(4, 2, 6))
    expected = [[np.polyfit(x, gains[:, i, j], 1)[0] for j in range(6)] for i in range(2)]
    assert_allclose(slopes(x, gains), expected)
    gains[1, 1, 2] = np.nan
    assert np.isnan(slopes(x, gains)[1, 2])
