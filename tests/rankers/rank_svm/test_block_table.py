import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

import localrank._base.memory
from localrank.data import make_queries
from localrank.rankers.rank_svm._centred_table import Scaled
from localrank.rankers.rank_svm._newton import evaluate
from localrank.rankers.rank_svm._ranking_pairs import BlockTable, RankingPairs

N_BLOCKS = 3


@pytest.fixture(scope="module")
def problem():
    """Queries with few features, one of them with one label, and weights of blocks."""
    dataset, _ = make_queries(12, n_documents=(2, 7), n_features=4, n_types=2, random_state=3)
    labels = dataset.labels.copy()
    labels[dataset.offsets[5] : dataset.offsets[6]] = 1
    weights = np.random.default_rng(0).dirichlet(np.ones(N_BLOCKS), 12)
    return dataset.replaced(relevance=labels), weights


@pytest.fixture(params=["array", "table"])
def pairs(request, problem):
    dataset, _ = problem
    features = dataset.features
    scaled = Scaled(features, np.arange(len(features)), np.array([1.0, 2.0, 0.5, 3.0]))
    return RankingPairs.of(dataset, features if request.param == "array" else scaled)


def kronecker(pairs, weights):
    """The rows as a stored matrix."""
    features = pairs.features
    X = features if isinstance(features, np.ndarray) else features @ np.eye(4)
    rows = np.repeat(weights[pairs.queries], np.diff(pairs.offsets), axis=0)
    return np.array([np.kron(a, x) for a, x in zip(rows, X, strict=True)])


def test_products_are_those_of_the_stored_matrix(pairs, problem, rng):
    table = pairs.in_blocks(problem[1]).features
    explicit = kronecker(pairs, problem[1])
    assert table.shape == explicit.shape
    vector, row_weights = rng.normal(size=explicit.shape[1]), rng.normal(size=len(explicit))
    assert_allclose(table @ vector, explicit @ vector, atol=1e-12)
    assert_allclose(row_weights @ table, row_weights @ explicit, atol=1e-12)
    assert_allclose(table.weighted_squares(row_weights), row_weights @ explicit**2, atol=1e-12)
    rows = np.array([5, 0, 9])
    assert_allclose(table.taken(rows) @ vector, explicit[rows] @ vector, atol=1e-12)


def test_each_query_has_its_own_weights_also_where_some_are_left_out(pairs, problem):
    dataset, weights = problem
    blocks = pairs.in_blocks(weights)
    labels = np.split(dataset.labels, dataset.offsets[1:-1])
    kept = [query for query in range(12) if len(set(labels[query])) > 1]
    assert 5 not in kept
    assert_array_equal(blocks.features.weights[pairs.offsets[:-1]], weights[kept])
    part = blocks.every(3)
    assert_array_equal(part.features.weights[part.offsets[:-1]], weights[kept[::3]])


@pytest.mark.parametrize("knee", [np.inf, 0.7])
def test_the_gradient_and_the_second_derivatives_are_finite_differences(pairs, problem, rng, knee):
    blocks, C = pairs.in_blocks(problem[1]), 3.0
    point, direction = rng.normal(size=(2, 4 * N_BLOCKS))
    gradient = approx_fprime(point, lambda w: evaluate(blocks, C, knee, w).objective, 1e-7)
    at = evaluate(blocks, C, knee, point)
    assert_allclose(at.gradient, gradient, rtol=1e-4, atol=1e-4)
    step = 1e-6 * direction
    before, after = (evaluate(blocks, C, knee, point + way * step).gradient for way in (-1, 1))
    product = direction + C * blocks.hessian_product(at.losses, direction)
    assert_allclose(product, (after - before) / 2e-6, rtol=1e-4, atol=1e-4)


def test_one_block_of_weight_one_is_the_features_themselves(pairs):
    assert pairs.in_blocks(np.ones((12, 1))) is pairs
    assert isinstance(pairs.in_blocks(np.full((12, 1), 2.0)).features, BlockTable)


def test_more_blocks_than_memory_holds_are_refused(pairs, monkeypatch):
    monkeypatch.setattr(localrank._base.memory, "available_memory", lambda: 2**16)
    with pytest.raises(MemoryError, match="A model of 500 parts on .* Use fewer groups or topics"):
        pairs.in_blocks(np.ones((12, 500)))
