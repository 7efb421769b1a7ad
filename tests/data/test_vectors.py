import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import Vectors


@pytest.fixture
def vectors():
    return Vectors.of((["a", "b", "é"], np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])))


def test_a_mapping_a_pair_and_vectors_give_the_same(vectors):
    of_mapping = Vectors.of({"a": [3, 4], "b": np.zeros(2), "é": (1.0, 0)})
    assert_array_equal(of_mapping.ids, vectors.ids)
    assert_array_equal(of_mapping.values, vectors.values)
    assert Vectors.of(vectors) is vectors


def test_an_array_of_float32_is_not_copied():
    values = np.ones((2, 3), np.float32)
    assert np.shares_memory(Vectors(np.array(["a", "b"]), values).values, values)


def test_norms_are_euclidean_lengths(vectors):
    assert_allclose(vectors.norms, [5, 0, 1])
    values = np.random.default_rng(0).normal(size=(50, 37)).astype(np.float32)
    assert_allclose(Vectors(np.arange(50), values).norms, np.linalg.norm(values, axis=1), rtol=1e-6)


def test_zero_vectors_are_counted(vectors):
    assert vectors.n_zero == 1


def test_values_whose_squares_overflow_float32_are_allowed():
    assert_allclose(Vectors.of({"a": [3e38, 0.0]}).norms, [3e38], rtol=1e-6)


def test_ids_without_a_vector_have_the_position_minus_one(vectors):
    assert vectors.rows(["é", "x", "a", ""]).tolist() == [2, -1, 0, -1]
    assert vectors.rows([]).tolist() == []


def test_ids_are_compared_as_texts():
    vectors = Vectors(np.array([7, 12]), np.eye(2))
    assert vectors.ids.tolist() == ["7", "12"]
    assert vectors.rows([12, 7]).tolist() == vectors.rows(["12", "7"]).tolist() == [1, 0]
    assert vectors.rows(pd.Series([12, 8])).tolist() == [1, -1]


def test_vectors_are_taken_in_the_order_of_the_ids(vectors):
    assert_array_equal(vectors.take(["é", "a", "é"]), [[1, 0], [3, 4], [1, 0]])


def test_an_id_without_a_vector_is_refused_by_name(vectors):
    with pytest.raises(ValueError, match="1 of 2 ids have no vector; the first is 'x'"):
        vectors.take(["a", "x"])


def test_an_id_without_a_vector_gets_zeros_if_asked(vectors):
    assert_array_equal(vectors.take(["x", "a"], missing="zero"), [[0, 0], [3, 4]])
    with pytest.raises(ValueError, match="must be 'refuse' or 'zero'. Got 'ignore' instead"):
        vectors.take(["a"], missing="ignore")


def test_taken_vectors_are_a_copy(vectors):
    vectors.take(["a"])[:] = 9
    assert_array_equal(vectors.values[0], [3, 4])


def test_vectors_survive_pickling(vectors):
    other = pickle.loads(pickle.dumps(vectors))
    assert other.rows(["é", "x"]).tolist() == [2, -1]
    assert_array_equal(other.values, vectors.values)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, "That of 'b' has 1 numbers, that of 'a' has 2"),
        ({"a": [1.0, np.nan]}, "vector of 'a' has nan at position 1"),
        ({"a": [-np.inf, 1.0]}, "vector of 'a' has -inf at position 0"),
        ({"a": [1e39, 1.0]}, "vector of 'a' has inf at position 0"),
        ({}, "There are no vectors"),
        ({"a": []}, "There are no vectors"),
        ({"a": "text"}, "must be a list of numbers. That of 'a'"),
        ({"a": [True, False]}, "must be a list of numbers. That of 'a'"),
        ({"a": [[1.0]]}, "must be a list of numbers. That of 'a'"),
        ({None: [1.0]}, "must not be missing"),
        ({1.5: [1.0]}, "must be texts or whole numbers. Got float64"),
        ((["a", "b", "a"], np.eye(3)), "must be different. 'a' occurs twice"),
        ((["a", "b"], np.eye(3)), "one entry per vector"),
        ((["a"], np.ones(3)), r"Got shape \(3,\) instead"),
        ((["a"], np.array([["x"]])), "must be numbers. Got <U1"),
        ((["a"], np.ones((1, 2), complex)), "must be numbers. Got complex128"),
        ((["a"], np.array([[None]])), "must be numbers. Got object"),
        ("file.npy", "read_vectors reads a file"),
    ],
)
def test_what_are_no_vectors_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        Vectors.of(source)
