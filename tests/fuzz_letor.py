"""Made-up and damaged LETOR files, read by `read_letor` and by a strict and slow parser.

    python tests/fuzz_letor.py --count 1000000

Most files are small; some have many lines, or blocks of lines that differ in width. Features come
in order and out of order, with ids from 1 or from 0, numbers are easy and hard to round, ids
short, long and not UTF-8, query ids after the label or in comments, document ids after `docid =`
or as first words of comments, line ends LF, CRLF and CR. Some files are read with a number of
features, and some for a model that has one.
Each file is read in a child process with limits of time and memory. A finding is a signal, a
process that does not end, an exception other than a ValueError that begins with the path, or a
dataset other than the slow parser's.

File `i` of a seed is always the same file. `--replay i` reads it again and shows what happens. The
exit code is 1 if there were findings.
"""

import argparse
import multiprocessing
import os
import random
import resource
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from naive_letor import naive_parse

from localrank.data import _letor_reader as letor_reader
from localrank.data import _line_blocks, read_letor
from localrank.data import read as data_of
from localrank.data._column_record import ColumnRecord

# Files that one child reads, seconds for each, and bytes that a child may allocate.
BATCH, SECONDS, MEMORY = 20_000, 30, 4 << 30
EASY = ["0", "1", "7", "0.5", "0.000000", "12.25", "-3", "0.123456", "1234567"]
HARD = ["1e-300", "9007199254740993", "1.2345678901234567890123", "1e-320", "8e-310", "1" * 30]
ODD = ["NULL", "nan", "NaN", "+.5", "3.", "1e5", "1E-7", "-0", "1e100", "1.0000001e100", "-1e101"]
WRONG = ["", "x", "1_0", "inf", "1e999", "0,5", "1.2.3", "-", "."]
IDS = ["1", "2", "33", "-4", "07", "x", "é", "文書", "a:b", "q" * 1000]
WRONG_IDS = ["", "q" * 1001]
COMMENTS = ["", "", " ", "#", " # note", " #docid = GX-1", "#docid=é", " #docid = " + "d" * 1000]
WORDS = [" # {}", "# {}\trambo", " #{} = 5", " # {}= 5", " # {} x=1", "#{}\x01", "##{}", " #{}é"]
WRONG_COMMENTS = [" #docid = " + "d" * 1001, " # a\rb"]
BYTES = b"0123456789.:#-+eE \t\n\r\0\x01\x0b\x7fqidNUL\xff\xc3"


def make(number, seed):
    """The bytes of a file, the block size and the number of features to read it with."""
    choose = random.Random(f"{seed} {number}")
    large = choose.random() < 0.002
    width = choose.choice([1, 2, 5, 14, 46, 136] if large else [1, 2, 3, 5, 8, 14])
    if choose.random() < 0.001:
        width = choose.choice([2_000, 20_000])
    n_lines = choose.randint(500, 3000) if large else choose.randint(0, 12)
    if width > 136:
        n_lines = choose.randint(1, 4)
    style = {
        "disorder": choose.choice([0, 0, 0.1, 1]),
        "sparse": choose.choice([0, 0, 0.3, 0.9]),
        "hard": choose.choice([0, 0, 0.05, 1]),
        "odd": choose.choice([0, 0.02]),
        "wrong": choose.choice([0, 0, 0.5 / (n_lines * width + 1)]),
        "ids": choose.sample(IDS, choose.randint(1, 4)),
        "blank": choose.choice([" ", " ", "  ", "\t", " \v "]),
        "comments": choose.choice([COMMENTS[:1], COMMENTS[5:6], COMMENTS, WORDS[:2], WORDS]),
        "first": choose.choice([1, 1, 1, 0]),
        "query": choose.choice(["qid:{}"] * 4 + ["#qid = {}", " # qid:{} "]),
    }
    if large and choose.random() < 0.3:
        # Short lines first: what a reader expects of the rest is wrong.
        few = choose.randint(1, n_lines)
        lines = [line(choose, 1, style) for _ in range(few)]
        lines += [line(choose, width, style) for _ in range(n_lines - few)]
    else:
        lines = [line(choose, width, style) for _ in range(n_lines)]
    if choose.random() < 0.2:
        for _ in range(choose.randint(1, 3)):
            lines.insert(choose.randint(0, len(lines)), choose.choice(["", " ", "# note", "\t#"]))
    newline = choose.choice(["\n", "\n", "\n", "\r\n", "\r\r\n", "\r" if n_lines < 20 else "\n"])
    text = newline.join(lines) + choose.choice(["", newline])
    data = bytearray(choose.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode())
    if data and choose.random() < 0.4:
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(data))] = choose.choice(BYTES)
    # Few features allowed at most: then few hard numbers are set aside at a time.
    max_features = choose.choice([width + 3, 2 * width, 100_000])
    block = choose.choice([16, 64, 1000, 1 << 20])
    dtype = choose.choice([np.float64] * 3 + [np.float32])
    # Mostly as many as the file has: the number of features, and whether it is that of a model.
    told = choose.choice(
        [None, None, width, width, min(width + 2, max_features), max(1, width - 1)]
    )
    return bytes(data), block, max_features, dtype, style["first"], told, choose.random() < 0.5


