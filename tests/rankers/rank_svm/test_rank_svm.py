import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from localrank.data import RankingDataset, make_queries
from localrank.rankers.rank_svm import _newton as newton
from localrank.rankers.rank_svm import _ranking_pairs as ranking_pairs
from localrank.rankers.rank_svm._ranking_pairs import RankingPairs
from localrank.rankers.rank_svm.rank_svm import RankSVM

LOSSES = ["squared_hinge", "hinge"]


def differences(dataset):
    """Rows x_i - x_j of every pair, and the query of each."""
    rows, queries = [], []
    for query, (begin, end) in enumerate(
        zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True)
    ):
        X, y = dataset.features[begin:end], dataset.labels[begin:end]
        higher, lower = np.nonzero(y[:, None] > y)
        rows.append(X[higher] - X[lower])
        queries += [query] * len(higher)
    return np.concatenate(rows), np.array(queries)


def naive_objective(ranker, rows, weights=None):
    slack = np.maximum(1 - rows @ ranker.coef_, 0)
    losses = slack if ranker.loss == "hinge" else slack**2 / 2
    return ranker.coef_ @ ranker.coef_ / 2 + ranker.C * np.average(losses, weights=weights)


def with_weights(ranker, weights):
    other = RankSVM(ranker.C, loss=ranker.loss)
    other.coef_ = weights
    return other


def hinge_minimum(rows, C):
    """The minimum from the dual problem, a quadratic in a box."""
    n = len(rows)
    solution = minimize(
        lambda a: (np.sum((a @ rows) ** 2) / 2 - a.sum(), rows @ (a @ rows) - 1),
        np.full(n, C / n / 2),
        jac=True,
        bounds=[(0, C / n)] * n,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 100_000, "maxfun": 1_000_000},
    )
    return -solution.fun


@pytest.fixture(scope="module")
def small():
    return make_queries(8, n_documents=(3, 7), n_features=3, n_types=2, random_state=3)[0]


@pytest.mark.parametrize("knee", [np.inf, 0.3])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_gradient_and_second_derivatives_agree_with_finite_differences(rng, knee, n_labels):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, n_labels, 60)
    dataset = RankingDataset.from_arrays(X, y, np.repeat(np.arange(6), 10))
    pairs = RankingPairs.of(dataset, dataset.features)
    w, step = rng.normal(size=4) / 2, 1e-6

    def point(weights):
        return newton.evaluate(pairs, 5.0, knee, weights)

    assert check_grad(lambda v: point(v).objective, lambda v: point(v).gradient, w) < 1e-5
    numeric = [
        (point(w + step * e).gradient - point(w - step * e).gradient) / (2 * step)
        for e in np.eye(4)
    ]
    hessian = np.eye(4) + 5.0 * pairs.hessian(point(w).losses)
    assert_allclose(hessian, numeric, rtol=1e-5, atol=1e-5)
    for vector in np.eye(4):
        product = vector + 5.0 * pairs.hessian_product(point(w).losses, vector)
        assert_allclose(product, hessian @ vector, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e5])
