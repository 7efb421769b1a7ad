import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.formulas import Linear, Net, TreeSum
from localrank.rankers import LambdaMART


@pytest.fixture
def lists(rng):
    return RankingDataset.from_arrays(rng.normal(size=(12, 3)), qid=np.repeat([1, 2], 6))


def net(rng, n_units=4, most=1.0):
    return Net(
        hidden=rng.normal(size=(n_units, 3)).astype(np.float32),
        bias=rng.normal(size=n_units).astype(np.float32),
        output=rng.normal(size=n_units).astype(np.float32),
        skip=rng.normal(size=3).astype(np.float32),
        mean=rng.normal(size=3),
        scale=np.array([0.5, 2.0, 1.0]),
        most=most,
    )


def slow_net(formula, x):
    v = [
        max(-formula.most, min(formula.most, (value - mean) / scale))
        for value, mean, scale in zip(x, formula.mean, formula.scale, strict=True)
    ]
    score = sum(float(weight) * value for weight, value in zip(formula.skip, v, strict=True))
    units = zip(formula.hidden, formula.bias, formula.output, strict=True)
    for weights, bias, output in units:
        inner = float(bias) + sum(float(w) * value for w, value in zip(weights, v, strict=True))
        score += float(output) * max(inner, 0.0)
    return score


def test_a_linear_formula_is_the_inner_product_and_a_constant(lists, rng):
    weights = rng.normal(size=3)
    expected = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in lists.features]
    assert_allclose(Linear(weights).score(lists), expected)
    assert_allclose(Linear(weights, 7.0).score(lists), np.add(expected, 7.0))


def test_a_missing_value_counts_where_its_weight_does():
    lists = RankingDataset.from_arrays([[2.0, np.nan], [np.nan, 3.0]], qid=[1, 1])
    assert_array_equal(Linear(np.array([5.0, 0.0])).score(lists), [10.0, np.nan])


@pytest.mark.parametrize("n_units", [0, 1, 5])
@pytest.mark.parametrize("most", [0.3, np.inf])
def test_a_net_is_its_units_and_a_skip_on_cut_inputs(n_units, most, lists, rng):
    formula = net(rng, n_units, most)
    expected = [slow_net(formula, row) for row in lists.features]
    assert_allclose(formula.score(lists), expected, rtol=1e-12)


def test_equal_documents_have_equal_scores_of_a_net_wherever_they_stand(rng):
    row = rng.normal(size=3)
    lists = RankingDataset.from_arrays(np.tile(row, (7, 1)), qid=np.zeros(7))
    assert len(set(net(rng).score(lists).tolist())) == 1


def test_trees_score_as_themselves(queries):
    ranker = LambdaMART(5, min_leaf_documents=5).fit(queries)
    assert_array_equal(TreeSum(ranker.trees_).score(queries), ranker.predict(queries))


def test_formulas_of_documents_do_not_look_at_the_list(rng):
    for formula in (Linear(np.ones(3)), net(rng)):
        assert not formula.looks_at_list
        assert list(formula.walk()) == [formula]
