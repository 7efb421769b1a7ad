import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import ranking_planes
from rearranged import rearranged
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import localrank
from localrank.data import RankingDataset
from localrank.measures import AveragePrecision
from localrank.rankers import L1MLR, MLR, RMLR
from localrank.rankers.mlr._bundle import MetricPlanes, minimise
from localrank.rankers.mlr._metric_risk import MetricRisk
from localrank.rankers.mlr._penalties import EntrySizes, RowLengths, Trace

BOTH = pytest.mark.parametrize("kind", [MLR, RMLR])
ALL = pytest.mark.parametrize("kind", [MLR, RMLR, L1MLR])
PENALTIES = pytest.mark.parametrize(
    "penalty", [Trace(), RowLengths(), EntrySizes()], ids=["trace", "rows", "entries"]
)


def all_planes(dataset):
    """The plane of every ranking of each query."""
    return ranking_planes(dataset, -np.einsum("ij,ik->ijk", dataset.features, dataset.features))


def risk_of(lists, W, weights=None):
    values = [np.max(np.tensordot(slopes, W, 2) + intercepts) for slopes, intercepts in lists]
    return np.average(values, weights=weights)


def cost(kind, W):
    if kind is MLR:
        return np.trace(W)
    return np.sqrt((W**2).sum(axis=1)).sum() if kind is RMLR else np.abs(W).sum()