def line(choose, width, style):
    """One line of text."""

    def number():
        kind = choose.random()
        if kind < style["hard"]:
            return choose.choice(HARD)
        if kind < style["hard"] + style["odd"]:
            return choose.choice(ODD)
        if choose.random() < style["wrong"]:
            return choose.choice(WRONG)
        if kind > 0.9:
            return repr(
                choose.choice([choose.random(), choose.gauss(0, 1e6), 10 ** choose.gauss(0, 30)])
            )
        return choose.choice(EASY)

    columns = list(range(style["first"], style["first"] + width))
    if choose.random() < style["disorder"]:
        choose.shuffle(columns)
    if style["sparse"]:
        columns = [column for column in columns if choose.random() >= style["sparse"]]
    if choose.random() < style["wrong"]:
        columns += [choose.choice([0, -1, width, 10**6, 10**20])]
    wrong = choose.random() < style["wrong"]
    label = choose.choice(["0", "1", "2", "0.25", "-1", *(HARD if style["hard"] else [])])
    label = choose.choice(["-1e200", "x", "1e200", "-0"]) if wrong else label
    query = choose.choice(WRONG_IDS if choose.random() < style["wrong"] else style["ids"])
    comments = WRONG_COMMENTS if choose.random() < style["wrong"] else style["comments"]
    parts = [label, style["query"].format(query)]
    parts += [f"{column}:{number()}" for column in columns]
    comment = choose.choice(comments)
    if "{}" in comment:
        comment = comment.format(choose.choice(["a", "#", "docid", choose.randint(0, 10**6)]))
    if "#" in style["query"] and choose.random() >= style["wrong"]:
        comment = parts.pop(1) + comment.replace("#", "")
    return style["blank"].join(parts) + comment


def read(path, data, block, max_features, dtype, first=1, told=None, of_model=False):
    """Whether the file was refused or read; an AssertionError or foreign exception is a finding."""
    path.write_bytes(data)
    _line_blocks._BLOCK, letor_reader.MAX_FEATURES = block, max_features
    try:
        if told is not None and of_model:
            model = SimpleNamespace(n_features_in_=told, column_record_=ColumnRecord(first == 0))
            result = data_of(path, format="letor", like=model, dtype=dtype)
        else:
            result = read_letor(path, n_features=told, dtype=dtype, zero_based=first == 0)
    except ValueError as error:
        if not str(error).startswith(str(path)):
            raise RuntimeError(f"an error without the path: {error}") from None
        result = None
    try:
        expected = naive_parse(data, max_features, first, told, may_be_shorter=not of_model)
        with np.errstate(over="ignore"):
            features = expected.features.astype(dtype)
        if np.isinf(features).any():
            raise ValueError
    except ValueError:
        assert result is None, "read what the slow parser refuses"
        return "refused"
    assert result is not None, "refused what the slow parser reads"
    integer = np.int64 if dtype is np.float64 else np.int32
    assert np.array_equal(result.features.view(integer), features.view(integer)), "features"
    for name in ("relevance", "offsets", "query_ids", "document_ids", "input_order"):
        left, right = getattr(result, name), getattr(expected, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left.dtype.kind == right.dtype.kind, name
            assert np.array_equal(left, right), name
    return "read"


def work(seed, numbers, at, outcomes, memory):
    """Read some files in this process; `at` tells which one it is at."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    counts, findings = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            at.value = number
            try:
                counts[read(Path(folder, "file.txt"), *make(number, seed))] += 1
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                findings.append((number, f"{type(error).__name__}: {error} ({place.name})"))
    outcomes.send((counts, findings))


def campaign(seed, numbers, deadline, memory):
    """Outcomes of all files, counted, and the findings."""
    counts, findings = Counter(), []
    fork = multiprocessing.get_context("fork")
    position = 0
    while position < len(numbers) and time.monotonic() < deadline:
        batch = numbers[position : position + BATCH]
        at = fork.Value("q", batch[0], lock=False)
        receive, send = fork.Pipe(duplex=False)
        child = fork.Process(target=work, args=(seed, batch, at, send, memory))
        child.start()
        send.close()
        last, since = at.value, time.monotonic()
        while not receive.poll(1) and child.is_alive():
            if at.value != last:
                last, since = at.value, time.monotonic()
            elif time.monotonic() - since > SECONDS:
                child.kill()
        outcome = None
        if receive.poll():
            with suppress(EOFError):  # the child is gone without a word
                outcome = receive.recv()
        child.join()
        if outcome is None:
            n_before = at.value - batch[0]
            findings.append((at.value, f"the process ended with {child.exitcode}"))
            counts["before a process ended"] += n_before
            position += n_before + 1
        else:
            counts += outcome[0]
            findings += outcome[1]
            position += len(batch)
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description="Read made-up and damaged LETOR files.")
    parser.add_argument("--count", type=int, default=50_000, help="number of files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="time for all files")
    parser.add_argument(
        "--memory", type=int, default=MEMORY, help="bytes that a child may allocate"
    )
    parser.add_argument("--replay", type=int, help="read the file of this number instead")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.txt")
        # Kernels are compiled here once, not in every child.
        for dtype in (np.float64, np.float32):
            read(path, b"0 qid:1 1:1 #docid = a\n0 qid:2 2:1 #docid = b\n", 64, 100, dtype)
        if chosen.replay is not None:
            data, *options = make(chosen.replay, chosen.seed)
            print(data[:2000], *options, os.linesep)
            print(read(path, data, *options))
            return 0
    begin = time.monotonic()
    numbers = range(chosen.first, chosen.first + chosen.count)
    counts, findings = campaign(chosen.seed, numbers, begin + 60 * chosen.minutes, chosen.memory)
    print(f"{counts.total() + len(findings):,} files in {time.monotonic() - begin:.0f} s: ", end="")
    print(*(f"{count:,} {outcome}" for outcome, count in counts.items()), sep=", ", end="")
    print(f", {len(findings):,} findings")
    for number, finding in findings[:20]:
        print(f"file {number} of seed {chosen.seed}: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
