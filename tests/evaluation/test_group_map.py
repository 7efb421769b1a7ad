import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, make_queries
from localrank.evaluation import query_groups
from localrank.evaluation.query_groups import coordinates, group_map, strongest_features
from localrank.rankers import BestFeature, LambdaMART, RankSVM
from localrank.recipes import local_rank


@pytest.fixture(scope="module")
def train() -> RankingDataset:
    return make_queries(30, n_documents=(6, 15), n_features=8, separation=1, random_state=2)[0]


def test_a_map_keeps_the_distances_of_points_in_a_plane(rng):
    points = rng.normal(size=(20, 2))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    x, y = coordinates(distances)
    drawn = np.hypot(x[:, None] - x, y[:, None] - y)
    np.testing.assert_allclose(drawn, distances, atol=1e-9)


def test_a_map_tells_each_groups_strongest_features(train):
    local = local_rank(3, ranker=RankSVM()).fit(train)
    result = group_map(local, train)
    assert result.group == local.groups_.home.tolist()
    assert result.ids == [str(query) for query in train.query_ids]
    for group, model in zip(result.groups, local.models_, strict=True):
        best = int(np.abs(model.coef_).argmax())
        assert group.strongest[0].feature == train.feature_label(best)
    assert [group.size for group in result.groups] == local.groups_.sizes.tolist()


def test_a_map_shows_queries_evenly_taken(train, monkeypatch):
    local = local_rank(3, ranker=RankSVM()).fit(train)
    whole = group_map(local, train)
    monkeypatch.setattr(query_groups, "N_QUERIES", 7)
    few = group_map(local, train)
    shown = [0, 4, 9, 14, 19, 24, 29]
    assert few.ids == [whole.ids[query] for query in shown]
    assert few.group == [whole.group[query] for query in shown]
    descriptions = local.selector_.descriptions_[shown]
    x, y = coordinates(local.selector_.representation_.distances(descriptions, descriptions))
    assert (few.x, few.y) == (x.tolist(), y.tolist())


def test_on_each_axis_of_a_map_the_query_farthest_out_is_on_the_right(rng):
    for _ in range(5):
        points = rng.normal(size=(9, 2))
        distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
        for axis in coordinates(distances):
            assert axis[np.abs(axis).argmax()] > 0


@pytest.mark.parametrize("n_queries", [1, 2, 5])
def test_equal_queries_are_one_point_of_the_map(n_queries):
    for axis in coordinates(np.zeros((n_queries, n_queries))):
        assert_array_equal(axis, np.zeros(n_queries))


def test_distances_that_no_plane_has_still_make_a_map():
    # Three queries in a row are farther from end to end than both steps together.
    x, y = coordinates(np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]))
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()


def test_strong_features_have_their_signed_share_of_all_weight(queries):
    model = RankSVM().fit(queries)
    model.coef_ = np.array([0.0, -5.0, 1.0, 2.0, 0.5, 0.25, 1.25, 0.0])
    features = strongest_features(model, queries)
    assert [one.feature for one in features] == [queries.feature_label(i) for i in (1, 3, 6, 2, 4)]
    assert [one.weight for one in features] == [-0.5, 0.2, 0.125, 0.1, 0.05]
    model.coef_ = np.zeros(8)
    assert strongest_features(model, queries) == []
    assert strongest_features(BestFeature().fit(queries), queries) == []


def test_features_of_trees_are_strong_by_their_gain(queries):
    model = LambdaMART(20, min_leaf_documents=5).fit(queries)
    gain = model.booster.feature_importance("gain")
    weights = [one.weight for one in strongest_features(model, queries)]
    np.testing.assert_allclose(weights, np.sort(gain)[::-1][:5] / gain.sum())
