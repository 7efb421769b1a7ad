from itertools import pairwise

import numpy as np
import pytest

from localrank.data import RankingDataset
from localrank.export.vespa.application import Expressions, normalize_linear, reciprocal_rank


@pytest.fixture
def compute():
    dataset = RankingDataset.from_arrays([[1.0], [2.0], [4.0]], qid=["a", "a", "b"])

    def value(expression, **functions):
        features = {"attribute": lambda _: dataset.features[:, 0], "query": {"group": 1.0}.get}
        return Expressions(functions, dataset, features).value(expression)

    return value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 - 2 - 3", -4),
        ("8 / 4 / 2", 1),
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-2 * -(3 + 1)", 8),
        ("0.5 + -1.5e-3 * 1E+2", 0.35),
        ("if (query(group) == 1, 7, 8)", 7),
        ("if (query(group) == 0, 7, if (query(group) == 2, 8, 9))", 9),
        ("max(-3.0, min(3.0, 5))", 3),
        ("floor(-0.5)", -1),
    ],
)
def test_numbers_are_computed_as_written(compute, expression, expected):
    assert compute(expression) == pytest.approx(expected, rel=1e-15)


def test_functions_are_computed_by_document(compute):
    doubled = compute("one + one", one="attribute(x) * attribute(x)")
    np.testing.assert_array_equal(doubled, [2, 8, 32])


def test_sums_are_added_from_left_to_right(compute):
    assert compute("1e16 + 1 + 1") == 1e16
    assert compute("1 + 1 + 1e16") == 1e16 + 2


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 2", "should end before '2'"),
        ("(1 + 2", r"lacks '\)' at token 5"),
        ("1 % 2", "cannot be read at ' % 2'"),
        ("sigmoid(1)", "calls 'sigmoid', which no export writes"),
    ],
)
def test_what_no_export_writes_is_refused(compute, expression, message):
    with pytest.raises(ValueError, match=message):
        compute(expression)


@pytest.fixture
def lists(rng):
    """Values with ties, missing ones, a constant list, a list of one and one without values."""
    values = rng.integers(0, 6, 60) / 7
    values[rng.random(60) < 0.2] = np.nan
    values[40:50] = 0.3
    values[50] = 2.0
    values[51:55] = np.nan
    values[55:] = [1.0, np.inf, -np.inf, 3.0, 2.0]
    return values, np.array([0, 15, 40, 50, 51, 55, 60])


def test_linear_normalizers_stretch_each_list_from_zero_to_one(lists):
    values, offsets = lists
    result = normalize_linear(values, offsets)
    for begin, end in pairwise(offsets):
        part = values[begin:end]
        finite = part[np.isfinite(part)]
        if len(set(finite)) < 2:
            expected = np.where(np.isfinite(part), 0.5, np.nan)
        else:
            expected = (part - finite.min()) / np.ptp(finite)
        np.testing.assert_allclose(result[begin:end], expected, atol=1e-15)


def test_reciprocal_ranks_break_ties_by_the_order_of_the_hits(lists):
    values, offsets = lists
    result = reciprocal_rank(values, offsets)
    for begin, end in pairwise(offsets):
        part = [-np.inf if np.isnan(value) else value for value in values[begin:end]]
        order = sorted(range(len(part)), key=lambda place: (-part[place], place))
        expected = [1 / (61 + order.index(place)) for place in range(len(part))]
        np.testing.assert_array_equal(result[begin:end], expected)
