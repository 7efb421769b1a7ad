import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.metrics import adjusted_rand_score

from localrank.data import make_queries
from localrank.grouping import Agglomerative, Groups, Neighbourhoods, agglomerative
from localrank.grouping import _training as training
from localrank.grouping import neighbourhoods as module
from localrank.grouping._training import merge_small
from localrank.grouping.base import Reordered, group_queries
from localrank.representations import Mean, PrincipalComponents


@pytest.fixture
def points(rng):
    return rng.normal(size=(40, 3))


def farthest_pair(D, a, b):
    return D[np.ix_(a, b)].max()


def naive_complete_link(D, n_clusters):
    """Join the two groups whose farthest queries are nearest, until n_clusters are left."""
    groups = [[i] for i in range(len(D))]
    while len(groups) > n_clusters:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        i, j = min(pairs, key=lambda pair: farthest_pair(D, groups[pair[0]], groups[pair[1]]))
        groups[j] += groups.pop(i)
    labels = np.empty(len(D), int)
    for number, queries in enumerate(groups):
        labels[queries] = number
    return labels


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 39, 40])
def test_complete_link_joins_the_groups_with_the_nearest_farthest_queries(points, n_clusters):
    home = Agglomerative(n_clusters).group(Mean(), points).home
    D = Mean().distances(points, points)
    assert adjusted_rand_score(home, naive_complete_link(D, n_clusters)) == 1
    assert len(set(home)) == n_clusters


@pytest.mark.parametrize("linkage", ["complete", "average", "single", "ward"])
def test_linkages_agree_with_scikit_learn_on_points(points, linkage):
    ours = Agglomerative(6, linkage=linkage).group(Mean(), points).home
    theirs = AgglomerativeClustering(6, linkage=linkage).fit_predict(points)
    assert adjusted_rand_score(ours, theirs) == 1


def test_ward_takes_any_distances(queries):
    components = PrincipalComponents(2).fit(queries)
    described = components.transform(queries)
    ours = Agglomerative(4, linkage="ward").group(components, described).home
    D = components.distances(described, described)
    steps = scipy_linkage(D[np.triu_indices(len(D), 1)], "ward")
    assert adjusted_rand_score(ours, fcluster(steps, 4, "maxclust")) == 1


def test_equal_distances_still_give_the_number_of_groups_asked_for():
    groups = Agglomerative(3).group(Mean(), np.zeros((7, 2)))
    assert len(groups) == 3
    assert groups.sizes.sum() == 7


def test_groups_are_numbered_by_first_appearance(points):
    home = Agglomerative(5).group(Mean(), points).home
    _, first = np.unique(home, return_index=True)
    assert (np.diff(first) > 0).all()


@pytest.mark.parametrize(
    ("grouping", "message"),
    [
        (Agglomerative(0), "'n_clusters' parameter of Agglomerative must be a whole number"),
        (Agglomerative(41), r"at most the number of training queries \(40\). Got 41"),
        (Agglomerative(2, linkage="median"), "'linkage' parameter of Agglomerative must be"),
        (Neighbourhoods(-1), "'n_neighbours' parameter of Neighbourhoods"),
        (KMeans(41), r"'n_clusters' parameter of KMeans must be at most the number"),
        ("kmeans", "must be one of localrank.grouping or a clusterer of scikit-learn"),
    ],
)
def test_wrong_parameters_are_refused(points, grouping, message):
    with pytest.raises(ValueError, match=message):
        group_queries(grouping, Mean(), points)


def test_a_neighbourhood_is_a_query_and_its_nearest(points):
    groups = Neighbourhoods(4).group(Mean(), points)
    D = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    for query in range(40):
        assert set(groups[query]) == set(np.argsort(D[query])[:5])
    assert_array_equal(groups.home, np.arange(40))


def test_of_equal_queries_a_neighbourhood_holds_its_own_and_the_first():
    groups = Neighbourhoods(2).group(Mean(), np.zeros((40, 2)))
    for query in range(2, 40):
        assert groups[query].tolist() == [0, 1, query]


@pytest.mark.parametrize("n_bytes", [1, 8 * 40 * 7])
def test_neighbourhoods_do_not_depend_on_how_many_are_found_at_once(points, monkeypatch, n_bytes):
    whole = Neighbourhoods(4).group(Mean(), points)
    monkeypatch.setattr(module, "BLOCK_BYTES", n_bytes)
    assert_array_equal(Neighbourhoods(4).group(Mean(), points).members, whole.members)


def test_neighbourhoods_never_exceed_the_queries(points):
    groups = Neighbourhoods(100).group(Mean(), points)
    assert_array_equal(groups.sizes, np.full(40, 40))
    assert_array_equal(Neighbourhoods(0).group(Mean(), points).sizes, np.ones(40))


