import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from localrank._kernels.rows import distances, projections, projections_by_query


def test_each_query_is_projected_on_a_vector_of_its_own(rng):
    features, directions = rng.normal(size=(9, 6)), rng.normal(size=(3, 6))
    offsets = np.array([0, 2, 3, 9])
    projections = projections_by_query(features, directions, offsets)
    query = np.repeat(np.arange(3), np.diff(offsets))
    assert_allclose(projections, (features * directions[query]).sum(axis=1), rtol=1e-12)


def test_a_row_is_rounded_alike_alone_and_among_others(rng):
    features, direction = rng.normal(size=(9, 7)), rng.normal(size=7)
    whole = projections(features, direction)
    alone = [projections(features[row : row + 1], direction)[0] for row in range(9)]
    assert_array_equal(whole, alone)
    offsets = np.array([0, 4, 9])
    by_query = projections_by_query(features, np.stack([direction, direction]), offsets)
    assert_array_equal(by_query, whole)


@pytest.mark.parametrize("shape", [(3, 1, 5), (2, 4, 1), (5, 11, 7), (1, 0, 3), (0, 2, 3)])
def test_distances_are_those_of_scipy_to_the_last_bit(rng, shape):
    n_rows, n_others, width = shape
    rows, others = rng.normal(size=(n_rows, width)), rng.normal(size=(n_others, width))
    expected = [[np.sqrt(sum((a - b) ** 2)) for b in others] for a in rows]
    assert_allclose(distances(rows, others), np.reshape(expected, (n_rows, n_others)), rtol=1e-14)
    assert_array_equal(distances(rows, others), cdist(rows, others))


def test_the_distance_of_two_rows_does_not_depend_on_the_others(rng):
    rows, others = rng.normal(size=(3, 9)), rng.normal(size=(7, 9))
    alone = [[distances(a[None], b[None])[0, 0] for b in others] for a in rows]
    assert_array_equal(distances(rows, others), alone)
