import numpy as np
import pytest
from numpy.linalg import det, inv
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from localrank.data import RankingDataset
from localrank.representations import Gaussian, gaussian

KINDS = ["kl", "bhattacharyya"]


def kl(mean_1, cov_1, mean_2, cov_2):
    """Equation 1 of the paper."""
    shift = mean_2 - mean_1
    first = np.log(det(cov_2) / det(cov_1)) + np.trace(inv(cov_2) @ cov_1)
    return first / 2 + (shift @ inv(cov_2) @ shift - len(mean_1)) / 2


def symmetric_kl(mean_1, cov_1, mean_2, cov_2):
    """Equation 2."""
    return (kl(mean_1, cov_1, mean_2, cov_2) + kl(mean_2, cov_2, mean_1, cov_1)) / 2


def bhattacharyya(mean_1, cov_1, mean_2, cov_2):
    """One minus equation 4."""
    cov = inv(inv(cov_1) / 2 + inv(cov_2) / 2)
    mean = inv(cov_1) @ mean_1 / 2 + inv(cov_2) @ mean_2 / 2
    exponent = (
        -mean_1 @ inv(cov_1) @ mean_1 / 4 - mean_2 @ inv(cov_2) @ mean_2 / 4 + mean @ cov @ mean / 2
    )
    return 1 - det(cov_1) ** -0.25 * det(cov_2) ** -0.25 * det(cov) ** 0.5 * np.exp(exponent)


DEFINITIONS = {"kl": symmetric_kl, "bhattacharyya": bhattacharyya}


def parts(descriptions):
    """Means and covariances."""
    factors = descriptions[:, 1:]
    return descriptions[:, 0], factors @ factors.swapaxes(1, 2)


