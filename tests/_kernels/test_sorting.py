from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank._kernels.sorting import argsort_descending


def stable_order(values, offsets):
    parts = [b + np.argsort(-values[b:e], kind="stable") for b, e in pairwise(offsets)]
    return np.concatenate(parts)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=6),
    levels=st.sampled_from([1, 2, 10, 10**6]),
    seed=st.integers(0, 1000),
)
def test_each_query_is_sorted_and_equal_values_keep_their_order(sizes, levels, seed):
    offsets = np.cumsum([0, *sizes])
    values = np.random.default_rng(seed).integers(0, levels, offsets[-1]).astype(float)
    assert_array_equal(argsort_descending(values, offsets), stable_order(values, offsets))


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 255, 256, 257, 1000, 100_000])
def test_lists_around_the_block_size_are_sorted(size):
    values = np.random.default_rng(size).integers(0, size, size).astype(float)
    offsets = np.array([0, size])
    assert_array_equal(argsort_descending(values, offsets), stable_order(values, offsets))


def test_minus_infinity_comes_last_and_zeros_of_both_signs_are_equal():
    values = np.array([-np.inf, 0.0, -0.0, 1.0, -5.0])
    assert_array_equal(argsort_descending(values, np.array([0, 5])), [3, 1, 2, 4, 0])


def test_writable_read_only_and_strided_values_share_one_compiled_kernel():
    from localrank._kernels.sorting import _argsort_descending

    offsets = np.array([0, 3])
    fixed = np.array([1.0, 2.0, 3.0])
    fixed.flags.writeable = False
    for values in (np.array([1.0, 2.0, 3.0]), fixed, np.arange(6.0)[::2], np.array([1, 2, 3])):
        assert_array_equal(argsort_descending(values, offsets), [2, 1, 0])
    assert len(_argsort_descending.signatures) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [3, 128, 129, 1000])
def test_rows_with_nan_are_still_there_once_each(size):
    values = np.random.default_rng(size).integers(0, 5, size).astype(float)
    values[:: max(2, size // 7)] = np.nan
    order = argsort_descending(values, np.array([0, size]))
    assert_array_equal(np.sort(order), np.arange(size))


@settings(max_examples=60)
@given(
    values=st.lists(
        st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan, np.inf, -np.inf]), min_size=1, max_size=300
    )
)
def test_every_row_is_in_the_order_once_whatever_the_values_are(values):
    order = argsort_descending(np.array(values), np.array([0, len(values)]))
    assert_array_equal(np.sort(order), np.arange(len(values)))


def test_what_is_not_a_number_comes_last_in_a_short_list():
    values = np.array([np.nan, 1.0, np.nan, 2.0])
    assert_array_equal(argsort_descending(values, np.array([0, 4])), [3, 1, 0, 2])
