"""Files made to break the reader: each was a crash, a misread or gigabytes once."""

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from localrank.data import read_letor
from localrank.data._letor_reader import MAX_LINE

# A number that is short and yet left to Python.
HARD = "1e-300"

READ = """
import resource, sys
from pathlib import Path
from localrank.data import read_letor

Path(sys.argv[1], "warm.txt").write_text("0 qid:1 1:1 #docid = a\\n")
read_letor(Path(sys.argv[1], "warm.txt"))
limit = int(sys.argv[3])
if limit:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + limit, size + limit))
dataset = read_letor(Path(sys.argv[2]))
print(*dataset.features.shape, float(dataset.features.min()), float(dataset.features.max()))
"""


def read_apart(path, megabytes=0):
    """Read a file in a process of its own, with that much memory: its output and its errors."""
    command = [sys.executable, "-c", READ, path.parent, path, str(megabytes * 1_000_000)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 1), f"signal {-result.returncode}"
    return result.stdout.strip(), result.stderr.strip()


needs_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits memory as Linux does"
)


# A line with features out of order is read twice, and leaves its hard numbers once.


def test_hard_numbers_of_lines_out_of_order_are_all_read(tmp_path):
    columns = [*range(2, 47), 1]
    line = "0 qid:1 " + " ".join(f"{column}:{HARD}" for column in columns) + "\n"
    (tmp_path / "file.txt").write_text(2400 * line)
    assert (read_letor(tmp_path / "file.txt").features == float(HARD)).all()


@pytest.mark.slow
def test_wide_lines_out_of_order_write_into_no_other_memory(tmp_path):
    columns = [*range(2, 100_001), 1]
    line = "0 qid:1 " + " ".join(f"{column}:{HARD}" for column in columns) + "\n"
    (tmp_path / "file.txt").write_text(3 * line)
    assert read_apart(tmp_path / "file.txt") == ("3 100000 1e-300 1e-300", "")


# Memory is in proportion to what was read.


@pytest.mark.slow
@needs_linux
def test_short_lines_before_wide_ones_reserve_no_memory_for_wide_ones(tmp_path):
    wide = "0 qid:1 " + " ".join(f"{column}:0.123456" for column in range(1, 137)) + "\n"
    (tmp_path / "file.txt").write_text(60_000 * "0 qid:1 1:1\n" + 20_000 * wide)
    # 87 MB of features; 2.1 GB when rows were expected to be as many as short lines fill the file.
    assert read_apart(tmp_path / "file.txt", megabytes=250) == ("80000 136 0.0 1.0", "")


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("form", ["0 qid:{} 1:1\n", "0 qid:1 1:1 #docid = {}\n"])
def test_one_long_id_takes_no_room_in_all_rows(form, tmp_path):
    lines = [form.format(f"i{number}") for number in range(100_000)]
    (tmp_path / "file.txt").write_text("".join([*lines, form.format("i" * 1000)]))
    # 400 MB when each id took the room of the longest.
    assert read_apart(tmp_path / "file.txt", megabytes=150) == ("100001 1 1.0 1.0", "")
    dataset = read_letor(tmp_path / "file.txt")
    ids = dataset.query_ids if "#" not in form else dataset.document_ids
    assert ids.tolist() == [*(f"i{number}" for number in range(100_000)), "i" * 1000]


@pytest.mark.slow
@needs_linux
def test_blank_lines_reserve_no_rows(tmp_path):
    wide = "0 qid:1 " + " ".join(f"{column}:1" for column in range(1, 137)) + "\n"
    (tmp_path / "file.txt").write_text(wide + 20_000_000 * "\n" + wide)
    assert read_apart(tmp_path / "file.txt", megabytes=150) == ("2 136 1.0 1.0", "")


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("first", ["0 qid:1 100000:1\n", "0 qid:1 1:1\n"])
def test_table_that_cannot_fit_is_refused_with_its_size(first, tmp_path):
    text = 30_000 * first + "0 qid:1 100000:1\n"
    (tmp_path / "file.txt").write_text(text)
    output, errors = read_apart(tmp_path / "file.txt", megabytes=300)
    assert output == ""
    assert "MemoryError" in errors
    assert "rows of 100,000 features take" in errors


def test_many_blocks_of_unequal_lines_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("localrank.data._line_blocks._BLOCK", 256)
    rng = np.random.default_rng(0)
    widths = rng.choice([1, 2, 50], size=3000, p=[0.9, 0.09, 0.01])
    lines = [
        f"0 qid:{row} " + " ".join(f"{c}:{row + c}" for c in range(1, width + 1))
        for row, width in enumerate(widths)
    ]
    (tmp_path / "file.txt").write_text("\n".join(lines))
    columns = np.arange(1, 51)
    expected = np.where(columns <= widths[:, None], np.arange(3000)[:, None] + columns, 0)
    np.testing.assert_array_equal(read_letor(tmp_path / "file.txt").features, expected)


# What does not end.


def test_endless_line_in_a_small_file_is_refused(tmp_path):
    (tmp_path / "file.gz").write_bytes(gzip.compress(b"0 qid:1 1:1\n0 " + b" " * 200_000_000))
    with pytest.raises(ValueError, match=r"file.gz:2: the line is longer than 16,777,216 bytes"):
        read_letor(tmp_path / "file.gz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\0", "the line has a NUL byte"),
        (b"1 qid:1 1:1\r", r"the line has a carriage return \(CR\)"),
    ],
)
def test_endless_line_is_refused_by_what_it_holds(text, message, tmp_path):
    (tmp_path / "file.txt").write_bytes(text * (2 * MAX_LINE // len(text)))
    with pytest.raises(ValueError, match=f"file.txt:1: {message}"):
        read_letor(tmp_path / "file.txt")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_endless_device_is_refused():
    with pytest.raises(ValueError, match="/dev/zero:1: the line has a NUL byte"):
        read_letor("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = b"".join(b"0 qid:%d 1:%d\n" % (i // 5, i) for i in range(50_000))
    writer = threading.Thread(target=pipe.write_bytes, args=[lines])
    writer.start()
    features = read_letor(pipe).features
    writer.join()
    np.testing.assert_array_equal(features.ravel(), np.arange(50_000))


def test_longest_ids_are_read(tmp_path):
    query, document = "q" * 1000, "d" * 1000
    (tmp_path / "file.txt").write_text(f"0 qid:{query} 1:1 #docid = {document}\n")
    dataset = read_letor(tmp_path / "file.txt")
    assert dataset.query_ids.tolist() == [query]
    assert dataset.document_ids.tolist() == [document]