def test_the_objective_is_that_of_all_pairs(queries, loss, C):
    ranker = RankSVM(C, loss=loss, scaling=None).fit(queries)
    rows, _ = differences(queries)
    assert ranker.n_pairs_ == len(rows)
    assert ranker.objective_ == pytest.approx(naive_objective(ranker, rows), rel=1e-12)
    assert 0 <= ranker.duality_gap_ <= 1e-6 * ranker.objective_


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_finds_the_minimum_of_scikit_learns_machine_on_pair_differences(small, loss, C):
    rows, _ = differences(small)
    signs = np.where(np.arange(len(rows)) % 2, 1, -1)
    per_pair = C / len(rows) / (2 if loss == "squared_hinge" else 1)
    theirs = LinearSVC(
        C=per_pair, loss=loss, dual=True, fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(rows * signs[:, None], signs)
    ours = RankSVM(C, loss=loss, scaling=None, tol=1e-8).fit(small)
    least = naive_objective(with_weights(ours, theirs.coef_[0]), rows)
    assert ours.objective_ == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_certificate_is_never_below_the_true_gap(small, C, tol):
    ranker = RankSVM(C, loss="hinge", scaling=None, tol=tol).fit(small)
    rows, _ = differences(small)
    true_gap = ranker.objective_ - hinge_minimum(rows, C)
    assert true_gap <= ranker.duality_gap_ + 1e-9
    assert ranker.duality_gap_ <= tol * ranker.objective_


@pytest.mark.parametrize("tol", [1.0, 1e-2])
def test_the_gap_of_the_squared_hinge_is_never_below_the_true_gap(queries, tol):
    rough = RankSVM(100, tol=tol).fit(queries)
    exact = RankSVM(100, tol=1e-14).fit(queries)
    assert rough.objective_ - exact.objective_ <= rough.duality_gap_ + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_weigh_alike_where_asked(queries, loss):
    rows, query = differences(queries)
    weights = 1 / np.bincount(query)[query]
    ranker = RankSVM(loss=loss, pair_weight="query", scaling=None).fit(queries)
    assert ranker.objective_ == pytest.approx(naive_objective(ranker, rows, weights), rel=1e-12)


def drop_of_every_swap(dataset):
    """For each pair of labels, the mean drop in NDCG@1 over all swaps in all perfect rankings."""
    means = {}
    for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        labels = dataset.labels[begin:end]
        drops = {}
        for first in np.flatnonzero(labels == labels.max()):
            # A perfect ranking begins with one of the best; the other places do not count.
            for i, j in np.argwhere(labels[:, None] > labels):
                at_the_top = labels[j] if i == first else labels[first]
                drop = 1 - (2**at_the_top - 1) / (2 ** labels.max() - 1)
                drops.setdefault((labels[i], labels[j]), []).append(drop)
        for pair, values in drops.items():
            means.setdefault(pair, []).append(np.mean(values))
    return {pair: np.mean(values) for pair, values in means.items()}


@pytest.mark.parametrize("one_is_best", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_label_weights_are_the_drops_in_ndcg_by_swapping(small, loss, one_is_best):
    """The loss of RSVM-IR, over a list of all pairs."""
    if one_is_best:  # Then swaps of all others cost nothing.
        first = np.isin(np.arange(small.n_documents), small.offsets)
        small = small.replaced(relevance=np.where(first, 5.0, small.labels))
    rows, query = differences(small)
    drops = drop_of_every_swap(small)
    assert len(set(drops.values())) > 4
    assert (min(drops.values()) == 0) == one_is_best
    labels = []
    for begin, end in zip(small.offsets[:-1], small.offsets[1:], strict=True):
        y = small.labels[begin:end]
        labels += [drops[y[i], y[j]] for i, j in np.argwhere(y[:, None] > y)]
    weights = np.array(labels) / np.bincount(query)[query]
    ranker = RankSVM(3.0, loss=loss, pair_weight="ir", scaling=None, tol=1e-9).fit(small)
    assert ranker.objective_ == pytest.approx(naive_objective(ranker, rows, weights), rel=1e-12)
    # C of each pair in the oracle's problem; its minimum is ours.
    least = LinearSVC(
        C=ranker.C / (2 if loss == "squared_hinge" else 1),
        loss=loss,
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
    ).fit(
        np.concatenate([rows, -rows]),
        np.repeat([1, -1], len(rows)),
        sample_weight=np.tile(weights / weights.sum() / 2, 2),
    )
    oracle = with_weights(ranker, least.coef_[0])
    assert ranker.objective_ == pytest.approx(naive_objective(oracle, rows, weights), rel=1e-6)
    assert ranker.objective_ < naive_objective(
        RankSVM(3.0, loss=loss, scaling=None).fit(small), rows, weights
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_two_labels_weigh_alike(queries, loss):
    binary = queries.replaced(relevance=3.0 * (queries.labels > 1))
    plain = RankSVM(loss=loss, pair_weight="query").fit(binary)
    weighted = RankSVM(loss=loss, pair_weight="ir").fit(binary)
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-9)


def test_label_weights_count_a_query_of_weight_two_twice(small):
    ranker = RankSVM(3.0, pair_weight="ir", scaling=None, tol=1e-9)
    coef = ranker.fit(small, query_weight=[2, 1, 0, 1, 1, 2, 1, 1]).coef_
    once, again = small.select([0, 1, 3, 4, 5, 6, 7]), small.select([0, 5])
    X = np.concatenate([once.features, again.features])
    y = np.concatenate([once.labels, again.labels])
    qid = np.concatenate([once.query_index, 100 + again.query_index])
    assert_allclose(coef, ranker.fit(X, y, qid=qid).coef_, rtol=1e-3)


def test_label_weights_take_few_labels_and_no_label_pairs(rng):
    X, qid = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    with pytest.raises(ValueError, match="takes at most 20 different labels. The data has 60"):
        RankSVM(pair_weight="ir").fit(X, np.arange(60.0), qid=qid)
    with pytest.raises(ValueError, match="must be 'pair' or 'query' with label_pairs"):
        RankSVM(pair_weight="ir", label_pairs=[(1, 0)]).fit(X, np.arange(60) % 3, qid=qid)


@pytest.mark.parametrize("pair_weight", ["pair", "query"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_query_of_weight_two_is_a_query_given_twice(small, loss, pair_weight):
    ranker = RankSVM(3.0, loss=loss, pair_weight=pair_weight, scaling=None, tol=1e-8)
    weighted = ranker.fit(small, query_weight=[2, 1, 0, 1, 1, 2, 1, 1])
    once, again = small.select([0, 1, 3, 4, 5, 6, 7]), small.select([0, 5])
    X = np.concatenate([once.features, again.features])
    y = np.concatenate([once.labels, again.labels])
    qid = np.concatenate([once.query_index, 100 + again.query_index])
    repeated = RankSVM(3.0, loss=loss, pair_weight=pair_weight, scaling=None, tol=1e-8)
    assert_allclose(weighted.coef_, repeated.fit(X, y, qid=qid).coef_, rtol=1e-3)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)


def test_equal_weights_are_no_weights(queries):
    plain = RankSVM().fit(queries).coef_
    weighted = RankSVM().fit(queries, query_weight=np.full(queries.n_queries, 7.0)).coef_
    assert_allclose(weighted, plain, rtol=1e-10)


def test_label_pairs_are_the_only_ones_learned_from(rng):
    X, y, qid = rng.normal(size=(90, 3)), rng.integers(0, 4, 90), np.repeat(np.arange(9), 10)
    chosen = RankSVM(scaling=None, label_pairs=[(3, 1)]).fit(X, y, qid=qid)
    kept = np.isin(y, [1, 3])
    alone = RankSVM(scaling=None).fit(X[kept], y[kept], qid=qid[kept])
    assert chosen.n_pairs_ == alone.n_pairs_
    assert_allclose(chosen.coef_, alone.coef_, rtol=1e-10)


@pytest.mark.parametrize("pair_weight", ["pair", "query"])
def test_all_label_pairs_together_are_all_pairs(rng, pair_weight):
    X, y, qid = rng.normal(size=(90, 3)), rng.integers(0, 3, 90), np.repeat(np.arange(9), 10)
    every = RankSVM(pair_weight=pair_weight, label_pairs=[(2, 1), (1, 0), (2, 0)], scaling=None)
    plain = RankSVM(pair_weight=pair_weight, scaling=None).fit(X, y, qid=qid)
    assert_allclose(every.fit(X, y, qid=qid).coef_, plain.coef_, rtol=1e-9)
    assert every.n_pairs_ == plain.n_pairs_


def test_label_pairs_that_no_query_has_are_refused(queries):
    with pytest.raises(ValueError, match=r"nothing to learn: no query .* label_pairs=\[\(9, 8\)\]"):
        RankSVM(label_pairs=[(9, 8)]).fit(queries)


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(queries):
    ranker = RankSVM().fit(queries)
    before = ranker.predict(queries)
    larger = queries.with_features(queries.features * 10, queries.feature_names)
    with pytest.raises(ValueError, match="nothing to learn"):
        ranker.set_params(label_pairs=[(9, 8)]).fit(larger)
    assert_array_equal(ranker.predict(queries), before)


def test_label_pairs_of_queries_that_weigh_nothing_are_refused(rng):
    X, y, qid = rng.normal(size=(6, 2)), [2, 0, 0, 1, 0, 0], np.repeat([0, 1], 3)
    with pytest.raises(ValueError, match="no query of positive weight"):
        RankSVM(label_pairs=[(2, 0)]).fit(X, y, qid=qid, query_weight=[0, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_only_the_order_of_the_labels_counts(queries, loss):
    y = queries.labels
    stretched = np.where(y == y.max(), 5 * y + 1, y)
    qid = queries.query_index
    plain = RankSVM(loss=loss).fit(queries.features, y, qid=qid)
    other = RankSVM(loss=loss).fit(queries.features, stretched, qid=qid)
    # Rows are in another order, so sums are rounded differently.
    assert_allclose(other.coef_, plain.coef_, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_shifting_a_query_changes_nothing(queries, loss):
    rng = np.random.default_rng(0)
    shifts = rng.normal(size=(queries.n_queries, queries.n_features))[queries.query_index]
    moved = queries.with_features(queries.features + shifts)
    for_both = [RankSVM(loss=loss, scaling=None, tol=1e-9).fit(d).coef_ for d in (queries, moved)]
    assert_allclose(*for_both, rtol=1e-5)


@pytest.mark.parametrize("scaling", ["standard", "query", None])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_rows_does_not_matter_even_at_a_loose_tolerance(rng, loss, scaling):
    dataset = make_queries(700, n_documents=(3, 20), n_features=5, random_state=4)[0]
    order = rng.permutation(dataset.n_documents)
    mixed = dataset.features[order], dataset.labels[order]
    ranker = RankSVM(10, loss=loss, scaling=scaling, tol=1e-2)
    plain = ranker.fit(dataset).coef_
    assert_allclose(ranker.fit(*mixed, qid=dataset.query_index[order]).coef_, plain, rtol=1e-9)


def test_a_start_from_a_part_leads_to_the_same_minimum():
    dataset = make_queries(700, n_documents=(3, 20), n_features=5, random_state=4)[0]
    pairs = RankingPairs.of(dataset, dataset.features)
    assert newton.part_of(pairs) is not None
    from_part = newton.minimize(pairs, 10.0, None, 1e-12, 100)
    from_zero = newton.minimize(pairs, 10.0, np.zeros(5), 1e-12, 100)
    assert_allclose(from_part.weights, from_zero.weights, rtol=1e-6)


def test_many_features_need_no_matrix_of_second_derivatives(queries, monkeypatch):
    explicit = RankSVM(10, tol=1e-12).fit(queries)
    monkeypatch.setattr(ranking_pairs, "EXPLICIT", 0)
    iterative = RankSVM(10, tol=1e-12).fit(queries)
    assert_allclose(iterative.coef_, explicit.coef_, rtol=1e-5)


def test_more_features_than_documents_work(rng):
    X, y = rng.normal(size=(40, 1600)), rng.integers(0, 2, 40)
    ranker = RankSVM(C=1e3).fit(X, y, qid=np.repeat(np.arange(4), 10))
    assert ranker.score(X, y, qid=np.repeat(np.arange(4), 10)) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_equals_separate_fits_in_the_given_order(queries, loss):
    Cs = [10.0, 1e-3, 1.0, 100.0]
    path = RankSVM(loss=loss).fit_path(queries, Cs=Cs)
    assert [ranker.C for ranker in path] == Cs
    for ranker in path:
        alone = RankSVM(ranker.C, loss=loss).fit(queries)
        assert ranker.objective_ == pytest.approx(alone.objective_, rel=2e-6)
        assert "_start" not in vars(ranker)


def test_a_path_takes_arrays_and_refuses_what_fit_refuses(queries):
    path = RankSVM().fit_path(queries.features, queries.labels, qid=queries.query_index, Cs=[1])
    assert_allclose(path[0].coef_, RankSVM().fit(queries).coef_)
    with pytest.raises(
        ValueError, match="'C' parameter of RankSVM must be a finite number above 0. Got -1"
    ):
        RankSVM().fit_path(queries, Cs=[1, -1])


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_features_does_not_matter_under_standard_scaling(queries, loss, scale):
    scaled = queries.with_features(queries.features * scale)
    plain = RankSVM(loss=loss, tol=1e-9).fit(queries)
    other = RankSVM(loss=loss, tol=1e-9).fit(scaled)
    assert_allclose(other.predict(scaled), plain.predict(queries), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize("loss", LOSSES)
def test_unscaled_features_of_any_size_are_learned_from(queries, loss, C, scale):
    scaled = queries.with_features(queries.features * scale)
    ranker = RankSVM(C, loss=loss, scaling=None).fit(scaled)
    assert ranker.score(scaled) > 0.75
    assert ranker.duality_gap_ <= 1e-6 * ranker.objective_


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_and_repeated_features_work(queries, loss):
    X = queries.features
    odd = queries.with_features(np.hstack([X, X, np.full((len(X), 1), 7.0)]))
    ranker = RankSVM(1e5, loss=loss, scaling=None).fit(odd)
    assert ranker.coef_[-1] == 0
    assert_allclose(ranker.coef_[:8], ranker.coef_[8:16], rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_matrix_that_rounding_makes_singular_is_mended(queries, loss):
    X = queries.features * 1e8
    twice = RankSVM(1e5, loss=loss, scaling=None).fit(queries.with_features(np.hstack([X, X])))
    once = RankSVM(1e5, loss=loss, scaling=None).fit(queries.with_features(X))
    assert twice.objective_ == pytest.approx(once.objective_, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_feature_has_the_minimum_of_a_fine_grid(rng, loss):
    X, y = rng.normal(size=(30, 1)), rng.integers(0, 3, 30)
    dataset = RankingDataset.from_arrays(X + 0.3 * y[:, None], y, np.repeat(np.arange(3), 10))
    ranker = RankSVM(5.0, loss=loss, scaling=None).fit(dataset)
    rows, _ = differences(dataset)
    grid = [
        naive_objective(with_weights(ranker, np.array([w])), rows) for w in np.linspace(-3, 3, 2001)
    ]
    assert ranker.objective_ <= min(grid) * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_identical_documents_teach_nothing(loss):
    X, y, qid = np.ones((12, 2)), np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    ranker = RankSVM(10, loss=loss).fit(X, y, qid=qid)
    assert_array_equal(ranker.coef_, 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_queries_of_two_documents_work(rng, loss):
    X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(200), 2)
    y = np.tile([0, 1], 200)
    X[:, 1] += y
    assert np.argmax(RankSVM(loss=loss).fit(X, y, qid=qid).coef_) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_real_labels_with_many_levels_are_summed_as_pairs(rng, loss):
    X = rng.normal(size=(300, 3))
    y = np.exp(X[:, 0] + 0.3 * rng.normal(size=300))
    dataset = RankingDataset.from_arrays(X, y, np.repeat([0, 1], 150))
    ranker = RankSVM(loss=loss, scaling=None).fit(dataset)
    rows, _ = differences(dataset)
    assert len(rows) == 150 * 149
    assert ranker.objective_ == pytest.approx(naive_objective(ranker, rows), rel=1e-11)


def test_too_few_steps_warn(queries):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps with a relative duality"):
        RankSVM(1e5, max_iter=1).fit(queries)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"C": -1},
            "'C' parameter of RankSVM must be a finite number above 0. Got -1 instead.",
        ),
        ({"C": np.inf}, "'C' parameter of RankSVM must be a finite number above 0"),
        (
            {"tol": 0},
            "'tol' parameter of RankSVM must be a finite number above 0. Got 0 instead.",
        ),
        (
            {"max_iter": 0},
            "'max_iter' parameter of RankSVM must be a whole number from 1 to 1000000. Got 0",
        ),
        ({"loss": "log"}, "must be 'squared_hinge' or 'hinge'. Got 'log' instead."),
        ({"pair_weight": 1}, "must be 'pair', 'query' or 'ir'. Got 1 instead."),
        ({"scaling": "max"}, "'scaling' parameter of RankSVM must be"),
        ({"label_pairs": []}, "'label_pairs' parameter of RankSVM must be None or different"),
        ({"label_pairs": [(0, 1)]}, r"with high > low. Got \[\(0, 1\)\] instead"),
        ({"label_pairs": [(1, 1)]}, "with high > low"),
        ({"label_pairs": [(1, 0), (1, 0)]}, "different pairs"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        RankSVM(**parameters).fit(queries)


@pytest.mark.parametrize("C", [1e2, 1e3, 1e4])
@pytest.mark.parametrize("seed", [55, 63, 90, 110, 135])
def test_the_hinge_converges_on_duplicated_documents(seed, C):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(10, 2))[rng.integers(0, 10, 10)]
    ranker = RankSVM(C, loss="hinge").fit(features, np.arange(10) < 2, qid=np.zeros(10))
    assert ranker.duality_gap_ <= 1e-6 * ranker.objective_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_certificate_holds_to_the_last_digits():
    """With more features than documents every slack of the solution is near 0 or the knee."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(8, 30)) * 10.0 ** rng.integers(0, 3)
        labels = rng.permutation([0, 0, 0, 1, 1, 2, 2, 0])
        higher, lower = np.nonzero(labels[:, None] > labels)
        pairs = (features[higher] - features[lower]).astype(np.longdouble)

        def objective(w, pairs=pairs):
            slack = np.maximum(0, 1 - pairs @ w)
            return w @ w / 2 + slack.mean()

        loose, tight = (
            RankSVM(1.0, loss="hinge", scaling=None, tol=tol).fit(features, labels, qid=np.zeros(8))
            for tol in (1e-3, 1e-10)
        )
        # The tighter solution is not below the minimum.
        excess = objective(loose.coef_.astype(np.longdouble)) - objective(
            tight.coef_.astype(np.longdouble)
        )
        assert loose.duality_gap_ >= excess
        assert tight.duality_gap_ >= 0


def test_a_path_starts_each_fit_from_the_last(queries):
    alone = RankSVM(10.0).fit(queries)
    path = RankSVM().fit_path(queries, Cs=[9.99, 10.0])
    assert path[1].n_iter_ < alone.n_iter_


@pytest.mark.parametrize("pairs", [5, (2, 0), ["ba"], [(2, None)], [(0, 2)], []])
def test_label_pairs_that_are_none_are_refused(pairs, queries):
    with pytest.raises(ValueError, match="'label_pairs' parameter of RankSVM must be"):
        RankSVM(label_pairs=pairs).fit(queries)
