from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.representations.top_scores import top_values


@settings(max_examples=100)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    n=st.integers(1, 70),
    levels=st.sampled_from([1, 2, 10, 10**6]),
    seed=st.integers(0, 1000),
)
def test_columns_are_the_first_values_of_the_sorted_ones(sizes, n, levels, seed):
    offsets = np.cumsum([0, *sizes])
    features = np.random.default_rng(seed).integers(0, levels, (offsets[-1], 3)) - levels / 2
    values, ends = top_values(features, offsets, n)
    expected = [np.sort(features[b:e], axis=0)[::-1][:n] for b, e in pairwise(offsets)]
    assert_array_equal(values, np.concatenate(expected))
    assert_array_equal(np.diff(ends), [len(part) for part in expected])


def test_ascending_and_descending_columns_are_taken_alike():
    up = np.arange(100.0)
    values, _ = top_values(np.column_stack([up, up[::-1]]), np.array([0, 100]), 7)
    assert_array_equal(values, np.tile(np.arange(99.0, 92.0, -1)[:, None], 2))


def test_floats_of_both_sizes_share_one_compiled_kernel():
    from localrank.representations.top_scores import _top_values

    for dtype in (np.float32, np.float64):
        values, _ = top_values(np.array([[1.5], [2.5]], dtype), np.array([0, 2]), 1)
        assert_array_equal(values, [[2.5]])
    assert len(_top_values.signatures) == 1  # type: ignore[attr-defined]
