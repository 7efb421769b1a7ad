import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from localrank._kernels.linalg import geometric_mean
from localrank.rankers.lgmml._gmml import GMML, pair_scatters


def by_pairs(P, N):
    """Both scatters, one pair after another."""
    S = sum(np.outer(p - other, p - other) for p in P for other in P)
    D = sum(np.outer(p - n, p - n) for p in P for n in N)
    return S, D


def documents(n_relevant, n_irrelevant, n_features, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_features, n_features))
    P = rng.normal(size=(n_relevant, n_features)) @ mixing + 1
    return P, rng.normal(size=(n_irrelevant, n_features)) @ mixing


@settings(max_examples=40)
@given(
    n_relevant=st.integers(1, 8),
    n_irrelevant=st.integers(1, 8),
    n_features=st.integers(1, 6),
    offset=st.sampled_from([0.0, 1e4]),
    seed=st.integers(0, 1000),
)
def test_scatters_are_sums_over_pairs(n_relevant, n_irrelevant, n_features, offset, seed):
    P, N = documents(n_relevant, n_irrelevant, n_features, seed)
    scatters = pair_scatters(P + offset, N + offset)
    for scatter, expected in zip(scatters, by_pairs(P, N), strict=True):
        assert_allclose(scatter, expected, rtol=1e-9, atol=1e-7 if offset else 1e-12)


@settings(max_examples=60)
@given(
    n_relevant=st.integers(1, 40),
    n_irrelevant=st.integers(1, 40),
    n_features=st.integers(1, 30),
    ridge=st.sampled_from([1e-3, 1.0, 100.0]),
    seed=st.integers(0, 1000),
)
def test_the_metric_solves_the_riccati_equation(n_relevant, n_irrelevant, n_features, ridge, seed):
    # With fewer documents than features, it is computed in the span of the documents.
    P, N = documents(n_relevant, n_irrelevant, n_features, seed)
    gmml = GMML(ridge=ridge).fit(P, N)
    S, D = (scatter + ridge * np.eye(n_features) for scatter in by_pairs(P, N))
    M = gmml.metric_
    assert_allclose(M @ S @ M, D, rtol=0, atol=1e-8 * np.abs(D).max())
    assert_array_equal(M, M.T)
    assert_allclose(gmml.factor_.T @ gmml.factor_, M, rtol=0, atol=1e-12 * np.abs(M).max())
    assert_array_equal(gmml.factor_, np.triu(gmml.factor_))


@pytest.mark.parametrize("t", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("n_features", [4, 30])
def test_any_point_of_the_geodesic_may_be_asked_for(t, n_features):
    P, N = documents(6, 9, n_features)
    S, D = (scatter + 0.1 * np.eye(n_features) for scatter in by_pairs(P, N))
    M = GMML(t, ridge=0.1).fit(P, N).metric_
    expected = geometric_mean(S, D, t)
    assert_allclose(M, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_it_minimises_its_objective(rng):
    P, N = documents(10, 10, 5)
    S, D = (scatter + np.eye(5) for scatter in by_pairs(P, N))

    def objective(M):
        return np.trace(M @ S) + np.trace(np.linalg.solve(M, D))

    M = GMML(ridge=1.0).fit(P, N).metric_
    for _ in range(20):
        change = rng.normal(size=(5, 5))
        assert objective(M + 1e-3 * np.abs(M).max() * (change @ change.T)) > objective(M)


def test_directions_that_only_part_relevant_from_irrelevant_count_most(rng):
    # Relevant documents spread along the first feature, and differ from others in the second.
    P = rng.normal(size=(30, 2)) * [3, 0.1]
    N = rng.normal(size=(30, 2)) * [3, 0.1] + [0, 2]
    M = GMML().fit(P, N).metric_
    assert M[1, 1] > 10 * M[0, 0]


def test_distances_are_a_metric(rng):
    X = rng.normal(size=(20, 4))
    distances = GMML().fit(*documents(6, 7, 4)).distances(X, X)
    assert_allclose(distances, distances.T)
    assert_array_equal(np.diag(distances), 0.0)
    assert (distances + 1e3 * np.eye(20) > 0).all()
    assert (distances[:, None] <= distances[:, :, None] + distances[None] + 1e-12).all()


def test_distances_are_those_of_the_metric(rng):
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    gmml = GMML().fit(*documents(6, 7, 4))
    expected = [[np.sqrt((a - b) @ gmml.metric_ @ (a - b)) for b in B] for a in A]
    assert_allclose(gmml.distances(A, B), expected)


def test_without_a_ridge_the_equation_holds_with_the_scatters_alone():
    P, N = documents(12, 9, 4)
    S, D = by_pairs(P, N)
    M = GMML(ridge=0).fit(P, N).metric_
    assert_allclose(M @ S @ M, D, rtol=1e-8)


def test_too_few_documents_for_no_ridge_are_refused_with_advice():
    with pytest.raises(ValueError, match="'ridge' parameter of GMML is too small: the 3 relevant"):
        GMML(ridge=0).fit(*documents(3, 9, 8))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"t": 1.5}, "The 't' parameter of GMML must be a number from 0 to 1. Got 1.5 instead."),
        ({"t": "half"}, "Got 'half' instead"),
        ({"ridge": -1.0}, "'ridge' parameter of GMML must be a finite number, 0 or larger. Got -1"),
        ({"ridge": float("nan")}, "Got nan instead"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        GMML(**parameters).fit(*documents(4, 4, 2))


@pytest.mark.parametrize(
    ("relevant", "irrelevant"),
    [(np.ones((2, 3)), np.ones((2, 4))), (np.ones((0, 3)), np.ones((2, 3))), ([1.0], [[1.0]])],
)
def test_documents_that_do_not_fit_are_refused(relevant, irrelevant):
    with pytest.raises(ValueError, match="needs relevant and irrelevant documents"):
        GMML().fit(relevant, irrelevant)


def test_it_is_an_estimator():
    gmml = GMML(0.3, ridge=2.0).fit(*documents(4, 4, 2))
    assert clone(gmml).get_params() == {"t": 0.3, "ridge": 2.0}
    with pytest.raises(NotFittedError):
        clone(gmml).distances([[0.0, 0.0]], [[1.0, 1.0]])
