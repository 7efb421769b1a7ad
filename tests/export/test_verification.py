import numpy as np
import pytest

from localrank.data import RankingDataset, make_queries
from localrank.export import Verification, export, verify
from localrank.rankers import LambdaMART, RankSVM


@pytest.fixture(scope="module")
def lists():
    dataset, _ = make_queries(40)
    return dataset, np.random.default_rng(0).normal(size=dataset.n_documents)


def test_the_same_scores_are_the_same_order(lists):
    dataset, scores = lists
    result = Verification.of(dataset, scores, scores)
    assert result.same_order
    assert result.largest_difference == 0
    assert result.n_equal_lists == result.n_lists == dataset.n_queries


def test_a_constant_added_to_every_score_is_no_difference(lists):
    dataset, scores = lists
    result = Verification.of(dataset, scores, scores + 1000)
    assert result.same_order
    assert result.largest_difference < 1e-12


def test_a_score_that_is_off_is_the_largest_difference(lists):
    dataset, scores = lists
    exported = scores.copy()
    exported[17] += 0.25
    n = dataset.query_sizes[dataset.query_index[17]]
    expected = 0.25 * (1 - 1 / n)
    result = Verification.of(dataset, scores, exported)
    assert result.largest_difference == pytest.approx(expected, rel=1e-9)


def test_two_documents_that_trade_places_are_named():
    dataset = RankingDataset.from_arrays(
        np.zeros((5, 1)), qid=["a", "a", "b", "b", "b"], document_ids=["d", "e", "f", "g", "h"]
    )
    scores = np.array([2.0, 1.0, 5.0, 4.0, 3.0])
    result = Verification.of(dataset, scores, np.array([2.0, 1.0, 5.0, 3.0, 3.5]))
    assert result.n_equal_lists == 1
    move = result.first_move
    assert (move.query, move.document, move.rank, move.exported_rank) == ("b", "g", 2, 3)
    assert move.gap == 1.0
    assert "document g of query b, from rank 2 to 3" in repr(result)


def test_the_first_move_is_the_highest_of_the_first_list():
    dataset = RankingDataset.from_arrays(np.zeros((4, 1)), qid=[1, 1, 1, 1])
    result = Verification.of(dataset, np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3]))
    assert (result.first_move.document, result.first_move.rank) == (4, 1)


def test_equal_scores_stay_in_input_order():
    dataset = RankingDataset.from_arrays(np.zeros((3, 1)), qid=[1, 1, 1])
    assert Verification.of(dataset, np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0])).same_order
    broken = Verification.of(dataset, np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0]))
    assert not broken.same_order
    assert broken.first_move.gap == 0


def test_ties_of_the_ranker_may_be_free():
    dataset = RankingDataset.from_arrays(np.zeros((3, 1)), qid=[1, 1, 1])
    tied, broken = np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 0.0])
    assert Verification.of(dataset, tied, broken, free_ties=True).same_order
    assert not Verification.of(dataset, broken, tied, free_ties=True).same_order
    wrong = Verification.of(dataset, tied, np.array([0.0, 1.0, 2.0]), free_ties=True)
    assert (wrong.first_move.rank, wrong.first_move.exported_rank) == (1, 2)


def test_a_score_that_is_no_number_is_an_error(lists):
    dataset, scores = lists
    exported = scores.copy()
    exported[-1] = np.nan
    query = dataset.query_ids[-1]
    with pytest.raises(ValueError, match=f"document .* of query {query} the score nan"):
        Verification.of(dataset, scores, exported)


def test_a_document_without_a_score_is_told_why():
    rows = np.array([[1.0, 2.0], [np.nan, 1.0], [1e60, 1.0]])
    dataset = RankingDataset.from_arrays(rows, qid=["a"] * 3, document_ids=["x", "y", "z"])
    zeros = np.zeros(3)
    with pytest.raises(ValueError, match="document y of query a the score nan. It lacks a feature"):
        Verification.of(dataset, zeros, np.array([0, np.nan, 0]))
    with pytest.raises(ValueError, match="document z .* the score inf. .* beyond the range"):
        Verification.of(dataset, zeros, np.array([0, 0, np.inf]))
    with pytest.raises(ValueError, match=r"document x .* the score nan\.$"):
        Verification.of(dataset, zeros, np.array([np.nan, 0, 0]))


def test_files_that_were_changed_are_found_out(tmp_path):
    dataset, _ = make_queries(60)
    ranker = LambdaMART(20).fit(dataset)
    export(ranker, "lightgbm", tmp_path)
    path = tmp_path / "localrank.txt"
    text = path.read_text()
    begin = text.index("leaf_value=") + len("leaf_value=")
    end = text.index(" ", begin)
    path.write_text(text[:begin] + "9.5" + text[end:])
    result = verify(ranker, "lightgbm", tmp_path, dataset)
    assert not result.same_order
    assert result.largest_difference > 1


def test_rows_in_any_order_are_verified(tmp_path):
    dataset, _ = make_queries(60)
    ranker = LambdaMART(20).fit(dataset)
    export(ranker, "lightgbm", tmp_path)
    order = np.random.default_rng(1).permutation(dataset.n_documents)
    shuffled = RankingDataset.from_arrays(
        dataset.features[order],
        qid=dataset.query_ids[dataset.query_index[order]],
        feature_names=dataset.feature_names,
    )
    result = verify(ranker, "lightgbm", tmp_path, shuffled)
    assert result.same_order
    assert result.largest_difference == 0


@pytest.mark.parametrize("to", ["elasticsearch-ltr", "ranklib", "solr"])
def test_values_beyond_single_precision_are_told_with_the_document(to, tmp_path):
    dataset, _ = make_queries(40)
    ranker = RankSVM().fit(dataset)
    export(ranker, to, tmp_path)
    far = dataset.replaced(features=dataset.features * 1e60)
    with pytest.raises(ValueError, match="document 1 of query .* beyond the range of float32"):
        verify(ranker, to, tmp_path, far)
