import numpy as np
import pytest
from onnx_exports import files_of, in_every_runtime, lists, made_in, random_lists

from localrank.data import make_queries
from localrank.export import NotExportable
from localrank.export.onnx._columns import Aggregates, Coordinates, Lists
from localrank.rankers import LambdaMART, QueryCoordinates
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates

# Components and means are multiples of this.
GRID = 2.0**-32


def aggregates_in(runtime, tables):
    n_features = tables[0].shape[1]

    def build(steps, table):
        return Aggregates(Coordinates.of(Lists.of(steps, table.transposed))).table(n_features)

    return made_in(runtime, build, tables)


def aggregates_of(table):
    return query_coordinates(lists(table), "a").features[:, table.shape[1] :]


@in_every_runtime
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_aggregates_are_those_of_the_rankers_to_one_step_of_their_grid(runtime, missing, rng):
    tables = random_lists(rng, 15, missing=missing)
    n_off = 0
    for table, made in zip(tables, aggregates_in(runtime, tables), strict=True):
        expected = aggregates_of(table)
        assert np.abs(made - expected).max() <= GRID
        n_off += (made != expected).sum()
    # The components may round to the neighbouring step, but hardly ever do.
    assert n_off <= 3


@in_every_runtime
def test_a_list_without_differences_is_neutral_to_the_last_bit(runtime):
    tables = [np.ones((3, 4)), np.ones((1, 4)), np.array([[1.0, np.nan, np.nan, 2.0]] * 3)]
    for table, made in zip(tables, aggregates_in(runtime, tables), strict=True):
        assert (made == aggregates_of(table)).all()


@in_every_runtime
def test_components_of_equal_variance_are_blended_as_by_the_rankers(runtime, rng):
    # Any direction is a first component of columns that are uncorrelated and vary alike.
    grid = np.array([[a, b] for a in range(5) for b in range(5)], float)
    close = grid + 1e-7 * rng.normal(size=grid.shape)
    tables = [grid, close, grid[:, ::-1].copy()]
    for table, made in zip(tables, aggregates_in(runtime, tables), strict=True):
        np.testing.assert_allclose(made, aggregates_of(table), atol=1e-8)


@in_every_runtime
def test_the_component_is_the_first_singular_vector(runtime, rng):
    table = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    (made,) = aggregates_in(runtime, [table])
    z = (table - table.mean(axis=0)) / table.std(axis=0)
    loadings = np.linalg.svd(z)[2][0]
    np.testing.assert_allclose(made[:, 6], z @ loadings * np.sign(loadings.sum()), atol=1e-8)


def test_more_features_than_the_rankers_have_steps_for_are_refused():
    dataset, _ = make_queries(20, n_documents=(5, 6), n_features=65)
    ranker = QueryCoordinates(LambdaMART(1), parts="a").fit(dataset)
    with pytest.raises(NotExportable, match='65 features cannot.*parts="zpb"'):
        files_of(ranker.formula(), 65)
