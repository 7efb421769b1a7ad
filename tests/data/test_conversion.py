"""Any data into partitions: nothing lost, nothing divided, nothing half written."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import csv, feather, parquet

from localrank.data import (
    RankingDataset,
    convert,
    make_queries,
    open_partitions,
    read_letor,
    read_table,
    write_letor,
)
from localrank.data.conversion import parsed_size

IDS = st.one_of(
    st.integers(-5, 30).map(str),
    st.sampled_from(["007", "q x", "é", "9" * 19, "9223372036854775808", "a:b", "-0", "🙂"]),
)
ROWS = st.lists(
    st.tuples(
        IDS,
        st.integers(0, 4),
        st.dictionaries(st.integers(1, 7), st.sampled_from([0.0, 0.5, -1.25, 3.0, np.nan])),
    ),
    min_size=1,
    max_size=60,
)


def line(query, label, features, document=None):
    values = " ".join(
        f"{feature}:{'NULL' if np.isnan(value) else value}" for feature, value in features.items()
    )
    return f"{label} qid:{query} {values}" + (f" #docid = {document}" if document else "") + "\n"


def by_query(rows):
    """What a loop makes of rows: the rows of each query in their order."""
    result = defaultdict(list)
    for query, *row in rows:
        result[query].append(row)
    return result


def is_written_as_integer(name):
    return re.fullmatch("0|-?[1-9][0-9]*", name) and -(2**63) <= int(name) < 2**63


def assert_holds(folder, rows, width):
    """Every query is whole in one partition, with all its rows in their order."""
    opened = open_partitions(folder)
    expected = by_query(rows)
    whole = [str(query) for query in opened.query_ids.tolist()]
    assert sorted(whole) == sorted(expected)
    seen = []
    for partition in opened.partitions:
        part = partition.read()
        names = [str(query) for query in part.query_ids.tolist()]
        seen += names
        firsts = [next(i for i, row in enumerate(rows) if row[0] == name) for name in names]
        assert firsts == sorted(firsts)
        assert part.n_features == width
        for place, name in enumerate(names):
            rows_of_query = slice(part.offsets[place], part.offsets[place + 1])
            labels = [row[0] for row in expected[name]]
            features = [[row[1].get(i + 1, 0.0) for i in range(width)] for row in expected[name]]
            assert_array_equal(part.relevance[rows_of_query], labels)
            assert_array_equal(part.features[rows_of_query], features)
    assert seen == whole
    numbers = all(map(is_written_as_integer, expected))
    assert opened.query_ids.dtype.kind == ("i" if numbers else "U")
    return opened


@settings(max_examples=60)
@given(rows=ROWS, size=st.integers(1, 20), cuts=st.sets(st.integers(1, 59), max_size=3))
def test_no_query_is_divided_and_no_row_lost(rows, size, cuts, tmp_path_factory):
    rows = [(query.replace(" ", "_"), label, features) for query, label, features in rows]
    width = max((max(features, default=0) for _, _, features in rows), default=0)
    if width == 0:
        rows[0][2][1], width = 0.5, 1
    folder = tmp_path_factory.mktemp("data")
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    paths = []
    for begin, end in pairwise(bounds):
        paths.append(folder / f"log-{begin:02d}.txt")
        paths[-1].write_text("".join(line(*row) for row in rows[begin:end]), encoding="utf-8")
    n_partitions = convert(paths, folder / "out", partition_size=size, n_features=width)
    opened = assert_holds(folder / "out", rows, width)
    assert len(opened.partitions) == n_partitions
    largest = max(len(documents) for documents in by_query(rows).values())
    assert max(part.n_documents for part in opened.partitions) <= size + largest


@settings(max_examples=30)
@given(rows=ROWS, size=st.integers(1, 20), kind=st.sampled_from([".csv", ".parquet", ".arrow"]))
def test_tables_are_converted_alike(rows, size, kind, tmp_path_factory):
    width = 7
    values = np.array([[row[2].get(i + 1, 0.0) for i in range(width)] for row in rows])
    table = pa.table(
        {
            "search": [row[0] for row in rows],
            "grade": [row[1] for row in rows],
            "url": [f"u{i}" for i in range(len(rows))],
        }
        | {f"f{i}": values[:, i] for i in range(width)}
    )
    folder = tmp_path_factory.mktemp("data")
    half = len(rows) // 2
    for name, part in (("one", table.slice(0, half)), ("two", table.slice(half))):
        if kind == ".csv":
            csv.write_csv(part, folder / f"{name}.csv")
        elif kind == ".parquet":
            parquet.write_table(part, folder / f"{name}.parquet", row_group_size=3)
        else:
            feather.write_feather(part, folder / f"{name}.arrow", chunksize=3)
    names = ["one", "two"] if half else ["two"]
    convert(
        [folder / f"{name}{kind}" for name in names],
        folder / "out",
        partition_size=size,
        qid="search",
        label="grade",
        document_id="url",
    )
    opened = assert_holds(folder / "out", rows, width)
    assert opened.feature_names == tuple(f"f{i}" for i in range(width))
    # The document ids tell the rows of the input, whatever their order now.
    places = [int(name[1:]) for name in opened.document_ids.tolist()]
    assert sorted(places) == list(range(len(rows)))
    assert_array_equal(opened.features, values[places])


def assert_same_queries(opened, dataset):
    """The same queries, in another order."""
    assert_array_equal(np.sort(opened.query_ids), np.sort(dataset.query_ids))
    order = np.argsort(dataset.query_ids)[np.argsort(np.argsort(opened.query_ids))]
    expected = dataset.select(order)
    for name in ("features", "relevance", "document_ids"):
        one, two = getattr(expected, name), getattr(opened, name)
        assert (one is None) == (two is None)
        if one is not None:
            assert_array_equal(two, one)
    assert opened.feature_names == dataset.feature_names


@pytest.fixture
def dataset():
    made, _ = make_queries(40, random_state=3)
    ids = np.array([f"d{i}" for i in range(made.n_documents)])
    return RankingDataset.from_arrays(
        made.features, made.relevance, made.query_ids[made.query_index], document_ids=ids
    )


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_what_read_letor_reads_is_converted(suffix, dataset, tmp_path):
    path = tmp_path / f"train.txt{suffix}"
    write_letor(dataset, path)
    convert(path, tmp_path / "out", dtype=np.float64, partition_size=100)
    opened = open_partitions(tmp_path / "out")
    assert len(opened.partitions) > 5
    assert_same_queries(opened, read_letor(path))


def test_without_pyarrow_it_says_what_to_install_and_writes_nothing(dataset, tmp_path, monkeypatch):
    write_letor(dataset, tmp_path / "train.txt")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'localrank\[tables\]'"):
        convert([tmp_path / "train.txt"], tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_features_are_single_precision_unless_asked(dataset, tmp_path):
    path = tmp_path / "train.txt"
    write_letor(dataset, path)
    convert(path, tmp_path / "out")
    opened = open_partitions(tmp_path / "out")
    assert opened.dtype == np.float32
    assert_same_queries(opened, read_letor(path, dtype=np.float32))


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_sizes_of_queries_beside_the_file(ending, tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{i % 3} 0:{i} 1:{i / 4}\n" for i in range(30)))
    (tmp_path / f"train.txt{ending}").write_text("10\n1\n19\n")
    convert(path, tmp_path / "out", zero_based=True, partition_size=10, dtype=np.float64)
    opened = open_partitions(tmp_path / "out")
    assert sorted(opened.query_ids.tolist()) == ["train.txt:1", "train.txt:2", "train.txt:3"]
    assert_same_queries(opened, read_letor(path, zero_based=True))
    (tmp_path / f"train.txt{ending}").write_text("10\n1\n")
    with pytest.raises(ValueError, match="its 2 queries have 11 documents, but .* has 30"):
        convert(path, tmp_path / "other", zero_based=True)


def test_query_ids_in_comments(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("1 1:0.5 #qid = 7 docid = a\n0 1:2 #qid = 8 docid = b\n")
    convert(path, tmp_path / "out", dtype=np.float64)
    assert_same_queries(open_partitions(tmp_path / "out"), read_letor(path))


def test_a_query_may_lie_in_several_files(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.txt").write_text(f"0 qid:7 1:{value}\n")
    convert([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out")
    assert_array_equal(open_partitions(tmp_path / "out").features, [[1], [2]])


def test_features_that_come_late_widen_the_table(tmp_path, monkeypatch):
    # A batch for each block of text, so that the first have no room for the last feature.
    monkeypatch.setattr("localrank.data.conversion._MAX_BATCH_BYTES", 0)
    monkeypatch.setattr("localrank.data._line_blocks._BLOCK", 256)
    path = tmp_path / "a.txt"
    path.write_text("".join(f"0 qid:{i % 7} 1:{i}\n" for i in range(500)) + "1 qid:0 9:4\n")
    convert(path, tmp_path / "out", partition_size=50, dtype=np.float64)
    assert_same_queries(open_partitions(tmp_path / "out"), read_letor(path))


def test_a_number_of_features_may_be_given(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1\n")
    convert(tmp_path / "a.txt", tmp_path / "out", n_features=3)
    assert_array_equal(open_partitions(tmp_path / "out").features, [[1, 0, 0]])


def test_document_ids_that_some_lines_lack_are_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1 #docid = x\n0 qid:7 1:1\n")
    with pytest.warns(UserWarning, match="1 of 2 documents have no id"):
        convert(tmp_path / "a.txt", tmp_path / "out")
    assert open_partitions(tmp_path / "out").document_ids is None


def test_integers_in_tables_stay_integers(tmp_path):
    frame = pd.DataFrame({"qid": [3, 2, 3], "label": 1, "document_id": [30, 20, 10], "f": 0.5})
    frame.to_csv(tmp_path / "a.csv", index=False)
    convert(tmp_path / "a.csv", tmp_path / "out", dtype=np.float64)
    assert_same_queries(
        open_partitions(tmp_path / "out"),
        read_table(tmp_path / "a.csv", document_id="document_id"),
    )


def test_a_csv_column_may_begin_with_whole_numbers(tmp_path):
    n = 200_000
    lines = ["qid,label,f,g"] + [f"{i // 10},0,{i},\n"[:-1] for i in range(n)]
    (tmp_path / "a.csv").write_text("\n".join([*lines, "1,0,0.5,0.25"]) + "\n")
    convert(tmp_path / "a.csv", tmp_path / "out", features=["f", "g"])
    opened = open_partitions(tmp_path / "out")
    assert opened.n_documents == n + 1
    assert np.nansum(opened.features[:, 1]) == 0.25


def test_catboost_descriptions(tmp_path):
    (tmp_path / "train.tsv").write_text("0\t7\t0.5\n1\t7\t1.5\n")
    (tmp_path / "train.cd").write_text("0\tLabel\n1\tGroupId\n2\tNum\tbm25\n")
    convert(tmp_path / "train.tsv", tmp_path / "out", dtype=np.float64)
    assert_same_queries(open_partitions(tmp_path / "out"), read_table(tmp_path / "train.tsv"))


def test_tables_without_labels(tmp_path):
    parquet.write_table(pa.table({"qid": [1], "f": [0.5]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a.parquet: .*there is no column 'label'"):
        convert(tmp_path / "a.parquet", tmp_path / "out")
    convert(tmp_path / "a.parquet", tmp_path / "out", label=None)
    assert open_partitions(tmp_path / "out", label=None).relevance is None


def test_partitions_tell_who_made_them(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1 4:2\n")
    assert convert(tmp_path / "a.txt", tmp_path / "out") == 1
    schema = parquet.read_schema(tmp_path / "out" / "part-00000.parquet")
    assert schema.names == ["qid", "label", "1", "2", "3", "4"]
    facts = json.loads(schema.metadata[b"localrank"])
    assert facts["n_features"] == 4
    assert facts["version"]


def test_the_same_input_gives_the_same_bytes(dataset, tmp_path):
    write_letor(dataset, tmp_path / "a.txt")
    for name in ("one", "two"):
        convert(tmp_path / "a.txt", tmp_path / name, partition_size=100)
    names = sorted(os.listdir(tmp_path / "one"))
    assert names == sorted(os.listdir(tmp_path / "two"))
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 qid:7 1:1\n0 qid:7 1:x\n", r"a.txt:2: value 'x'"),
        (
            "0 qid:7 1:1\n0 1:2\n",
            r"a.txt:2: expected a query id like 'qid:7' after the label, found '1:2'",
        ),
        ("", r"a.txt: the file has no documents"),
        ("0 qid:7\n", r"a.txt: no line has a feature"),
        ("0 qid:7 0:1\n", r"a.txt:1: feature id 0 .*zero_based=True"),
        ("0 qid:7 1:1e60\n", r"a.txt:1: value '1e60' of feature 1 is too large"),
    ],
)
def test_bad_lines_are_named_and_nothing_is_left(text, message, tmp_path):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / "a.txt", tmp_path / "out")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_line_without_query_late_in_a_file_is_not_taken_for_another_format(tmp_path, monkeypatch):
    monkeypatch.setattr("localrank.data.conversion._MAX_BATCH_BYTES", 0)
    # One line for each block, so that every line is the first of a batch.
    monkeypatch.setattr("localrank.data._line_blocks._BLOCK", 18)
    text = "".join(f"0 qid:{i} 1:{i}\n" for i in range(100))
    (tmp_path / "a.txt").write_text(text + "0 1:5 #qid = 7\n" + text)
    with pytest.raises(
        ValueError,
        match=r"a.txt:101: expected a query id like 'qid:7' after the label, found '1:5'",
    ):
        convert(tmp_path / "a.txt", tmp_path / "out")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": [1.5], "label": [1], "f": [1.0]}, "query ids must be integers or text"),
        ({"qid": [1], "label": [1], "f": ["x"]}, "'f' holds text"),
        ({"qid": [1], "label": [1], "f": [np.inf]}, "must be finite"),
        ({"qid": [1], "label": [1], "f": [1e60]}, "too large for float32. Add --float64"),
        ({"qid": [None], "label": [1], "f": [1.0]}, "must not be missing"),
        ({"qid": [1], "label": [np.nan], "f": [1.0]}, "labels must not be missing"),
    ],
)
def test_bad_tables_are_named(columns, message, tmp_path):
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=rf"a.parquet: .*{message}"):
        convert(tmp_path / "a.parquet", tmp_path / "out")


def test_tables_need_the_same_columns(tmp_path):
    parquet.write_table(pa.table({"qid": [1], "label": [1], "f": [1.0]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"qid": [1], "label": [1], "g": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet: .*the same feature columns"):
        convert([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out")


def test_a_feature_must_not_have_the_name_of_another_column(tmp_path):
    table = pa.table({"query": [1], "label": [1], "qid": [1.0]})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="a feature must not be called 'qid'"):
        convert(tmp_path / "a.parquet", tmp_path / "out", qid="query")


def test_inputs_that_are_none(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1\n")
    (tmp_path / "a.csv").write_text("qid,label,f\n1,1,1\n")
    with pytest.raises(FileNotFoundError, match=r"b.txt: no such file"):
        convert(tmp_path / "b.txt", tmp_path / "out")
    with pytest.raises(ValueError, match="is a folder. Name the files in it"):
        convert(tmp_path, tmp_path / "out")
    with pytest.raises(ValueError, match="a.csv is a table. Give tables or other data, not both"):
        convert([tmp_path / "a.txt", tmp_path / "a.csv"], tmp_path / "out")
    with pytest.raises(ValueError, match="list of paths is empty"):
        convert([], tmp_path / "out")
    with pytest.raises(ValueError, match="is a file. Name a folder"):
        convert(tmp_path / "a.txt", tmp_path / "a.csv")
    with pytest.raises(ValueError, match="float64 or float32"):
        convert(tmp_path / "a.txt", tmp_path / "out", dtype=np.int64)


def test_sizes_of_partitions():
    assert parsed_size("1.5 GB") == (None, 1_500_000_000)
    assert parsed_size("2MiB") == (None, 2**21)
    assert parsed_size("250000") == (250_000, None)
    for wrong in ("0", "1.5", "-3", "64 TB", "", "MB"):
        with pytest.raises(ValueError, match="size of partitions must be a number of documents"):
            parsed_size(wrong)


def test_a_folder_in_use_is_replaced_when_asked(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"0 qid:{i} 1:{i}\n" for i in range(9)))
    (tmp_path / "b.txt").write_text("0 qid:x 1:5\n")
    out = tmp_path / "out"
    assert convert(tmp_path / "a.txt", out, partition_size=1) > 3
    with pytest.raises(ValueError, match="out: the folder is not empty.*--overwrite"):
        convert(tmp_path / "b.txt", out)
    convert(tmp_path / "b.txt", out, overwrite=True)
    assert os.listdir(out) == ["part-00000.parquet"]
    assert open_partitions(out).query_ids.tolist() == ["x"]


def test_what_others_wrote_is_never_replaced(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1\n")
    out = tmp_path / "out"
    out.mkdir()
    parquet.write_table(pa.table({"qid": [1]}), out / "part-00000.parquet")
    with pytest.raises(
        ValueError, match="part-00000.parquet: `localrank convert` did not write this file"
    ):
        convert(tmp_path / "a.txt", out, overwrite=True)
    (out / "part-00000.parquet").unlink()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="notes.txt: `localrank convert` did not write this file"):
        convert(tmp_path / "a.txt", out, overwrite=True)
    assert (out / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_the_old_partitions(tmp_path):
    (tmp_path / "a.txt").write_text("0 qid:7 1:1\n")
    (tmp_path / "b.txt").write_text("0 qid:7 1:x\n")
    out = tmp_path / "out"
    convert(tmp_path / "a.txt", out)
    with pytest.raises(ValueError, match=r"b.txt:1"):
        convert(tmp_path / "b.txt", out, overwrite=True)
    assert open_partitions(out).n_documents == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_killed_conversion_leaves_nothing_that_opens(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"0 qid:{i} " + "1:1 2:2 3:3\n" for i in range(20_000)))
    fifo = tmp_path / "b.txt"
    os.mkfifo(fifo)
    out = tmp_path / "out"
    code = "import sys; from localrank.data import convert; convert(sys.argv[1:3], sys.argv[3])"
    process = subprocess.Popen([sys.executable, "-c", code, str(path), str(fifo), str(out)])
    for _ in range(600):
        if list(out.glob(".unfinished/bucket-*")):
            break
        time.sleep(0.1)
    else:
        pytest.fail("nothing was written")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(
        ValueError, match=r"out: the partitions are not complete. .* Convert again, with --overwr"
    ):
        open_partitions(out)
    with pytest.raises(ValueError, match="is not empty"):
        convert(path, out)
    convert(path, out, overwrite=True)
    assert open_partitions(out).n_documents == 20_000


def test_compressed_input_that_ends_too_early_is_named(tmp_path):
    content = gzip.compress(b"0 qid:7 1:1\n" * 1000)
    (tmp_path / "a.txt.gz").write_bytes(content[:-20])
    with pytest.raises(ValueError, match=r"a.txt.gz: the compressed file is truncated"):
        convert(tmp_path / "a.txt.gz", tmp_path / "out")


def test_a_file_named_twice_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:2\n")
    with pytest.raises(ValueError, match=r"a\.txt: the file is named twice"):
        convert([path, tmp_path / "." / "a.txt"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_number_of_features_below_one_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(ValueError, match="must be at least 1. Got -3 instead"):
        convert(tmp_path / "a.txt", tmp_path / "out", n_features=-3)
