import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import MinMaxScaler

from localrank.data import RankingDataset
from localrank.rankers import RankSVM
from localrank.rankers._linear import LinearRanker, scaled_by_query
from localrank.rankers.base import Needs


class Fixed(LinearRanker):
    """Weights of one for the scaled features."""

    needs = Needs(order="given", trial=False)

    def __init__(self, scaling=None):
        self.scaling = scaling

    def _fit(self, dataset, query_weights, valid):
        self.seen_ = self._scaled_training_features(dataset)
        self.coef_ = np.arange(1.0, dataset.n_features + 1)


@pytest.mark.parametrize("scaling", [None, "standard", "query"])
def test_scores_are_the_weighted_sum_of_the_scaled_features(scaling, queries):
    ranker = Fixed(scaling).fit(queries)
    assert_allclose(ranker.predict(queries), ranker.seen_ @ ranker.coef_, rtol=1e-10)


def test_scaling_by_query_equals_scikit_learns_on_each_query(queries):
    ours = scaled_by_query(queries.features, queries.offsets)
    for begin, end in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        theirs = MinMaxScaler().fit_transform(queries.features[begin:end])
        assert_allclose(ours[begin:end], theirs, atol=1e-14)


def test_a_feature_that_is_constant_in_a_query_is_zero_there():
    assert_array_equal(scaled_by_query(np.full((3, 1), 7.3), np.array([0, 3])), np.zeros((3, 1)))


def test_standard_scaling_gives_every_feature_the_spread_one_within_queries(queries):
    scaled = Fixed("standard").fit(queries).seen_
    means = np.array([scaled[queries.query_index == q].mean(axis=0) for q in range(60)])
    rest = scaled - means[queries.query_index]
    assert_allclose(np.sqrt(np.mean(rest**2, axis=0)), 1.0)


@pytest.mark.parametrize("factor", [1e-200, 1e-8, 1e8, 1e90])
@pytest.mark.parametrize("scaling", ["standard", "query"])
def test_scaled_features_do_not_depend_on_their_unit(queries, scaling, factor):
    other = queries.with_features(queries.features * factor)
    plain, scaled = Fixed(scaling).fit(queries).seen_, Fixed(scaling).fit(other).seen_
    assert_allclose(scaled, plain, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_a_constant_feature_is_not_blown_up(queries, value):
    features = queries.features.copy()
    features[:, 3] = value
    assert Fixed("standard").fit(queries.with_features(features)).scale_[3] == 1


def test_the_scaling_of_the_training_queries_applies_to_new_ones(queries):
    ranker = Fixed("standard").fit(queries.select(np.arange(40)))
    new = queries.select([50])
    assert_allclose(ranker.predict(new), (new.features / ranker.scale_) @ ranker.coef_)


def test_an_unknown_scaling_is_refused(queries):
    with pytest.raises(ValueError, match="'scaling' parameter of Fixed must be .* Got 'minmax'"):
        Fixed("minmax").fit(queries)


def test_a_refit_without_scaling_forgets_the_old_one(queries):
    ranker = Fixed("standard").fit(queries)
    assert not hasattr(ranker.set_params(scaling=None).fit(queries), "scale_")


def test_integers_and_float32_are_scaled_in_float64():
    dataset = RankingDataset.from_arrays(
        np.array([[1], [2], [4]], dtype=np.float32), [0, 1, 2], [1, 1, 1]
    )
    assert Fixed("standard").fit(dataset).seen_.dtype == np.float64


@pytest.mark.parametrize("scaling", ["standard", "query", None])
def test_equal_documents_score_equal_wherever_they_stand(rng, scaling):
    rows = np.repeat(rng.normal(size=(60, 13)), 7, axis=0)
    dataset = RankingDataset.from_arrays(rows, rng.integers(2, size=420), np.repeat([1, 2], 210))
    scores = RankSVM(scaling=scaling).fit(dataset).predict(dataset).reshape(60, 7)
    assert_array_equal(scores, np.repeat(scores[:, :1], 7, axis=1))
