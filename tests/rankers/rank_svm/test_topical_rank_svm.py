import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.mixture import GaussianMixture

from localrank.data import RankingDataset, make_queries
from localrank.rankers import RankSVM, TopicalRankSVM
from localrank.rankers.rank_svm import _ranking_pairs as ranking_pairs
from localrank.representations import Mean, PrincipalComponents, RelevantMean, TopDocuments


@pytest.fixture(scope="module")
def typed():
    """Queries of three types, to train on and to rank."""
    dataset, _ = make_queries(
        110, n_documents=(5, 15), n_features=6, n_types=3, separation=1.0, random_state=2
    )
    dataset = dataset.with_features(dataset.features)
    return dataset.select(range(60)), dataset.select(range(60, 110))


def kronecker(dataset, memberships):
    """The columns P(·|q) ⊗ x, stored."""
    rows = memberships[dataset.query_index]
    wide = np.einsum("ic,ij->icj", rows, dataset.features).reshape(dataset.n_documents, -1)
    return dataset.with_features(wide)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_rank_svm_on_the_products_of_memberships_and_features(typed, loss, C):
    train, test = typed
    tol = 1e-10 if loss == "hinge" else 1e-13
    topical = TopicalRankSVM(3, C, loss=loss, scaling=None, tol=tol).fit(train)
    naive = RankSVM(C, loss=loss, scaling=None, tol=tol)
    naive.fit(kronecker(train, topical.memberships(train)))
    assert topical.objective_ == pytest.approx(naive.objective_, rel=1e-8)
    assert_allclose(topical.coef_.ravel(), naive.coef_, atol=1e-4)
    expected = naive.predict(kronecker(test, topical.memberships(test)))
    assert_allclose(topical.predict(test), expected, atol=1e-3)


def test_the_minimum_is_that_of_a_loop_over_pairs(typed):
    train = typed[0].select(range(12))
    topical = TopicalRankSVM(2, 5.0, scaling=None, tol=1e-12).fit(train)
    P = topical.memberships(train)
    differences = np.array(
        [
            np.kron(P[query], train.features[i] - train.features[j])
            for query in range(12)
            for i in range(train.offsets[query], train.offsets[query + 1])
            for j in range(train.offsets[query], train.offsets[query + 1])
            if train.labels[i] > train.labels[j]
        ]
    )

    def objective(w):
        slacks = np.maximum(1 - differences @ w, 0)
        return w @ w / 2 + 5 * np.mean(slacks**2) / 2

    assert len(differences) == topical.n_pairs_
    assert objective(topical.coef_.ravel()) == pytest.approx(topical.objective_)
    best = minimize(objective, np.zeros(12), options={"gtol": 1e-9}).fun
    assert topical.objective_ == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("scaling", ["standard", "query", None])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_one_topic_is_rank_svm_to_the_last_bit(typed, scaling, loss):
    train, test = typed
    topical = TopicalRankSVM(1, 2.0, scaling=scaling, loss=loss).fit(train)
    alone = RankSVM(2.0, scaling=scaling, loss=loss).fit(train)
    assert_array_equal(topical.coef_[0], alone.coef_)
    assert_array_equal(topical.predict(test), alone.predict(test))
    assert_array_equal(topical.contributions(test).values, alone.contributions(test).values)


def test_one_topic_of_many_features_is_rank_svm_to_the_last_bit(typed, monkeypatch):
    monkeypatch.setattr(ranking_pairs, "EXPLICIT", 3)
    train, test = typed
    topical, alone = TopicalRankSVM(1).fit(train), RankSVM().fit(train)
    assert_array_equal(topical.predict(test), alone.predict(test))


def test_many_features_need_no_stored_table(typed, monkeypatch):
    train, test = typed
    usual = TopicalRankSVM(3, tol=1e-12).fit(train)
    monkeypatch.setattr(ranking_pairs, "EXPLICIT", 3)
    wide = TopicalRankSVM(3, tol=1e-12).fit(train)
    assert_allclose(wide.predict(test), usual.predict(test), rtol=1e-4, atol=1e-5)


