import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import ranking_planes
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning

import localrank
from localrank.data import RankingDataset, make_queries
from localrank.measures import AveragePrecision
from localrank.rankers.svm_map import svm_map as cutting_planes
from localrank.rankers.svm_map._average_precision_risk import AveragePrecisionRisk
from localrank.rankers.svm_map.svm_map import CuttingPlanes, SVMMap, minimise


def objective(dataset, w, C, weights=None):
    values = [
        np.max(slopes @ w + intercepts)
        for slopes, intercepts in ranking_planes(dataset, dataset.features)
    ]
    return w @ w / 2 + C * np.average(values, weights=weights)


def exact_minimum(dataset, C):
    """The quadratic program with one slack per query and the constraints of all rankings."""
    constraints = ranking_planes(dataset, dataset.features)
    Q, d = len(constraints), dataset.n_features
    rows, bounds = [], []
    for query, (slopes, intercepts) in enumerate(constraints):
        slacks = np.zeros((len(slopes), Q))
        slacks[:, query] = 1
        rows.append(np.hstack([-slopes, slacks]))
        bounds.append(intercepts)
    table = np.unique(np.column_stack([np.vstack(rows), np.concatenate(bounds)]).round(12), axis=0)
    result = minimize(
        lambda z: z[:d] @ z[:d] / (2 * C) + z[d:].sum() / Q,
        np.concatenate([np.zeros(d), np.ones(Q)]),
        jac=lambda z: np.concatenate([z[:d] / C, np.full(Q, 1 / Q)]),
        constraints=LinearConstraint(table[:, :-1], table[:, -1], np.inf),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert result.success
    return C * result.fun


@pytest.fixture
def small():
    """Five queries of 3 to 5 documents. One has no relevant document, one only relevant ones."""
    rng = np.random.default_rng(4)
    sizes, n_relevant = [4, 3, 5, 3, 4], [1, 0, 2, 3, 3]
    y = np.concatenate([np.arange(n) < a for n, a in zip(sizes, n_relevant, strict=True)])
    X = rng.normal(size=(sum(sizes), 3)) + 0.7 * y[:, None]
    return RankingDataset.from_arrays(X, y.astype(float), np.repeat(np.arange(5), sizes))


@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_it_reaches_the_minimum_over_all_rankings(small, C):
    ranker = SVMMap(C, scaling=None, tol=1e-6).fit(small)
    assert_allclose(ranker.objective_, exact_minimum(small, C), rtol=1e-4)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_objective_is_that_of_the_definition(small, C):
    ranker = SVMMap(C, scaling=None).fit(small)
    assert_allclose(ranker.objective_, objective(small, ranker.coef_, C), rtol=1e-9)


def test_weights_of_queries_weigh_their_slacks(small):
    weights = np.array([1.0, 5.0, 2.0, 7.0, 0.5])
    ranker = SVMMap(10, scaling=None, tol=1e-6).fit(small, query_weight=weights)
    expected = objective(small, ranker.coef_, 10, weights[[0, 2, 4]])
    assert_allclose(ranker.objective_, expected, rtol=1e-9)


def test_a_weight_of_two_is_a_query_twice(queries):
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    twice = RankingDataset.from_arrays(
        np.vstack([queries.features, queries.select(range(20)).features]),
        np.append(queries.labels, queries.select(range(20)).labels),
        np.append(queries.query_index, 100 + queries.select(range(20)).query_index),
    )
    weighted = SVMMap(scaling=None, tol=1e-8).fit(queries, query_weight=weights)
    repeated = SVMMap(scaling=None, tol=1e-8).fit(twice)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)


def test_equal_weights_change_nothing(queries):
    plain = SVMMap(tol=1e-6).fit(queries)
    weighted = SVMMap(tol=1e-6).fit(queries, query_weight=np.full(60, 3.0))
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-6)


def test_a_query_of_no_weight_is_as_good_as_absent(queries):
    weights = np.where(np.arange(60) < 50, 1.0, 0.0)
    weighted = SVMMap(scaling=None).fit(queries, query_weight=weights)
    absent = SVMMap(scaling=None).fit(queries.select(range(50)))
    assert_allclose(weighted.coef_, absent.coef_, rtol=1e-9)


