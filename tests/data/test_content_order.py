import numpy as np
from numpy.testing import assert_array_equal
from rearranged import rearranged

from localrank.data._content_order import content_order


def rows_in_order(dataset, seed=0):
    rows, _ = content_order(dataset, seed)
    return np.column_stack([dataset.features, dataset.labels])[rows]


def test_queries_stay_together(queries):
    rows, order = content_order(queries, seed=0)
    assert_array_equal(np.sort(rows), np.arange(queries.n_documents))
    assert_array_equal(queries.query_index[rows], np.repeat(order, queries.query_sizes[order]))


def test_the_order_of_the_lines_does_not_matter(queries, rng):
    order = rng.permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    assert_array_equal(rows_in_order(mixed), rows_in_order(queries))


def test_values_count_and_not_how_they_are_stored(queries):
    features = np.round(queries.features).astype(np.float32)
    single = queries.with_features(features)
    negative = queries.with_features(np.where(features == 0, -0.0, features))
    plain = queries.with_features(np.where(features == 0, 0.0, features).astype(np.float64))
    for other in (single, negative):
        assert_array_equal(content_order(other)[0], content_order(plain)[0])


def test_the_order_is_unrelated_to_the_labels(queries):
    """Within a query, the relevant documents come no earlier than the others."""
    rows, _ = content_order(queries, seed=0)
    place = np.empty(queries.n_documents)
    place[rows] = np.arange(queries.n_documents)
    place -= np.array([place[queries.query_index == q].mean() for q in queries.query_index])
    assert abs(np.corrcoef(place, queries.relevance)[0, 1]) < 3 / np.sqrt(queries.n_documents)


def test_another_seed_is_another_order(queries):
    assert (content_order(queries, 1)[0] != content_order(queries, 2)[0]).any()


def test_a_reordered_dataset_knows_where_its_rows_stood(queries, rng):
    order = rng.permutation(queries.n_documents)
    mixed = rearranged(queries, order)
    moved = mixed.reordered(*content_order(mixed))
    values = moved.in_input_order(moved.features[:, 0])
    assert_array_equal(values, queries.features[order, 0])
    stood = queries.query_ids[queries.query_index[order]][moved.input_order]
    assert_array_equal(moved.query_ids[moved.query_index], stood)
