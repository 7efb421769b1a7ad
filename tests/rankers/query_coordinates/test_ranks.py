import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from localrank.rankers.query_coordinates import _ranks
from localrank.rankers.query_coordinates._ranks import ORDERED, SHARES

# They are compiled into kernels, and here by themselves.
half_bounds, percentiles, prepare, room_for = (
    numba.njit(getattr(_ranks, name))
    for name in ("half_bounds", "percentiles", "prepare", "room_for")
)


def ranked(values):
    """Percentiles of one row, written to another; the shares, and the shares in order."""
    n = len(values)
    rows, result = np.vstack([np.full(n, 7.0), values]), np.full((3, n), np.nan)
    room = room_for(n + 5)
    prepare(room, n)
    low, high = half_bounds(rows, 1)
    percentiles(rows, 1, low, high - low, room, result, 2)
    assert np.isnan(result[:2]).all()
    return result[2], room.numbers[SHARES, :n], room.numbers[ORDERED, :n]


@settings(max_examples=300)
@given(
    n=st.integers(2, 400),
    n_levels=st.integers(2, 1000),
    power=st.sampled_from([1.0, 0.2, 30.0]),
    seed=st.integers(0, 10**6),
)
def test_lists_with_ties_have_the_ranks_of_scipy(n, n_levels, power, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_levels)[rng.integers(0, n_levels, n)]
    values[:2] = 5.0, 6.0
    values = np.sign(values) * np.abs(values) ** power
    p, shares, ordered = ranked(values)
    assert_array_equal(p, rankdata(values) / n)
    assert_array_equal(ordered, np.sort(shares))
    assert_allclose(shares, (values - values.min()) / np.ptp(values), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [2, 3, 15, 16, 17, 100, 127, 128, 129, 130, 500, 3000])
@pytest.mark.parametrize(
    "make",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: np.exp(5 * rng.normal(size=n)),
        lambda rng, n: np.append(rng.normal(size=n - 1), 1e12),
        lambda rng, n: np.append(rng.normal(size=n - 1), -1e12),
        lambda rng, n: np.append(np.zeros(n - 1), 1.0),
        lambda rng, n: np.arange(n)[::-1] * 1e-300,
        lambda rng, n: 1e6 + 1e-6 * rng.permutation(n),
        lambda rng, n: 2.0 ** -rng.permutation(np.arange(n) % 900),
    ],
)
def test_no_distribution_of_values_is_ranked_wrong(n, make, rng):
    values = make(rng, n).astype(float)
    p, shares, ordered = ranked(values)
    assert_array_equal(p, rankdata(values) / n)
    assert_array_equal(ordered, np.sort(shares))
    assert ordered[0] == 0
    assert ordered[-1] == 1


@pytest.mark.parametrize("n", [5, 200])
def test_values_whose_shares_are_equal_keep_their_ranks(n, rng):
    # Compared with the largest value, the share of these is rounded to zero.
    values = np.append(rng.permutation(n) * 1e-300, 1e300)
    p, _, _ = ranked(values)
    assert_array_equal(p, rankdata(values) / len(values))


def test_values_that_differ_in_the_last_bit_have_different_ranks(rng):
    values = np.append(rng.permutation(1 + np.arange(100) * np.finfo(float).eps), 3.0)
    p, _, _ = ranked(values)
    assert_array_equal(p, rankdata(values) / len(values))


@pytest.mark.parametrize("values", [[-1.7e308, 1.7e308], [0.0, 1e-320], [-0.0, 0.0, 1.0]])
def test_values_at_the_ends_of_the_number_range(values):
    p, shares, _ = ranked(np.array(values))
    assert_array_equal(p, rankdata(values) / len(values))
    assert_array_equal(shares, np.array(values) == max(values))