def test_repeated_queries_leave_the_objective(queries):
    twice = RankingDataset.from_arrays(
        np.vstack([queries.features] * 2),
        np.tile(queries.labels, 2),
        np.concatenate([queries.query_index, 100 + queries.query_index]),
    )
    once = SVMMap(5, scaling=None, tol=1e-8).fit(queries)
    again = SVMMap(5, scaling=None, tol=1e-8).fit(twice)
    assert_allclose(again.objective_, once.objective_, rtol=1e-7)


def risk_of(dataset, n_kept=8):
    relevant = dataset.labels > 0
    n_relevant = np.add.reduceat(relevant, dataset.offsets[:-1], dtype=np.int64)
    used = dataset.select((n_relevant > 0) & (n_relevant < dataset.query_sizes))
    rows = np.lexsort((used.labels <= 0, used.query_index))
    n_relevant = np.add.reduceat(used.labels > 0, used.offsets[:-1], dtype=np.int64)
    weights = np.full(used.n_queries, 1 / used.n_queries)
    return AveragePrecisionRisk(used.features[rows], used.offsets, n_relevant, weights, n_kept)


def minimum(dataset, C, tol, n_kept=8):
    risk = risk_of(dataset, n_kept)
    cutting_planes = CuttingPlanes(dataset.n_features, -risk.at_zero)
    start = np.zeros(dataset.n_features)
    return minimise(risk, cutting_planes, C, start=start, tol=tol, max_iter=500)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e4])
def test_the_bound_never_passes_the_objective_and_meets_it(queries, C):
    result = minimum(queries, C, 1e-7)
    changes, bounds = np.array(result.history).T
    assert (bounds <= changes.min() + 1e-9 * result.objective).all()
    assert (np.diff(bounds) >= 0).all()
    assert (np.diff(changes) <= 0).all()
    assert 0 <= result.gap <= 1e-7


@pytest.mark.parametrize("n_kept", [1, 2, 30])
def test_the_number_of_planes_kept_per_query_does_not_matter(queries, n_kept):
    assert_allclose(
        minimum(queries, 10.0, 1e-7, n_kept).objective,
        minimum(queries, 10.0, 1e-7).objective,
        rtol=2e-7,
    )