@pytest.mark.parametrize("clusterer", [KMeans(3, random_state=0), BisectingKMeans(3)])
def test_clusterers_of_scikit_learn_serve(points, clusterer):
    groups = group_queries(clusterer, Mean(), points)
    assert len(groups) == 3
    assert sorted(groups.members.tolist()) == list(range(40))


def test_fewer_different_points_than_clusters_are_groups_of_their_own():
    points = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
    assert_array_equal(group_queries(KMeans(3), Mean(), points).home, [0, 1, 0, 1, 1])
    assert_array_equal(group_queries(KMeans(2), Mean(), np.ones((4, 2))).home, 0)


def test_there_may_be_as_many_clusters_as_queries():
    # Too near for a clusterer's sums of squares to tell.
    points = np.array([[1.0], [1e9], [1e9 + 1e-6]])
    assert_array_equal(group_queries(KMeans(3), Mean(), points).home, [0, 1, 2])


def test_clusterers_of_points_refuse_what_is_no_point(queries):
    components = PrincipalComponents(2).fit(queries)
    with pytest.raises(ValueError, match="KMeans needs queries that are points"):
        group_queries(KMeans(2), components, components.transform(queries))


def test_a_clusterer_of_precomputed_distances_gets_them(queries):
    components = PrincipalComponents(2).fit(queries)
    described = components.transform(queries)
    theirs = AgglomerativeClustering(4, metric="precomputed", linkage="complete")
    ours = Agglomerative(4).group(components, described).home
    assert adjusted_rand_score(group_queries(theirs, components, described).home, ours) == 1


def test_groups_without_anything_to_learn_are_merged_into_the_nearest():
    points = np.array([[0.0], [1.0], [10.0], [11.0], [14.0], [30.0]])
    groups = Groups.from_labels(np.array([0, 0, 1, 1, 2, 3]))
    teaches = np.array([True, True, True, True, False, True])
    merged = merge_small(groups, teaches, 1, Mean(), points)
    assert [members.tolist() for members in merged] == [[0, 1], [2, 3, 4], [5]]
    assert_array_equal(merged.home, [0, 0, 1, 1, 1, 2])
    assert merged.n_merged == 1


def test_groups_below_the_minimum_are_merged_until_none_is_left():
    points = np.array([[0.0], [1.0], [10.0], [11.0], [14.0], [30.0]])
    groups = Groups.from_labels(np.array([0, 0, 1, 1, 2, 3]))
    merged = merge_small(groups, np.ones(6, bool), 3, Mean(), points)
    assert [members.tolist() for members in merged] == [[0, 1, 2, 3, 4, 5]]
    assert merged.n_merged == 3


def test_groups_are_merged_from_the_smallest_up():
    points = np.array([[0.0], [1.0], [7.0], [10.0], [11.0], [12.0]])
    groups = Groups.from_labels(np.array([0, 0, 1, 2, 2, 2]))
    merged = merge_small(groups, np.ones(6, bool), 3, Mean(), points)
    # The one in the middle goes to the right, and leaves none near enough to stay apart.
    assert [members.tolist() for members in merged] == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        # Group 1 has the query that is nearest to one of group 0, or to the one there is.
        ([0.0, 20.0, 25.0, 10.0], [0, 0, 1, 2]),
        ([0.0, 1.0, 100.0, 10.0, 12.0], [0, 1, 1, 2, 2]),
    ],
)
def test_the_nearest_group_is_so_by_the_mean_over_all_pairs(points, labels):
    groups = Groups.from_labels(np.array(labels))
    teaches = groups.home > 0
    merged = merge_small(groups, teaches, 1, Mean(), np.array(points)[:, None])
    assert_array_equal(merged.home, np.array([1, 0, 1])[labels])


def test_of_a_large_group_some_queries_decide_which_is_nearest(monkeypatch):
    # The first and the last of group 0 are nearer to group 1, all together to group 2.
    points = np.array([0.0, 9.0, 9.0, 9.0, 9.0, 2.0, 1.0, 9.5])[:, None]
    groups = Groups.from_labels(np.array([0, 0, 0, 0, 0, 0, 1, 2]))
    for most, home in ((6, [1, 0, 1]), (2, [0, 0, 1])):
        monkeypatch.setattr(training, "_MAX_COMPARED", most)
        merged = merge_small(groups, groups.home > 0, 1, Mean(), points)
        assert_array_equal(merged.home, np.array(home)[groups.home])


def test_large_enough_groups_stay():
    groups = Groups.from_labels(np.array([0, 1, 0, 1]))
    merged = merge_small(groups, np.ones(4, bool), 2, Mean(), np.arange(4.0)[:, None])
    assert_array_equal(merged.members, groups.members)
    assert merged.n_merged == 0


