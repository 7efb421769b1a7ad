import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import median_abs_deviation, rankdata

from localrank.rankers.query_coordinates import _coordinates
from localrank.rankers.query_coordinates._coordinates import (
    N_AGGREGATES,
    SharedCoordinates,
    coordinates,
    shared_coordinates,
)

ROUNDING = np.finfo(float).eps


def parts_of(features, offsets, parts="zpab"):
    """The blocks of columns after the features, by their letters."""
    table = coordinates(features, offsets, parts)
    width = features.shape[1]
    widths = [N_AGGREGATES if part == "a" else width for part in parts]
    blocks = np.split(table[:, width:], np.cumsum(widths)[:-1], axis=1)
    return dict(zip(parts, blocks, strict=True))


def of_one_query(features):
    return parts_of(np.asarray(features), np.array([0, len(features)]))


def slow(X):
    """The coordinates of one query by their definitions, without components and their ranks."""
    n = len(X)
    constant = np.array([len(set(column)) == 1 for column in X.T])
    z, p, b = np.zeros(X.shape), np.full(X.shape, (n + 1) / (2 * n)), np.zeros(X.shape)
    for j in np.flatnonzero(~constant):
        x = X[:, j]
        z[:, j] = (x - x.mean()) / x.std()
        p[:, j] = rankdata(x) / n
        scale = 1.4826 * median_abs_deviation(x) + 0.1 * x.std()
        b[:, j] = np.clip((x - np.median(x)) / scale, -20, 20)
    P = p[:, ~constant] if not constant.all() else p[:, :1]
    mean, fusion = P.mean(axis=1), (10 / (10 + n * (1 - P))).mean(axis=1)
    # Values that are equal up to rounding count as equal.
    ranks = [rankdata(values.round(10)) / n for values in (mean, fusion)]
    a = np.column_stack([mean, ranks[0], fusion, ranks[1], P.std(axis=1)])
    return {"z": z, "p": p, "b": b, "a": a, "constant": constant}


def first_component(columns):
    """The first principal component, and whether it is determined, with its sign."""
    if columns.shape[1] == 0:
        return np.zeros(len(columns)), True
    centred = columns - columns.mean(axis=0)
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    apart = len(lengths) == 1 or lengths[1] < 0.999 * lengths[0]
    total = directions[0].sum()
    return np.sign(total) * (centred @ directions[0]), apart and abs(total) > 1e-3


