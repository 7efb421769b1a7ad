import numpy as np
from numpy.testing import assert_allclose

from localrank.rankers.lgmml._anchors import add_squares, local_scores


def test_squares_of_differences_are_added_for_each_anchor(rng):
    products, origins = rng.normal(size=(7, 12)), rng.normal(size=(4, 3))
    squares = rng.uniform(size=(5, 3))
    expected = squares + ((products[:5].reshape(5, 4, 3) - origins) ** 2).sum(axis=1)
    add_squares(products, origins, squares)
    assert_allclose(squares, expected)


def test_scores_weigh_the_distances_by_their_exponential(rng):
    distances, weights = rng.uniform(0, 4, (10, 3)), rng.uniform(size=(2, 3))
    rows_of_weights = rng.integers(2, size=10)
    expected = -(weights[rows_of_weights] * distances * np.exp(-distances)).sum(axis=1)
    assert_allclose(local_scores(distances, weights, rows_of_weights), expected)


def test_what_is_infinitely_far_counts_nothing():
    distances = np.array([[np.inf, 1.0], [1e200, 1.0], [np.nan, 1.0]])
    scores = local_scores(distances, np.ones((1, 2)), np.zeros(3, np.int64))
    assert_allclose(scores, -np.exp(-1.0))
