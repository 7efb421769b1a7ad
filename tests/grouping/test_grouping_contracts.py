"""What every grouping promises, checked for every one that declares itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from sklearn.base import clone

import localrank
from localrank import LocalRanker
from localrank import grouping as package
from localrank.grouping.base import group_queries
from localrank.rankers import RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import Mean
from localrank.selection import NearestQuery

# All that group by descriptions; one by known categories is asked for more (test_known_groups).
GROUPINGS = {name: part for name, part in declared(package).items() if name != "known-groups"}


@pytest.fixture(params=GROUPINGS)
def grouping(request):
    return make_sample(GROUPINGS[request.param])


@pytest.fixture(scope="module")
def clusters():
    """Descriptions of queries in three groups far apart."""
    rng = np.random.default_rng(0)
    return np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 90.0]], 12, axis=0) + rng.normal(size=(36, 2))


def members(groups, names):
    """Each group as a set of names, with the names of the queries that it serves."""
    return {
        (frozenset(names[members]), frozenset(names[groups.home == number]))
        for number, members in enumerate(groups)
    }


def test_the_constructor_only_stores(grouping):
    for name, value in grouping.get_params(deep=False).items():
        assert getattr(grouping, name) is value
    assert not [name for name in vars(grouping) if name.endswith("_")]


def test_a_clone_has_the_same_parameters_and_groups_alike(grouping, clusters):
    twin = clone(grouping)
    assert repr(twin) == repr(grouping)
    one, other = (group_queries(each, Mean(), clusters) for each in (grouping, twin))
    assert_array_equal(one.members, other.members)
    assert_array_equal(one.home, other.home)


def test_groups_hold_every_query_and_none_is_empty(grouping, clusters):
    groups = group_queries(grouping, Mean(), clusters)
    assert (groups.sizes > 0).all()
    assert set(groups.members.tolist()) == set(range(36))
    assert all((np.diff(members) > 0).all() for members in groups)


def test_a_query_is_served_by_a_group_that_holds_it(grouping, clusters):
    groups = group_queries(grouping, Mean(), clusters)
    assert groups.home.shape == (36,)
    assert all(query in groups[group] for query, group in enumerate(groups.home))


def test_queries_far_apart_are_grouped_apart(grouping, clusters):
    groups = group_queries(grouping, Mean(), clusters)
    assert len(groups) > 1
    assert groups.home[0] != groups.home[35]


def test_the_grouping_and_its_inputs_stay_unchanged(grouping, clusters):
    before, given = repr(vars(grouping)), clusters.copy()
    group_queries(grouping, Mean(), given)
    assert repr(vars(grouping)) == before
    assert_array_equal(given, clusters)


def test_the_same_queries_are_grouped_alike_again(grouping, clusters):
    first = group_queries(grouping, Mean(), clusters)
    group_queries(grouping, Mean(), clusters[:20])
    again = group_queries(grouping, Mean(), clusters)
    assert_array_equal(first.members, again.members)
    assert_array_equal(first.offsets, again.offsets)
    assert_array_equal(first.home, again.home)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_queries_changes_only_the_numbers_of_groups(grouping, clusters, seed):
    order = np.random.default_rng(seed).permutation(36)
    one = group_queries(grouping, Mean(), clusters)
    other = group_queries(grouping, Mean(), clusters[order])
    assert members(other, order) == members(one, np.arange(36))


def test_equal_queries_are_grouped(grouping):
    groups = group_queries(grouping, Mean(), np.ones((36, 2)))
    assert set(groups.members.tolist()) == set(range(36))
    assert (groups.sizes > 0).all()


def test_one_query_is_one_group(grouping):
    clusters = [name for name in grouping.get_params() if name.endswith("n_clusters")]
    if clusters:
        with pytest.raises(ValueError, match=r"at most the number of training queries \(1\)"):
            group_queries(grouping, Mean(), np.ones((1, 2)))
        grouping.set_params(**dict.fromkeys(clusters, 1))
    groups = group_queries(grouping, Mean(), np.ones((1, 2)))
    assert [members.tolist() for members in groups] == [[0]]
    assert groups.home.tolist() == [0]


def test_wrong_parameters_are_refused_in_one_form(grouping, clusters):
    for name, value in grouping.get_params(deep=False).items():
        if name != "random_state":
            message = f"The '{name}' parameter of {type(grouping).__name__} must be .* Got <object"
            with pytest.raises(ValueError, match=message):
                group_queries(grouping.set_params(**{name: object()}), Mean(), clusters)
            grouping.set_params(**{name: value})


def test_a_local_ranker_of_it_does_not_depend_on_the_order_of_queries(grouping, queries, tmp_path):
    local = LocalRanker(Mean(), grouping, RankSVM(), NearestQuery())
    order = np.random.default_rng(0).permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    other = clone(local).fit(mixed).predict(queries)
    scores = local.fit(queries).predict(queries)
    assert_allclose(other, scores, rtol=1e-9)
    local.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(queries), scores)
    assert_array_equal(loaded.groups_.home, local.groups_.home)
