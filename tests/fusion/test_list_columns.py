"""Columns of lists: scores made comparable, and ranks."""

from itertools import pairwise

import naive_fusion
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.fusion._list_columns import list_columns


@pytest.fixture
def scores():
    """Scores of three lists with ties; documents, and whole queries, are missing."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 6, (200, 3)).astype(float)
    table[rng.random(table.shape) < 0.4] = np.nan
    offsets = np.array([0, 1, 30, 31, 90, 200])
    table[1:30, 1] = np.nan
    table[31:90, 2] = 4.0
    return table, offsets


def test_columns_are_those_of_the_definition(scores):
    table, offsets = scores
    for place in range(3):
        fast = list_columns(table[:, place], offsets)
        for begin, end in pairwise(offsets):
            given = [None if np.isnan(s) else s for s in table[begin:end, place].tolist()]
            assert_allclose(fast[begin:end], naive_fusion.list_columns(given), atol=1e-12)


def test_the_order_of_documents_changes_no_bit(scores):
    values = scores[0][:, 0] ** 3 * np.pi
    order = np.random.default_rng(1).permutation(200)
    expected = list_columns(values, np.array([0, 200]))[order]
    assert_array_equal(list_columns(values[order], np.array([0, 200])), expected)


def test_the_unit_of_scores_does_not_matter(scores):
    table, offsets = scores
    plain = list_columns(table[:, 0], offsets)
    other = list_columns(table[:, 0] * 0.37 - 11.0, offsets)
    assert_allclose(other[:, 1:], plain[:, 1:], atol=1e-12)


def test_scores_that_differ_by_rounding_alone_are_equal():
    columns = list_columns(np.array([0.1 + 0.2, 0.3, np.nan]), np.array([0, 3]))
    assert_array_equal(columns[:, 1], 0.0)
    assert_array_equal(columns[:, 2], [1.0, 1.0, 0.0])
