import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recorder import Recorder, Together
from sklearn.cluster import KMeans

from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.evaluation import clairvoyant_bound
from localrank.evaluation.clairvoyance import ClairvoyantBound, clairvoyant_bounds
from localrank.measures import AveragePrecision, OrderErrorRate
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, pca_queries, query_neighbours
from localrank.representations import Mean
from localrank.selection import NearestCentroid


@pytest.fixture(scope="module")
def typed():
    dataset, _ = make_queries(120, n_types=3, n_features=10, separation=2.0, random_state=3)
    return dataset.select(range(80)), dataset.select(range(80, 120))


def test_the_bound_is_the_best_of_the_groups_models_per_query(typed):
    train, test = typed
    local = local_rank(3, ranker=RankSVM()).fit(train)
    bound = clairvoyant_bound(local, train, test, n_controls=1)
    each = [AveragePrecision()(test, model.predict(test)) for model in local.models_]
    assert_array_equal(bound.values, np.max(each, axis=0))
    assert_array_equal(bound.selected, AveragePrecision()(test, local.predict(test)))
    assert bound.n_groups == 3


def test_an_unfitted_ranker_is_fitted_first(typed):
    train, test = typed
    local = pca_queries(2)
    bound = clairvoyant_bound(local, train, test, n_controls=2, random_state=1)
    assert not hasattr(local, "models_")
    again = clairvoyant_bound(local.fit(train), train, test, n_controls=2, random_state=1)
    assert_array_equal(bound.values, again.values)
    assert_array_equal(bound.control, again.control)


def test_random_groups_bound_less_where_groups_are_real(typed):
    train, test = typed
    bound = clairvoyant_bound(local_rank(3, ranker=RankSVM()), train, test, n_controls=4)
    assert bound.values.mean() > bound.control_means.max() + 0.02
    assert bound.control.shape == (4, 40)
    assert len(set(bound.control_means)) == 4
    assert "clairvoyant on random groups" in repr(bound)


def test_random_groups_bound_as_much_where_groups_mean_nothing():
    # One type only: any partition is as good as any other.
    dataset, _ = make_queries(240, n_types=1, n_features=10, random_state=0)
    train, test = dataset.select(range(80)), dataset.select(range(80, 240))
    bound = clairvoyant_bound(local_rank(4, ranker=RankSVM()), train, test, n_controls=8)
    spread = bound.control_means.std(ddof=1)
    assert abs(bound.values.mean() - bound.control_means.mean()) < 4 * spread
    # The whole gain over the selection is chance, and it is not small.
    assert bound.control_means.mean() > bound.selected.mean() + spread


def test_random_groups_are_drawn_by_the_seed(typed):
    train, test = typed
    local = pca_queries(2).fit(train)
    one, again, other = (
        clairvoyant_bound(local, train, test, n_controls=1, random_state=seed) for seed in (1, 1, 2)
    )
    assert_array_equal(one.control, again.control)
    assert (one.control != other.control).any()


def test_random_groups_have_as_many_queries_with_something_to_learn():
    # Two groups of ten: in one four queries have two labels, in the other nine.
    features = np.repeat(np.arange(20.0) + 100 * (np.arange(20) >= 10), 2)[:, None]
    teaches = np.isin(np.arange(20), [0, 3, 4, 7, *range(10, 19)])
    labels = np.column_stack([np.zeros(20), teaches]).ravel()
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(20), 2))
    local = LocalRanker(Mean(), KMeans(2, n_init=5), Recorder(), NearestCentroid()).fit(dataset)
    Recorder.seen = []
    clairvoyant_bound(local, dataset, dataset, n_controls=5)
    groups = [seen[0].query_ids for seen in Recorder.seen]
    kinds = {tuple(np.bincount(teaches[members], minlength=2)) for members in groups}
    assert kinds == {(6, 4), (1, 9)}
    assert len({tuple(members[~teaches[members]]) for members in groups}) > 2
    assert len({tuple(members[teaches[members]]) for members in groups}) > 2


def test_models_of_random_groups_are_trained_at_the_same_time(typed):
    train, test = typed
    grouping = KMeans(2, n_init=5, random_state=0)
    local = LocalRanker(Mean(), grouping, Together(), NearestCentroid(), n_jobs=2)
    assert clairvoyant_bound(local, train, test, n_controls=1).control.shape == (1, 40)


def test_bounds_by_several_measures_are_those_by_each(typed):
    train, test = typed
    local = local_rank(3, ranker=RankSVM()).fit(train)
    options = {"n_controls": 2, "random_state": 5}
    for bound in clairvoyant_bounds(local, train, test, ["map", "ndcg@3"], **options):
        alone = clairvoyant_bound(local, train, test, bound.measure, **options)
        for name in ("selected", "values", "control"):
            assert_array_equal(getattr(bound, name), getattr(alone, name))


def test_a_bound_reads_as_its_means_over_the_queries_that_have_a_value():
    nan = np.nan
    control = np.array([[0.5, 0.7, nan], [0.7, 0.9, nan]])
    parts = AveragePrecision(), 4, np.array([0.1, 0.3, nan]), np.array([0.8, 1.0, nan])
    title, _, *lines = repr(ClairvoyantBound(*parts, control)).splitlines()
    assert title == "map of 4 groups"
    assert [line.split("  ")[-1].strip() for line in lines[2:]] == [
        "0.2000",
        "0.9000",
        "0.7000 ± 0.1414",
    ]
    alone = repr(ClairvoyantBound(*parts, control[:1])).splitlines()[-1]
    assert alone.split() == ["clairvoyant", "on", "random", "groups", "(1", "draw)", "0.6000"]


def test_overlapping_groups_have_a_control_too(typed):
    train, test = typed
    bound = clairvoyant_bound(query_neighbours(10), train, test, n_controls=1)
    assert (bound.values >= bound.selected).all()
    assert np.isfinite(bound.control).all()


def test_lower_may_be_better(typed):
    train, test = typed
    measure = OrderErrorRate(empty="skip")
    local = local_rank(3, ranker=RankSVM()).fit(train)
    bound = clairvoyant_bound(local, train, test, measure, n_controls=1)
    each = [measure(test, model.predict(test)) for model in local.models_]
    assert_array_equal(bound.values, np.min(each, axis=0))


def test_a_ranker_fitted_to_other_queries_is_refused(typed):
    train, test = typed
    local = local_rank(2, ranker=RankSVM()).fit(test)
    with pytest.raises(ValueError, match="fitted to other queries than those in 'train'"):
        clairvoyant_bound(local, train, test)


def test_no_control_is_refused(typed):
    with pytest.raises(ValueError, match="'n_controls' argument must be 1 or larger"):
        clairvoyant_bound(local_rank(2), *typed, n_controls=0)
