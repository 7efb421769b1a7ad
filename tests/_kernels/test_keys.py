"""Whole numbers as keys, beside a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank._kernels.keys import first_repeats, number_keys
from localrank._kernels.sorting import read_only

KEYS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3))


def numbers_of(keys, secret=12345):
    numbers = np.full(len(keys), -1)
    known = number_keys(read_only(keys, np.int64), secret, numbers)
    return known, numbers


def naive(keys):
    known = list(dict.fromkeys(keys))
    return known, [known.index(key) for key in keys]


@settings(deadline=None)
@given(keys=KEYS, secret=st.integers(0, 2**56 - 1))
def test_keys_are_numbered_as_they_come(keys, secret):
    known, numbers = numbers_of(np.array(keys, np.int64), secret)
    expected = naive(keys)
    assert known.tolist() == expected[0]
    assert numbers.tolist() == expected[1]


def test_a_table_that_grows_several_times_keeps_its_numbers():
    keys = np.random.default_rng(0).integers(0, 20_000, 60_000)
    known, numbers = numbers_of(keys)
    assert_array_equal(known[numbers], keys)
    assert len(known) == len(np.unique(keys)) > 2**13
    assert_array_equal(known, keys[np.sort(np.unique(keys, return_index=True)[1])])


@pytest.mark.parametrize("n", [511, 512, 513, 2047, 2048, 2049])
def test_as_many_keys_as_the_table_has_room_for(n):
    known, numbers = numbers_of(np.arange(n) * 2**20)
    assert_array_equal(known, np.arange(n) * 2**20)
    assert_array_equal(numbers, np.arange(n))


def test_no_keys_have_no_numbers():
    known, numbers = numbers_of(np.zeros(0, np.int64))
    assert (len(known), len(numbers)) == (0, 0)


@given(groups=st.lists(st.lists(st.integers(0, 4))))
def test_the_first_repeated_row_of_each_group(groups):
    rows = np.full(len(groups), 99)
    offsets = np.cumsum([0, *map(len, groups)])
    flat = np.array([number for group in groups for number in group], np.int64)
    first_repeats(read_only(flat, np.int64), read_only(offsets, np.int64), np.full(5, -1), rows)
    expected = [
        next((begin + i for i, one in enumerate(group) if one in group[:i]), -1)
        for begin, group in zip(offsets.tolist(), groups, strict=False)
    ]
    assert rows.tolist() == expected
