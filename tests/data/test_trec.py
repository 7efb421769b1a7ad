import gzip
import os
import threading
import tracemalloc

import naive_runs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.data import (
    RankingDataset,
    align,
    read_qrels,
    read_run,
    write_letor,
    write_run,
    write_table,
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no lines"),
        ("1 Q0 a 1 0.5 x\n1 Q0 b 2 0.4\n", r"run.trec:2: a line must have 6 columns.*Got 5"),
        ("\n1 Q0 a 1 high x\n", "run.trec:2: the score must be a finite number. Got 'high'"),
        ("1 Q0 a 1 nan x\n", "run.trec:1: the score must be a finite number"),
        ("1 Q0 a 1 0.5 x\n1 Q0 a 2 0.4 x\n", "run.trec:2: document 'a' .* again; it is in line 1"),
        ("1 Q0 a 1 1_000 x\n", "run.trec:1: the score must be a finite number. Got '1_000'"),
        ("1 Q0 a 1 ١ x\n", "run.trec:1: the score must be a finite number"),
        ("1 Q0 a 1 0.5 x\r1 Q0 b 2 0.4 x\r", "run.trec:1: the line has a carriage return"),
        ("\r\n1 Q0 a 1 0.5 x\ry\n", "run.trec:2: the line has a carriage return"),
    ],
)
def test_a_bad_run_is_refused_by_line(text, message, tmp_path):
    (tmp_path / "run.trec").write_bytes(text.encode())
    with pytest.raises(ValueError, match=message):
        read_run(tmp_path / "run.trec")


def test_bad_judgements_are_refused_by_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b yes\n")
    with pytest.raises(ValueError, match="qrels:2: the relevance must be a finite number"):
        read_qrels(tmp_path / "qrels")


def test_a_binary_file_is_no_run(tmp_path):
    (tmp_path / "run.trec").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_run(tmp_path / "run.trec")


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0, np.nan]])
def test_wrong_scores_are_not_written(scattered, scores, tmp_path):
    with pytest.raises(ValueError, match="[Ss]core"):
        write_run(scattered, scores, tmp_path / "run.trec")
    assert not list(tmp_path.iterdir())


IDS = st.text(st.sampled_from("a%\\x205c é\t\n\x85\u2028\u3000文"), min_size=1, max_size=8)


@given(queries=st.lists(IDS, min_size=1, max_size=5, unique=True), documents=st.data())
@settings(max_examples=200)
def test_any_id_reads_back_from_a_run(queries, documents, tmp_path_factory):
    names = documents.draw(
        st.lists(IDS, min_size=len(queries), max_size=len(queries)), label="documents"
    )
    dataset = RankingDataset.from_arrays(
        np.zeros((len(queries), 1)), qid=queries, document_ids=names
    )
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    write_run(dataset, np.arange(len(queries)), path)
    run = read_run(path)
    assert run.query_ids.tolist() == queries
    assert run.document_ids.tolist() == names
    assert all(len(line.split()) == 6 for line in path.read_text(encoding="utf-8").split("\n")[:-1])


def test_a_blank_in_an_id_is_written_as_a_mark(tmp_path):
    dataset = RankingDataset.from_arrays([[0.0]], qid=["two words"], document_ids=[r"a\x20b%20c\d"])
    write_run(dataset, [1.0], tmp_path / "run.trec")
    text = (tmp_path / "run.trec").read_text()
    assert text == "two\\x20words Q0 a\\x5cx20b%20c\\d 1 1.0 localrank\n"


def test_marks_of_others_that_are_no_text_stay_as_they_are(tmp_path):
    (tmp_path / "run.trec").write_text("1 Q0 a\\xff 1 0.5 x\n")
    assert_array_equal(read_run(tmp_path / "run.trec").document_ids, [r"a\xff"])


@pytest.mark.parametrize("tag", ["", "two words"])
def test_a_tag_that_is_not_one_word_is_refused(scattered, tag, tmp_path):
    with pytest.raises(ValueError, match="tag of a run must be one word"):
        write_run(scattered, np.zeros(4), tmp_path / "run.trec", tag=tag)


def test_a_run_with_a_document_twice_is_named_when_it_is_written(tmp_path):
    dataset = RankingDataset.from_arrays(
        np.zeros((3, 1)), qid=[1, 7, 7], document_ids=["x", "x", "x"]
    )
    with pytest.warns(UserWarning, match="Query '7' has two documents with the id 'x'"):
        write_run(dataset, np.zeros(3), tmp_path / "run.trec")


def test_a_run_with_one_long_id_takes_no_more_memory_than_its_text(tmp_path):
    lines = [f"q{i} Q0 d{i} 1 0.5 x\n" for i in range(20_000)]
    lines.append(f"{'q' * 100_000} Q0 {'d' * 100_000} 1 0.5 x\n")
    (tmp_path / "run.trec").write_text("".join(lines))
    tracemalloc.start()
    run = read_run(tmp_path / "run.trec")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert run.query_ids[-1] == "q" * 100_000
    assert peak < 50e6


def test_an_endless_line_is_refused(tmp_path):
    (tmp_path / "run.gz").write_bytes(gzip.compress(b"a" * 50_000_000))
    with pytest.raises(ValueError, match=r"run.gz:1: the line is longer than 1,048,576 bytes"):
        read_run(tmp_path / "run.gz")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_an_endless_device_is_refused():
    with pytest.raises(ValueError, match="/dev/zero:1: the line has a NUL byte"):
        read_run("/dev/zero")