def test_memberships_are_those_of_a_mixture_of_equal_spheres(typed):
    train, test = typed
    topical = TopicalRankSVM(3, representation=Mean()).fit(train)
    spheres = GaussianMixture(3, covariance_type="spherical")
    spheres.weights_ = np.full(3, 1 / 3)
    spheres.means_, spheres.covariances_ = topical.centres_, np.full(3, topical.width_)
    spheres.precisions_cholesky_ = 1 / np.sqrt(spheres.covariances_)
    expected = spheres.predict_proba(Mean().fit(train).transform(test))
    assert_allclose(topical.memberships(test), expected, rtol=1e-9)


def test_the_width_is_the_mean_squared_distance_to_the_nearest_centre(typed):
    train, _ = typed
    topical = TopicalRankSVM(4, representation=Mean()).fit(train)
    described = Mean().fit(train).transform(train)
    squares = ((described[:, None] - topical.centres_) ** 2).sum(axis=2)
    assert topical.width_ == pytest.approx(squares.min(axis=1).mean())
    # k-means ends with each centre at the mean of its queries.
    nearest = squares.argmin(axis=1)
    for topic in range(4):
        assert_allclose(
            topical.centres_[topic], described[nearest == topic].mean(axis=0), atol=1e-6
        )


def test_a_query_is_ranked_by_its_topics_of_largest_share(typed):
    train, test = typed
    topical = TopicalRankSVM(4, scaling=None).fit(train)
    memberships = topical.memberships(test)
    for n_used in (1, 2, 4, 9):
        topical.n_used = n_used
        scores = topical.predict(test)
        for query in range(test.n_queries):
            rows = slice(test.offsets[query], test.offsets[query + 1])
            largest = np.argsort(memberships[query])[::-1][:n_used]
            weights = sum(memberships[query, c] * topical.coef_[c] for c in largest)
            assert_allclose(scores[rows], test.features[rows] @ weights, atol=1e-9)


def test_topics_do_not_look_at_labels(typed):
    train, test = typed
    by_name = TopDocuments(3, feature=0)
    one = TopicalRankSVM(3, representation=by_name).fit(train)
    other = train.replaced(relevance=np.random.default_rng(0).permutation(train.labels))
    two = TopicalRankSVM(3, representation=by_name, tol=1e-3).fit(other)
    assert_allclose(two.memberships(test), one.memberships(test), atol=1e-9)


def test_equal_queries_are_one_topic():
    features = np.tile([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]], (8, 1))
    dataset = RankingDataset.from_arrays(
        features, np.tile([0, 1, 2], 8), np.repeat(np.arange(8), 3)
    )
    topical = TopicalRankSVM(3).fit(dataset)
    assert len(topical.coef_) == 1
    assert topical.width_ == 1
    assert_array_equal(topical.predict(dataset), RankSVM().fit(dataset).predict(dataset))


def test_it_wins_where_topics_need_different_models():
    dataset, _ = make_queries(400, separation=2.0, random_state=1)
    train, test = dataset.select(range(300)), dataset.select(range(300, 400))
    assert TopicalRankSVM(4).fit(train).score(test) > RankSVM().fit(train).score(test) + 0.05


@pytest.mark.parametrize("representation", [PrincipalComponents(), RelevantMean()])
def test_a_representation_with_labels_or_without_points_is_refused(typed, representation):
    with pytest.raises(ValueError, match="'representation' parameter of TopicalRankSVM must be"):
        TopicalRankSVM(representation=representation).fit(typed[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_topics": 0}, "'n_topics' parameter of TopicalRankSVM must be a whole number, 1 or"),
        ({"n_topics": 61}, r"must be at most the number of queries \(60\). Got 61"),
        ({"n_used": 0}, "'n_used' parameter of TopicalRankSVM must be a whole number, 1 or"),
    ],
)
def test_wrong_parameters_are_refused(typed, parameters, message):
    with pytest.raises(ValueError, match=message):
        TopicalRankSVM(**parameters).fit(typed[0])