def test_the_kept_planes_bound_the_risk_from_below_and_touch_it(queries, rng):
    risk = risk_of(queries, 4)
    for w in rng.normal(0, 0.5, size=(12, queries.n_features)):
        assert risk.lower_bound(risk.heights(w)) <= risk.separate(w) + 1e-12
        assert_allclose(risk.lower_bound(risk.heights(w)), risk.separate(w), atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_a_smaller_tolerance_gives_no_larger_objective(queries, C):
    rankers = [SVMMap(C, tol=tol).fit(queries) for tol in (1e-2, 1e-4, 1e-6)]
    for ranker in rankers:
        assert ranker.duality_gap_ <= ranker.tol
        assert ranker.objective_ * (1 - ranker.duality_gap_) <= rankers[-1].objective_ * (1 + 1e-9)
    objectives = [ranker.objective_ for ranker in rankers]
    assert objectives == sorted(objectives, reverse=True)


def test_a_path_gives_each_model_of_separate_fits_in_the_given_order(queries):
    Cs = [10.0, 0.01, 1000.0, 1.0, 10.0]
    path = SVMMap(tol=1e-5).fit_path(queries, Cs=Cs)
    assert [ranker.C for ranker in path] == Cs
    for ranker in path:
        alone = SVMMap(ranker.C, tol=1e-5).fit(queries)
        assert_allclose(ranker.objective_, alone.objective_, rtol=1e-5)
        assert ranker.duality_gap_ <= 1e-5
        assert_array_equal(ranker.scale_, alone.scale_)
        assert vars(ranker).keys() == vars(alone).keys()


def test_a_path_takes_arrays_and_leaves_the_ranker_unfitted(queries):
    ranker = SVMMap(scaling="query")
    qid = queries.query_ids[queries.query_index]
    (one,) = ranker.fit_path(queries.features, queries.relevance, qid=qid, Cs=[1.0])
    assert_array_equal(one.coef_, SVMMap(1.0, scaling="query").fit(queries).coef_)
    assert not hasattr(ranker, "coef_")


def test_a_path_checks_its_input_like_fit(queries):
    with pytest.raises(ValueError, match="no query has two different labels"):
        SVMMap().fit_path(np.eye(2), [1, 1], qid=[1, 1], Cs=[1.0])
    with pytest.raises(ValueError, match="must be a finite number above 0. Got -3.0 instead"):
        SVMMap().fit_path(queries, Cs=[1.0, -3.0])


def test_a_level_of_relevance_is_as_good_as_binary_labels(queries):
    for level in (1, 2):
        binary = RankingDataset.from_arrays(
            queries.features, queries.labels >= level, queries.query_index
        )
        graded = SVMMap(relevance_level=level, scaling=None, tol=1e-8).fit(queries)
        plain = SVMMap(scaling=None, tol=1e-8).fit(binary)
        assert_allclose(graded.objective_, plain.objective_, rtol=1e-7)
        assert graded.n_skipped_queries_ == plain.n_skipped_queries_


def test_queries_that_say_nothing_are_skipped_and_counted(small):
    ranker = SVMMap(scaling=None).fit(small)
    assert ranker.n_skipped_queries_ == 2
    without = SVMMap(scaling=None).fit(small.select([0, 2, 4]))
    assert without.n_skipped_queries_ == 0
    assert_allclose(without.coef_, ranker.coef_, rtol=1e-9)


def test_no_usable_query_is_refused(queries):
    graded = RankingDataset.from_arrays(np.eye(2), [1, 2], [1, 1])
    with pytest.raises(ValueError, match=r"nothing to learn: .* \(a label above 0, by relevance"):
        SVMMap().fit(graded)
    with pytest.raises(
        ValueError, match=r"nothing to learn: .* \(a label of 9 or more, by relevance"
    ):
        SVMMap(relevance_level=9).fit(queries)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "'C' parameter of SVMMap must be a finite number above 0. Got -1 instead."),
        (
            {"C": np.inf},
            "'C' parameter of SVMMap must be a finite number above 0. Got inf instead.",
        ),
        (
            {"C": np.nan},
            "'C' parameter of SVMMap must be a finite number above 0. Got nan instead.",
        ),
        (
            {"tol": 0},
            "'tol' parameter of SVMMap must be a finite number above 0. Got 0 instead.",
        ),
        (
            {"max_iter": 0},
            "'max_iter' parameter of SVMMap must be a whole number from 1 to 1000000. Got 0 inst",
        ),
        ({"scaling": "max"}, "The 'scaling' parameter of SVMMap must be .* Got 'max' instead."),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        SVMMap(**parameters).fit(queries)


def test_too_few_iterations_are_told(queries):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations .* Raise 'max_iter'"):
        ranker = SVMMap(100, max_iter=2).fit(queries)
    assert ranker.n_iter_ == 2
    assert ranker.duality_gap_ > ranker.tol


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_features_of_any_scale_work(queries, scale):
    scaled = queries.with_features(scale * queries.features)
    for scaling in ("standard", "query"):
        plain = SVMMap(scaling=scaling).fit(queries).predict(queries)
        assert_allclose(SVMMap(scaling=scaling).fit(scaled).predict(scaled), plain, rtol=1e-6)
    # Without scaling, only C times the square of the scale counts.
    plain = SVMMap(scaling=None).fit(queries)
    same = SVMMap(1 / scale**2, scaling=None).fit(scaled)
    assert_allclose(same.objective_ * scale**2, plain.objective_, rtol=2e-3)
    by_large_or_small_scores = SVMMap(1e-4, scaling=None).fit(scaled)
    assert AveragePrecision().mean(scaled, by_large_or_small_scores.predict(scaled)) > 0.75


@pytest.mark.parametrize("C", [1e-12, 1e-6, 1e6, 1e12])
def test_any_trade_off_ranks_better_than_chance(queries, C):
    ranker = SVMMap(C).fit(queries)
    chance = AveragePrecision().mean(queries, np.zeros(queries.n_documents))
    assert AveragePrecision().mean(queries, ranker.predict(queries)) > chance + 0.1


def test_separable_queries_are_ranked_perfectly_however_large_the_trade_off(queries):
    features = np.column_stack([queries.features, queries.labels > 0])
    told = queries.with_features(features)
    for C in (1e3, 1e6, 1e10):
        ranker = SVMMap(C, scaling=None).fit(told)
        skipped = np.isin(AveragePrecision()(told, ranker.predict(told)), (0.0, 1.0))
        assert skipped.all()
        assert ranker.duality_gap_ <= 1e-3


