import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.gains import gains, levels

some_labels = st.lists(
    st.one_of(st.integers(-3, 40), st.floats(-1e6, 1e6), st.floats(0, 1)), min_size=2, max_size=30
).map(lambda values: np.array(values, dtype=float))


@given(some_labels)
def test_gains_and_levels_keep_the_order_of_labels(labels):
    order = np.argsort(labels)
    for values in (gains(labels), levels(labels)):
        assert (np.diff(values[order]) >= 0).all()
        assert values.min() >= 0


@given(some_labels)
def test_levels_are_whole_numbers_that_lightgbm_takes(labels):
    assert_array_equal(levels(labels), np.round(levels(labels)))
    assert levels(labels).max() <= 30


def test_grades_stay_as_they_are():
    grades = np.arange(31.0)
    assert levels(grades) is grades
    assert_array_equal(gains(grades), 2**grades - 1)


def test_from_31_on_labels_are_counts():
    assert_array_equal(gains(np.array([0.0, 1.0, 31.0])), [0, 1, 31])


def test_real_grades_gain_by_the_formula_of_ndcg():
    assert_allclose(gains(np.array([0.0, 0.5, 2.33])), [0, 2**0.5 - 1, 2**2.33 - 1])


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_twice_the_count_is_a_level_more(factor):
    counts = factor * np.array([0, 31, 62, 124, 248, 496])
    steps = np.diff(levels(counts)[1:])
    if factor * 496 > 30:
        assert_array_equal(steps, 1)
    assert levels(counts)[[0, -1]].tolist() == [0, 15]
