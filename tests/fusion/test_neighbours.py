"""Neighbours in a query's own list."""

from itertools import pairwise

import naive_fusion
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank._base import memory
from localrank.data import RankingDataset, make_queries
from localrank.data._row_vectors import RowVectors
from localrank.fusion import NeighbourColumns, nearest
from localrank.fusion._list_columns import values_of_lists
from localrank.fusion._neighbours import (
    cosines_of_rows,
    near_documents,
    nearest_documents,
    neighbour_columns,
)
from localrank.rankers import RankSVM

OFFSETS = np.array([0, 1, 3, 20, 60])


@pytest.fixture
def made():
    """Vectors and values of queries with 1, 2, 17 and 40 documents, some of them alike."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 19)) + 0.5
    vectors[7] = 0.0
    vectors[25:35] = vectors[24]
    values = rng.normal(size=(60, 2)).round(1)
    return vectors.astype(np.float32), values


def columns_of(vectors, values, offsets=OFFSETS, n=4):
    return neighbour_columns(RowVectors(vectors.astype(np.float32)), values, offsets, n)


def test_columns_are_those_of_the_definition(made):
    vectors, values = made
    # Equal vectors tie to the last bit, which sums in double precision need not keep.
    exact = np.round(vectors * 8) / 8
    fast = columns_of(exact, values)
    for begin, end in pairwise(OFFSETS):
        slow = naive_fusion.neighbour_columns(
            exact[begin:end].tolist(), values[begin:end].T.tolist(), 4
        )
        assert_allclose(fast[begin:end], slow, atol=2e-5)


def test_two_lists_have_nine_columns(made):
    assert columns_of(*made).shape == (60, 9)


def test_the_order_of_documents_changes_no_bit(made):
    vectors, values = made
    expected = columns_of(vectors, values)
    rng = np.random.default_rng(1)
    order = np.concatenate(
        [begin + rng.permutation(end - begin) for begin, end in pairwise(OFFSETS)]
    )
    assert_array_equal(columns_of(vectors[order], values[order]), expected[order])


def test_sums_of_large_and_tiny_cosines_depend_on_no_order():
    rng = np.random.default_rng(0)
    vectors = np.eye(30)
    vectors[:, 0] = 10.0 ** -rng.uniform(0, 12, 30)
    values, offsets = rng.normal(size=(30, 2)), np.array([0, 30])
    expected = columns_of(vectors, values, offsets)
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(30)
        assert_array_equal(columns_of(vectors[order], values[order], offsets), expected[order])


def test_a_rotation_of_the_vectors_does_not_matter(made):
    vectors, values = made
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(19, 19)))[0]
    distinct = np.delete(np.arange(60), np.arange(25, 35))
    offsets = np.array([0, 1, 3, 20, 50])
    plain = columns_of(vectors[distinct], values[distinct], offsets)
    turned = columns_of(vectors[distinct] @ rotation, values[distinct], offsets)
    assert_allclose(turned, plain, atol=1e-5)


def test_the_length_of_a_vector_does_not_matter(made):
    vectors, values = made
    lengths = 2.0 ** np.random.default_rng(3).integers(-40, 40, (60, 1))
    assert_allclose(columns_of(vectors * lengths, values), columns_of(vectors, values), atol=1e-6)


def test_a_vector_of_zeros_is_nobodys_neighbour(made):
    vectors, values = made
    columns = columns_of(vectors, values)
    assert_array_equal(columns[7], [*values[7], values[7].mean(), *np.zeros(6)])
    moved = values.copy()
    moved[7] = 100.0
    others = np.delete(np.arange(60), 7)
    # It stays among the first ones, to which nothing is alike.
    assert_array_equal(columns_of(vectors, moved)[others, :3], columns[others, :3])


def test_a_missing_vector_is_a_vector_of_zeros(made):
    vectors, values = made
    places = np.arange(60)
    places[7] = -1
    lacking = neighbour_columns(RowVectors(vectors, places), values, OFFSETS, 4)
    assert_array_equal(lacking, columns_of(vectors, values))


def test_opposite_documents_are_no_neighbours():
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.1]])
    columns = columns_of(vectors, np.array([[1.0], [2.0], [3.0]]), np.array([0, 3]), 1)
    assert_allclose(columns[:, 0], [1.0, 3.0, 2.0])
    assert columns[0, 5] == 0.0
    assert columns[0, 6] < -0.99


@pytest.mark.parametrize("width", [1, 7, 8, 9, 384])
def test_cosines_are_symmetric_and_within_rounding(width):
    table = np.random.default_rng(width).normal(size=(13, width)).astype(np.float32)
    cosines = np.empty((13, 13), np.float32)
    room = np.empty((-(-width // 8) * 8, 13), np.float32)
    cosines_of_rows(table, np.arange(13), room, cosines)
    units = table.astype(np.float64) / np.linalg.norm(table.astype(np.float64), axis=1)[:, None]
    assert_allclose(cosines, units @ units.T, atol=1e-6)
    assert_array_equal(cosines, cosines.T)


def test_huge_and_tiny_vectors_have_directions():
    vectors = np.array([[3e38, 3e38], [1e-30, 1e-30], [1e-30, 0.0]])
    columns = columns_of(vectors, np.array([[1.0], [2.0], [5.0]]), np.array([0, 3]), 1)
    assert_allclose(columns[:2, 0], [2.0, 1.0])


@pytest.fixture
def queries():
    dataset, _ = make_queries(40, n_features=5, random_state=0)
    vectors = np.random.default_rng(0).normal(size=(dataset.n_documents, 6))
    return dataset.with_vectors(vectors)


def test_a_ranker_on_neighbour_columns_needs_vectors(queries):
    bare = queries.with_vectors(None)
    ranker = NeighbourColumns(RankSVM())
    with pytest.raises(ValueError, match=r"needs a vector for each document.*with_vectors"):
        ranker.fit(bare)
    ranker.fit(queries)
    with pytest.raises(ValueError, match=r"needs a vector for each document.*with_vectors"):
        ranker.predict(bare)
    NeighbourColumns(RankSVM(), neighbours="features").fit(bare).predict(bare)


def test_columns_are_the_same_in_parts_and_in_blocks(queries, monkeypatch):
    from localrank.data import dataset as datasets

    ranker = NeighbourColumns(RankSVM()).fit(queries)
    whole = ranker.predict(queries)
    part = queries.view().select(np.arange(5, 15))
    assert_array_equal(ranker.predict(part), whole[queries.offsets[5] : queries.offsets[15]])
    monkeypatch.setattr(datasets, "SCORED_BYTES", 1)
    assert_array_equal(ranker.predict(queries), whole)


def test_contributions_add_up_to_scores(queries):
    ranker = NeighbourColumns(RankSVM()).fit(queries)
    assert_allclose(ranker.contributions(queries).scores, ranker.predict(queries), atol=1e-9)


def test_names_do_not_collide_with_features(queries):
    names = ["f1", "f1.near", "density", "x", "y"]
    ranker = NeighbourColumns(RankSVM()).fit(queries.with_features(queries.features, names))
    assert len(set(ranker.ranker_.feature_names_in_.tolist())) == 5 + 2 * 5 + 5


def test_the_nearest_documents_are_named_with_their_cosines():
    dataset = RankingDataset.from_arrays(
        np.zeros((4, 1)),
        qid=["q", "q", "q", "r"],
        document_ids=["a", "b", "c", "a"],
        vectors=[[1, 0], [1, 0.1], [0, 1], [1, 1]],
    )
    near = nearest(dataset, "q").documents
    assert [document for document, _ in near["a"]] == ["b"]
    assert [document for document, _ in near["b"]] == ["a", "c"]
    assert near["c"][0][1] == pytest.approx(0.1 / np.sqrt(1.01), abs=1e-6)
    assert nearest(dataset, "r").documents == {"a": []}


@pytest.mark.parametrize("n_neighbours", [1, 4, 100])
def test_moves_add_up_to_the_mean_of_the_neighbours_less_the_own_value(made, n_neighbours):
    vectors, values = made
    for begin, end in pairwise(OFFSETS):
        of_query, own = RowVectors(vectors[begin:end]), values[begin:end, 0]
        rows, cosines, moves, others = near_documents(of_query, own, n_neighbours)
        near = columns_of(
            vectors[begin:end], own[:, None], np.array([0, end - begin]), n_neighbours
        )[:, 0]
        assert_allclose(own + moves.sum(axis=1) + others, near, atol=1e-12)
        nearest_rows, nearest_cosines = nearest_documents(
            of_query, np.array([0, end - begin]), n_neighbours
        )
        assert_array_equal(rows, nearest_rows)
        assert_array_equal(cosines, nearest_cosines)


def test_documents_as_near_as_the_last_one_count_among_the_others():
    vectors = RowVectors(np.array([[1, 0], [1, 0], [1, 0], [0, 1]], np.float32))
    rows, _, moves, others = near_documents(vectors, np.array([0.0, 2.0, 6.0, 9.0]), 1)
    assert rows.ravel().tolist() == [1, 0, 0, -1]
    assert_allclose(moves.ravel(), [1.0, -1.0, -3.0, 0.0])
    assert_allclose(others, [3.0, 2.0, -2.0, 0.0])


def test_an_explanation_names_the_neighbours_and_their_part_of_the_column(queries):
    ranker = NeighbourColumns(RankSVM(), n_neighbours=3).fit(queries)
    told = ranker.explain(queries, queries.query_ids[4])
    near = told.near_documents
    one = queries.select([4])
    z = values_of_lists(one, "z", None).mean(axis=1)
    names = [*ranker.ranker_.feature_names_in_] if queries.feature_names else None
    place = 5 + 5 if names is None else names.index("fused.near")
    assert_allclose(
        z + near.moves.sum(axis=1) + near.others, ranker.expanded(one).features[:, place]
    )
    known = nearest(queries, queries.query_ids[4], n_neighbours=3).documents
    for row, document in enumerate(told.document_ids.tolist()):
        listed = [(told.document_ids[other], round(cosine, 6)) for other, cosine, _ in near.of(row)]
        assert listed == known[document]
    assert "what a neighbour adds to the column fused.near" in " ".join(repr(told).split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbours": 0}, r"'n_neighbours' argument of nearest must be .*Got 0 instead"),
        ({"neighbours": "x"}, r"'neighbours' argument of nearest must be .*Got 'x' instead"),
    ],
)
def test_wrong_questions_for_neighbours_are_refused(queries, arguments, message):
    with pytest.raises(ValueError, match=message):
        nearest(queries, queries.query_ids[0], **arguments)


def test_a_query_whose_cosines_do_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**25)
    vectors, n = RowVectors(np.ones((3001, 1), np.float32)), 3001
    for work in (
        lambda: neighbour_columns(vectors, np.zeros((n, 1)), np.array([0, n]), 4),
        lambda: near_documents(vectors, np.zeros(n), 4),
    ):
        with pytest.raises(MemoryError, match="The cosines of a query of 3,001 documents"):
            work()
