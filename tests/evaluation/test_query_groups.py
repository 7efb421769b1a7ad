import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from localrank.data import make_queries
from localrank.evaluation import agreement, compare
from localrank.grouping import Groups
from localrank.rankers import RankSVM
from localrank.recipes import local_rank, query_neighbours

labels = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


@settings(max_examples=150)
@given(labels)
def test_index_and_table_are_those_of_scikit_learn(labels):
    groups, categories = labels
    result = agreement(groups, categories)
    assert result.adjusted_rand_index == pytest.approx(adjusted_rand_score(groups, categories))
    assert_array_equal(result.table, contingency_matrix(groups, categories))


def test_the_same_partition_by_other_names_agrees():
    assert agreement([1, 1, 0, 2], ["b", "b", "x", "a"]).adjusted_rand_index == 1
    assert agreement([0, 0, 1, 1], [0, 1, 0, 1]).adjusted_rand_index == pytest.approx(-0.5)


def test_groups_of_a_ranker_are_compared_by_who_serves_a_query():
    dataset, types = make_queries(60, n_types=3, separation=3.0)
    result = agreement(local_rank(3).fit(dataset).groups_, types)
    assert result.adjusted_rand_index > 0.9
    assert result.groups == ("1", "2", "3")
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


@pytest.fixture(scope="module")
def compared():
    dataset, types = make_queries(60, n_types=2, separation=3.0)
    features = np.column_stack([dataset.features, np.repeat(types, dataset.query_sizes)])
    return dataset.with_features(features), types


def compare_with(dataset, categories, **options):
    methods = {"rank-svm": RankSVM(), "local": local_rank(2, ranker=RankSVM())}
    options = {"baseline": "rank-svm", "n_folds": 3, "n_controls": 0, **options}
    return compare(methods, dataset, ["map"], categories=categories, **options)


def test_groups_of_test_queries_are_compared_fold_by_fold_with_known_categories(compared):
    dataset, types = compared
    names = {
        query: f"kind {kind}" for query, kind in zip(dataset.query_ids[:-1], types, strict=False)
    }
    comparison = compare_with(dataset, names)
    assert list(comparison.agreements) == ["local"]
    by_fold = comparison.agreements["local"]
    assert list(by_fold) == ["Fold1", "Fold2", "Fold3"]
    # All but the query that has no category.
    assert sum(int(agreement.table.sum()) for agreement in by_fold.values()) == 59
    assert by_fold["Fold1"].categories == ("kind 0", "kind 1")
    mine = np.array(comparison.fold_names) == "Fold2"
    kinds = [names[query] for query in comparison.test.query_ids[mine]]
    served = comparison.results["local"].runs[1].groups
    assert by_fold["Fold2"].adjusted_rand_index == pytest.approx(adjusted_rand_score(kinds, served))
    # Numbered from 1, as everywhere that groups are shown.
    assert by_fold["Fold2"].groups == tuple(str(group + 1) for group in np.unique(served))
    by_column = compare_with(dataset, dataset.n_features - 1).agreements["local"]["Fold2"]
    assert by_column.categories == ("0", "1")
    assert by_column.table.tolist() == by_fold["Fold2"].table.tolist()


def test_without_categories_there_is_no_agreement_and_no_feature_is_refused(compared):
    dataset, _ = compared
    assert compare_with(dataset, None).agreements == {}
    with pytest.raises(ValueError, match="must be a mapping from query ids, or .* Got 99 instead"):
        compare_with(dataset, 99)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ("vertical", "must be a mapping from query ids, or a column from 0 to .* Got 'vertical'"),
        (0, "cannot be the category of queries: query .* has the values"),
        ({}, "must be of the queries to compare on. None of these 60 queries has a category"),
        ({"another": "kind"}, "None of these 60 queries has a category"),
    ],
)
def test_wrong_categories_are_refused_before_anything_is_trained(compared, categories, message):
    lines = []
    with pytest.raises(ValueError, match=message):
        compare_with(compared[0], categories, say=lines.append)
    assert not lines


def test_the_frame_has_a_row_per_group_and_category():
    columns = agreement([1, 1, 2], ["a", "b", "b"]).to_frame("dict")
    assert {name: values.tolist() for name, values in columns.items()} == {
        "group": ["1", "1", "2", "2"],
        "category": ["a", "b", "a", "b"],
        "n_queries": [1, 1, 0, 1],
    }
