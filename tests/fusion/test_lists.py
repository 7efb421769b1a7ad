"""Lists of several retrievers as one dataset."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import Vectors
from localrank.fusion import lists_dataset
from localrank.fusion._list_columns import COLUMNS, list_names

BM25 = {"q1": {"a": 9.0, "b": 7.0, "c": 7.0}, "q2": {"d": 3.0}}
DENSE = {"q1": {"b": 0.8, "e": 0.7}, "q3": {"a": 0.2, "f": 0.1}}


def column(dataset, name):
    return dataset.features[:, dataset.feature_names.index(name)]


def test_documents_are_those_that_a_list_has_and_all_queries_are_kept():
    dataset = lists_dataset({"bm25": BM25, "dense": DENSE})
    pairs = list(
        zip(
            dataset.query_ids[dataset.query_index].tolist(),
            dataset.document_ids.tolist(),
            strict=True,
        )
    )
    expected = [("q1", d) for d in "abce"] + [("q2", "d"), ("q3", "a"), ("q3", "f")]
    assert sorted(pairs) == expected
    assert dataset.relevance is None
    assert dataset.feature_names[:6] == tuple(f"bm25.{name}" for name in COLUMNS)
    assert list_names(dataset.feature_names) == ("bm25", "dense")


def test_a_list_that_lacks_a_query_says_nothing_about_it():
    dataset = lists_dataset({"bm25": BM25, "dense": DENSE})
    rows = dataset.query_index == 2
    assert_array_equal(column(dataset, "bm25.z")[rows], 0.0)
    assert_array_equal(column(dataset, "bm25.rank")[rows], 3.0)
    assert_array_equal(column(dataset, "bm25.presence")[rows], 0.0)


def test_judged_queries_have_labels_and_only_retrieved_documents():
    qrels = {"q1": {"b": 2, "c": -1, "never": 1}, "q9": {"x": 1}}
    dataset = lists_dataset({"bm25": BM25, "dense": DENSE}, qrels)
    assert dataset.query_ids.tolist() == ["q1"]
    labels = dict(zip(dataset.document_ids.tolist(), dataset.relevance.tolist(), strict=True))
    assert labels == {"a": 0.0, "b": 2.0, "c": 0.0, "e": 0.0}


def test_vectors_are_found_by_id_and_counted_where_they_lack():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [2.0, 0.0], "e": [3.0, 1.0]}
    with pytest.warns(UserWarning, match="1 of 7 rows have no vector, such as 'f'"):
        dataset = lists_dataset({"bm25": BM25, "dense": DENSE}, vectors=vectors)
    for document, vector in zip(dataset.document_ids.tolist(), dataset.vectors, strict=True):
        assert_array_equal(vector, vectors.get(document, [0.0, 0.0]))
    # Each document's vector is held once.
    assert len(dataset._vectors.table) == 5


def test_vectors_of_other_ids_are_refused():
    with pytest.raises(ValueError, match="None of the 7 documents has a vector: the ids differ"):
        lists_dataset({"bm25": BM25, "dense": DENSE}, vectors={"D1": [1.0]})


def test_vectors_of_queries_must_have_as_many_dimensions():
    vectors = Vectors(np.array(list("abcdef")), np.eye(6))
    with pytest.raises(ValueError, match="same number of dimensions. Got 2 and 6"):
        lists_dataset(
            {"bm25": BM25, "dense": DENSE},
            vectors=vectors,
            query_vectors=(["q1", "q2", "q3"], np.ones((3, 2))),
        )


def test_a_list_given_twice_is_reported():
    with pytest.warns(UserWarning, match="'bm25' and 'again' are the same"):
        lists_dataset({"bm25": BM25, "again": BM25})


@pytest.mark.parametrize("lists", [{}, [BM25, DENSE], "bm25.trec"])
def test_lists_without_names_are_refused(lists):
    with pytest.raises(ValueError, match="must be a mapping from names to runs"):
        lists_dataset(lists)


def test_names_that_are_the_same_text_are_refused():
    with pytest.raises(ValueError, match="Two are the same"):
        lists_dataset({1: BM25, "1": DENSE})


@pytest.mark.parametrize("score", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(score):
    with pytest.raises(ValueError, match="finite"):
        lists_dataset({"bm25": {"q": {"a": score}}})


def test_vectors_may_be_in_files(tmp_path):
    lists = {"a": {"q": {"x": 1.0, "y": 2.0}}}
    np.savez(tmp_path / "d.npz", ids=["y", "x"], vectors=np.eye(2))
    np.savez(tmp_path / "q.npz", ids=["q"], vectors=np.ones((1, 2)))
    dataset = lists_dataset(
        lists, vectors=tmp_path / "d.npz", query_vectors=str(tmp_path / "q.npz")
    )
    by_id = dict(zip(dataset.document_ids.tolist(), dataset.vectors.tolist(), strict=True))
    assert by_id == {"x": [0.0, 1.0], "y": [1.0, 0.0]}
    assert dataset.query_vectors.tolist() == [[1.0, 1.0]]
