import bz2
import gzip

import pytest

from localrank.text import _file_formats as file_formats
from localrank.text._file_formats import numbered_lines


def test_lines_have_numbers_and_no_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\n\ntwo\u2028still two\nthree".encode())
    assert list(numbered_lines(path)) == [
        (1, "one"),
        (2, ""),
        (3, "two\u2028still two"),
        (4, "three"),
    ]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read_as_they_are(tmp_path, suffix, pack):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(b"one\ntwo\n"))
    assert list(numbered_lines(path)) == [(1, "one"), (2, "two")]


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\n" * 1000)[:-12])
    with pytest.raises(ValueError, match=r"a\.gz: the compressed file is truncated or damaged"):
        list(numbered_lines(path))


def test_bytes_of_another_encoding_are_named_with_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"plain\ncaf\xe9\n")
    with pytest.raises(
        ValueError, match=r"a\.txt:2: byte 4 of the line, 0xe9, is not utf-8.*'latin-1'"
    ):
        list(numbered_lines(path))
    assert list(numbered_lines(path, "latin-1"))[1] == (2, "café")


def test_nul_bytes_are_refused_with_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\nc\0d\n")
    with pytest.raises(
        ValueError, match=r"a\.txt:3: the line has a NUL byte.*convert UTF-16 to UTF-8"
    ):
        list(numbered_lines(path))


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file_formats, "MAX_LINE", 10)
    path = tmp_path / "a.txt"
    path.write_text("short\n" + "x" * 11)
    with pytest.raises(ValueError, match=r"a\.txt:2: the line is longer than 10 bytes"):
        list(numbered_lines(path))


def test_lines_come_before_the_file_is_read_to_its_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\n" + b"x\n" * 100_000 + b"\xff\n")
    assert next(numbered_lines(path)) == (1, "fine")