def exact_minimum(kind, dataset, C):
    """One slack per query and the constraints of all rankings, over the factor of W = L L'."""
    lists, d = all_planes(dataset), dataset.n_features
    rows = []
    for query, (slopes, intercepts) in enumerate(lists):
        table = np.column_stack([slopes.reshape(len(slopes), -1), intercepts]).round(12)
        rows += [(query, *row) for row in np.unique(table, axis=0)]
    queries = np.array([row[0] for row in rows], int)
    slopes, intercepts = np.array(rows)[:, 1:-1], np.array(rows)[:, -1]

    def metric(z):
        L = z[: d * d].reshape(d, d)
        return L @ L.T

    def slack(z):
        return z[d * d :][queries] - intercepts - slopes @ metric(z).ravel()

    best = np.inf
    for seed in range(4):
        start = np.random.default_rng(seed).normal(size=d * d)
        result = minimize(
            lambda z: cost(kind, metric(z)) / C + z[d * d :].mean(),
            np.concatenate([start, np.full(len(lists), 50.0)]),
            constraints={"type": "ineq", "fun": slack},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        # Only the definition decides the value of a solution.
        W = metric(result.x)
        best = min(best, cost(kind, W) + C * risk_of(lists, W))
    return best


def matrices(n, d, seed=0):
    """Random positive semidefinite matrices of all ranks."""
    rng = np.random.default_rng(seed)
    factors = [rng.normal(size=(d, 1 + i % d)) * 10 ** rng.uniform(-2, 1) for i in range(n)]
    return [factor @ factor.T for factor in factors]


@pytest.fixture(scope="module")
def small():
    """Six queries of 3 to 5 documents. One has no relevant document, one only relevant ones."""
    rng = np.random.default_rng(4)
    sizes, n_relevant = [4, 3, 5, 3, 4, 5], [1, 0, 2, 3, 3, 1]
    y = np.concatenate([np.arange(n) < a for n, a in zip(sizes, n_relevant, strict=True)])
    X = rng.normal(size=(sum(sizes), 3)) * np.where(y[:, None], [0.5, 0.8, 1.0], 1.0)
    return RankingDataset.from_arrays(X, y, np.repeat(np.arange(6), sizes))


@pytest.fixture(scope="module")
def taught(small):
    """The risk of the queries that can be learned from."""
    used = small.select([0, 2, 4, 5])
    return MetricRisk(used.features, used.offsets, np.array([1, 2, 3, 1]), np.full(4, 0.25))


@pytest.fixture(scope="module")
def points():
    """Queries and documents in space: relevant ones are near in the first two coordinates."""
    rng = np.random.default_rng(1)
    near = np.tile(np.arange(8) < 3, 40)
    queries, qid = rng.normal(size=(40, 6)), np.repeat(np.arange(40), 8)
    offs = rng.normal(size=(320, 6)) * np.where(near[:, None], [0.2, 0.3, 1, 1, 1, 1], 1.0)
    dataset = RankingDataset.from_arrays(queries[qid] + offs, near, qid)
    return dataset, queries


@pytest.fixture(scope="module")
def displaced(points):
    dataset, queries = points
    return dataset.with_features(dataset.features - queries[dataset.query_index])


@ALL
@pytest.mark.parametrize(("C", "W"), [(0.16, 0.0), (0.17, 1 / 12), (5.0, 1 / 12)])
def test_one_pair_on_a_line_by_hand(kind, C, W):
    # The relevant document at distance 1, the other at distance 2. The wrong order costs 1/2 and
    # has W·psi lower by 2 (4 - 1) W: the risk is max(0, 1/2 - 6 W), the objective W + C risk.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(C, scaling=None, tol=1e-9).fit([[1.0], [2.0]], [1, 0], qid=[0, 0])
    assert_allclose(model.metric_, [[W]], atol=1e-8)
    assert_allclose(model.objective_, min(C / 2, 1 / 12), rtol=1e-8)


@pytest.mark.parametrize(
    ("kind", "C"), [(MLR, 1.0), (MLR, 10.0), (RMLR, 1.0), (RMLR, 10.0), (L1MLR, 2.0)]
)
def test_the_objective_is_that_of_a_solver_with_the_constraints_of_all_rankings(kind, small, C):
    model = kind(C, scaling=None, tol=1e-7).fit(small)
    lists = all_planes(small)
    at_metric = cost(kind, model.metric_) + C * risk_of(lists, model.metric_)
    assert_allclose(model.objective_, at_metric, rtol=1e-9)
    assert len(model.components_) > 0
    exact = exact_minimum(kind, small, C)
    assert_allclose(model.objective_, exact, rtol=1e-4)
    assert model.objective_ <= exact * (1 + 1e-7)


def test_planes_touch_the_risk_and_lie_below_it(small, taught):
    lists = all_planes(small)
    for W in matrices(9, 3):
        values, vectors = np.linalg.eigh(W)
        slope, intercept = taught.plane((vectors * np.sqrt(np.maximum(values, 0))).T)
        assert_allclose(intercept + np.vdot(slope, W), risk_of(lists, W), rtol=1e-9, atol=1e-12)
        for other in matrices(20, 3, seed=1):
            assert intercept + np.vdot(slope, other) <= risk_of(lists, other) + 1e-9


@PENALTIES
@pytest.mark.parametrize("tol", [1.0, 1e-2])
def test_no_metric_is_below_the_bound_however_rough_the_solution(small, taught, penalty, tol):
    lists, C = all_planes(small), 10.0
    kind = next(kind for kind in (MLR, RMLR, L1MLR) if isinstance(penalty, type(kind._penalty)))
    best = minimise(taught, penalty, C, tol=1e-7, max_iter=500)
    planes = MetricPlanes(penalty, C, 3)
    planes.add(*taught.plane(np.empty((0, 3))))
    objective, bounds = C * risk_of(lists, np.zeros((3, 3))), []
    for pull in (1.0, 0.1, 0.01, 0.0, 0.0):
        W = planes.minimum(np.zeros((3, 3)), pull, 1.0, tol)
        bounds.append(planes.bound(objective))
        values, vectors = np.linalg.eigh(W)
        assert values[0] >= -1e-12 * values[-1]
        planes.add(*taught.plane((vectors * np.sqrt(np.maximum(values, 0))).T))
    assert max(bounds) <= best.objective
    for W in matrices(50, 3, seed=2):
        assert max(bounds) <= cost(kind, W) + C * risk_of(lists, W)


@PENALTIES
def test_objective_falls_and_bound_rises_until_they_meet(taught, penalty):
    minimum = minimise(taught, penalty, 10.0, tol=1e-6, max_iter=500)
    objectives, bounds = np.array(minimum.history).T
    assert (np.diff(objectives) <= 0).all()
    assert (np.diff(bounds) >= 0).all()
    assert (bounds <= objectives).all()
    assert minimum.gap <= 1e-6
    assert minimum.objective - minimum.bound <= 1e-6 * minimum.objective


@PENALTIES
def test_the_shrunk_matrix_is_the_best_and_shows_a_bound_of_the_penalty(penalty):
    rng = np.random.default_rng(0)
    T, weight = rng.normal(size=(4, 4)), 0.8
    T[2] *= 0.1
    Y = penalty.shrunk(T, weight)

    def value(M):
        return weight * penalty.value(M) + np.sum((M - T) ** 2) / 2

    for _ in range(200):
        assert value(Y) <= value(Y + rng.normal(size=(4, 4)) * 10 ** rng.uniform(-6, 0)) + 1e-12
    Z = (T - Y) / weight
    assert_allclose(np.vdot(Z, Y), penalty.value(Y))
    for W in matrices(50, 4):
        assert np.vdot(Z, W) <= penalty.value(W) * (1 + 1e-12)
        assert np.trace(W) <= penalty.value(W) * (1 + 1e-12)


def test_the_least_c_that_gives_a_metric_is_known(small, taught):
    slope, _ = taught.plane(np.empty((0, 3)))
    least = 1 / np.linalg.eigvalsh(-slope)[-1]
    with pytest.warns(ConvergenceWarning, match=r"MLR ranks nothing: with C=.*and W = 0. Raise C"):
        below = MLR(0.999 * least, scaling=None, tol=1e-8).fit(small)
    assert below.components_.shape == (0, 3)
    assert_array_equal(below.predict(small), np.zeros(small.n_documents))
    above = MLR(1.001 * least, scaling=None, tol=1e-8).fit(small)
    assert len(above.components_) == 1


@BOTH
def test_it_says_when_it_stops_early(kind, small):
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__} stopped after 3 iterations"):
        model = kind(10, max_iter=3).fit(small)
    assert model.duality_gap_ > model.tol
    assert model.n_iter_ == 3


