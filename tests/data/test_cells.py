"""What a cell of a text table may hold."""

import gzip
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, convert, open_partitions, read_table


def written(folder, cells, column="x", name="t.csv"):
    """A table whose last row has the cells, below an empty line and a cell of two lines."""
    header = ["qid", "label", "x", "note"]
    row = dict.fromkeys(header, "1") | {column: cells}
    lines = [",".join(header), "1,0,2,0", "", '1,1,3,"\n"', ",".join(row.values())]
    path = folder / name
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("cell", ["0x10", "0XfF", ' "0x1"'.strip()])
@pytest.mark.parametrize("column", ["x", "label"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_hexadecimal_number_is_refused_with_its_line(cell, column, name, tmp_path):
    path = written(tmp_path, cell, column, name)
    bare = cell.strip('"')
    message = f"{path}:6: the column {column!r} must hold numbers. Got {bare!r} instead."
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(path, ignore=["note"])
    with pytest.raises(ValueError, match=re.escape(message)):
        convert(path, tmp_path / "parts", ignore=["note"])


def test_text_with_hexadecimals_is_no_obstacle(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("qid,label,x,url\n1,0,2,0x10\n1,1,3,0x1f\n")
    assert_array_equal(read_table(path, ignore=["url"]).features, [[2], [3]])
    assert_array_equal(read_table(path, document_id="url").document_ids, ["0x10", "0x1f"])


@pytest.mark.parametrize(
    "cell", ["true", "False", "1_000", "１", "high", "1 2", "12:30", "2020-01-01"]
)
def test_a_label_must_be_a_number(cell, tmp_path):
    for name in ("t.csv", "t.tsv"):
        delimiter = "," if name == "t.csv" else "\t"
        path = tmp_path / name
        path.write_text(f"qid,label,x\n1,{cell},2\n1,{cell},3\n".replace(",", delimiter))
        message = f"{path}:2: the column 'label' must hold numbers. Got {cell!r} instead."
        with pytest.raises(ValueError, match=re.escape(message)):
            read_table(path)
        with pytest.raises(ValueError, match=re.escape(message)):
            convert(path, tmp_path / "parts")


def test_a_label_that_is_no_number_is_found_below_others(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("qid,label,x\n" + "1,1,0.5\n" * 200_000 + "1,true,0.5\n")
    message = f"{path}:200002: the column 'label' must hold numbers. Got 'true' instead."
    with pytest.raises(ValueError, match=re.escape(message)):
        read_table(path)
    with pytest.raises(ValueError, match=re.escape(message)):
        convert(path, tmp_path / "parts")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1e5", 1e5),
        ("+.5", 0.5),
        (" 7 ", 7),
        ('"7"', 7),
        ("007", 7),
        ("-0", 0),
        ("nan", np.nan),
        ("NA", np.nan),
        ("", np.nan),
        ("-NaN", np.nan),
    ],
)
def test_these_cells_are_numbers(cell, value, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"qid,label,x,y\n1,0,{cell},1\n1,1,2.5,1\n")
    assert_array_equal(read_table(path).features[:, 0], [value, 2.5])
    convert(path, tmp_path / "parts", dtype=np.float64)
    assert_array_equal(open_partitions(tmp_path / "parts").features[:, 0], [value, 2.5])


@pytest.mark.parametrize(
    "cell", ["1_000", "１", "inf", "-Infinity", "1e400", "1e101", "0b1", "1,5"]
)
def test_these_cells_are_refused_as_features(cell, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"qid,label,x\n1,0,{cell}\n1,1,2.5\n")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        read_table(path)


def test_truths_are_features_but_no_labels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("qid,label,fresh\n1,0,true\n1,1,false\n")
    assert_array_equal(read_table(path).features, [[1], [0]])


@pytest.mark.parametrize("values", [["1_000", "2"], ["１", "2"], [b"1", b"2"], ["1", None]])
def test_text_is_no_number_in_arrays_either(values):
    with pytest.raises(ValueError, match="Relevance labels must be numbers. Got the text"):
        RankingDataset.from_arrays([[1.0], [2.0]], values, [1, 1])
    with pytest.raises(ValueError, match="Features must be numbers. Got the text"):
        RankingDataset.from_arrays([[value] for value in values], [0, 1], [1, 1])
