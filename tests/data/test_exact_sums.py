import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import _exact_sums as exact_sums
from localrank.data._exact_sums import ExactSums, added


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    return rng.standard_normal((500, 4)) * 10.0 ** rng.integers(-200, 90, (500, 4))


def test_sums_are_those_of_rational_numbers(values):
    expected = [float(sum(map(Fraction, column))) for column in values.T.tolist()]
    assert_array_equal(ExactSums.of(values).rounded(), expected)


def test_quotients_are_rounded_once(values):
    expected = [float(sum(map(Fraction, column)) / 7) for column in values.T.tolist()]
    assert_array_equal(ExactSums.of(values).rounded(7), expected)


@pytest.mark.parametrize("value", [5e-324, 1.7e308, -(2.0**-1022), 0.0, -0.0, 1.0, -(2.0**-1074)])
def test_a_single_number_is_its_own_sum(value):
    assert ExactSums.of(np.array([[value]])).rounded()[0] == value


def test_numbers_that_cancel_leave_the_small_ones():
    assert ExactSums.of(np.array([[1e300], [5e-324], [-1e300]])).rounded()[0] == 5e-324


def test_the_order_does_not_matter_nor_where_the_sum_is_cut(values):
    mixed = values[np.random.default_rng(1).permutation(len(values))]
    parts = [ExactSums.of(part) for part in np.array_split(mixed, [3, 77, 300])]
    assert added(parts).totals == ExactSums.of(values).totals


def test_long_sums_are_taken_in_steps(values, monkeypatch):
    whole = ExactSums.of(values).totals
    monkeypatch.setattr(exact_sums, "_ROWS", 7)
    assert ExactSums.of(values).totals == whole


def test_equal_numbers_do_not_lose_bits():
    column = np.full(300_000, 0.1)
    assert ExactSums.of(column[:, None]).rounded()[0] == math.fsum(column)


def test_no_rows_add_up_to_nothing():
    assert_array_equal(ExactSums.of(np.empty((0, 3))).rounded(), np.zeros(3))