def test_overlapping_groups_are_merged_too():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    groups = Neighbourhoods(1).group(Mean(), points)
    merged = merge_small(groups, np.array([False, False, True, True]), 1, Mean(), points)
    assert merged.n_merged == 2
    assert all(merged[group].max() >= 2 for group in range(len(merged)))
    assert len(set(merged.home[:2])) <= 2
    assert (merged.home < len(merged)).all()


def test_only_queries_that_a_merged_group_served_are_served_by_another():
    points = np.array([[0.0], [1.0], [50.0], [60.0], [2.0]])
    lists = [np.array(queries) for queries in ([0, 1], [1, 2, 3], [1, 4])]
    groups = Groups.from_lists(lists, np.array([0, 1, 1, 1, 2]))
    teaches = np.array([False, False, True, True, True])
    merged = merge_small(groups, teaches, 1, Mean(), points)
    assert [members.tolist() for members in merged] == [[1, 2, 3], [0, 1, 4]]
    assert_array_equal(merged.home, [1, 0, 0, 0, 1])
    assert_array_equal(groups.home, [0, 1, 1, 1, 2])


def test_renumbered_groups_hold_the_same_queries_by_their_new_numbers(rng):
    labels = rng.integers(3, size=20)
    order = rng.permutation(20)
    ours = Groups.from_labels(labels[order]).renumbered(order)
    assert_array_equal(ours.home, Groups.from_labels(labels).home)
    assert_array_equal(ours.members, Groups.from_labels(labels).members)


def test_members_are_ascending_in_each_group(rng):
    groups = Groups.from_labels(rng.integers(3, size=1000))
    assert all((np.diff(members) > 0).all() for members in groups)


def test_groups_remember_how_many_were_merged():
    points = np.arange(4.0)[:, None]
    groups = Groups.from_labels(np.arange(4))
    merged = merge_small(groups, np.array([False, True, True, True]), 1, Mean(), points)
    again = merged.renumbered(np.array([3, 2, 1, 0])).distinct()
    assert again.n_merged == 1
    assert merge_small(again, np.ones(4, bool), 4, Mean(), points).n_merged == 3


@pytest.mark.parametrize("group", [-1, 2])
def test_a_group_that_is_not_there_is_refused(group):
    with pytest.raises(IndexError, match=f"There are groups 0 to 1. Got {group} instead"):
        Groups.from_labels(np.array([0, 1, 1]))[group]


def test_equal_groups_are_kept_once():
    groups = Neighbourhoods(1).group(Mean(), np.array([[0.0], [1.0], [10.0], [10.5]])).distinct()
    assert [members.tolist() for members in groups] == [[0, 1], [2, 3]]
    assert_array_equal(groups.home, [0, 0, 1, 1])


def test_components_of_well_separated_types_are_clustered_by_type():
    dataset, types = make_queries(80, separation=3.0, random_state=3)
    components = PrincipalComponents(3).fit(dataset)
    home = Agglomerative(4).group(components, components.transform(dataset)).home
    assert adjusted_rand_score(types, home) > 0.9


def test_reordered_rows_are_those_of_a_reordered_array(rng):
    array, order = rng.normal(size=(9, 2)), rng.permutation(9)
    rows = Reordered(array, order)
    assert_array_equal(np.asarray(rows), array[order])
    assert_array_equal(rows[2:5], array[order][2:5])
    assert_array_equal(rows[np.array([7, 1])], array[order][[7, 1]])
    assert_array_equal(np.asarray(rows.chosen(np.array([3, 0]))), array[order][[3, 0]])


@pytest.mark.parametrize("n_compared", [1, 4, 7, 512])
@pytest.mark.parametrize("reorder", [False, True])
def test_distances_of_pairs_are_those_of_all_in_blocks(monkeypatch, rng, n_compared, reorder):
    monkeypatch.setattr(agglomerative, "_COPIED", n_compared)
    dataset, _ = make_queries(20)
    representation = PrincipalComponents(3).fit(dataset)
    descriptions = representation.transform(dataset)
    order = rng.permutation(20) if reorder else np.arange(20)
    distances = representation.distances(descriptions[order], descriptions[order])
    rows = Reordered(descriptions, order) if reorder else descriptions
    pairs = agglomerative._pair_distances(representation, rows)
    assert_allclose(pairs, distances[np.triu_indices(20, k=1)], rtol=1e-12)


@pytest.mark.parametrize("linkage", ["complete", "average"])
@pytest.mark.parametrize("max_queries", [None, 12])
def test_blocks_do_not_change_the_groups(monkeypatch, points, linkage, max_queries):
    grouping = Agglomerative(3, linkage=linkage, max_queries=max_queries)
    expected = grouping.group(Mean(), points)
    monkeypatch.setattr(agglomerative, "_COPIED", 5)
    for rows in (points, Reordered(points, np.arange(len(points)))):
        assert_array_equal(grouping.group(Mean(), rows).home, expected.home)