def test_one_feature_finds_its_direction():
    for sign in (1, -1):
        X = sign * np.array([[3.0], [1.0], [2.0], [5.0], [4.0]])
        ranker = SVMMap().fit(X, [1, 0, 0, 1, 0], qid=[1, 1, 1, 2, 2])
        assert np.sign(ranker.coef_[0]) == sign


def test_constant_features_get_no_weight(queries):
    features = np.column_stack([queries.features, np.full(queries.n_documents, 0.1)])
    ranker = SVMMap(100).fit(queries.with_features(features))
    assert ranker.coef_[-1] == 0
    assert_allclose(ranker.coef_[:-1], SVMMap(100).fit(queries).coef_, rtol=1e-6)


def test_features_that_tell_nothing_give_no_weights():
    ranker = SVMMap().fit(np.ones((4, 2)), [1, 0, 1, 0], qid=[1, 1, 2, 2])
    assert_array_equal(ranker.coef_, 0)
    assert_allclose(ranker.objective_, 0.5)
    assert ranker.duality_gap_ <= 1e-9


def test_two_documents_with_equal_features_and_other_labels_cancel(rng):
    X = np.repeat(rng.normal(size=(6, 3)), 2, axis=0)
    ranker = SVMMap(10).fit(X, [1, 0] * 6, qid=np.repeat(np.arange(6), 2))
    assert_array_equal(ranker.coef_, 0)


def test_documents_that_only_rounding_tells_apart_end_soon(rng):
    parts = [rng.normal(size=(5, 3)) for _ in range(20)]
    X = np.vstack([np.vstack([part, part[rng.permutation(5)]]) for part in parts])
    ranker = SVMMap(scaling=None).fit(X, np.tile(np.arange(10) < 5, 20), qid=np.arange(200) // 10)
    assert np.abs(ranker.coef_).max() < 1e-12
    assert ranker.n_iter_ < 20
    assert ranker.duality_gap_ <= 1e-9


def test_a_trade_off_beyond_float_precision_is_told_and_still_ranks(queries):
    with pytest.warns(ConvergenceWarning, match="lower C, or scale the features"):
        ranker = SVMMap(1e22).fit(queries)
    chance = AveragePrecision().mean(queries, np.zeros(queries.n_documents))
    assert AveragePrecision().mean(queries, ranker.predict(queries)) > chance + 0.1


def test_long_lists_work():
    dataset, _ = make_queries(2, n_documents=(10_000, 10_000), n_features=5, n_types=1)
    ranker = SVMMap(10).fit(dataset)
    chance = AveragePrecision().mean(dataset, np.zeros(dataset.n_documents))
    assert AveragePrecision().mean(dataset, ranker.predict(dataset)) > chance + 0.05


def test_a_saved_model_holds_only_what_prediction_needs(queries, tmp_path):
    SVMMap().fit(queries).save(tmp_path / "model")
    kept = {name for name in vars(localrank.load(tmp_path / "model")) if name.endswith("_")}
    report = {"objective_", "duality_gap_", "n_iter_", "n_constraints_", "n_skipped_queries_"}
    learned = {"coef_", "scale_", "n_features_in_", "feature_names_in_", "training_data_"}
    assert kept == report | learned


def test_idle_planes_are_dropped_without_harm(queries, monkeypatch):
    usual = minimum(queries, 1000.0, 1e-5)
    monkeypatch.setattr(cutting_planes, "PATIENCE", 3)
    assert_allclose(minimum(queries, 1000.0, 1e-5).objective, usual.objective, rtol=1e-5)


@pytest.mark.parametrize("level", ["high", [1], True, np.nan, np.inf, -1])
def test_a_relevance_level_that_is_no_label_is_refused(level, queries):
    with pytest.raises(ValueError, match="'relevance_level' parameter of SVMMap must be"):
        SVMMap(relevance_level=level).fit(queries)


def test_queries_that_weigh_nothing_are_not_counted_as_useless(queries):
    weights = np.ones(queries.n_queries)
    weights[:5] = 0
    plain, weighted = SVMMap().fit(queries), SVMMap().fit(queries, query_weight=weights)
    assert weighted.n_skipped_queries_ == plain.n_skipped_queries_
