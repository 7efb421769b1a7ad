"""Vectors beside the features of a dataset."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

from localrank.data import RankingDataset, Vectors, concatenate, folds, make_queries


@pytest.fixture
def dataset():
    """Scattered rows whose first feature is the first number of the vector."""
    rng = np.random.default_rng(0)
    values = np.arange(40.0)
    qid = rng.integers(0, 8, 40)
    vectors = np.column_stack([values, rng.normal(size=(40, 3))])
    first = np.unique(qid, return_index=True)[1]
    names = qid[np.sort(first)]
    return RankingDataset.from_arrays(
        values[:, None],
        rng.integers(0, 3, 40),
        qid,
        vectors=vectors,
        query_vectors=np.column_stack([names, *np.zeros((3, 8))]),
    )


def assert_together(dataset):
    """Vectors are those of their rows and queries."""
    assert_array_equal(dataset.vectors[:, 0], dataset.features[:, 0])
    assert_array_equal(dataset.query_vectors[:, 0], dataset.query_ids)
    assert dataset.vectors.dtype == np.float32


def test_vectors_stay_with_their_rows_and_queries(dataset):
    assert_together(dataset)
    assert_together(dataset.select([3, 0, 5]))
    assert_together(dataset.view().select([3, 0, 5]))
    assert_together(dataset.view().select([3, 0, 5]).in_memory())
    rows = np.flatnonzero(dataset.query_index == 2)[::-1]
    assert_together(dataset.with_rows(rows, np.array([0, len(rows)]), np.array([2])))
    assert_together(pickle.loads(pickle.dumps(dataset.view().select([1, 4]))))
    assert_together(concatenate([dataset.select([6]), dataset.select([1, 2])]))
    assert_together(dataset.view().derived(lambda part: part.with_features(part.features)))
    for block in dataset.query_blocks(2**23):
        assert_together(block)
    for fold in folds(dataset, 4):
        for part in (fold.train, fold.valid, fold.test):
            assert_together(part)


def test_other_features_and_labels_keep_the_vectors(dataset):
    changed = dataset.with_features(dataset.features + 1).replaced(relevance=None)
    assert_array_equal(changed.vectors, dataset.vectors)


def test_a_part_travels_without_the_vectors_of_others(dataset):
    part = pickle.loads(pickle.dumps(dataset.select([2])))
    assert len(part._vectors.table) == part.n_documents


def test_a_part_does_not_copy_vectors(dataset):
    assert dataset.select([2])._vectors.table is dataset._vectors.table


def test_parts_that_lack_vectors_are_joined_without(dataset):
    bare = dataset.select([0]).with_vectors(None)
    assert concatenate([bare, dataset.select([1])]).vectors is None


def test_vectors_of_other_lengths_are_not_joined(dataset):
    wide = dataset.select([0]).with_vectors(np.ones((dataset.query_sizes[0], 9)))
    with pytest.raises(ValueError, match="same number of dimensions. Got 4 and 9"):
        concatenate([wide, dataset.select([1])])


def test_vectors_by_id_are_looked_up():
    dataset = RankingDataset.from_arrays(
        np.zeros((3, 1)), qid=[1, 1, 2], document_ids=["a", "b", "a"]
    )
    vectors = Vectors(np.array(["b", "a"]), np.array([[1.0], [2.0]]))
    assert_array_equal(dataset.with_vectors(vectors).vectors.ravel(), [2.0, 1.0, 2.0])
    assert_array_equal(dataset.with_vectors({"a": [5], "b": [6]}).vectors.ravel(), [5, 6, 5])


def test_vectors_by_id_need_ids():
    dataset = RankingDataset.from_arrays(np.zeros((1, 1)), qid=[1])
    with pytest.raises(ValueError, match="no ids of its documents"):
        dataset.with_vectors({"a": [1.0]})


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((39, 2)), "one row for each document: 40. Got 39"),
        (np.ones(40), r"a table of numbers.*shape \(40,\)"),
        (np.ones((40, 0)), r"a table of numbers.*shape \(40, 0\)"),
        (np.full((40, 2), "x"), "a table of numbers"),
        (np.where(np.eye(40) > 0, np.nan, 1), "That of the document at position 0 is not"),
        (np.full((40, 2), 1e39), "finite in single precision"),
    ],
)
def test_wrong_vectors_are_refused(dataset, vectors, message):
    with pytest.raises(ValueError, match=message):
        dataset.with_vectors(vectors)


def test_zero_vectors_are_allowed(dataset):
    assert not dataset.with_vectors(np.zeros((40, 2))).vectors.any()


def test_vectors_are_read_only(dataset):
    with pytest.raises(ValueError, match="read-only"):
        dataset.vectors[0, 0] = 1.0


def test_a_dataset_in_partitions_refuses_vectors(tmp_path):
    queries, _ = make_queries(10, random_state=0)
    files = written(queries, tmp_path)
    with pytest.raises(ValueError, match="in partitions cannot have vectors"):
        files.with_vectors(np.ones((files.n_documents, 2)))
    assert files.in_memory().with_vectors(np.ones((files.n_documents, 2))).has_vectors
