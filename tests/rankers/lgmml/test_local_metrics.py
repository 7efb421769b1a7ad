import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.lgmml._local_metrics import LocalMetrics


def make(n_metrics, n_features, rng):
    factors = np.triu(rng.normal(size=(n_metrics, n_features, n_features)))
    anchors = rng.normal(size=(n_metrics, n_features))
    return LocalMetrics.stack(rng.uniform(0.1, 10, n_features), anchors, factors), factors


@settings(max_examples=40)
@given(
    n_metrics=st.integers(1, 30),
    n_features=st.integers(1, 150),
    n_documents=st.sampled_from([1, 2, 15, 16, 17, 300]),
    seed=st.integers(0, 1000),
)
def test_distances_are_those_of_each_metric(n_metrics, n_features, n_documents, seed):
    rng = np.random.default_rng(seed)
    metrics, factors = make(n_metrics, n_features, rng)
    features = rng.normal(size=(n_documents, n_features)) * metrics.scale
    expected = np.column_stack(
        [
            np.linalg.norm((features / metrics.scale - anchor) @ factor.T, axis=1)
            for anchor, factor in zip(metrics.anchors, factors, strict=True)
        ]
    )
    assert_allclose(metrics.distances(features), expected, rtol=1e-9)
    assert_array_equal(metrics.factors(), factors)


@pytest.mark.parametrize("n_documents", [5, 100, 1000])
def test_equal_documents_have_equal_distances_to_the_last_bit(n_documents, rng):
    metrics, _ = make(20, 37, rng)
    features = rng.normal(size=(n_documents, 37))
    rows = rng.integers(n_documents, size=3 * n_documents)
    distances = metrics.distances(features[rows])
    first = np.unique(rows, return_index=True, return_inverse=True)
    assert_array_equal(distances, distances[first[1]][first[2]])


def test_an_anchor_is_at_distance_zero_of_itself(rng):
    metrics, _ = make(8, 30, rng)
    distances = metrics.distances(metrics.anchors * metrics.scale)
    assert_allclose(np.diag(distances), 0.0, rtol=0, atol=1e-12)


def test_a_factor_multiplies_all_distances(rng):
    metrics, _ = make(8, 30, rng)
    features = rng.normal(size=(40, 30))
    expected = 0.25 * metrics.distances(features)
    assert_allclose(metrics.scaled(0.25).distances(features), expected, rtol=1e-12)


def test_float32_features_are_computed_with_in_float64(rng):
    metrics, _ = make(8, 30, rng)
    features = rng.normal(size=(40, 30)).astype(np.float32)
    assert_array_equal(metrics.distances(features), metrics.distances(features.astype(float)))
