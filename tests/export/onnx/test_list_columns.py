import numpy as np
import pytest
from onnx_exports import in_every_runtime, lists, made_in, random_lists, same
from scipy.stats import rankdata

from localrank.data._filling import Filling
from localrank.export.onnx._columns import Coordinates, Lists, total
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates


def coordinates_of(steps, table):
    made = Coordinates.of(Lists.of(steps, table.transposed))
    blocks = (made.deviations(), made.percentiles(), made.robust_deviations())
    return steps.apply("Concat", *(block.transposed for block in blocks), axis=1)


@in_every_runtime
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_coordinates_have_the_bits_of_the_rankers(runtime, missing, rng):
    tables = random_lists(rng, 60, missing=missing)
    for table, made in zip(tables, made_in(runtime, coordinates_of, tables), strict=True):
        expected = query_coordinates(lists(table), "zpb").features[:, table.shape[1] :]
        assert same(made, expected)


@in_every_runtime
def test_percentiles_are_mean_ranks_of_what_is_present(runtime, rng):
    table = rng.integers(0, 5, (40, 3)).astype(float)
    table[rng.random(table.shape) < 0.4] = np.nan

    def build(steps, given):
        return Coordinates.of(Lists.of(steps, given.transposed)).percentiles().transposed

    (made,) = made_in(runtime, build, [table])
    for column, values in zip(made.T, table.T, strict=True):
        present = ~np.isnan(values)
        assert np.isnan(column[~present]).all()
        ranks = rankdata(values[present])
        np.testing.assert_allclose(column[present], ranks / present.sum(), rtol=1e-15)


@in_every_runtime
def test_robust_deviations_end_at_twenty(runtime):
    table = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [1.0]])

    def build(steps, given):
        return Coordinates.of(Lists.of(steps, given.transposed)).robust_deviations().transposed

    (made,) = made_in(runtime, build, [np.repeat(table, 20, axis=0)[13:]])
    assert made.max() == 20


@in_every_runtime
def test_a_list_of_one_document_is_neutral(runtime):
    (made,) = made_in(runtime, coordinates_of, [np.array([[7.0]])])
    assert made.tolist() == [[0.0, 1.0, 0.0]]


@in_every_runtime
def test_missing_values_are_filled_by_the_median_or_what_training_had(runtime, rng):
    tables = random_lists(rng, 20, missing=0.5, most=12)
    filling = Filling(np.array([1.5, -2.0, 0.0, 7.0, 1e9]), np.empty(0, np.int64))

    def build(steps, given):
        return Lists.of(steps, given.transposed).filled(filling.values).transposed

    assert any(np.isnan(table).all(axis=0).any() for table in tables)
    for table, made in zip(tables, made_in(runtime, build, tables), strict=True):
        assert same(made, filling.filled(lists(table)).features)


@in_every_runtime
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 11])
def test_sums_are_those_of_every_fourth_entry(runtime, n, rng):
    table = rng.normal(size=(30, n)) * 10.0 ** rng.integers(-8, 9, (30, n))
    even = n // 4 * 4
    lanes = [np.zeros(30) for _ in range(4)]
    for column in range(n):
        lane = column % 4 if column < even else 0
        lanes[lane] = lanes[lane] + table[:, column]

    def build(steps, given):
        counts = steps.apply("Expand", n, steps.apply("Concat", given.size(0), [1], axis=0))
        return total(given, counts)

    (made,) = made_in(runtime, build, [table])
    assert same(made[:, 0], (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
