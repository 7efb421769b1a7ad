import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

import localrank
from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Neighbourhoods, Refined
from localrank.measures import NDCG
from localrank.rankers import RankSVM, SharedRankSVM
from localrank.rankers.rank_svm._newton import evaluate
from localrank.rankers.rank_svm._ranking_pairs import RankingPairs
from localrank.recipes import pca_queries, query_blend, shared_specific
from localrank.representations import Mean, TopDocuments
from localrank.selection import NearestCentroid, NearestQueries


@pytest.fixture(scope="module")
def typed():
    """Queries of three types, and the positions of each type."""
    dataset, types = make_queries(60, n_documents=(5, 15), n_features=6, n_types=3, random_state=2)
    dataset = dataset.with_features(dataset.features)
    return dataset, [np.flatnonzero(types == group) for group in range(3)]


def exact(C=1.0, **parameters):
    return SharedRankSVM(C, scaling=None, tol=1e-12, **parameters)


def coefs(models):
    return np.array([model.coef_ for model in models])


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("shrinkage", [0.05, 1.0, 30.0])
def test_it_is_rank_svm_on_columns_of_each_group(typed, loss, shrinkage):
    dataset, groups = typed
    d = dataset.n_features
    wide = np.zeros((dataset.n_documents, 4 * d))
    wide[:, :d] = dataset.features
    for group, members in enumerate(groups):
        rows = np.isin(dataset.query_index, members)
        columns = slice(d * (group + 1), d * (group + 2))
        wide[rows, columns] = dataset.features[rows] / np.sqrt(shrinkage)
    tol = 1e-10 if loss == "hinge" else 1e-13
    naive = RankSVM(2.0, loss=loss, scaling=None, tol=tol).fit(dataset.with_features(wide))
    model = SharedRankSVM(2.0, shrinkage=shrinkage, loss=loss, scaling=None, tol=tol)
    models = model.fit_groups(dataset, groups)
    W = naive.coef_.reshape(4, d)
    assert_allclose(coefs(models), W[0] + W[1:] / np.sqrt(shrinkage), atol=1e-4)
    assert models[0].objective_ == pytest.approx(naive.objective_, rel=1e-8)


@pytest.mark.parametrize("shrinkage", [0.3, 5.0])
def test_shared_and_specific_parts_balance_the_losses_of_their_groups(typed, shrinkage):
    """At the minimum, λ v_g is minus the slope of group g's losses, and w_0 minus that of all."""
    dataset, groups = typed
    models = exact(2.0, shrinkage=shrinkage).fit_groups(dataset, groups)
    w_0 = coefs(models).sum(axis=0) / (len(groups) + 1 / shrinkage)
    slopes = []
    for model, members in zip(models, groups, strict=True):
        part = dataset.select(members)
        pairs = RankingPairs.of(part, part.features)
        share = pairs.n_pairs.sum() / model.n_pairs_
        slope = evaluate(pairs, 2.0 * share, np.inf, model.coef_).gradient - model.coef_
        assert_allclose(shrinkage * (model.coef_ - w_0), -slope, atol=1e-5)
        slopes.append(slope)
    assert_allclose(w_0, -np.sum(slopes, axis=0), atol=1e-5)


def test_a_large_shrinkage_is_the_global_model(typed):
    dataset, groups = typed
    for scaling in ("standard", "query", None):
        model = SharedRankSVM(2.0, shrinkage=1e9, scaling=scaling, tol=1e-12)
        one = RankSVM(2.0, scaling=scaling, tol=1e-12).fit(dataset)
        for shared in model.fit_groups(dataset, groups):
            assert_allclose(shared.coef_, one.coef_, atol=1e-6)


def test_a_small_shrinkage_is_a_model_of_each_group_alone(typed):
    dataset, groups = typed
    shrinkage, C = 1e-8, 3.0
    models = exact(C * shrinkage, shrinkage=shrinkage).fit_groups(dataset, groups)
    n_pairs = RankSVM().fit(dataset).n_pairs_
    for model, members in zip(models, groups, strict=True):
        part = dataset.select(members)
        share = RankSVM().fit(part).n_pairs_ / n_pairs
        alone = RankSVM(C * share, scaling=None, tol=1e-12).fit(part)
        assert_allclose(model.coef_, alone.coef_, atol=1e-5)


def test_alone_it_is_rank_svm_with_a_larger_weight_of_the_pairs(typed):
    dataset, _ = typed
    alone = exact(2.0, shrinkage=0.5).fit(dataset)
    assert_allclose(
        alone.coef_, RankSVM(6.0, scaling=None, tol=1e-12).fit(dataset).coef_, atol=1e-6
    )


