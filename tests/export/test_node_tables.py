import math
import operator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.random_trees import VALUES, random_documents, random_trees

from localrank.export._node_tables import (
    NodeTable,
    in_single_precision,
    largest_single_at_most,
    node_tables,
    siblings_together,
    single_sum,
)

SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
# Thresholds of every magnitude, and near what single precision can hold.
THRESHOLDS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    SINGLES,
    SINGLES.map(lambda value: math.nextafter(value, math.inf)),
    SINGLES.map(lambda value: math.nextafter(value, -math.inf)),
    st.sampled_from(VALUES.tolist()),
)
ENGINES = {"<": operator.lt, "<=": operator.le}


def stump(threshold, *, default_left=False):
    return NodeTable(
        features=np.array([0, -1, -1]),
        thresholds=np.array([threshold, 0.0, 0.0]),
        lefts=np.array([1, -1, -1]),
        rights=np.array([2, -1, -1]),
        default_lefts=np.array([default_left, False, False]),
        values=np.array([0.0, 1.0, 2.0]),
    )


def neighbours(value):
    """The finite numbers of single precision around a value."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
        below, above = (np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))
    return [float(number) for number in (below, near, above) if np.isfinite(number)]


def leaf(table, value, goes_left):
    """Where a value ends, by Python's own comparison of numbers."""
    return table.values[(table.lefts if goes_left(value, table.thresholds[0]) else table.rights)[0]]


@pytest.mark.parametrize("comparison", ENGINES)
@given(threshold=THRESHOLDS, value=SINGLES)
def test_every_single_goes_where_at_most_sends_it(comparison, threshold, value):
    moved = in_single_precision(stump(threshold), comparison)
    for number in [value, 0.0, -0.0, *neighbours(threshold)]:
        expected = 1.0 if number <= threshold else 2.0
        assert leaf(moved, number, ENGINES[comparison]) == expected


@pytest.mark.parametrize("comparison", ENGINES)
@given(threshold=THRESHOLDS, default_left=st.booleans())
def test_thresholds_are_finite_singles_and_missing_values_stay(comparison, threshold, default_left):
    moved = in_single_precision(stump(threshold, default_left=default_left), comparison)
    assert np.isfinite(moved.thresholds).all()
    assert (moved.thresholds == moved.thresholds.astype(np.float32)).all()
    assert moved.outputs(np.array([[np.nan]]), np.less) == (1.0 if default_left else 2.0)


def test_leaves_are_rounded_to_singles():
    tenths = replace(stump(0.5), values=np.array([0.0, 0.1, 0.2]))
    rounded = in_single_precision(tenths, "<").values
    assert rounded.tolist() == [0.0, float(np.float32(0.1)), float(np.float32(0.2))]


@given(value=THRESHOLDS)
def test_no_single_lies_between_a_value_and_the_largest_below(value):
    (below,) = largest_single_at_most(np.array([value]))
    assert below <= value
    with np.errstate(over="ignore"):
        # After -inf comes the least number.
        following = float(np.nextafter(np.float32(below), np.float32(np.inf)))
    assert following > value


def test_tables_score_as_the_trees(rng):
    trees = random_trees(rng, 20, 9)
    flags = rng.choice(np.array([0, 2, 8, 10], np.uint8), len(trees.decisions))
    trees = replace(trees, decisions=flags)
    documents = random_documents(rng, 300, np.float64, trees.thresholds)
    total = np.zeros(len(documents))
    for table in node_tables(trees):
        total += table.outputs(documents, np.less_equal)
    assert (total == trees.score(documents)).all()


def test_siblings_stand_together_and_score_as_before(rng):
    trees = random_trees(rng, 20, 9)
    features = random_documents(rng, 200, np.float64, trees.thresholds)
    for table in node_tables(trees):
        moved = siblings_together(table)
        splits = moved.features >= 0
        np.testing.assert_array_equal(moved.rights[splits], moved.lefts[splits] + 1)
        np.testing.assert_array_equal(
            moved.outputs(features, np.less_equal), table.outputs(features, np.less_equal)
        )


def test_depths_count_the_splits_above(rng):
    for table in node_tables(random_trees(rng, 10, 9)):
        depths = table.depths
        assert depths[0] == 0
        for row in np.flatnonzero(table.features >= 0):
            assert (depths[[table.lefts[row], table.rights[row]]] == depths[row] + 1).all()


def test_sums_round_after_each_term():
    # In single precision 1 is lost beside 2^24, twice; 2 is not.
    terms = [np.array([2.0**24]), np.array([1.0]), np.array([1.0])]
    assert single_sum(terms) == 2.0**24
    assert single_sum(terms[1:] + terms[:1]) == 2.0**24 + 2
