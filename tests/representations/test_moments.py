import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from localrank.data import RankingDataset
from localrank.representations import Mean, Skew, Variance
from localrank.representations.moments import query_means

MOMENTS = {Mean: np.mean, Variance: np.var, Skew: stats.skew}


def describe(kind, X, qid):
    dataset = RankingDataset.from_arrays(X, qid=qid)
    return kind().fit(dataset).transform(dataset)


@pytest.mark.parametrize("kind", MOMENTS)
def test_each_query_has_its_own_moments(kind, queries):
    points = kind().fit(queries).transform(queries)
    clouds = np.split(queries.features, queries.offsets[1:-1])
    assert_allclose(points, [MOMENTS[kind](cloud, axis=0) for cloud in clouds], rtol=1e-9)


def test_the_skew_is_the_papers_formula(rng):
    x = rng.exponential(size=(30, 4))
    mean = x.sum(axis=0) / 30
    deviation = np.sqrt(((x - mean) ** 2).sum(axis=0) / 30)
    expected = ((x - mean) ** 3).sum(axis=0) / 30 / deviation**3
    assert_allclose(describe(Skew, x, np.zeros(30)), [expected])


@pytest.mark.parametrize("kind", [Variance, Skew])
def test_a_large_offset_takes_no_digits(kind, rng):
    # Whole numbers, so that the shifted values are exact.
    x = rng.integers(0, 1000, size=(50, 3)).astype(float)
    assert_allclose(
        describe(kind, x + 2.0**50, np.zeros(50)), describe(kind, x, np.zeros(50)), rtol=1e-12
    )


@pytest.mark.parametrize("value", [0.1, -1e9 / 3, 1e-300, 1e100])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_a_constant_feature_is_constant_to_the_last_bit(value, n):
    x = np.full((n, 1), value)
    assert_array_equal(describe(Mean, x, np.zeros(n)), [[value]])
    assert_array_equal(describe(Variance, x, np.zeros(n)), [[0]])
    assert_array_equal(describe(Skew, x, np.zeros(n)), [[0]])


def test_values_that_differ_in_the_last_bit_only_are_not_constant():
    x = np.array([[1.0], [1.0], [np.nextafter(1.0, 2.0)]])
    assert_allclose(describe(Skew, x, np.zeros(3)), [[np.sqrt(0.5)]])


@pytest.mark.parametrize("factor", [1e-200, 1e-8, 1e8, 1e90])
def test_the_skew_has_no_unit(queries, factor):
    other = queries.with_features(queries.features * factor)
    assert_allclose(Skew().fit(other).transform(other), Skew().fit(queries).transform(queries))


def test_weighted_means_are_those_of_numpy(queries, rng):
    weights = rng.uniform(size=queries.n_documents)
    parts = np.split(queries.features, queries.offsets[1:-1])
    shares = np.split(weights, queries.offsets[1:-1])
    expected = [np.average(x, axis=0, weights=w) for x, w in zip(parts, shares, strict=True)]
    assert_allclose(query_means(queries.features, queries.offsets, weights), expected)
