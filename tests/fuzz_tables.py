"""Made-up tables in files, read by `read_table` and by strict and slow rules.

    python tests/fuzz_tables.py --count 600000

Five of six files are CSV, the others Parquet and Arrow. Cells of CSV files are numbers that are
easy and hard to round, almost numbers, words, marks of missing values, in quotes and not; rows may
be too short or too long, names empty or double, line ends LF and CRLF, and some bytes are changed.
`tests/naive_tables.py` says what such a file holds, a cell at a time. Parquet and Arrow files have
columns of many types, row groups and batches; polars reads them beside pyarrow.

File `i` of a seed is always the same file. A finding is an exception other than a ValueError that
begins with the path, a table that one side refuses and the other reads, or a dataset with other
values. The first one is printed with its file, and the exit code is 1. `--first i --count 1` reads
one file again.
"""

import argparse
import os
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from naive_tables import (
    RefusedError,
    dataset_of,
    ids_in_text,
    natural,
    numbers_in_text,
    rows_of,
    table_of,
)
from pyarrow import feather, parquet

from localrank.data import read_table

os.environ["POLARS_MAX_THREADS"] = "1"
import polars as pl

EASY = ["0", "1", "2", "7", "-3", "0.5", "12.25", "0.000000", "1234567", "0.123456"]
HARD = ["1e-300", "9007199254740993", "1.2345678901234567890123", "1e-320", "8e-310", "1" * 30]
HARD += ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e100", "00012"]
ODD = ["nan", "NaN", "NA", "", "NULL", "+.5", "3.", "1e5", "1E-7", "-0", " 7 ", "\t7", "NAN"]
TRUTHS = ["true", "false", "True", "FALSE", "1", "0"]
WRONG = ["0x10", "0XfF", "-0x1", "1_000", "inf", "-Infinity", "1e101", "1e999", "１", "1,5", "1 2"]
WRONG += ["x", "true", "0b1", "1.2.3", "-", ".", "e5", "1e", "--1", "1d5", "1.0f", "0x", "12:30"]
WRONG += ["2020-01-01", "2020-01-01 00:00:00", "nan(7)", "½", "٣", "1\u00a0000", "+-1", "in", "na"]
WORDS = ["tea", "a,b", 'say "no"', "two\nlines", "é", "", "NA", "0x10", " "]
IDS = ["1", "2", "33", "-4", "07", "q", "é", "文書", "a b", "0x1", "1.5", "9223372036854775808"]
NAMES = ["bm25", "price", "a b", "é", "x,y", "1", "Unnamed", "index", "label2", "Document_id"]
NO_NAMES = ["", " ", "Unnamed: 3", "__index_level_0__"]
BYTES = b"0123456789.,-+eExX_ \nqna"


def made_up_text(choose):
    """The bytes of a CSV file, and the columns to leave out."""
    wrong = choose.random() < 0.35
    ignore = ["note"] if choose.random() < 0.3 else []
    names = choose.sample(NAMES, choose.randint(1, 4))
    if wrong and choose.random() < 0.15:
        names.append(choose.choice([*NO_NAMES, *names]))
    columns = ["qid", "label", *names, *ignore]
    if choose.random() < 0.4:
        columns.append("document_id")
    if wrong and choose.random() < 0.1:
        columns.remove(choose.choice(columns))
    if choose.random() < 0.5:
        choose.shuffle(columns)
    n_rows = choose.choice([0, 1, 2, 3, 4, 5, 6, 8, 12])
    ids = choose.sample(IDS[:5] if choose.random() < 0.6 else IDS, 3)
    cells = [_cells(choose, name, n_rows, ids, wrong) for name in columns]
    rows = [list(map(_quoted_if_needed, columns)), *map(list, zip(*cells, strict=True))]
    if wrong and choose.random() < 0.1:
        row = choose.choice(rows)
        row[1:2] = choose.choice([[], ["1", "2"]])
    newline = choose.choice(["\n", "\n", "\n", "\r\n"])
    lines = [",".join(row) for row in rows]
    if choose.random() < 0.1:
        lines.insert(choose.randint(1, len(lines)), "")
    data = bytearray((newline.join(lines) + choose.choice(["", newline])).encode())
    if choose.random() < 0.05:
        data[:0] = b"\xef\xbb\xbf"
    # A changed byte in a quoted cell could end the quotes, which readers treat differently.
    if wrong and data and choose.random() < 0.3 and b'"' not in data:
        for _ in range(choose.randint(1, 3)):
            place = choose.randrange(len(data))
            if data[place] < 128 and data[place] not in b"\r\n":
                data[place] = choose.choice(BYTES)
    return bytes(data), ignore