@pytest.fixture(scope="module")
def clouds():
    """Clouds of 3 to 12 documents with correlated features, not far from each other."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(3, 13, size=15)
    query = np.repeat(np.arange(15), sizes)
    X = rng.normal(size=(len(query), 5)) @ rng.normal(size=(5, 5))
    X += rng.normal(size=(15, 5))[query]
    X *= rng.uniform(0.5, 2, size=(15, 1))[query]
    return RankingDataset.from_arrays(X, qid=query)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_the_papers_equations(clouds, kind):
    model = Gaussian(kind).fit(clouds)
    A = model.transform(clouds)
    means, covariances = parts(A)
    expected = [
        [DEFINITIONS[kind](means[i], covariances[i], means[j], covariances[j]) for j in range(15)]
        for i in range(15)
    ]
    assert_allclose(model.distances(A, A), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(
        model.distances(A[:4], A[3:]), np.array(expected)[:4, 3:], rtol=1e-9, atol=1e-12
    )


@pytest.fixture(scope="module")
def densities():
    """Two queries with one feature, as densities, and their distance by name."""
    dataset = RankingDataset.from_arrays(
        np.array([[0.0], [2.0], [4.5], [1.0], [1.5], [3.0]]), qid=[1, 1, 1, 2, 2, 2]
    )
    A = Gaussian().fit(dataset).transform(dataset)
    means, covariances = parts(A)
    distances = {kind: Gaussian(kind).fit(dataset).distances(A[:1], A[1:])[0, 0] for kind in KINDS}
    p, q = (
        stats.norm(mean.item(), np.sqrt(covariance.item()))
        for mean, covariance in zip(means, covariances, strict=True)
    )
    return p, q, distances


def test_the_divergence_is_the_integral_over_the_densities(densities):
    p, q, distances = densities
    value, _ = quad(lambda x: (p.pdf(x) - q.pdf(x)) * (p.logpdf(x) - q.logpdf(x)), -40, 40)
    assert_allclose(distances["kl"], value / 2, rtol=1e-8)


def test_bhattacharyyas_kernel_is_the_integral_over_the_densities(densities):
    p, q, distances = densities
    value, _ = quad(lambda x: np.sqrt(p.pdf(x) * q.pdf(x)), -40, 40)
    assert_allclose(distances["bhattacharyya"], 1 - value, rtol=1e-8)


def test_a_description_is_the_mean_and_the_factor_of_the_shrunk_covariance(clouds):
    model = Gaussian(shrinkage=0.3).fit(clouds)
    A = model.transform(clouds)
    documents = np.split(clouds.features, clouds.offsets[1:-1])
    target = np.diag(np.mean([cloud.var(axis=0) for cloud in documents], axis=0))
    for description, cloud in zip(A, documents, strict=True):
        assert_allclose(description[0], cloud.mean(axis=0))
        assert_array_equal(np.triu(description[1:], 1), 0)
        covariance = 0.7 * np.cov(cloud.T, ddof=0) + 0.3 * target
        assert_allclose(description[1:] @ description[1:].T, covariance)


def test_with_full_shrinkage_the_divergence_is_half_the_squared_distance_of_means(clouds):
    model = Gaussian(shrinkage=1).fit(clouds)
    A = model.transform(clouds)
    between = A[:, None, 0] - A[None, :, 0]
    expected = (between**2 / model.variances_).sum(axis=-1) / 2
    assert_allclose(model.distances(A, A), expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_units_and_a_common_shift_do_not_matter(clouds, kind):
    # Powers of two, so that the shifted values are exact.
    coarse = clouds.with_features(np.round(clouds.features * 2**20) / 2**20)
    other = coarse.with_features(coarse.features * 2.0 ** np.array([-90, 60, 0, 3, 9]))
    far = coarse.with_features(coarse.features + 2.0**15)
    expected, scaled, shifted = (
        model.distances(A, A)
        for dataset in (coarse, other, far)
        for model in [Gaussian(kind).fit(dataset)]
        for A in [model.transform(dataset)]
    )
    assert_allclose(scaled, expected, rtol=1e-12, atol=1e-13)
    assert_allclose(shifted, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_any_common_linear_map_of_the_clouds_leaves_distances_alone(kind, rng):
    # With hardly any shrinkage, which is the only thing that knows the axes.
    X, qid = rng.normal(size=(120, 3)), np.repeat(np.arange(4), 30)
    distances = []
    for values in (X, X @ rng.normal(size=(3, 3))):
        dataset = RankingDataset.from_arrays(values, qid=qid)
        model = Gaussian(kind, shrinkage=1e-11).fit(dataset)
        A = model.transform(dataset)
        distances.append(model.distances(A, A))
    assert_allclose(distances[1], distances[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_array_and_a_copy_give_the_same_distances(clouds, kind):
    model = Gaussian(kind).fit(clouds)
    A = model.transform(clouds)
    assert_allclose(model.distances(A, A), model.distances(A, A.copy()), rtol=1e-12, atol=1e-13)
    assert_array_equal(model.distances(A, A), model.distances(A, A).T)


def test_blocks_do_not_matter(clouds, monkeypatch):
    model = Gaussian().fit(clouds)
    A = model.transform(clouds)
    whole = model.distances(A, A[:7])
    monkeypatch.setattr(gaussian, "_BLOCK", 150)
    assert_allclose(model.distances(A, A[:7]), whole, rtol=1e-12, atol=1e-13)


def test_a_feature_that_is_constant_within_queries_has_the_variance_between_them(clouds):
    features = clouds.features.copy()
    features[:, 2] = 0.1 * clouds.query_index
    features[:, 4] = 0.1
    model = Gaussian().fit(clouds.with_features(features))
    assert_allclose(model.variances_[2], np.var(0.1 * np.arange(15)))
    assert model.variances_[4] == 1
    assert (model.variances_[[0, 1, 3]] == Gaussian().fit(clouds).variances_[[0, 1, 3]]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [1e-14, 0.1])
def test_a_new_query_far_more_varied_than_all_training_queries_is_described(
    clouds, kind, shrinkage
):
    model = Gaussian(kind, shrinkage=shrinkage).fit(clouds)
    X = 1e20 * np.outer([1.0, 2.0, 4.0], np.arange(1.0, 6.0))
    A = model.transform(RankingDataset.from_arrays(X, qid=[1, 1, 1]))
    distances = model.distances(A, model.transform(clouds))
    assert np.isfinite(distances).all()
    assert (distances > 0.9).all()


def test_similarities_are_the_kernel_or_fall_with_the_divergence(clouds):
    distances = np.array([[0.0, 0.25]])
    assert_allclose(Gaussian("bhattacharyya").similarities(distances), [[1, 0.75]])
    assert_allclose(Gaussian("kl").similarities(distances), [[1, 0.8]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"distance": "js"}, "'distance' parameter of Gaussian must be .* Got 'js' instead"),
        ({"shrinkage": 0}, "'shrinkage' parameter of Gaussian must be .* above 0, at most 1"),
        ({"shrinkage": 1.5}, "Got 1.5 instead"),
    ],
)
def test_wrong_parameters_are_refused(clouds, parameters, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(**parameters).fit(clouds)
