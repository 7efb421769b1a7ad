import gzip
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import (
    Qrels,
    RankingDataset,
    Run,
    align,
    judged,
    read_qrels,
    read_run,
    write_run,
)


@pytest.fixture
def scattered() -> RankingDataset:
    return RankingDataset.from_arrays(
        np.zeros((4, 1)), [1, 0, 2, 0], ["b", "a", "b", "a"], document_ids=["p", "q", "r", "s"]
    )


def test_a_written_run_reads_back_as_the_same_scores(scattered, tmp_path):
    scores = np.array([0.1, 1 / 3, 2.5e-300, -7.0])
    write_run(scattered, scores, tmp_path / "run.trec")
    assert_array_equal(align(read_run(tmp_path / "run.trec"), scattered), scores)


def test_a_run_lists_the_best_documents_of_each_query_first(scattered, tmp_path):
    write_run(scattered, [1.0, 2.0, 3.0, 4.0], tmp_path / "run.trec", tag="mine")
    assert (tmp_path / "run.trec").read_text().splitlines() == [
        "b Q0 r 1 3.0 mine",
        "b Q0 p 2 1.0 mine",
        "a Q0 s 1 4.0 mine",
        "a Q0 q 2 2.0 mine",
    ]


def test_documents_without_ids_go_by_their_position_in_the_query(tmp_path):
    dataset = RankingDataset.from_arrays(np.zeros((3, 1)), qid=["b", "a", "b"])
    scores = np.array([1.0, 2.0, 3.0])
    write_run(dataset, scores, tmp_path / "run.trec")
    run = read_run(tmp_path / "run.trec")
    assert_array_equal(run.document_ids, ["2", "1", "1"])
    assert_array_equal(align(run, dataset), scores)


def test_documents_that_the_run_lacks_are_not_retrieved(scattered):
    run = Run(np.array(["a", "zz"]), np.array(["q", "q"]), np.array([5.0, 6.0]))
    assert_array_equal(align(run, scattered), [-np.inf, 5.0, -np.inf, -np.inf])


def test_two_documents_with_one_id_in_a_query_cannot_be_aligned():
    dataset = RankingDataset.from_arrays(np.zeros((2, 1)), qid=[1, 1], document_ids=["x", "x"])
    with pytest.raises(ValueError, match="same id"):
        align(Run(np.array(["1"]), np.array(["x"]), np.array([1.0])), dataset)


def test_judgements_join_a_run_as_trec_eval_does():
    run = Run(np.array(["1", "1", "2"]), np.array(["a", "b", "a"]), np.array([2.0, 1.0, 0.5]))
    qrels = Qrels(
        np.array(["1", "1", "1", "3"]), np.array(["b", "c", "a", "a"]), np.array([2.0, 1, -2, 1])
    )
    dataset, scores = judged(run, qrels)
    assert_array_equal(dataset.query_ids, ["1", "3"])
    assert_array_equal(dataset.document_ids, ["a", "b", "c", "a"])
    assert_array_equal(dataset.relevance, [0, 2, 1, 1])
    assert_array_equal(scores, [2.0, 1.0, -np.inf, -np.inf])


def test_a_judged_document_twice_is_refused_by_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 a 0\n")
    with pytest.raises(ValueError, match="qrels:2: document 'a' of query '1' again"):
        read_qrels(tmp_path / "qrels")


def test_documents_with_equal_scores_are_written_in_input_order(tmp_path):
    dataset = RankingDataset.from_arrays(
        np.zeros((3, 1)), qid=[1, 1, 1], document_ids=["c", "a", "b"]
    )
    write_run(dataset, [1.0, 1.0, 1.0], tmp_path / "run.trec")
    assert_array_equal(read_run(tmp_path / "run.trec").document_ids, ["c", "a", "b"])


def test_compressed_runs_and_byte_order_marks_are_understood(tmp_path):
    text = "\ufeff1 Q0 a 1 0.5 x\n".encode()
    (tmp_path / "run.gz").write_bytes(gzip.compress(text))
    assert_array_equal(read_run(tmp_path / "run.gz").query_ids, ["1"])
    (tmp_path / "cut.gz").write_bytes(gzip.compress(text)[:-9])
    with pytest.raises(ValueError, match="cut.gz: the compressed file is truncated"):
        read_run(tmp_path / "cut.gz")


def test_a_run_that_cannot_be_written_whole_leaves_the_old_one(scattered, tmp_path, monkeypatch):
    write_run(scattered, [1.0, 2.0, 3.0, 4.0], tmp_path / "run.trec")
    before = (tmp_path / "run.trec").read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_run(scattered, [4.0, 3.0, 2.0, 1.0], tmp_path / "run.trec")
    assert (tmp_path / "run.trec").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_run_of_other_queries_is_refused():
    run = Run(np.array(["1"]), np.array(["a"]), np.array([2.0]))
    with pytest.raises(ValueError, match="no query in common"):
        judged(run, Qrels(np.array(["2"]), np.array(["a"]), np.array([1.0])))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no lines of the form"),
        ("1 Q0 a 1 0.5 x\n1 Q0 b 2 0.4\n", r"run.trec:2: a line must have 6 columns.*Got 5"),
        ("\n1 Q0 a 1 high x\n", "run.trec:2: the score must be a finite number. Got 'high'"),
        ("1 Q0 a 1 nan x\n", "run.trec:1: the score must be a finite number"),
        ("1 Q0 a 1 0.5 x\n1 Q0 a 2 0.4 x\n", "run.trec:2: document 'a' of query '1' again"),
    ],
)
def test_a_bad_run_is_refused_by_line(text, message, tmp_path):
    (tmp_path / "run.trec").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_run(tmp_path / "run.trec")


def test_bad_judgements_are_refused_by_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b yes\n")
    with pytest.raises(ValueError, match="qrels:2: the relevance must be a finite number"):
        read_qrels(tmp_path / "qrels")


def test_a_binary_file_is_no_run(tmp_path):
    (tmp_path / "run.trec").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not a text file"):
        read_run(tmp_path / "run.trec")


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0, np.nan]])
def test_wrong_scores_are_not_written(scattered, scores, tmp_path):
    with pytest.raises(ValueError, match="[Ss]core"):
        write_run(scattered, scores, tmp_path / "run.trec")
    assert not list(tmp_path.iterdir())


def test_an_id_with_a_blank_is_not_written(tmp_path):
    dataset = RankingDataset.from_arrays([[0.0]], qid=["two words"])
    with pytest.raises(ValueError, match="'two words' has blanks"):
        write_run(dataset, [1.0], tmp_path / "run.trec")