@pytest.mark.parametrize("writer", [write_letor, write_table, write_run])
def test_arguments_of_a_writer_in_another_order_are_said(writer, tmp_path):
    dataset = RankingDataset.from_arrays([[0.0], [1.0]], [0, 1], [1, 1])
    path, scores = tmp_path / "out", [[1.0, 2.0]] if writer is write_run else []
    with pytest.raises(TypeError, match=rf"The order of arguments is {writer.__name__}\(dataset,"):
        writer(path, dataset, *scores)
    assert not path.exists()


def outcome(read, path):
    """What was read, as rows, or the text of the error after the path."""
    try:
        result = read(path)
    except ValueError as error:
        return str(error).removeprefix(f"{path}:")
    values = result.scores if hasattr(result, "scores") else result.relevance
    return list(
        zip(result.query_ids.tolist(), result.document_ids.tolist(), values.tolist(), strict=True)
    )


def check_like_the_naive_reader(data, path):
    path.write_bytes(data)
    for read, expected in (
        (read_run, naive_runs.read_lines(data, 6, 4, "score")),
        (read_qrels, naive_runs.read_lines(data, 4, 3, "relevance", 1e100)),
    ):
        actual = outcome(read, path)
        if isinstance(expected, str):
            assert isinstance(actual, str)
            assert actual.startswith(expected)
        else:
            # By their texts, which tell 0.0 from -0.0.
            assert list(map(repr, actual)) == list(map(repr, expected))


NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(["1_0", "nan", "-inf", "0x1", "1e400", "1e-400", "--1", ".", "1e", "5e-324"]),
)
WORDS = st.text(st.sampled_from("ab0é\u3000語\\x205c\x1c\x85"), min_size=1, max_size=6)
GAPS = st.sampled_from([" ", "  ", "\t", "\v", " \f "])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\r\r\n", "\n \t\n"])


@st.composite
def made_up_lines(draw, n_columns):
    text = draw(st.sampled_from(["", "\ufeff", "\n"]))
    number = 4 if n_columns == 6 else 3
    for _ in range(draw(st.integers(0, 12))):
        words = [draw(WORDS) for _ in range(n_columns)]
        words[number] = draw(NUMBERS) or "0"
        gap = draw(GAPS)
        text += draw(st.sampled_from(["", gap])) + gap.join(words) + draw(ENDS)
    return text.encode()


@pytest.mark.parametrize("n_columns", [6, 4])
@pytest.mark.parametrize("block", [16, 1 << 20])
@given(data=st.data())
@settings(max_examples=150)
def test_any_lines_are_read_like_the_naive_reader_reads_them(
    n_columns, block, data, tmp_path_factory
):
    path = tmp_path_factory.mktemp("lines") / "lines"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localrank.data._line_blocks._BLOCK", block)
        check_like_the_naive_reader(data.draw(made_up_lines(n_columns)), path)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_refused_or_read_as_the_naive_reader_does(seed, tmp_path):
    rng = np.random.default_rng(seed)
    lines = [f"q{i // 7} Q0 d{i} {i % 7} {rng.normal():.6g} tag\n" for i in range(12_500)]
    data = bytearray("".join(lines).encode())
    for place in rng.integers(0, len(data), seed):
        data[place] = rng.choice(list(b"\0\r\n \xff\\ex9-_\t"))
    check_like_the_naive_reader(bytes(data), tmp_path / "run")


def test_errors_of_later_blocks_have_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr("localrank.data._line_blocks._BLOCK", 64)
    good = "".join(f"1 Q0 d{i} 1 0.5 x\n\n" for i in range(50))
    (tmp_path / "run").write_text(good + "1 Q0 e 1 high x\n")
    with pytest.raises(ValueError, match="run:101: the score must be a finite number. Got 'high'"):
        read_run(tmp_path / "run")
    (tmp_path / "run").write_text(good + "1 Q0 d7 1 0.5 x\n")
    with pytest.raises(ValueError, match="run:101: document 'd7' .* it is in line 15"):
        read_run(tmp_path / "run")


def test_a_character_that_two_ids_share_is_not_text(tmp_path):
    # Both halves together would be an é.
    (tmp_path / "run").write_bytes(b"1 Q0 a\xc3 1 1 x\n1 Q0 \xa9b 2 0.5 x\n")
    with pytest.raises(ValueError, match=r"run:1: the id b'a\\xc3' is not UTF-8"):
        read_run(tmp_path / "run")


def test_line_ends_of_windows_are_no_part_of_a_line(tmp_path):
    (tmp_path / "run").write_bytes(b"\r\n1 Q0 a 1 0.5 x\r\n\r\n1 Q0 b 1 0.25 x\r\r\n")
    run = read_run(tmp_path / "run")
    assert (run.document_ids.tolist(), run.scores.tolist(), run.tag) == (
        ["a", "b"],
        [0.5, 0.25],
        "x",
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("1 Q0 a 1 0.5 x\n"))
    writer.start()
    assert read_run(pipe).document_ids.tolist() == ["a"]
    writer.join()
