"""Coordinates of search engines, compared with plain loops."""

from itertools import pairwise
from math import isnan

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import make_queries
from localrank.rankers.query_coordinates.query_coordinates import min_max, rank_differences


@pytest.fixture
def tied():
    """Lists of 1 to 12 documents: column 0 has ties, 1 few, 2 none, 3 is constant."""
    dataset, _ = make_queries(30, n_documents=(1, 12), n_features=4, n_types=1, random_state=3)
    features = dataset.features.copy()
    features[:, 0] = features[:, 0].round()
    features[:, 1] = features[:, 1].round(1)
    features[:, 3] = dataset.query_index - 7.0
    return dataset.with_features(features)


@pytest.fixture
def holed(tied, rng):
    features = tied.features.copy()
    features[rng.random(features.shape) < 0.3] = np.nan
    features[tied.query_index == 4, 2] = np.nan
    return tied.with_features(features)


def columns(dataset, table):
    """Each query's values of each column, and their coordinates."""
    for begin, end in pairwise(dataset.offsets):
        for column in range(dataset.n_features):
            yield dataset.features[begin:end, column].tolist(), table[begin:end, column].tolist()


def same(a, b):
    return a == b or (isnan(a) and isnan(b))


@pytest.mark.parametrize("data", ["tied", "holed"])
def test_min_max_is_the_share_of_the_range_to_the_last_bit_of_the_engine(data, request):
    dataset = request.getfixturevalue(data)
    for values, result in columns(dataset, min_max(dataset.features, dataset.offsets)):
        present = [value for value in values if not isnan(value)]
        low, high = min(present, default=0.0), max(present, default=0.0)
        factor = 1.0 / (high - low) if high > low else 0.0
        middle = (low + high) * 0.5 if high > low else 0.0
        for value, coordinate in zip(values, result, strict=True):
            assert same(coordinate, 0.5 + factor * (value - middle))
            if high > low and not isnan(value):
                assert coordinate == pytest.approx((value - low) / (high - low), abs=1e-12)


def test_constant_values_lie_in_the_middle(tied):
    assert_array_equal(min_max(tied.features, tied.offsets)[:, 3], 0.5)


@pytest.mark.parametrize("data", ["tied", "holed"])
def test_rank_differences_count_documents_below_less_those_above(data, request):
    dataset = request.getfixturevalue(data)
    for values, result in columns(dataset, rank_differences(dataset.features, dataset.offsets)):
        for value, coordinate in zip(values, result, strict=True):
            expected = sum(v < value for v in values) - sum(v > value for v in values)
            assert same(coordinate, np.nan if isnan(value) else float(expected))


def reciprocal_rank(values, k=60.0):
    """Ranks as in Vespa: equal values in the order in which they come, missing ones last."""
    keys = [-np.inf if isnan(value) else value for value in values]
    order = sorted(range(len(values)), key=lambda i: -keys[i])
    ranks = [order.index(i) + 1 for i in range(len(values))]
    return [1.0 / (k + rank) for rank in ranks]


@pytest.mark.parametrize("data", ["tied", "holed"])
def test_reciprocal_ranks_that_break_ties_by_position_give_rank_differences(data, request):
    dataset = request.getfixturevalue(data)
    rng = np.random.default_rng(0)
    for values, result in columns(dataset, rank_differences(dataset.features, dataset.offsets)):
        order = rng.permutation(len(values))
        mixed = [values[i] for i in order]
        falling, rising = reciprocal_rank([-v for v in mixed]), reciprocal_rank(mixed)
        for place, i in enumerate(order):
            if not isnan(values[i]):
                assert np.floor(0.5 + 1 / falling[place] - 1 / rising[place]) == result[i]


@pytest.mark.parametrize("make", [min_max, rank_differences])
def test_documents_and_queries_may_come_in_any_order(make, holed, rng):
    order = np.lexsort((rng.random(holed.n_documents), holed.query_index))
    table = make(holed.features, holed.offsets)
    assert_array_equal(make(holed.features[order], holed.offsets), table[order])
    for query in range(holed.n_queries):
        rows = slice(*holed.offsets[query : query + 2])
        documents = holed.features[rows]
        assert_array_equal(make(documents, np.array([0, len(documents)])), table[rows])


@pytest.mark.parametrize("make", [min_max, rank_differences])
def test_single_precision_stays_and_is_only_rounded_at_the_end(make, holed):
    single = holed.features.astype(np.float32)
    result = make(single, holed.offsets)
    assert result.dtype == np.float32
    exact = make(single.astype(np.float64), holed.offsets)
    assert_array_equal(result, exact.astype(np.float32))
    assert_array_equal(single, holed.features.astype(np.float32))


@pytest.mark.parametrize("make", [min_max, rank_differences])
def test_values_of_any_size_have_coordinates(make):
    most = np.finfo(np.float64).max
    for values in ([-most, 0.0, most], [0.0, 5e-324, 1e-323], [most, most, most], [-0.0, 0.0, 1.0]):
        result = make(np.array(values)[:, None], np.array([0, 3])).ravel()
        assert np.isfinite(result).all()
        assert (np.diff(result) >= 0).all()
    wide = min_max(np.array([[-most], [0.0], [most]]), np.array([0, 3]))
    assert_allclose(wide.ravel(), [0.0, 0.5, 1.0], atol=1e-15)
