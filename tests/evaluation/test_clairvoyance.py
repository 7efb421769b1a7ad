import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import make_queries
from localrank.evaluation import clairvoyant_bound
from localrank.measures import AveragePrecision, OrderErrorRate
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, pca_queries, query_neighbours


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
