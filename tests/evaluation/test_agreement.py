import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from localrank.data import make_queries
from localrank.evaluation import agreement
from localrank.grouping import Groups
from localrank.recipes import local_rank, query_neighbours

labels = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


@settings(deadline=None, max_examples=150)
@given(labels)
def test_index_and_table_are_those_of_scikit_learn(labels):
    groups, categories = labels
    found = agreement(groups, categories)
    assert found.adjusted_rand_index == pytest.approx(adjusted_rand_score(groups, categories))
    assert_array_equal(found.table, contingency_matrix(groups, categories))


def test_the_same_partition_by_other_names_agrees():
    assert agreement([1, 1, 0, 2], ["b", "b", "x", "a"]).adjusted_rand_index == 1
    assert agreement([0, 0, 1, 1], [0, 1, 0, 1]).adjusted_rand_index == pytest.approx(-0.5)


def test_groups_of_a_ranker_are_compared_by_who_serves_a_query():
    dataset, types = make_queries(60, n_types=3, separation=3.0)
    found = agreement(local_rank(3).fit(dataset).groups_, types)
    assert found.adjusted_rand_index > 0.9
    assert found.groups == ("1", "2", "3")
    apart = agreement(query_neighbours(5).fit(dataset).groups_, types)
    assert apart.table.sum() == 60


def test_it_prints_as_a_table_with_its_index():
    groups = Groups.from_labels(np.array([4, 4, 7]))
    text = str(agreement(groups, ["news", "shops", "shops"]))
    assert text.splitlines()[2].split() == ["group", "news", "shops", "all"]
    assert text.splitlines()[4].split() == ["1", "1", "1", "2"]
    assert "Adjusted Rand index -0.500" in text
    assert "<table" in agreement([1, 2], [1, 2])._repr_html_()


@pytest.mark.parametrize(("groups", "categories"), [([1, 2], [1]), ([], []), ([[1, 2]], [[1, 2]])])
def test_other_shapes_are_refused(groups, categories):
    with pytest.raises(ValueError, match="one group and one category for each query. Got shapes"):
        agreement(groups, categories)