def _cells(choose, name, n_rows, ids, wrong):
    """The cells of one column, as they are written."""
    if name in ("qid", "document_id"):
        cells = choose.choices(ids, k=n_rows)
        if wrong and n_rows and choose.random() < 0.1:
            cells[choose.randrange(n_rows)] = choose.choice(["", "NA", "nan"])
    elif name == "note":
        cells = choose.choices(WORDS, k=n_rows)
    elif name != "label" and choose.random() < 0.08:
        cells = choose.choices(TRUTHS, k=n_rows)
    else:
        kind = choose.random()
        if kind < 0.5:
            cells = choose.choices(EASY[:5] if kind < 0.2 else EASY, k=n_rows)
        elif kind < 0.7:
            cells = choose.choices(EASY + HARD, k=n_rows)
        elif kind < 0.85:
            cells = [
                repr(choose.gauss(0, 1) * 10 ** choose.randint(-30, 30)) for _ in range(n_rows)
            ]
        else:
            cells = choose.choices(EASY + (ODD if name != "label" else []), k=n_rows)
        if wrong and n_rows and choose.random() < 0.3:
            cells[choose.randrange(n_rows)] = choose.choice(WRONG)
        if n_rows and choose.random() < 0.05:
            place = choose.randrange(n_rows)
            cells[place] = f'"{cells[place]}"'
            return cells
    if choose.random() < 0.1:
        return [f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in cells]
    return list(map(_quoted_if_needed, cells))


def _quoted_if_needed(cell):
    special = any(mark in cell for mark in ',"\r\n')
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if special else cell


def text_expected(data, ignore):
    names, columns = table_of(rows_of(data.decode()))
    return dataset_of(names, columns, ignore, numbers_in_text, ids_in_text)


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float32(), pa.float64(), pa.float64()]
OTHERS = [pa.string(), pa.date32(), pa.timestamp("us"), pa.dictionary(pa.int32(), pa.string())]


def made_up_columns(choose):
    """A table with typed columns, how to write it, and the columns to leave out."""
    wrong = choose.random() < 0.3
    n_rows = choose.choice([0, 1, 2, 3, 5, 8, 13])
    ignore = ["note"] if choose.random() < 0.3 else []
    names = choose.sample(NAMES, choose.randint(1, 4))
    if wrong and choose.random() < 0.15:
        names.append(choose.choice(NO_NAMES))
    order = ["qid", "label", *names, *ignore]
    if choose.random() < 0.4:
        order.append("document_id")
    if wrong and choose.random() < 0.1:
        order.remove(choose.choice(order))
    choose.shuffle(order)
    columns = {}
    for name in order:
        if name in ("qid", "document_id"):
            columns[name] = _typed_ids(choose, n_rows, wrong)
        elif name == "note":
            columns[name] = pa.array(choose.choices(WORDS, k=n_rows), choose.choice(OTHERS[::3]))
        else:
            columns[name] = _typed(choose, n_rows, wrong, missing=name != "label")
    return pa.table(columns), choose.choice(["parquet", "arrow", "feather"]), ignore


def _typed_ids(choose, n_rows, wrong):
    if choose.random() < 0.5:
        kind = choose.choice(INTEGERS)
        values = choose.choices([1, 2, 33, 120], k=n_rows)
        if kind == pa.int64() and choose.random() < 0.3:
            values = choose.choices([2**62, -5, 2**53 + 1], k=n_rows)
    else:
        kind = choose.choice([pa.string(), pa.large_string(), OTHERS[3]])
        values = choose.choices(choose.sample(IDS, 3), k=n_rows)
    if wrong and n_rows and choose.random() < 0.15:
        values[choose.randrange(n_rows)] = None
    return pa.array(values, kind)


def _typed(choose, n_rows, wrong, missing):
    kind = choose.choice(INTEGERS + FLOATS * 2 + [pa.bool_()])
    if wrong and choose.random() < 0.2:
        kind = choose.choice([*OTHERS, pa.null()])
    if pa.types.is_integer(kind):
        values = choose.choices([0, 1, 2, 7, 100], k=n_rows)
        if kind in (pa.int64(), pa.uint64()):
            values = choose.choices([0, 5, 2**53 + 1, 2**63 - 1], k=n_rows)
    elif pa.types.is_floating(kind):
        values = [choose.gauss(0, 1) * 10 ** choose.randint(-30, 30) for _ in range(n_rows)]
        if missing and choose.random() < 0.3:
            values = [choose.choice([value, float("nan")]) for value in values]
        if wrong and n_rows and choose.random() < 0.15:
            large = 1e38 if kind == pa.float32() else 1e101
            values[choose.randrange(n_rows)] = choose.choice([float("inf"), -large, large])
    elif kind == pa.bool_():
        values = choose.choices([True, False], k=n_rows)
    elif pa.types.is_null(kind):
        values = [None] * n_rows
    elif pa.types.is_temporal(kind):
        values = [datetime(2020, 1, 1) + timedelta(choose.randint(0, 99)) for _ in range(n_rows)]
    else:
        values = choose.choices(["1", "x", "2.5"], k=n_rows)
    if (missing or wrong) and choose.random() < 0.2:
        values = [value if choose.random() < 0.7 else None for value in values]
    return pa.array(values, kind)


