import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.rankers.rank_boost.rank_boost import bin_features


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=200),
    st.one_of(st.none(), st.integers(1, 300)),
)
def test_a_bin_is_the_number_of_thresholds_below_the_value(values, n_thresholds):
    values = np.array(values)
    (thresholds,), (bins,) = bin_features(values[:, None], n_thresholds)
    assert_array_equal(bins, np.searchsorted(thresholds, values))


@settings(max_examples=60)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=200), st.integers(1, 120))
def test_thresholds_are_distinct_values_but_the_largest(values, n_thresholds):
    (thresholds,), _ = bin_features(np.array(values, float)[:, None], n_thresholds)
    distinct = np.unique(values)[:-1]
    assert len(thresholds) == min(n_thresholds, len(distinct))
    assert np.isin(thresholds, distinct).all()
    assert (np.diff(thresholds) > 0).all()
    steps = np.diff(np.searchsorted(distinct, thresholds))
    assert len(steps) == 0 or steps.max() - steps.min() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (1024, 16), (2500, 17)])
def test_tables_of_any_shape_are_binned_column_by_column(rng, shape, dtype):
    features = rng.normal(size=shape).round(1).astype(dtype)
    thresholds, bins = bin_features(features, 255)
    for column, values, counts in zip(features.T, thresholds, bins, strict=True):
        assert_array_equal(counts, np.searchsorted(values, column))


@pytest.mark.parametrize(
    ("n_thresholds", "dtype"), [(1, np.uint8), (255, np.uint8), (256, np.uint32), (None, np.uint32)]
)
def test_a_bin_takes_one_byte_where_it_can(rng, n_thresholds, dtype):
    (thresholds,), bins = bin_features(rng.normal(size=(1000, 1)), n_thresholds)
    assert bins.dtype == dtype
    assert bins.max() == len(thresholds) == (n_thresholds or 999)


def test_a_constant_feature_has_no_threshold():
    (thresholds,), bins = bin_features(np.full((5, 1), 3.0), 255)
    assert len(thresholds) == 0
    assert not bins.any()
