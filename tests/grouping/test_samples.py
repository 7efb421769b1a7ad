"""Groups of more queries than are looked at in pairs: a sample decides."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from localrank.data import make_queries
from localrank.grouping import Agglomerative, Groups, Neighbourhoods, agglomerative, base
from localrank.grouping import neighbourhoods as module
from localrank.grouping.base import drawn_positions, group_queries
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import Mean, PrincipalComponents


@pytest.fixture
def points(rng):
    return rng.normal(size=(60, 3))


def distances(a, b):
    return np.sqrt(((a[:, None] - b) ** 2).sum(axis=2))


@pytest.mark.parametrize("linkage", ["complete", "average", "single", "ward"])
def test_the_sampled_queries_are_clustered_as_if_they_were_all(points, linkage):
    sample = drawn_positions(60, 25, 3)
    few = Agglomerative(4, linkage=linkage).group(Mean(), points[sample]).home
    grouping = Agglomerative(4, linkage=linkage, max_queries=25, random_state=3)
    assert adjusted_rand_score(grouping.group(Mean(), points).home[sample], few) == 1


@pytest.mark.parametrize("linkage", ["average", "single", "ward"])
def test_another_query_goes_to_the_group_of_its_nearest_sampled_query(points, linkage):
    home = Agglomerative(4, linkage=linkage, max_queries=25).group(Mean(), points).home
    sample = drawn_positions(60, 25, 0)
    nearest = sample[distances(points, points[sample]).argmin(axis=1)]
    assert_array_equal(home, home[nearest])


def test_with_complete_link_it_goes_to_the_group_that_is_nearest_on_average(points):
    home = Agglomerative(4, max_queries=25).group(Mean(), points).home
    sample = drawn_positions(60, 25, 0)
    for query in sorted(set(range(60)) - set(sample.tolist())):
        means = [
            distances(points[[query]], points[sample[home[sample] == group]]).mean()
            for group in range(4)
        ]
        assert home[query] == np.argmin(means)


@pytest.mark.parametrize("size", [1, 25 * 7])
def test_groups_do_not_depend_on_how_many_queries_are_sent_at_once(points, monkeypatch, size):
    whole = Agglomerative(4, max_queries=25).group(Mean(), points)
    monkeypatch.setattr(agglomerative, "_BLOCK", size)
    assert_array_equal(Agglomerative(4, max_queries=25).group(Mean(), points).home, whole.home)


def test_up_to_the_limit_all_queries_are_clustered(points):
    whole = Agglomerative(4, max_queries=None).group(Mean(), points).home
    assert_array_equal(Agglomerative(4, max_queries=60).group(Mean(), points).home, whole)
    seeds = [Agglomerative(4, max_queries=60, random_state=seed) for seed in (1, 2)]
    for grouping in seeds:
        assert_array_equal(grouping.group(Mean(), points).home, whole)


def test_the_seed_decides_the_sample(points):
    homes = [
        Agglomerative(4, max_queries=20, random_state=seed).group(Mean(), points).home
        for seed in (0, 0, 1)
    ]
    assert_array_equal(homes[0], homes[1])
    assert (homes[0] != homes[2]).any()


def test_a_query_of_the_sample_stays_in_its_cluster_where_another_is_as_near():
    # Three equal pairs and more clusters than different queries: equal ones are parted.
    points = np.repeat([0.0, 5.0, 9.0], 8)[:, None]
    groups = Agglomerative(5, linkage="single", max_queries=20).group(Mean(), points)
    assert len(groups) == 5
    complete = Agglomerative(5, max_queries=20).group(Mean(), points)
    assert len(complete) == 5


def test_well_separated_types_are_found_by_a_sample_as_by_all_queries():
    dataset, types = make_queries(120, separation=3.0, random_state=3)
    components = PrincipalComponents(3).fit(dataset)
    described = components.transform(dataset)
    home = Agglomerative(4, max_queries=40).group(components, described).home
    assert adjusted_rand_score(types, home) > 0.9


def test_more_queries_than_can_be_held_in_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(agglomerative, "_MAX_CLUSTERED", 30)
    points = np.arange(31.0)[:, None]
    with pytest.raises(ValueError, match=r"at most 30 queries .* Got 31 queries with 465 pairs"):
        Agglomerative(2, max_queries=None).group(Mean(), points)
    assert len(Agglomerative(2, max_queries=30).group(Mean(), points)) == 2


@pytest.mark.parametrize(
    ("grouping", "message"),
    [
        (Agglomerative(4, max_queries=3), r"None or at least n_clusters \(4\). Got 3 instead"),
        (Agglomerative(4, max_queries=0), "'max_queries' parameter of Agglomerative must be"),
        (Neighbourhoods(4, max_centres=0), "'max_centres' parameter of Neighbourhoods must be"),
    ],
)
def test_wrong_sizes_of_samples_are_refused(points, grouping, message):
    with pytest.raises(ValueError, match=message):
        group_queries(grouping, Mean(), points)


def test_of_many_queries_a_sample_has_neighbourhoods(points):
    groups = Neighbourhoods(4, max_centres=13, random_state=5).group(Mean(), points)
    centres = drawn_positions(60, 13, 5)
    D = distances(points[centres], points)
    assert len(groups) == 13
    for group in range(13):
        assert set(groups[group]) == set(np.argsort(D[group])[:5])
    assert_array_equal(groups.home, D.argmin(axis=0))


@pytest.mark.parametrize("n_bytes", [1, 2**26])
def test_a_centre_is_served_by_its_own_group_where_another_is_as_near(monkeypatch, n_bytes):
    monkeypatch.setattr(module, "BLOCK_BYTES", n_bytes)
    groups = Neighbourhoods(2, max_centres=7).group(Mean(), np.zeros((40, 2)))
    centres = drawn_positions(40, 7, 0)
    assert_array_equal(groups.home[centres], np.arange(7))
    assert_array_equal(np.delete(groups.home, centres), 0)
    for group, centre in enumerate(centres):
        assert set(groups[group]) == {centre, *[i for i in (0, 1, 2) if i != centre][:2]}


def test_different_queries_are_counted_beyond_the_first(monkeypatch):
    monkeypatch.setattr(base, "_SOME", 4)
    points = np.array([0.0, 0.0, 0.0, 0.0, 10.0, 11.0, 20.0, 21.0])[:, None]
    home = group_queries(KMeans(3, n_init=3, random_state=0), Mean(), points).home
    assert adjusted_rand_score(home, [0, 0, 0, 0, 1, 1, 2, 2]) == 1


@pytest.mark.parametrize("n_bytes", [1, 8 * 60 * 5])
def test_centres_do_not_depend_on_how_many_are_looked_at_at_once(points, monkeypatch, n_bytes):
    whole = Neighbourhoods(4, max_centres=13).group(Mean(), points)
    monkeypatch.setattr(module, "BLOCK_BYTES", n_bytes)
    parts = Neighbourhoods(4, max_centres=13).group(Mean(), points)
    assert_array_equal(parts.members, whole.members)
    assert_array_equal(parts.home, whole.home)


def test_each_query_is_a_centre_up_to_the_limit(points):
    every = Neighbourhoods(4, max_centres=None).group(Mean(), points)
    limit = Neighbourhoods(4, max_centres=60).group(Mean(), points)
    assert_array_equal(limit.members, every.members)
    assert_array_equal(limit.home, np.arange(60))
    assert len(Neighbourhoods(4, max_centres=59).group(Mean(), points)) == 59


@pytest.mark.parametrize(
    "ranker",
    [
        local_rank(3, ranker=RankSVM()).set_params(grouping__max_queries=30),
        query_neighbours(10).set_params(grouping__max_centres=12),
    ],
    ids=["local_rank", "query_neighbours"],
)
def test_a_sample_does_not_depend_on_the_order_of_the_queries(ranker, rng):
    dataset, _ = make_queries(80, n_documents=(5, 10), n_features=6)
    order = rng.permutation(80)
    other = dataset.select(order)
    one, two = (ranker.fit(data).groups_ for data in (dataset, other))
    assert isinstance(one, Groups)
    assert_array_equal(one.home[order], two.home)
    scores = [ranker.fit(data).predict(dataset) for data in (dataset, other)]
    assert_array_equal(*scores)