@st.composite
def queries(draw, max_documents=40, max_width=7, most_levels=10**6):
    """Queries of any size whose features have ties, few or many, and any unit."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = draw(st.lists(st.integers(1, max_documents), min_size=1, max_size=4))
    width = draw(st.integers(1, max_width))
    levels = rng.choice([1, 2, 3, 20, most_levels], width)
    values = rng.integers(0, levels, (sum(sizes), width)).astype(float)
    return values * 10.0 ** rng.integers(-9, 8, width), np.cumsum([0, *sizes])


@settings(max_examples=150)
@given(queries())
def test_coordinates_are_what_their_definitions_say(data):
    features, offsets = data
    result = parts_of(features, offsets)
    for begin, end in pairwise(offsets):
        expected = slow(features[begin:end])
        for part in "zb":
            assert_allclose(result[part][begin:end], expected[part], rtol=1e-9, atol=1e-9)
        assert_allclose(result["p"][begin:end], expected["p"], rtol=4 * ROUNDING)
        assert_allclose(result["a"][begin:end][:, [0, 1, 2, 3, 8]], expected["a"], atol=1e-9)
        constant = expected["constant"]
        for column, part in {4: "p", 6: "z"}.items():
            scores, determined = first_component(expected[part][:, ~constant])
            if determined:
                assert_allclose(result["a"][begin:end, column], scores, atol=1e-6)


@settings(max_examples=60)
@given(queries())
def test_each_aggregate_but_the_last_is_followed_by_its_percentile(data):
    features, offsets = data
    a = parts_of(features, offsets)["a"]
    for begin, end in pairwise(offsets):
        for column in range(0, 8, 2):
            expected = rankdata(a[begin:end, column]) / (end - begin)
            assert_allclose(a[begin:end, column + 1], expected, rtol=4 * ROUNDING)


def test_long_queries_are_served(rng):
    features = rng.normal(size=(700, 5)).round(1) + rng.normal(size=(700, 1)).round(1)
    result, expected = of_one_query(features), slow(features)
    for part in "zpb":
        assert_allclose(result[part], expected[part], atol=1e-9)
    assert_allclose(result["a"][:, [0, 1, 2, 3, 8]], expected["a"], atol=1e-9)
    assert_allclose(result["a"][:, 4], first_component(expected["p"])[0], atol=1e-6)
    assert_allclose(result["a"][:, 6], first_component(expected["z"])[0], atol=1e-6)


def test_a_small_query_by_hand():
    result = of_one_query([[1.0, 7.0], [3.0, 7.0], [3.0, 7.0], [9.0, 7.0]])
    assert_allclose(result["z"][:, 0], [-1, -1 / 3, -1 / 3, 5 / 3])
    assert_array_equal(result["p"][:, 0], [0.25, 0.625, 0.625, 1.0])
    # The median is 3. Absolute deviations 2, 0, 0, 6 have median 1. The standard deviation is 3.
    assert_allclose(result["b"][:, 0], np.array([-2.0, 0, 0, 6]) / (1.4826 + 0.3))
    for part, value in {"z": 0.0, "b": 0.0, "p": 0.625}.items():
        assert_array_equal(result[part][:, 1], value)
    percentiles = np.array([0.25, 0.625, 0.625, 1.0])
    fusion = [10 / 13, 10 / 11.5, 10 / 11.5, 1.0]
    centred = percentiles - 0.625
    columns = [percentiles, fusion, centred, np.array([-1, -1 / 3, -1 / 3, 5 / 3])]
    expected = np.column_stack([v for c in columns for v in (c, percentiles)] + [np.zeros(4)])
    assert_allclose(result["a"], expected, atol=1e-9)


@pytest.mark.parametrize("width", [3, 7, 10])
def test_features_that_agree_have_no_spread(width, rng):
    column = rng.normal(size=(13, 1))
    assert_array_equal(of_one_query(np.repeat(column, width, axis=1))["a"][:, 8], 0.0)


def test_an_outlier_lies_at_the_bound_on_either_side():
    column = np.concatenate([np.arange(8000.0), [1e9]])[:, None]
    assert_array_equal(of_one_query(column)["b"][-1], 20.0)
    assert_array_equal(of_one_query(-column)["b"][-1], -20.0)


def test_one_document_is_neutral():
    table = coordinates(np.array([[3.0, -1e7]]), np.array([0, 1]), "zpab")
    expected = [3, -1e7, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0]
    assert_array_equal(table, [expected])


def test_equal_documents_alone_are_neutral():
    result = of_one_query(np.full((4, 2), 0.1))
    assert_array_equal(result["z"], 0.0)
    assert_array_equal(result["b"], 0.0)
    assert_array_equal(result["p"], 0.625)
    expected = [0.625, 0.625, 10 / 11.5, 0.625, 0, 0.625, 0, 0.625, 0]
    assert_allclose(result["a"], np.tile(expected, (4, 1)), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.3, -0.3, 1.2e7, 1e-9, 1e30])
def test_a_feature_that_differs_by_rounding_only_is_constant(value, dtype, rng):
    column = np.full(9, value, dtype)
    column[[2, 5]] = np.nextafter(dtype(value), dtype(0))
    column[7] *= dtype(1 + 2 * np.finfo(dtype).eps)
    assert len(set(column)) == 3
    other = rng.normal(size=(9, 1)).astype(dtype)
    result = of_one_query(np.column_stack([column, other]))
    assert_array_equal(result["z"][:, 0], 0.0)
    assert_array_equal(result["b"][:, 0], 0.0)
    assert_array_equal(result["p"][:, 0], dtype(10 / 18))
    assert_array_equal(result["a"], of_one_query(other)["a"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [-0.3, 1.2e7, 1e-9, 1e-30])
def test_a_small_difference_counts(value, dtype):
    column = np.array([[value], [value * (1 + 40 * np.finfo(dtype).eps)]], dtype)
    result = of_one_query(column)
    upper = 2 * (column > column.mean()) - 1
    assert_array_equal(result["z"], upper)
    assert_array_equal(result["p"], 0.75 + 0.25 * upper)


@pytest.mark.parametrize(
    "column",
    [[-1.7e308, 1.7e308, 0.0], [0.0, 1e-320, 1e-310], [5e-324, 0.0, 0.0], [1.7e308, 1.6e308, 1]],
)
def test_values_at_the_ends_of_the_number_range_have_finite_coordinates(column):
    table = coordinates(np.array(column)[:, None], np.array([0, 3]), "zpab")
    assert np.isfinite(table).all()


@settings(max_examples=100)
@given(data=queries(most_levels=100), shift=st.floats(-1e3, 1e3), power=st.integers(-12, 12))
def test_shifting_and_scaling_features_within_queries_changes_nothing(data, shift, power):
    features, offsets = data
    features = features / np.where(features.max(axis=0) > 0, features.max(axis=0), 1.0)
    rng = np.random.default_rng(0)
    n_queries, width = len(offsets) - 1, features.shape[1]
    query = np.repeat(np.arange(n_queries), np.diff(offsets))
    factors = rng.uniform(0.5, 2.0, (n_queries, width)) * 10.0**power
    moved = (features + shift * rng.normal(size=(n_queries, width))[query]) * factors[query]
    before, after = parts_of(features, offsets), parts_of(moved, offsets)
    assert_array_equal(after["p"], before["p"])
    # Shifting rounds values of up to some 1e3, where the smallest difference is 1e-2.
    for part in "zb":
        assert_allclose(after[part], before[part], rtol=0, atol=1e-9)
    assert_array_equal(after["a"][:, [0, 1, 2, 3, 4, 5, 8]], before["a"][:, [0, 1, 2, 3, 4, 5, 8]])


@settings(max_examples=60)
@given(data=queries(), seed=st.integers(0, 1000))
def test_documents_may_come_in_any_order(data, seed):
    features, offsets = data
    rng = np.random.default_rng(seed)
    order = np.concatenate([b + rng.permutation(e - b) for b, e in pairwise(offsets)])
    before, after = parts_of(features, offsets), parts_of(features[order], offsets)
    for part in "zpb":
        assert_array_equal(after[part], before[part][order])
    assert_allclose(after["a"], before["a"][order], rtol=0, atol=1e-9)


@settings(max_examples=300)
@given(
    n=st.integers(2, 7),
    width=st.integers(1, 5),
    levels=st.integers(2, 4),
    seed=st.integers(0, 10**6),
)
def test_components_of_few_values_do_not_depend_on_the_order_either(n, width, levels, seed):
    # Here variances are often equal, loadings often sum to zero, scores are often tied.
    rng = np.random.default_rng(seed)
    features, order = rng.integers(0, levels, (n, width)).astype(float), rng.permutation(n)
    before, after = of_one_query(features)["a"], of_one_query(features[order])["a"]
    assert_allclose(after, before[order], rtol=0, atol=1e-9)


@settings(max_examples=60)
@given(data=queries(), seed=st.integers(0, 1000))
def test_equal_documents_have_equal_coordinates(data, seed):
    features, offsets = data
    rows = np.repeat(np.arange(len(features)), 2)
    twice = coordinates(features[rows], 2 * offsets, "zpab")
    assert_array_equal(twice[::2], twice[1::2])


@settings(max_examples=60)
@given(queries())
def test_a_query_alone_has_the_coordinates_it_has_among_others(data):
    features, offsets = data
    among = coordinates(features, offsets, "zpab")
    for begin, end in pairwise(offsets):
        alone = coordinates(features[begin:end], np.array([0, end - begin]), "zpab")
        assert_array_equal(alone, among[begin:end])


def test_single_precision_is_computed_in_double(rng):
    small = (1e3 + rng.normal(size=(60, 6))).astype(np.float32)
    offsets = np.array([0, 20, 21, 60])
    result = coordinates(small, offsets, "zpab")
    assert result.dtype == np.float32
    assert_array_equal(result, coordinates(small.astype(float), offsets, "zpab").astype(np.float32))


@pytest.mark.parametrize("parts", ["z", "p", "a", "b", "zp", "pa", "ab", "zpa"])
def test_parts_stand_after_the_features_in_their_order(parts, rng):
    features, offsets = rng.normal(size=(30, 4)), np.array([0, 12, 30])
    every = parts_of(features, offsets)
    expected = np.hstack([features, *(every[part] for part in parts)])
    assert_array_equal(coordinates(features, offsets, parts), expected)


def test_rankers_inside_a_scope_share_one_table(rng, monkeypatch):
    features, offsets = rng.normal(size=(20, 3)), np.array([0, 8, 20])
    made = []

    def counted(*arguments):
        made.append(arguments)
        return coordinates(*arguments)

    monkeypatch.setattr(_coordinates, "coordinates", counted)
    with SharedCoordinates():
        first = shared_coordinates(features, offsets, "zpa")
        with SharedCoordinates():
            assert shared_coordinates(features, offsets, "zpab") is first
        assert shared_coordinates(features, offsets, "zp") is first
        assert len(made) == 1
        # Equal arrays may have other queries, and other arrays may have been changed.
        assert shared_coordinates(features, offsets.copy(), "zpab") is not first
    assert_array_equal(first, coordinates(features, offsets, "zpab"))
    assert shared_coordinates(features, offsets, "zp").shape == (20, 9)


def test_no_table_outlives_the_scope_even_after_an_error(rng):
    features, offsets = rng.normal(size=(20, 3)), np.array([0, 8, 20])
    tables = []

    def fails():
        with SharedCoordinates():
            tables.append(weakref.ref(shared_coordinates(features, offsets, "zpab")))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert tables[0]() is None


def test_other_threads_do_not_share(rng):
    features, offsets = rng.normal(size=(20, 3)), np.array([0, 8, 20])
    with SharedCoordinates(), ThreadPoolExecutor(1) as pool:
        mine = shared_coordinates(features, offsets, "zpab")
        theirs = pool.submit(shared_coordinates, features, offsets, "zp").result()
    assert (mine.shape[1], theirs.shape[1]) == (21, 9)
