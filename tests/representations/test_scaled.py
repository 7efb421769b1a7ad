import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans

from localrank.grouping.base import group_queries
from localrank.representations import Gaussian, Mean, RelevantMean, Scaled, TopDocuments, Variance

UNITS = 10.0 ** np.arange(-4, 4)


def test_features_are_divided_by_their_spread_around_query_means(queries):
    clouds = np.split(queries.features, queries.offsets[1:-1])
    rest = np.concatenate([cloud - cloud.mean(axis=0) for cloud in clouds])
    spread = np.sqrt((rest**2).mean(axis=0))
    model = Scaled(Mean()).fit(queries)
    assert_allclose(model.spread_, spread)
    assert_allclose(model.transform(queries), [cloud.mean(axis=0) / spread for cloud in clouds])


def test_new_queries_are_divided_by_the_spread_of_the_training_queries(queries):
    train, new = queries.select(np.arange(40)), queries.select([50])
    model = Scaled(Variance()).fit(train)
    expected = new.features.var(axis=0) / model.spread_**2
    assert_allclose(model.transform(new), [expected])


@pytest.mark.parametrize("inner", [Mean(), TopDocuments(feature="f2"), Gaussian("bhattacharyya")])
def test_units_do_not_matter(queries, inner):
    other = queries.with_features(queries.features * UNITS, queries.feature_names)
    plain, scaled = (Scaled(inner).fit(data).transform(data) for data in (queries, other))
    assert_allclose(scaled, plain, rtol=1e-7)


@pytest.mark.parametrize("inner", [Gaussian("bhattacharyya"), Gaussian(), Mean()])
def test_distances_and_similarities_are_those_of_the_representation(queries, inner):
    model = Scaled(inner).fit(queries)
    A = model.transform(queries)
    distances = model.distances(A[:5], A)
    assert_array_equal(distances, inner.distances(A[:5], A))
    assert_array_equal(model.similarities(distances), inner.similarities(distances))


@pytest.mark.parametrize("inner", [Mean(), Gaussian(), RelevantMean()])
def test_it_needs_labels_and_gives_points_where_the_representation_does(inner):
    assert Scaled(inner).needs_labels is inner.needs_labels
    assert Scaled(inner).points is inner.points


def test_scikit_learns_clusterers_take_scaled_points_only(queries):
    model = Scaled(Mean()).fit(queries)
    groups = group_queries(KMeans(3, random_state=0), model, model.transform(queries))
    assert len(groups) == 3
    model = Scaled(Gaussian()).fit(queries)
    with pytest.raises(ValueError, match="KMeans needs queries that are points"):
        group_queries(KMeans(3), model, model.transform(queries))


def test_the_given_representation_stays_unfitted_and_its_parameters_can_be_set(queries):
    inner = Gaussian()
    model = Scaled(inner).fit(queries)
    assert not hasattr(inner, "variances_")
    assert clone(model).set_params(representation__shrinkage=0.5).representation.shrinkage == 0.5


def test_anything_but_a_representation_is_refused(queries):
    with pytest.raises(ValueError, match="'representation' parameter of Scaled must be one of"):
        Scaled(KMeans()).fit(queries)