def noisy(n_noise):
    rng = np.random.default_rng(0)
    qid, near = np.repeat(np.arange(50), 10), np.tile(np.arange(10) < 3, 50)
    X = rng.normal(size=(500, 2 + n_noise))
    X[near, :2] *= [0.1, 0.3]
    return RankingDataset.from_arrays(X, near, qid)


def test_rows_of_pure_noise_vanish_by_sparse_penalties_and_not_by_the_trace():
    dataset = noisy(20)
    for kind in (RMLR, L1MLR):
        kept = np.abs(kind(1).fit(dataset).metric_).max(axis=1)
        assert (kept[:2] > 0).all()
        assert_array_equal(kept[2:], 0)
    assert (np.abs(MLR(1).fit(dataset).metric_).max(axis=1) > 0).all()


def test_axes_matter_to_the_lengths_of_rows_and_not_to_the_trace(displaced):
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    turned = displaced.with_features(displaced.features @ rotation)
    one, other = (MLR(10, scaling=None, tol=1e-7).fit(part) for part in (displaced, turned))
    assert_allclose(other.objective_, one.objective_, rtol=2e-7)
    assert_allclose(rotation.T @ one.metric_ @ rotation, other.metric_, atol=3e-3)
    assert np.abs(one.metric_).max() > 0.5
    one, other = (RMLR(10, scaling=None, tol=1e-7).fit(part) for part in (displaced, turned))
    assert other.objective_ > 1.05 * one.objective_


def test_products_of_features_cost_only_where_entries_are_summed(displaced):
    # Relevant documents are near along a diagonal, so that the best metric has a product.
    turned = displaced.with_features(
        displaced.features[:, :2] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    )
    shares = {}
    for kind in (MLR, RMLR, L1MLR):
        W = kind(3, scaling=None, tol=1e-6).fit(turned).metric_
        shares[kind] = abs(W[0, 1]) / np.trace(W)
    assert shares[MLR] > shares[RMLR] > shares[L1MLR]


def test_a_learned_metric_ranks_new_queries_better_than_plain_distances(displaced):
    train, test = displaced.select(range(20)), displaced.select(range(20, 40))
    plain = AveragePrecision().mean(test, -np.sum(test.features**2, axis=1))
    for kind in (MLR, RMLR, L1MLR):
        assert AveragePrecision().mean(test, kind(10).fit(train).predict(test)) > plain + 0.1


@ALL
def test_scores_are_distances_in_the_metric(kind, displaced):
    model = kind(10).fit(displaced)
    x = displaced.features / np.sqrt(np.mean(displaced.features**2, axis=0))
    expected = -np.einsum("ij,jk,ik->i", x, model.metric_, x)
    assert_allclose(model.predict(displaced), expected, rtol=1e-9)


