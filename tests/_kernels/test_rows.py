import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from localrank._kernels.rows import projections, projections_by_query


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
