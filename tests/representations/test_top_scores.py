from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from localrank.data import RankingDataset
from localrank.representations import TopScores
from localrank.representations.top_scores import _rounded


def naive(dataset, h, n_components):
    """Scikit-learn's PCA of the stacked matrices, then the mean of each query's projected rows."""
    clouds = np.split(dataset.features, dataset.offsets[1:-1])
    tops = [np.sort(cloud, axis=0)[::-1][:h] for cloud in clouds]
    pca = PCA(n_components, svd_solver="full").fit(np.concatenate(tops))
    return pca, np.array([pca.transform(top).mean(axis=0) for top in tops])


@pytest.mark.parametrize("h", [1, 4, 100])
@pytest.mark.parametrize("n_components", [1, 3, 8, 0.5, 0.95, 0.999999])
def test_a_query_is_the_mean_of_its_projected_rows(queries, h, n_components):
    model = TopScores(h, n_components=n_components).fit(queries)
    pca, expected = naive(queries, h, n_components)
    points = model.transform(queries)
    signs = np.sign((model.components_ * pca.components_).sum(axis=1))
    assert_allclose(model.components_, pca.components_ * signs[:, None], atol=1e-9)
    assert_allclose(points, expected * signs, rtol=1e-9, atol=1e-9)


def test_scaled_components_are_those_of_standardised_values(queries):
    units = 10.0 ** np.arange(8)
    units[2] = 0.0
    wide = queries.with_features(queries.features * units + 7.0)
    clouds = np.split(wide.features, wide.offsets[1:-1])
    tops = [np.sort(cloud, axis=0)[::-1][:5] for cloud in clouds]
    scaler = StandardScaler().fit(np.concatenate(tops))
    pca = PCA(3, svd_solver="full").fit(scaler.transform(np.concatenate(tops)))
    expected = [pca.transform(scaler.transform(top)).mean(axis=0) for top in tops]
    points = TopScores(5, n_components=3, scaling="standard").fit(wide).transform(wide)
    assert_allclose(pdist(points), pdist(np.array(expected)))


def test_scaled_values_are_the_same_in_any_units_also_for_new_queries(queries):
    train, test = queries.select(np.arange(40)), queries.select(np.arange(40, 60))
    units = 2.0 ** np.arange(-4, 4)
    model = TopScores(scaling="standard").fit(train)
    other = TopScores(scaling="standard").fit(train.with_features(train.features * units))
    same = other.transform(test.with_features(test.features * units))
    assert_allclose(model.transform(test), same, rtol=1e-9)


def test_new_queries_are_projected_with_the_components_of_the_training_queries(queries):
    train, test = queries.select(np.arange(40)), queries.select(np.arange(40, 60))
    model = TopScores(5, n_components=2).fit(train)
    pca, _ = naive(train, 5, 2)
    clouds = np.split(test.features, test.offsets[1:-1])
    expected = [pca.transform(np.sort(x, axis=0)[::-1][:5]).mean(axis=0) for x in clouds]
    assert_allclose(pdist(model.transform(test)), pdist(np.array(expected)))


def test_with_all_components_distances_are_those_of_the_mean_top_values(queries):
    clouds = np.split(queries.features, queries.offsets[1:-1])
    means = np.array([np.sort(x, axis=0)[::-1][:3].mean(axis=0) for x in clouds])
    points = TopScores(3, n_components=8).fit(queries).transform(queries)
    assert_allclose(pdist(points), pdist(means))


def test_components_are_orthonormal_with_a_positive_largest_loading(queries):
    components = TopScores(n_components=5).fit(queries).components_
    assert_allclose(components @ components.T, np.eye(5), atol=1e-12)
    assert (components.max(axis=1) == np.abs(components).max(axis=1)).all()


def test_a_share_of_one_keeps_every_component_that_varies(queries):
    features = queries.features.copy()
    features[:, 3] = features[:, 0]
    model = TopScores(n_components=1.0).fit(queries.with_features(features))
    assert len(model.components_) == 7
    whole = TopScores(n_components=8).fit(queries.with_features(features))
    other = queries.with_features(features)
    assert_allclose(pdist(model.transform(other)), pdist(whole.transform(other)))


def test_data_without_variance_makes_every_query_the_same_point():
    dataset = RankingDataset.from_arrays(np.full((4, 3), 0.5), qid=[1, 1, 2, 2])
    assert_array_equal(TopScores().fit(dataset).transform(dataset), [[0.0], [0.0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"h": 0}, "'h' parameter of TopScores must be a whole number, 1 or larger. Got 0"),
        ({"n_components": 0}, "a whole number from 1 to 8 .* Got 0 instead"),
        ({"n_components": 9}, "a whole number from 1 to 8 .* Got 9 instead"),
        ({"n_components": 1.5}, "a float above 0, at most 1. Got 1.5 instead"),
        ({"n_components": True}, "Got True instead"),
        ({"n_components": "mle"}, "Got 'mle' instead"),
        ({"scaling": "query"}, "'scaling' parameter of TopScores must be 'standard' or None. Got"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        TopScores(**parameters).fit(queries)


def test_there_are_no_more_components_than_rows(queries):
    with pytest.raises(ValueError, match="a whole number from 1 to 2 "):
        TopScores(1, n_components=3).fit(queries.select([0, 1]))


def test_sums_of_products_are_rounded_once(rng):
    parts = rng.integers(-(2**40), 2**40, size=(3, 2, 4, 4))
    parts += parts.swapaxes(2, 3)
    weights = [[Fraction(1, 2**20), Fraction(1, 2**40)], [Fraction(1, 2**40), Fraction(1, 2**60)]]
    weights.append([Fraction(1, 2**60), Fraction(1, 2**80)])
    expected = [
        [
            float(
                sum(
                    weights[k][half] * int(parts[k, half, i, j])
                    for k in range(3)
                    for half in (0, 1)
                )
            )
            for j in range(4)
        ]
        for i in range(4)
    ]
    assert_array_equal(_rounded(parts), expected)
