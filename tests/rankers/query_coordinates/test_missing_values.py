"""Coordinates of documents with missing features, compared with plain loops."""

from itertools import pairwise
from math import isnan
from statistics import fmean, median, pstdev

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import make_queries
from localrank.rankers import LambdaMART, QueryCoordinates, RankSVM
from localrank.rankers.query_coordinates import _missing_values as missing_values
from localrank.rankers.query_coordinates._coordinates import coordinates
from localrank.rankers.query_coordinates._missing_values import coordinates_of_present


@pytest.fixture
def complete():
    return make_queries(25, n_documents=(1, 12), n_features=6, random_state=3)[0]


@pytest.fixture
def holed(complete):
    """Features 1 and 4 lack values, 2 in whole queries, 5 always; every fourth query has all."""
    rng = np.random.default_rng(0)
    features = complete.features.round(1)
    features[rng.random(len(features)) < 0.4, 1] = np.nan
    features[rng.random(len(features)) < 0.1, 4] = np.nan
    features[complete.query_index % 3 == 0, 2] = np.nan
    features[0] = np.nan
    features[:, 5] = np.nan
    whole = complete.query_index % 4 == 1
    features[whole] = complete.features[whole]
    return complete.with_features(features)


def naive_column(values):
    """z, p and b of a list of values; NaN for NaN."""
    known = [v for v in values if not isnan(v)]
    m = len(known)
    result = []
    for value in values:
        if isnan(value):
            result.append((np.nan,) * 3)
            continue
        rank = sum(v < value for v in known) + (sum(v == value for v in known) + 1) / 2
        deviation = pstdev(known)
        if max(known) == min(known):
            result.append((0.0, (m + 1) / (2 * m), 0.0))
            continue
        middle = median(known)
        scale = 1.4826 * median(abs(v - middle) for v in known) + 0.1 * deviation
        b = min(max((value - middle) / scale, -20), 20)
        result.append(((value - fmean(known)) / deviation, rank / m, b))
    return result


def naive_blocks(dataset):
    z, p, b = np.empty((3, *dataset.features.shape))
    for begin, end in pairwise(dataset.offsets):
        for column in range(dataset.n_features):
            naive = naive_column(dataset.features[begin:end, column].tolist())
            z[begin:end, column], p[begin:end, column], b[begin:end, column] = zip(
                *naive, strict=True
            )
    return z, p, b


def test_coordinates_are_those_among_the_values_present(holed):
    table = coordinates_of_present(holed.features, holed.offsets, "zpb")
    z, p, b = naive_blocks(holed)
    assert_allclose(table, np.hstack([holed.features, z, p, b]), rtol=1e-9, atol=1e-9)


def test_aggregates_are_of_the_features_a_document_has(holed):
    table = coordinates_of_present(holed.features, holed.offsets, "a")[:, 6:]
    z, p, _ = naive_blocks(holed)
    for begin, end in pairwise(holed.offsets):
        n = end - begin
        varying = [c for c in range(6) if (np.nan_to_num(z[begin:end, c]) != 0).any()]
        for row in range(begin, end):
            known = [p[row, c] for c in varying if not isnan(p[row, c])] or [(n + 1) / (2 * n)]
            assert table[row, 0] == pytest.approx(fmean(known), abs=1e-9)
            assert table[row, 2] == pytest.approx(
                fmean(10 / (10 + n * (1 - value)) for value in known), abs=1e-9
            )
            assert table[row, 8] == pytest.approx(pstdev(known), abs=1e-7)


def test_in_the_components_a_missing_value_is_the_mean(holed):
    table = coordinates_of_present(holed.features, holed.offsets, "a")[:, 6:]
    z, p, _ = naive_blocks(holed)
    n_told = 0
    for begin, end in pairwise(holed.offsets):
        for values, column in ((p[begin:end], 4), (z[begin:end], 6)):
            with np.errstate(all="ignore"):
                sums, counts = np.nansum(values, axis=0), np.sum(~np.isnan(values), axis=0)
            centred = np.nan_to_num(values - sums / np.maximum(counts, 1))
            _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
            total = directions[0].sum()
            if len(lengths) > 1 and lengths[1] < 0.99 * lengths[0] and abs(total) > 1e-2:
                expected = np.sign(total) * (centred @ directions[0])
                assert_allclose(table[begin:end, column], expected, atol=1e-6)
                n_told += 1
    assert n_told > 20


def test_whole_queries_have_the_coordinates_they_have_alone(holed, complete):
    table = coordinates_of_present(holed.features, holed.offsets, "zpab")
    expected = coordinates(complete.features, complete.offsets, "zpab")
    whole = complete.query_index % 4 == 1
    assert whole.any()
    assert_array_equal(table[whole], expected[whole])


def test_the_way_of_missing_values_gives_complete_queries_the_same_aggregates(complete):
    wanted = coordinates(complete.features, complete.offsets, "a")[:, 6:]
    zp = coordinates(complete.features, complete.offsets, "zp")[:, 6:]
    aggregates = np.empty((complete.n_documents, 9))
    missing_values._aggregate_present(
        np.ascontiguousarray(zp[:, :6]),
        np.ascontiguousarray(zp[:, 6:]),
        complete.offsets,
        aggregates,
    )
    assert_allclose(aggregates, wanted, atol=2.0**-31)


def test_the_order_of_documents_does_not_matter(holed):
    order = np.lexsort((np.random.default_rng(1).random(holed.n_documents), holed.query_index))
    table = coordinates_of_present(holed.features, holed.offsets, "zpab")
    mixed = coordinates_of_present(holed.features[order], holed.offsets, "zpab")
    assert_array_equal(mixed, table[order])


def test_linear_rankers_have_one_indicator_for_a_feature_and_its_coordinates(complete):
    features = complete.features.copy()
    features[::3, 1] = np.nan
    holed = complete.with_features(features)
    ranker = QueryCoordinates(RankSVM(), parts="zpb").fit(holed)
    assert_array_equal(ranker.ranker_.filling_.indicators, [1])


def test_a_missing_value_has_missing_coordinates_and_a_document_without_any_has_aggregates(holed):
    ranker = QueryCoordinates(LambdaMART(5, min_leaf_documents=5)).fit(holed)
    seen = ranker.expanded(holed).features[0]
    assert np.isnan(seen[:18]).all()
    assert np.isfinite(seen[18:27]).all()
    assert np.isnan(seen[27:]).all()


def test_single_precision_is_that_of_the_data(holed):
    single = coordinates_of_present(holed.features.astype(np.float32), holed.offsets, "zpab")
    double = coordinates_of_present(holed.features, holed.offsets, "zpab")
    assert single.dtype == np.float32
    assert_allclose(single[:, :18], double[:, :18], rtol=1e-4, atol=1e-4)
