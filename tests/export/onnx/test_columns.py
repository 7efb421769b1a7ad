import numpy as np
import pytest
from onnx_exports import in_every_runtime, lists, made_in, random_lists, same

from localrank.data._filling import Filling
from localrank.export.onnx._columns import table_of
from localrank.formulas import Column, Linear, OnColumns
from localrank.rankers import LambdaMART, ListwiseNet, Quadratic, QueryCoordinates, RankSVM

N_FEATURES = 5
TERM = Linear(np.zeros(1))


def made_columns(runtime, formula, tables):
    def build(steps, table):
        return table_of(steps, formula, table, N_FEATURES)

    return made_in(runtime, build, tables)


def on_columns(ranker, queries):
    """The step of a fitted ranker's formula that makes columns."""
    dataset = queries.with_features(queries.features[:, :N_FEATURES].copy())
    formula = ranker.fit(dataset).formula()
    return next(step for step in formula.walk() if isinstance(step, OnColumns))


RANKERS = {
    "coordinates": QueryCoordinates(LambdaMART(2)),
    "some coordinates": QueryCoordinates(LambdaMART(2), parts="bz"),
    "coordinates of engines": QueryCoordinates(LambdaMART(2), parts="md"),
    "products": Quadratic(RankSVM()),
    "scaled by query": RankSVM(scaling="query"),
    "inputs of nets": ListwiseNet(1, n_units=2),
}


@in_every_runtime
@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS.keys())
def test_columns_are_those_that_the_ranker_makes(runtime, ranker, queries, rng):
    formula = on_columns(ranker, queries)
    tables = random_lists(rng, 15, N_FEATURES)
    for table, made in zip(tables, made_columns(runtime, formula, tables), strict=True):
        expected = formula.make(lists(table)).features
        assert made.shape == expected.shape
        assert same(made, expected)


@in_every_runtime
def test_missing_values_are_filled_and_marked(runtime, rng):
    tables = random_lists(rng, 15, N_FEATURES, missing=0.5, most=9)
    filling = Filling.learned(lists(*tables))
    kinds = [Column("filled", feature) for feature in range(N_FEATURES)]
    kinds += [Column("missing", feature) for feature in filling.indicators.tolist()]
    formula = OnColumns(tuple(kinds), TERM, filling.filled)
    for table, made in zip(tables, made_columns(runtime, formula, tables), strict=True):
        assert same(made, filling.filled(lists(table)).features)


@in_every_runtime
def test_columns_come_in_the_order_of_the_formula(runtime, rng):
    kinds = (Column("percentile", 1), Column("feature", 4), Column("percentile", 0))
    table = rng.normal(size=(7, N_FEATURES))
    formula = OnColumns(kinds, TERM, lambda dataset: dataset)
    (made,) = made_columns(runtime, formula, [table])
    ranks = table.argsort(axis=0).argsort(axis=0) + 1
    expected = np.stack([ranks[:, 1] / 7, table[:, 4], ranks[:, 0] / 7], axis=1)
    np.testing.assert_allclose(made, expected, rtol=1e-15)


@in_every_runtime
def test_min_max_is_the_middle_where_all_values_are_equal(runtime):
    kinds = tuple(Column("min-max", feature) for feature in range(N_FEATURES))
    table = np.array([[1.0, 7, 0, np.nan, 3], [3, 7, -4, 2, np.nan], [2, 7, 4, 6, np.nan]])
    formula = OnColumns(kinds, TERM, lambda dataset: dataset)
    (made,) = made_columns(runtime, formula, [table])
    nan = np.nan
    expected = [[0, 0.5, 0.5, nan, 0.5], [1, 0.5, 0, 0, nan], [0.5, 0.5, 1, 1, nan]]
    assert same(made, np.array(expected))


@in_every_runtime
def test_rank_differences_count_smaller_less_larger_values(runtime):
    kinds = tuple(Column("rank-difference", feature) for feature in range(N_FEATURES))
    table = np.array([[1.0, 7, 0, np.nan, 5], [3, 7, 9, 2, 5], [2, 7, 9, 6, 4]])
    formula = OnColumns(kinds, TERM, lambda dataset: dataset)
    (made,) = made_columns(runtime, formula, [table])
    nan = np.nan
    assert same(made, np.array([[-2, 0, -2, nan, 1], [2, 0, 1, -1, 1], [0, 0, 1, 1, -2]]))