def write_columns(choose, table, path):
    n_rows = choose.choice([1, 2, 5, 1000])
    if path.suffix == ".parquet":
        compression = choose.choice(["none", "snappy", "zstd"])
        parquet.write_table(table, path, row_group_size=n_rows, compression=compression)
    else:
        compression = choose.choice(["uncompressed", "lz4", "zstd"])
        feather.write_feather(table, path, compression=compression, chunksize=n_rows)


def columns_expected(path, ignore):
    read = pl.read_parquet if path.suffix == ".parquet" else pl.read_ipc
    frame = read(path.read_bytes())
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(frame.columns)]
    return dataset_of(names, frame.get_columns(), ignore, _typed_numbers, _ids_of_type)


def _typed_numbers(column, truths):
    values = column.to_list()
    if all(value is None for value in values):
        return [float("nan")] * len(values)
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise RefusedError(str(column.dtype))
    return [float("nan") if value is None else float(value) for value in values]


def _ids_of_type(column):
    values = column.to_list()
    if any(value is None or value == "" for value in values):
        raise RefusedError("a missing id")
    return values if column.dtype.is_integer() else natural(values)


def read(path, expected, ignore):
    """Whether the file was refused or read; anything else is a finding."""
    try:
        result = read_table(path, ignore=ignore, categories=None)
    except ValueError as error:
        if not str(error).startswith(str(path)):
            raise RuntimeError(f"an error without the path: {error}") from error
        result, reason = None, error
    try:
        wanted = expected()
    except RefusedError as error:
        wanted, why = None, error
    if wanted is None:
        assert result is None, f"read what the slow rules refuse: {why}"
        return "refused"
    assert result is not None, f"refused what the slow rules read: {reason}"
    assert result.feature_names == wanted["feature_names"], "names of features"
    assert result.query_ids.tolist() == wanted["query_ids"], "ids of queries"
    assert result.query_sizes.tolist() == wanted["sizes"], "sizes of queries"
    assert result.labels.tolist() == wanted["labels"], "labels"
    documents = None if result.document_ids is None else result.document_ids.tolist()
    assert documents == wanted["document_ids"], "ids of documents"
    values = np.array(wanted["features"], dtype=result.dtype)
    assert np.array_equal(result.features, values, equal_nan=True), "values"
    return "read"


def one_file(number, seed, folder):
    """What happens to the file of this number."""
    choose = random.Random(f"{seed} {number}")
    if number % 6:
        data, ignore = made_up_text(choose)
        path = folder / "file.csv"
        path.write_bytes(data)
        return "CSV", path, read(path, lambda: text_expected(data, ignore), ignore)
    table, suffix, ignore = made_up_columns(choose)
    path = folder / f"file.{suffix}"
    write_columns(choose, table, path)
    kind = "Parquet" if suffix == "parquet" else "Arrow"
    return kind, path, read(path, lambda: columns_expected(path, ignore), ignore)


def show(path):
    if path.suffix == ".csv":
        print(path.read_bytes())
    else:
        table = parquet.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
        print(table.schema, table.to_pydict(), sep="\n")


def main():
    parser = argparse.ArgumentParser(description="Read made-up tables.")
    parser.add_argument("--count", type=int, default=50_000, help="number of files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    # Small files: to wait for other threads takes longer than to read them.
    pa.set_cpu_count(1)
    counts = Counter()
    start = time.monotonic()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for number in range(chosen.first, chosen.first + chosen.count):
            try:
                kind, _, outcome = one_file(number, chosen.seed, Path(folder))
            except Exception as error:
                print(f"file {number} of seed {chosen.seed}: {type(error).__name__}: {error}")
                show(max(Path(folder).iterdir(), key=lambda path: path.stat().st_mtime_ns))
                return 1
            counts[f"{kind} {outcome}"] += 1
    told = ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))
    print(f"{chosen.count:,} files in {time.monotonic() - start:.0f} s: {told}, 0 findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
