"""Reading and writing LETOR files."""

import bz2
import gzip
import lzma
import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_letor import naive_parse
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, _line_blocks
from localrank.data import _letor_reader as letor_reader
from localrank.data.letor import read_letor, write_letor


def read(data, name="file.txt", **options):
    """Read a file with these bytes; errors name it as `name`."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path(name).write_bytes(data)
        return read_letor(name, **options)


def assert_same(left, right):
    assert_array_equal(left.features.view(np.int64), right.features.view(np.int64))
    assert_array_equal(left.relevance, right.relevance)
    assert_array_equal(left.offsets, right.offsets)
    assert_array_equal(left.query_ids, right.query_ids)
    assert left.query_ids.dtype.kind == right.query_ids.dtype.kind
    for name in ("document_ids", "input_order"):
        assert (getattr(left, name) is None) == (getattr(right, name) is None)
        if getattr(left, name) is not None:
            assert_array_equal(getattr(left, name), getattr(right, name))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_line_blocks, "_BLOCK", 64)


# What is refused, and how the error reads.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(b"x qid:1 1:0.5", "label 'x' is not a finite number", id="label-text"),
        pytest.param(b"nan qid:1 1:0.5", "label 'nan' is not a finite number", id="label-nan"),
        pytest.param(b"inf qid:1 1:0.5", "label 'inf' is not a finite number", id="label-inf"),
        pytest.param(b"1e999 qid:1 1:0.5", "label '1e999' is too large", id="label-large"),
        pytest.param(b"-1e999 qid:1 1:0.5", "label '-1e999' is too large", id="label-neg-large"),
        pytest.param(
            b"1 1:0.5",
            "expected a query id like 'qid:7' after the label, found '1:0.5'",
            id="no-qid",
        ),
        pytest.param(
            b"1", "expected a query id like 'qid:7' after the label, found nothing", id="label-only"
        ),
        pytest.param(b"1 qid: 1:0.5", "query id in 'qid:' is empty", id="empty-qid"),
        pytest.param(
            b"1 qid=7 1:0.5",
            "expected a query id like 'qid:7' after the label, found 'qid=7'",
            id="qid-equals",
        ),
        pytest.param(
            b"1 qid:1 0:0.5", "feature id 0 in '0:0.5' is too small; ids start at 1", id="feature-0"
        ),
        pytest.param(
            b"1 qid:1 -2:0.5",
            "feature id -2 in '-2:0.5' is too small; ids start at 1",
            id="feature-neg",
        ),
        pytest.param(
            b"1 qid:1 a:0.5", "feature id 'a' in 'a:0.5' is not a number", id="feature-text"
        ),
        pytest.param(b"1 qid:1 0.5", "expected a feature like '1:0.5', found '0.5'", id="no-colon"),
        pytest.param(
            b"1 qid:1 1:0.5 1:0.7", "feature id 1 in '1:0.7' occurs twice", id="repeat-adjacent"
        ),
        pytest.param(
            b"1 qid:1 1:1 2:2 3:3 2:4", "feature id 2 in '2:4' occurs twice", id="repeat-apart"
        ),
        pytest.param(
            b"1 qid:1 5:1 2:2 5:3", "feature id 5 in '5:3' occurs twice", id="repeat-unordered"
        ),
        pytest.param(b"1 qid:1 1:0,5", "value '0,5' in '1:0,5' is not a finite", id="value-comma"),
        pytest.param(b"1 qid:1 1:", "value '' in '1:' is not a finite number", id="value-empty"),
        pytest.param(b"1 qid:1 1:1_0", "value '1_0' in '1:1_0' is not", id="value-underscore"),
        pytest.param(b"1 qid:1 1:0.5.1", "value '0.5.1' in", id="value-two-points"),
        pytest.param(b"1 qid:1 1:-", "value '-' in", id="value-sign-only"),
        pytest.param(b"1 qid:1 1:.", "value '.' in", id="value-point-only"),
        pytest.param(b"1 qid:1 1:1e", "value '1e' in", id="value-no-exponent"),
        pytest.param(b"1 qid:1 1:inf", "value 'inf' in '1:inf' is not a finite", id="value-inf"),
        pytest.param(b"1 qid:1 1:-inf", "value '-inf' in", id="value-minus-inf"),
        pytest.param(b"1 qid:1 1:1e999", "value '1e999' of feature 1 is too", id="value-1e999"),
        pytest.param(
            b"1 qid:1 7:1.7976931348623157e308",
            r"value '1.79.*308' of feature 7 is too large; .* 1e\+100 .*Write NULL for a missing",
            id="value-for-missing",
        ),
        pytest.param(b"1 qid:1 1:-1.1e100", "value '-1.1e100' of feature 1 is too", id="value-neg"),
        pytest.param(b"1.1e100 qid:1 1:1", "label '1.1e100' is too large", id="label-1e100"),
        pytest.param(b"1 qid:1 1:0.%b1e5000000" % (b"0" * 999_999), "value .* is too", id="digits"),
        pytest.param(
            b"1 qid:" + b"q" * 1001 + b" 1:1", "query id in 'qid:qq.*' is longer", id="qid-long"
        ),
        pytest.param(b"1 qid:a\xff 1:1", r"query id 'a\\\\xff' is not UTF-8", id="qid-bytes"),
        pytest.param(
            b"1 qid:1 1:1 #docid = a\xff", r"document id 'a\\\\xff' is not UTF-8", id="docid-bytes"
        ),
        pytest.param(
            b"1 qid:1 1:1\r1 qid:1 1:1", r"the line has a carriage return \(CR\)", id="return"
        ),
        pytest.param(
            b"1 qid:1 1:1 # a\r1 qid:1 1:1", "the line has a carriage return", id="return-comment"
        ),
        pytest.param(b"1\r qid:1 1:1", "the line has a carriage return", id="return-after-label"),
        pytest.param(
            b"# a\r1 qid:1 1:1", "the line has a carriage return", id="return-comment-line"
        ),
        pytest.param(b"1 qid:1 1:0.\x005", "the line has a NUL byte", id="nul-in-data"),
        pytest.param(b"1 qid:1 1:0.5 # a\x00b", "the line has a NUL byte", id="nul-in-comment"),
        pytest.param(b"# a\x00b", "the line has a NUL byte", id="nul-in-comment-line"),
        pytest.param(
            b"1 qid:1 1000000:1",
            "feature id 1000000 in .* is too large; the limit is 100000",
            id="feature-too-large",
        ),
        pytest.param(
            b"1 qid:1 1:1 #docid = " + b"a" * 1001,
            "document id 'aaa.*' is longer than 1000 bytes",
            id="docid-long",
        ),
        pytest.param(b"1 qid:1 1:" + b"z" * 99, f"value '{'z' * 37}...' in", id="token-shortened"),
    ],
)
def test_malformed_line_is_refused_with_its_place(line, message):
    with pytest.raises(ValueError, match=rf"^file\.txt:2: {message}"):
        read(b"0 qid:1 1:1\n" + line + b"\n1 qid:1 1:2\n")


@pytest.mark.parametrize("data", [b"", b"\n \n", b"# nothing\n#\n", b"\xef\xbb\xbf"])
def test_file_without_documents_is_refused(data):
    with pytest.raises(ValueError, match=r"^file\.txt: the file has no documents"):
        read(data)


def test_file_without_features_is_refused():
    with pytest.raises(ValueError, match=r"^file\.txt: no line has a feature"):
        read(b"1 qid:1\n")


def test_value_beyond_float32_is_refused_for_float32():
    with pytest.raises(ValueError, match=r"^file\.txt:1: value '1e39' .*in float32 .*3.4e38"):
        read(b"1 qid:1 1:1e39\n", dtype=np.float32)


def test_value_beyond_float32_with_many_digits_is_refused_for_float32():
    with pytest.raises(ValueError, match=r"^file\.txt:1: value '1111.*' of feature 1 is too"):
        read(b"1 qid:1 1:" + b"1" * 40 + b"\n", dtype=np.float32)


def test_feature_above_n_features_is_refused():
    with pytest.raises(
        ValueError, match=r"^file\.txt:1: feature id 3 in '3:1' is too large; n_features is 2"
    ):
        read(b"1 qid:1 3:1\n", n_features=2)


def test_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "absent.txt")


def test_no_paths_are_refused():
    with pytest.raises(ValueError, match="list of paths is empty"):
        read_letor([])


def test_other_dtype_is_refused():
    with pytest.raises(ValueError, match=r"must be float64 or float32. Got int64 instead"):
        read(b"1 qid:1 1:1\n", dtype=np.int64)


@pytest.mark.parametrize("n_features", [0, 100_001])
def test_n_features_out_of_range_is_refused(n_features):
    with pytest.raises(ValueError, match=rf"in \[1, 100000\]. Got {n_features} instead"):
        read(b"1 qid:1 1:1\n", n_features=n_features)


@pytest.mark.parametrize(
    ("compress", "suffix"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")]
)
def test_truncated_compressed_file_is_refused_by_name(compress, suffix):
    data = compress(b"".join(b"1 qid:1 1:%d\n" % i for i in range(1000)))
    with pytest.raises(ValueError, match=rf"^file\.{suffix}: the compressed file is truncated"):
        read(data[:-20], f"file.{suffix}")


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_file_that_is_not_compressed_is_refused_by_name(suffix):
    with pytest.raises(ValueError, match=rf"^file\.{suffix}: the compressed file is truncated or"):
        read(b"1 qid:1 1:1\n", f"file.{suffix}")


def test_damaged_gzip_is_refused_by_name():
    data = bytearray(gzip.compress(b"".join(b"1 qid:1 1:%d\n" % i for i in range(1000))))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(ValueError, match=r"^file\.gz: the compressed file is truncated or damaged"):
        read(bytes(data), "file.gz")


@pytest.mark.usefixtures("small_blocks")
def test_line_number_counts_blank_and_comment_lines_of_earlier_blocks():
    good = b"1 qid:1 1:0.5 # comment\n\n# comment\n"
    with pytest.raises(ValueError, match=r"^file\.txt:301: value 'x'"):
        read(100 * good + b"1 qid:1 1:x\n")


def test_line_number_is_right_late_in_a_file_of_several_blocks():
    good = b"1 qid:1 1:0.5 # " + b"c" * 1000 + b"\n"
    with pytest.raises(ValueError, match=r"^file\.txt:3001: value 'x'"):
        read(3000 * good + b"1 qid:1 1:x\n")


# What is read.


def test_features_labels_and_ids_are_read():
    dataset = read(b"2 qid:7 1:0.5 2:-3 #docid = A\n0.5 qid:8 1:1e-3 2:4 #docid = B\n")
    assert_array_equal(dataset.features, [[0.5, -3], [0.001, 4]])
    assert_array_equal(dataset.relevance, [2, 0.5])
    assert_array_equal(dataset.query_ids, [7, 8])
    assert_array_equal(dataset.document_ids, ["A", "B"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_are_contiguous_and_of_the_asked_type(dtype):
    dataset = read(b"1 qid:1 1:0.1 3:1\n1 qid:2 5:0.1\n", dtype=dtype)
    assert dataset.features.dtype == dtype
    assert dataset.features.flags.c_contiguous
    assert dataset.features[0, 0] == dtype(0.1)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"1 qid:1 1:0.5 2:3\r\n0 qid:1 1:2 2:4\r\n", id="crlf"),
        pytest.param(b"1 qid:1 1:0.5 2:3 #\r\r\n\r\n0 qid:1 1:2 2:4\r", id="cr-crlf"),
        pytest.param(b"1 qid:1 1:0.5 2:3\n0 qid:1 1:2 2:4", id="no-final-newline"),
        pytest.param(b"1\tqid:1\t1:0.5\t2:3\n0\tqid:1\t1:2\t2:4\n", id="tabs"),
        pytest.param(b"  1   qid:1  1:0.5   2:3 \n0 qid:1 1:2  2:4   \n", id="spaces"),
        pytest.param(b"\n1 qid:1 1:0.5 2:3\n\n \t\n0 qid:1 1:2 2:4\n\n", id="blank-lines"),
        pytest.param(b"# a\n1 qid:1 1:0.5 2:3\n # b\n0 qid:1 1:2 2:4 # c\n#", id="comments"),
        pytest.param(b"\xef\xbb\xbf1 qid:1 1:0.5 2:3\n0 qid:1 1:2 2:4\n", id="bom"),
        pytest.param(b"1 qid:1 2:3 1:0.5\n0 qid:1 2:4 1:2\n", id="unordered"),
        pytest.param(b"1 qid:1 1:0.5 2:3# x\xff\xfe\n0 qid:1 1:2 2:4\n", id="not-utf-8"),
        pytest.param(b"1.0 qid:1 01:+.5 2:3.\n0e0 qid:1 1:2e0 2:0.4E1\n", id="spellings"),
    ],
)
@pytest.mark.parametrize("block", [8, 1 << 20])
def test_spelling_of_a_file_does_not_matter(monkeypatch, data, block):
    monkeypatch.setattr(_line_blocks, "_BLOCK", block)
    expected = RankingDataset.from_arrays([[0.5, 3], [2, 4]], y=[1, 0], qid=[1, 1])
    assert_same(read(data), expected)


@pytest.mark.parametrize(
    ("compress", "suffix"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")]
)
def test_compressed_file_reads_like_the_plain_one(compress, suffix):
    data = b"".join(b"1 qid:%d 1:%d 2:0.5 #docid = D%d\n" % (i // 9, i, i) for i in range(999))
    assert_same(read(compress(data), f"file.{suffix}"), read(data))


def test_absent_feature_is_zero():
    assert_array_equal(read(b"1 qid:1 2:5 4:6\n").features, [[0, 5, 0, 6]])


@pytest.mark.parametrize("word", [b"NULL", b"nan", b"NaN"])
def test_missing_value_is_nan(word):
    assert_array_equal(read(b"1 qid:1 1:" + word + b" 2:1\n").features, [[np.nan, 1]])


HARD_NUMBERS = ["9007199254740993", "1e-320", "1.2345678901234567890123", "8.5e-300"]


def test_numbers_that_are_hard_to_round_are_those_of_python():
    features = " ".join(f"{i}:{token}" for i, token in enumerate(HARD_NUMBERS, start=1))
    dataset = read(f"9007199254740993 qid:1 {features}\n".encode())
    assert_array_equal(dataset.features, [[float(token) for token in HARD_NUMBERS]])
    assert dataset.relevance == [float("9007199254740993")]


def test_more_hard_numbers_than_are_set_aside_at_once_are_read(monkeypatch):
    monkeypatch.setattr(letor_reader, "MAX_FEATURES", 4)
    features = " ".join(f"{i}:{token}" for i, token in enumerate(HARD_NUMBERS, start=1))
    dataset = read(9 * f"0 qid:1 {features}\n".encode())
    assert_array_equal(dataset.features, 9 * [[float(token) for token in HARD_NUMBERS]])


def test_missing_last_features_are_padded_with_zeros():
    assert_array_equal(read(b"1 qid:1 1:5\n", n_features=3).features, [[5, 0, 0]])


def test_columns_grow_with_the_largest_feature_seen():
    lines = [b"1 qid:1 %d:%d\n" % (i, i) for i in range(1, 60)]
    assert_array_equal(read(b"".join(lines)).features, np.diag(np.arange(1.0, 60)))


def test_line_that_adds_a_column_among_others_is_read():
    features = read(b"0 qid:1 1:1 2:1 3:1\n0 qid:1 1:4 5:5 3:6\n0 qid:1 2:7\n").features
    assert_array_equal(features, [[1, 1, 1, 0, 0], [4, 0, 6, 0, 5], [0, 7, 0, 0, 0]])


def test_line_longer_than_a_block_is_read(monkeypatch):
    monkeypatch.setattr(_line_blocks, "_BLOCK", 64)
    values = np.arange(1.0, 301)
    line = b" ".join(b"%d:%d" % (i, i) for i in range(1, 301))
    assert_array_equal(read(b"1 qid:1 " + line + b"\n").features, [values])


def test_lines_of_a_query_may_be_scattered():
    dataset = read(b"0 qid:b 1:1\n0 qid:a 1:2\n0 qid:b 1:3\n0 qid:c 1:4\n0 qid:a 1:5\n")
    assert_array_equal(dataset.query_ids, ["b", "a", "c"])
    assert_array_equal(dataset.features.ravel(), [1, 3, 2, 5, 4])
    assert_array_equal(dataset.in_input_order(dataset.features.ravel()), [1, 2, 3, 4, 5])


def test_query_of_one_document_is_a_query():
    assert_array_equal(read(b"0 qid:1 1:1\n0 qid:2 1:1\n0 qid:3 1:1\n").offsets, [0, 1, 2, 3])


def test_equal_labels_are_kept():
    assert_array_equal(read(b"2 qid:1 1:1\n2 qid:1 1:2\n").relevance, [2, 2])


def test_rows_in_contiguous_queries_keep_no_order():
    assert read(b"0 qid:2 1:1\n0 qid:2 1:2\n0 qid:1 1:3\n").input_order is None


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([b"7", b"-3", b"0"], "i"),
        ([b"7", b"07"], "U"),
        ([b"7", b"-0"], "U"),
        ([b"7", b"x"], "U"),
        ([b"1_0"], "U"),
        ([b"9223372036854775807"], "i"),
        ([b"9223372036854775808"], "U"),
    ],
)
def test_query_ids_are_integers_if_all_are_written_like_one(ids, kind):
    dataset = read(b"".join(b"0 qid:%b 1:1\n" % name for name in ids))
    assert dataset.query_ids.dtype.kind == kind
    assert dataset.query_ids.astype(str).tolist() == [name.decode() for name in ids]


def test_query_id_that_begins_like_the_last_is_another():
    assert_array_equal(read(b"0 qid:12 1:1\n0 qid:1 1:1\n0 qid:123 1:1\n").query_ids, [12, 1, 123])


@pytest.mark.parametrize(
    "comment", [b"#docid = D-1", b"# docid = D-1", b"#docid=D-1 inc = 1", b"#\tdocid  =\tD-1\r"]
)
def test_document_id_is_found_in_the_comment(comment):
    assert_array_equal(read(b"0 qid:1 1:1 " + comment + b"\n").document_ids, ["D-1"])


@pytest.mark.parametrize("comment", [b"", b"#", b"# a", b"#docid", b"#docid =", b"#docids = 3"])
def test_comment_without_a_document_id_gives_none(comment):
    line = b"0 qid:1 1:1 " + comment + b"\n"
    assert read(2 * line).document_ids is None


def test_document_ids_grow_with_the_longest_seen():
    ids = ["a" * i for i in range(1, 40)]
    lines = [f"0 qid:1 1:1 #docid = {name}\n" for name in ids]
    dataset = read("".join(lines).encode())
    assert dataset.document_ids.tolist() == ids
    assert dataset.document_ids.dtype == "U39"


def test_document_ids_beyond_ascii_are_decoded():
    data = "0 qid:1 1:1 #docid = né\n0 qid:1 1:1 #docid = 文書\n".encode()
    assert_array_equal(read(data).document_ids, ["né", "文書"])


def test_partly_missing_document_ids_are_left_out_with_a_warning():
    data = b"0 qid:1 1:1 #docid = A\n0 qid:1 1:1\n0 qid:1 1:1 #\n"
    with pytest.warns(UserWarning, match="2 of 3 lines have no '#docid"):
        dataset = read(data)
    assert dataset.document_ids is None


def test_several_files_are_read_as_one(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    paths[0].write_bytes(b"0 qid:2 1:1\n")
    paths[1].write_bytes(gzip.compress(b"1 qid:1 1:2 2:3"))
    dataset = read_letor(paths, n_features=2)
    assert_array_equal(dataset.features, [[1, 0], [2, 3]])
    assert_array_equal(dataset.query_ids, [2, 1])


def test_query_in_two_files_is_refused(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(b"0 qid:1 1:1\n0 qid:2 1:1\n")
    second.write_bytes(b"# comment\n0 qid:3 1:1\n0 qid:2 1:1\n")
    with pytest.raises(ValueError, match=re.escape(f"{second}:3: query 2 is also in {first}")):
        read_letor([first, second])


def test_result_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        read(b"0 qid:1 1:1\n").features[0, 0] = 1


# What is written.


def written(dataset, name="file.txt"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write_letor(dataset, path)
        return path.read_bytes()


def test_dataset_is_written_in_input_order_with_shortest_numbers():
    dataset = RankingDataset.from_arrays(
        [[0.1, 3], [np.nan, -0.0], [1e-7, 1e22]],
        y=[1, 0.5, 2],
        qid=["b", "a", "b"],
        document_ids=["x", "y", "z"],
    )
    assert written(dataset) == (
        b"1 qid:b 1:0.1 2:3 #docid = x\n"
        b"0.5 qid:a 1:NULL 2:-0 #docid = y\n"
        b"2 qid:b 1:1e-07 2:1e+22 #docid = z\n"
    )


def test_float32_is_written_with_its_own_shortest_digits():
    dataset = RankingDataset.from_arrays(np.array([[0.1, 2, np.nan]], np.float32), y=[1], qid=[1])
    assert written(dataset) == b"1 qid:1 1:0.1 2:2 3:NULL\n"


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_suffix_compresses(suffix):
    dataset = RankingDataset.from_arrays([[0.5]], y=[1], qid=[1])
    data = written(dataset, f"file.{suffix}")
    assert {"gz": gzip, "bz2": bz2, "xz": lzma}[suffix].decompress(data) == b"1 qid:1 1:0.5\n"


@pytest.mark.parametrize("name", ["a b", "a#b", "a\nb", "a" * 1001])
def test_ids_that_would_not_read_back_are_refused(name):
    queries = RankingDataset.from_arrays([[0.5]], y=[1], qid=[name])
    with pytest.raises(ValueError, match="The query id .* cannot be written"):
        written(queries)
    documents = RankingDataset.from_arrays([[0.5]], y=[1], qid=[1], document_ids=[name])
    with pytest.raises(ValueError, match="The document id .* cannot be written"):
        written(documents)


def test_dataset_without_labels_is_refused():
    with pytest.raises(ValueError, match="no relevance labels"):
        written(RankingDataset.from_arrays([[0.5]], qid=[1]))


def test_refused_dataset_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="cannot be written"):
        write_letor(RankingDataset.from_arrays([[0.5]], y=[1], qid=["a b"]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# Properties.

BLANKS = st.sampled_from([" ", "  ", "\t", " \v "])
FLOATS = st.floats(-1e101, 1e101)
PLAIN_NUMBERS = st.one_of(
    st.integers(0, 3).map(str),
    st.floats(0, 1).map(repr),
    st.floats(-99, 99).map("{:.6f}".format),
    FLOATS.map(repr),
    st.just("NULL"),
)


@st.composite
def lines(draw):
    label = draw(st.sampled_from(["0", "1", "2", "0.25"]))
    qid = draw(st.sampled_from(["1", "2", "33", "x", "é"]))
    size = draw(st.integers(0, 14))
    ids = list(range(1, size + 1))
    if draw(st.integers(0, 3)) == 0:
        ids = draw(st.permutations(ids))[: draw(st.integers(0, size))]
    blank = draw(BLANKS)
    parts = [label, f"qid:{qid}", *(f"{i}:{draw(PLAIN_NUMBERS)}" for i in ids)]
    comment = draw(st.sampled_from(["", " ", " #docid = GX-1", "#docid=é", " # x"]))
    return blank.join(parts) + comment


FILES = st.builds(
    lambda rows, newline, final: (newline.join(rows) + final).encode(),
    st.lists(st.one_of(lines(), lines(), lines(), st.sampled_from(["", "# comment"])), max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)


def outcome(parse, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return parse(data)
        except ValueError:
            return None


def assert_parsed_like_the_naive_parser(data, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_line_blocks, "_BLOCK", block)
        result = outcome(read, data)
    expected = outcome(naive_parse, data)
    assert (result is None) == (expected is None)
    if result is not None:
        assert_same(result, expected)


@given(data=FILES, block=st.sampled_from([16, 200, 1 << 20]))
@settings(max_examples=150)
def test_valid_file_is_read_like_the_naive_parser(data, block):
    assert_parsed_like_the_naive_parser(data, block)


@given(
    data=FILES.filter(len),
    changes=st.lists(
        st.tuples(
            st.integers(0, 10**6), st.sampled_from(b"0123456789.:#-+eE \t\n\r\0\x01qNUL\xff")
        ),
        min_size=1,
        max_size=4,
    ),
    block=st.sampled_from([16, 1 << 20]),
)
@settings(max_examples=300)
def test_damaged_file_is_refused_or_read_like_the_naive_parser(data, changes, block):
    damaged = bytearray(data)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    assert_parsed_like_the_naive_parser(bytes(damaged), block)


@st.composite
def datasets(draw):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    dtype, width = draw(st.sampled_from([(np.float64, 64), (np.float32, 32)]))
    limit = 1e100 if width == 64 else float(np.finfo(np.float32).max)
    numbers = st.floats(-limit, limit, width=width) | st.just(np.nan)
    names = st.one_of(st.just("a"), st.text("abcé文_-:=.", min_size=1, max_size=5))

    def column(items):
        return draw(st.lists(items, min_size=n, max_size=n))

    return RankingDataset.from_arrays(
        np.array(column(st.lists(numbers, min_size=d, max_size=d)), dtype=dtype),
        y=column(st.floats(0, 1e100)),
        qid=column(draw(st.sampled_from([st.integers(-3, 3), names]))),
        document_ids=draw(st.none() | st.just(column(names))),
    )


@given(dataset=datasets(), name=st.sampled_from(["f.txt", "f.gz", "f.bz2", "f.xz"]))
@settings(max_examples=100)
def test_written_dataset_reads_back_equal(dataset, name):
    options = {"dtype": dataset.features.dtype, "n_features": dataset.n_features}
    again = read(written(dataset, name), name, **options)
    assert_array_equal(again.features, dataset.features)
    present = ~np.isnan(dataset.features)
    assert_array_equal(np.signbit(again.features[present]), np.signbit(dataset.features[present]))
    assert_array_equal(again.relevance, dataset.relevance)
    assert_array_equal(again.offsets, dataset.offsets)
    assert again.query_ids.tolist() == dataset.query_ids.tolist()
    if dataset.document_ids is None:
        assert again.document_ids is None
    else:
        assert again.document_ids.tolist() == dataset.document_ids.tolist()
    order = np.arange(dataset.n_documents)
    assert_array_equal(again.in_input_order(order), dataset.in_input_order(order))


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "train.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_letor(RankingDataset.from_arrays([[0.5]], y=[1], qid=[1]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_labels_may_be_negative_and_come_back_as_they_were(tmp_path):
    path = tmp_path / "spam.txt"
    path.write_bytes(b"-2 qid:1 1:0.5\n1 qid:1 1:0.25\n-0.5 qid:1 1:1\n")
    dataset = read_letor(path)
    assert dataset.labels.tolist() == [-2, 1, -0.5]
    write_letor(dataset, tmp_path / "again.txt")
    assert read_letor(tmp_path / "again.txt").labels.tolist() == [-2, 1, -0.5]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"localrank model 2\n8225 \n{}\n", "a model that localrank saved, not data"),
        (b"<!DOCTYPE html>\n<html>\n", "a web page, not data"),
        (
            b"7 Q0 d1 1 0.5 bm25\n",
            "a TREC run, which has scores and no features; `localrank evaluate` reads it, and "
            "`localrank fuse --table` makes features of several",
        ),
        (b"7 0 d1 2\n", "has TREC judgments and no features"),
    ],
)
def test_files_of_other_kinds_are_called_by_their_kind(content, kind):
    with pytest.raises(ValueError, match=rf"^file\.txt:1: the file (is )?{kind}"):
        read(content)


def test_the_first_words_of_comments_are_document_ids_if_they_can_be():
    hello = b"4 qid:1 1:12.3 # 7555\trambo\n0 qid:1 1:2 # 1370\trambo\n1 qid:2 1:2 #7555 rocky\n"
    assert read(hello).document_ids.tolist() == ["7555", "1370", "7555"]
    for other in (b"# 7555", b"# ", b"", b"# docid = 3 x", b"# grade = 3", b"#a=b", "# é".encode()):
        text = hello.replace(b"# 1370\trambo", other)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert read(text).document_ids is None
