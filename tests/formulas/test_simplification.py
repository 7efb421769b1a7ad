import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from localrank.data import RankingDataset
from localrank.formulas import (
    Column,
    Linear,
    Net,
    OnColumns,
    Routed,
    ServiceRouter,
    Standardised,
    TreeSum,
    WeightedSum,
    simplified,
)
from localrank.rankers.rank_boost.rank_boost import steps_as_tree

DATASET = RankingDataset.from_arrays(
    np.random.default_rng(0).normal(size=(20, 2)), qid=np.repeat(np.arange(4), 5)
)
LINEAR = Linear(np.array([1.0, -2.0]), 0.5)
TREES = TreeSum(steps_as_tree(2, 1, np.array([-0.2, 0.4]), np.array([0.0, 2.0, 1.0])))
NET = Net(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2), np.zeros(2), np.ones(2), 3.0)


def squares(dataset):
    return dataset.with_features(dataset.features**2)


def by_place(dataset):
    """All weight on one of two groups, in turn."""
    return np.eye(2)[np.arange(dataset.n_queries) % 2]


def add(terms, weights, constant=0.0):
    return WeightedSum(tuple(terms), np.array(weights, float), constant)


columns = (Column("product", 0, 0), Column("product", 1, 1))
leaves = st.sampled_from([LINEAR, TREES, NET, OnColumns(columns, LINEAR, squares)])
numbers = st.floats(-3, 3)


def composites(inner):
    sums = st.lists(st.tuples(inner, numbers), min_size=1, max_size=4).flatmap(
        lambda pairs: numbers.map(
            lambda constant: add([p[0] for p in pairs], [p[1] for p in pairs], constant)
        )
    )
    routed = st.tuples(inner, inner).map(
        lambda pair: Routed(ServiceRouter(by_place, "none", False), pair)
    )
    on_columns = inner.map(lambda term: OnColumns(columns, term, squares))
    return st.one_of(sums, sums, inner.map(Standardised), routed, on_columns)


def check_form(formula):
    """No sum inside a sum, no two terms that could be one, no sum of a single term."""
    for step in formula.walk():
        if not isinstance(step, WeightedSum):
            continue
        kinds = [type(term) for term in step.terms]
        assert WeightedSum not in kinds
        assert kinds.count(Linear) <= 1
        assert kinds.count(TreeSum) <= 1
        assert all(
            weight == 1
            for term, weight in zip(step.terms, step.weights, strict=True)
            if isinstance(term, Linear | TreeSum)
        )
        if len(kinds) == 1:
            assert kinds[0] not in (Linear, TreeSum)
            assert step.weights[0] != 1 or step.constant != 0


@settings(max_examples=200)
@given(st.recursive(leaves, composites, max_leaves=8))
def test_simplified_formulas_score_alike_and_have_the_form_promised(formula):
    result = simplified(formula)
    check_form(result)
    expected = formula.score(DATASET)
    # If the scores of a list are equal up to rounding, standardised scores may be 0 or noise.
    if not any(isinstance(step, Standardised) for step in formula.walk()):
        largest = max(np.abs(expected).max(), 1.0)
        assert_allclose(result.score(DATASET), expected, rtol=0, atol=1e-10 * largest)


def test_a_sum_of_linear_terms_is_linear():
    result = simplified(add([LINEAR, add([LINEAR], [2.0], 1.0)], [1.0, 10.0], 3.0))
    assert isinstance(result, Linear)
    assert_allclose(result.weights, [21.0, -42.0])
    assert result.constant == pytest.approx(21 * 0.5 + 10 + 3)


def test_a_constant_beside_trees_is_a_tree_of_one_leaf():
    result = simplified(add([TREES, TREES], [1.0, 0.5], 4.0))
    assert isinstance(result, TreeSum)
    assert np.diff(result.trees.leaf_offsets).tolist() == [3, 3, 1]
    assert_allclose(result.score(DATASET), 1.5 * TREES.score(DATASET) + 4)


def test_trees_and_linear_terms_stay_apart():
    result = simplified(add([LINEAR, TREES, LINEAR], [1.0, 2.0, 1.0]))
    assert [type(term) for term in result.terms] == [TreeSum, Linear]
    assert result.constant == 1.0


def test_terms_within_others_are_simplified():
    both = add([LINEAR, LINEAR], [0.5, 0.5])
    routed = Routed(ServiceRouter(by_place, "none", False), (both, both))
    for formula in (Standardised(both), OnColumns(columns, both, squares), routed):
        assert all(isinstance(term, Linear) for term in simplified(formula).members)


def test_what_stands_alone_stays():
    for formula in (LINEAR, TREES, NET):
        assert simplified(formula) is formula
        assert simplified(add([formula], [1.0])).score(DATASET).tolist() == (
            formula.score(DATASET).tolist()
        )