@BOTH
def test_the_query_may_be_in_columns_or_in_a_dict(kind, points, displaced):
    dataset, queries = points
    expected = kind(10).fit(displaced).predict(displaced)
    known = dict(enumerate(queries))
    by_id = kind(10, query_vectors=known).fit(dataset)
    assert_allclose(by_id.predict(dataset), expected, rtol=1e-6)
    names = [*"abcdef", *"uvwxyz"]
    wide = dataset.with_features(
        np.column_stack([dataset.features, queries[dataset.query_index]]), names
    )
    by_name = kind(10, query_vectors=list("uvwxyz")).fit(wide)
    assert by_name.n_features_in_ == 12
    assert_allclose(by_name.predict(wide), expected, rtol=1e-6)


@BOTH
def test_weights_of_queries_count_like_copies_of_them(kind, displaced):
    few = displaced.select(range(6))
    copies = displaced.select([0, 1, 2, 3])
    double = RankingDataset.from_arrays(
        np.vstack([copies.features, copies.features[:16]]),
        np.concatenate([copies.labels, copies.labels[:16]]),
        np.repeat(np.arange(6), 8),
    )
    weighted = kind(10, tol=1e-8, scaling=None).fit(few, query_weight=[2, 2, 1, 1, 0, 0])
    copied = kind(10, tol=1e-8, scaling=None).fit(double)
    assert_allclose(weighted.objective_, copied.objective_, rtol=1e-7)


def test_relevance_level_says_what_is_relevant(displaced):
    graded = displaced.replaced(relevance=displaced.labels + 1)
    again = MLR(10, relevance_level=2).fit(graded)
    expected = MLR(10).fit(displaced).predict(displaced)
    # Rows are in another order, because labels differ.
    assert_allclose(again.predict(displaced), expected, rtol=1e-9)


@BOTH
def test_order_company_precision_and_storage_do_not_matter(kind, displaced, tmp_path):
    model = kind(10).fit(displaced)
    scores = model.predict(displaced)
    order = np.random.default_rng(0).permutation(displaced.n_documents)
    mixed = rearranged(displaced, order)
    assert_array_equal(model.predict(mixed), scores[order])
    assert_array_equal(clone(model).fit(mixed).predict(displaced), scores)
    assert_array_equal(model.predict(displaced.select([7])), scores[56:64])
    single = displaced.with_features(displaced.features.astype(np.float32))
    double = displaced.with_features(single.features.astype(np.float64))
    assert_array_equal(kind(10).fit(single).predict(single), kind(10).fit(double).predict(double))
    model.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert type(loaded) is kind
    assert_array_equal(loaded.predict(displaced), scores)


@BOTH
def test_missing_values_are_taken_and_remembered(kind, points, tmp_path):
    dataset, queries = points
    features = dataset.features.copy()
    features[np.random.default_rng(0).random(len(features)) < 0.2, 1] = np.nan
    holed = dataset.with_features(features)
    model = kind(10, query_vectors=dict(enumerate(queries))).fit(holed)
    assert model.metric_.shape == (7, 7)
    scores = model.predict(holed)
    plain = AveragePrecision().mean(dataset, np.zeros(dataset.n_documents))
    assert AveragePrecision().mean(dataset, scores) > plain + 0.2
    model.save(tmp_path / "model.localrank")
    assert_array_equal(localrank.load(tmp_path / "model.localrank").predict(holed), scores)
    refusing = kind(query_vectors=dict(enumerate(queries)), missing="refuse")
    with pytest.raises(ValueError, match="was given missing='refuse'"):
        refusing.fit(holed)


def test_a_feature_that_is_always_zero_is_harmless(displaced):
    wide = displaced.with_features(np.column_stack([displaced.features, np.zeros(320)]))
    assert_allclose(
        MLR(10, tol=1e-6).fit(wide).objective_,
        MLR(10, tol=1e-6).fit(displaced).objective_,
        rtol=2e-6,
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("C", 0, "a finite number above 0"),
        ("scaling", "query", "'standard' or None"),
        ("tol", 0, "a finite number above 0"),
        ("max_iter", 0, "a whole number from 1 to 1000000"),
    ],
)
def test_parameters_are_checked(small, name, value, words):
    with pytest.raises(ValueError, match=f"'{name}' parameter of RMLR must be {words}. Got"):
        RMLR(**{name: value}).fit(small)