def test_in_overlapping_groups_a_query_counts_in_each(typed):
    dataset, _ = typed
    first = dataset.offsets[20]
    models = exact(shrinkage=2.0).fit_groups(dataset, [np.arange(20), np.arange(60)])
    sizes = np.concatenate([dataset.query_sizes[:20], dataset.query_sizes])
    apart = RankingDataset.from_arrays(
        np.concatenate([dataset.features[:first], dataset.features]),
        np.concatenate([dataset.labels[:first], dataset.labels]),
        np.repeat(np.arange(80), sizes),
    )
    expected = exact(shrinkage=2.0).fit_groups(apart, [np.arange(20), np.arange(20, 80)])
    assert_allclose(coefs(models), coefs(expected), atol=1e-6)


def test_a_query_of_weight_two_counts_twice(typed):
    dataset, groups = typed
    weights = np.ones(60)
    weights[groups[1]] = 2.0
    models = exact().fit_groups(dataset, groups, weights)
    # Each query of group 1 is listed twice: members may repeat.
    twice = [groups[0], np.repeat(groups[1], 2), groups[2]]
    assert_allclose(coefs(models), coefs(exact().fit_groups(dataset, twice)), atol=1e-6)


def test_a_local_ranker_trains_all_groups_together(typed, tmp_path):
    dataset, _ = typed
    local = shared_specific(3, shrinkage=2.0).fit(dataset)
    expected = SharedRankSVM(shrinkage=2.0).fit_groups(dataset, list(local.groups_))
    assert_array_equal(coefs(local.models_), coefs(expected))
    weights = local.selector_.weights(dataset, local.models_)
    scores = np.stack([model.predict(dataset) for model in local.models_])
    assert_allclose(local.predict(dataset), (weights[dataset.query_index].T * scores).sum(axis=0))
    local.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(dataset), local.predict(dataset))


@pytest.mark.parametrize(
    ("grouping", "selector"),
    [
        (Neighbourhoods(5), NearestQueries(3)),
        (Refined(KMeans(2, random_state=0), rounds=2, n_folds=3), NearestCentroid()),
    ],
)
def test_any_grouping_and_selector_work(typed, grouping, selector):
    dataset, _ = typed
    local = LocalRanker(Mean(), grouping, SharedRankSVM(), selector).fit(dataset)
    assert len({model.objective_ for model in local.models_}) == 1
    constant = NDCG(10).mean(dataset, np.zeros(dataset.n_documents))
    assert local.score(dataset) > constant + 0.05


@pytest.fixture(scope="module")
def some(typed):
    return typed[0].select(range(20)), typed[0].select(range(20, 60))


def per_query(k, shrinkage):
    """The form of Ni et al.: a specific part for each training query, k models for a query."""
    return query_blend(k, ranker=SharedRankSVM(shrinkage=shrinkage, tol=1e-10))


def test_with_a_large_shrinkage_all_queries_have_the_global_model(some):
    train, test = some
    one = RankSVM(tol=1e-10).fit(train).predict(test)
    alone = per_query(1, 1e9).fit(train)
    assert alone.n_groups_ == train.n_queries
    assert_allclose(alone.predict(test), one, atol=1e-4)
    # Several models of the same weights rank as one of them does.
    several = per_query(5, 1e9).fit(train).predict(test)
    for begin, end in zip(test.offsets, test.offsets[1:], strict=False):
        assert_array_equal(np.argsort(several[begin:end]), np.argsort(one[begin:end]))


def test_with_one_neighbour_the_model_of_the_nearest_query_ranks(some):
    train, test = some
    local = per_query(1, 0.5).fit(train)
    models = SharedRankSVM(shrinkage=0.5, tol=1e-10).fit_groups(train, list(local.groups_))
    points = TopDocuments().fit(train)
    nearest = points.distances(points.transform(test), points.transform(train)).argmin(axis=1)
    scores = local.predict(test)
    home = {int(group[0]): model for group, model in zip(local.groups_, models, strict=True)}
    for query, neighbour in enumerate(nearest):
        rows = slice(*test.offsets[query : query + 2])
        expected = home[int(neighbour)].predict(test)[rows]
        assert_allclose(scores[rows], expected, atol=1e-6)


def test_sharing_wins_where_groups_are_small_and_alike():
    dataset, _ = make_queries(
        160, n_documents=(15, 25), n_features=12, n_types=8, separation=3, random_state=0
    )
    train, test = dataset.select(range(40)), dataset.select(range(40, 160))
    shared = shared_specific(8, shrinkage=1.0).fit(train)
    apart = pca_queries(8).fit(train)
    assert shared.score(test) > apart.score(test)


@pytest.mark.parametrize("shrinkage", [0, -1.0, np.inf, "much"])
def test_a_wrong_shrinkage_is_refused(typed, shrinkage):
    with pytest.raises(ValueError, match="'shrinkage' parameter of SharedRankSVM must be a finite"):
        SharedRankSVM(shrinkage=shrinkage).fit(typed[0])
