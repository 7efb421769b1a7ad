"""Queries in sets, drawn again, and the bounds that draws give."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from localrank.clicks._swaps import MAX_SETS, Resampling, sets_of


def test_bounds_are_those_of_t_for_few_sets_and_of_the_normal_for_many():
    moved = stats.norm.ppf(np.linspace(1e-4, 1 - 1e-4, 20_001))[:, None]
    resampling = Resampling.drawn(5, 20, 0)
    low, high = resampling.bounds(moved, 0.95, 20)
    assert_allclose([low[0], high[0]], np.array([-1, 1]) * 2.093 * np.sqrt(20 / 19), rtol=2e-3)
    low, high = resampling.bounds(moved, 0.9, 100_000)
    assert_allclose([low[0], high[0]], [-1.645, 1.645], rtol=2e-3)
    assert np.isnan(list(resampling.bounds(moved, 0.95, 1))).all()


def test_draws_have_as_many_sets_as_there_are():
    resampling = Resampling.drawn(7, 30, 0)
    assert resampling.counts.shape == (30, 7)
    assert_array_equal(resampling.counts.sum(axis=1), 7)
    values = np.arange(14.0).reshape(7, 2)
    assert_allclose(resampling.totals(values), resampling.counts @ values)
    assert_allclose(resampling.changes(values), resampling.counts @ values - values.sum(axis=0))


def test_many_queries_share_sets_of_about_equal_size():
    sets, n_sets = sets_of(MAX_SETS)
    assert_array_equal(sets, np.arange(MAX_SETS))
    sets, n_sets = sets_of(2 * MAX_SETS + 500)
    assert n_sets == MAX_SETS
    assert set(np.bincount(sets).tolist()) == {2, 3}
