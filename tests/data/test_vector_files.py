import gzip
import json
import pickle
import zipfile

import numpy as np
import pyarrow
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet

from localrank.data import read_vectors

VALUES = np.array([[0.5, -1.25, 3.0], [1.0, 0.0, 2.0]], np.float32)


def write_lines(path, rows, opened=open):
    with opened(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def check(vectors, ids=("d1", "d2")):
    assert vectors.ids.tolist() == list(ids)
    assert_array_equal(vectors.values, VALUES)


@pytest.mark.parametrize(
    ("name", "content"), [("v.txt", "d1\r\nd2\r\n"), ("v.txt", "d1\nd2"), ("v.json", '["d1","d2"]')]
)
def test_an_array_file_has_its_ids_beside_it(tmp_path, name, content):
    np.save(tmp_path / "v.npy", VALUES)
    (tmp_path / name).write_text(content, newline="")
    check(read_vectors(tmp_path / "v.npy"))


def test_the_file_of_ids_may_have_another_name(tmp_path):
    np.save(tmp_path / "v.npy", VALUES)
    (tmp_path / "names.list").write_text("d1\nd2\n")
    check(read_vectors(tmp_path / "v.npy", ids=tmp_path / "names.list"))


def test_without_ids_they_are_the_positions(tmp_path):
    np.save(tmp_path / "v.npy", VALUES)
    check(read_vectors(tmp_path / "v.npy"), ["0", "1"])


def test_an_array_of_float32_stays_in_its_file(tmp_path):
    np.save(tmp_path / "v.npy", VALUES)
    values = read_vectors(tmp_path / "v.npy").values
    assert not values.flags.owndata
    assert not values.flags.writeable


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<f2", "<i8"])
def test_other_numbers_are_converted(tmp_path, dtype):
    np.save(tmp_path / "v.npy", np.array([[1, 2], [3, 4]], dtype))
    values = read_vectors(tmp_path / "v.npy").values
    assert values.dtype == np.float32
    assert_array_equal(values, [[1, 2], [3, 4]])


@pytest.mark.parametrize("names", [("ids", "vectors"), ("id", "vector")])
def test_an_archive_has_two_arrays(tmp_path, names):
    np.savez_compressed(tmp_path / "v.npz", **dict(zip(names, (["d1", "d2"], VALUES), strict=True)))
    check(read_vectors(tmp_path / "v.npz"))


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.list_(pyarrow.float32()),
        pyarrow.large_list(pyarrow.float64()),
        pyarrow.list_(pyarrow.float32(), 3),
        pyarrow.list_(pyarrow.float16()),
    ],
)
def test_a_parquet_file_has_a_column_of_lists(tmp_path, kind):
    column = pyarrow.array([row.astype(np.float16).tolist() for row in VALUES], kind)
    table = pyarrow.table({"id": ["d1", "d2"], "vector": column, "title": ["x", "y"]})
    parquet.write_table(table, tmp_path / "v.parquet", row_group_size=1)
    check(read_vectors(tmp_path / "v.parquet"))


@pytest.mark.parametrize(("name", "opened"), [("v.jsonl", open), ("v.jsonl.gz", gzip.open)])
def test_json_lines_have_an_object_each(tmp_path, name, opened):
    rows = [{"id": f"d{i + 1}", "vector": row.tolist()} for i, row in enumerate(VALUES)]
    check(read_vectors(write_lines(tmp_path / name, rows, opened)))


def test_keys_and_columns_may_have_other_names(tmp_path):
    rows = [{"docno": f"d{i + 1}", "e": row.tolist()} for i, row in enumerate(VALUES)]
    path = write_lines(tmp_path / "v.jsonl", rows)
    check(read_vectors(path, id="docno", vector="e"))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "v.parquet")
    check(read_vectors(tmp_path / "v.parquet", id="docno", vector="e"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b", "vector": [1]}', "v.jsonl:2: all vectors .* 'b' has 1 numbers"),
        ('{"id": "b", "vector": [1, null]}', "v.jsonl:2: A vector must be a list of numbers"),
        ('{"id": "b", "vector": [1, "2"]}', "v.jsonl:2: A vector must be a list of numbers"),
        ('{"id": "b", "vector": [[1, 2]]}', "v.jsonl:2: A vector must be a list of numbers"),
        ('{"id": "b", "vector": [1, [2]]}', "v.jsonl:2: "),
        ('{"id": "b", "vector": [1, NaN]}', "vector of 'b' has nan"),
        ('{"id": "b", "vector": [1, 1e999]}', "vector of 'b' has inf"),
        ('{"id": "a", "vector": [1, 2]}', "'a' occurs twice"),
        ('{"id": null, "vector": [1, 2]}', "v.jsonl:2: an id must be"),
        ('{"id": true, "vector": [1, 2]}', "v.jsonl:2: an id must be"),
        ('{"id": "", "vector": [1, 2]}', "empty string"),
        ('{"vector": [1, 2]}', "v.jsonl:2: the line needs an object with 'id' and 'vector'"),
        ("[1]", "v.jsonl:2: the line needs an object"),
        ("{", "v.jsonl:2: the line is not JSON"),
        ("[" * 100_000, "v.jsonl:2: the line is not JSON"),
        ("\udcff", "v.jsonl:2: the line is not JSON"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    content = '{"id": "a", "vector": [1, 2]}\n' + line + "\n"
    (tmp_path / "v.jsonl").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message):
        read_vectors(tmp_path / "v.jsonl")


def test_a_number_of_many_digits_is_refused(tmp_path):
    (tmp_path / "v.jsonl").write_text('{"id": "a", "vector": [' + "9" * 400 + "]}")
    with pytest.raises(ValueError, match="v.jsonl"):
        read_vectors(tmp_path / "v.jsonl")


@pytest.mark.parametrize("name", ["v.npy", "v.npz"])
def test_nothing_is_unpickled(tmp_path, name):
    objects = np.array([[{}]], object)
    if name == "v.npy":
        np.save(tmp_path / name, objects, allow_pickle=True)
    else:
        np.savez(tmp_path / name, ids=["a"], vectors=objects)
    with pytest.raises(ValueError, match="safely"):
        read_vectors(tmp_path / name)
    (tmp_path / name).write_bytes(pickle.dumps(VALUES))
    with pytest.raises(ValueError, match="safely"):
        read_vectors(tmp_path / name)


@pytest.mark.parametrize("name", ["v.npy", "v.npz", "v.parquet", "v.jsonl.gz"])
def test_a_file_cut_anywhere_gives_a_clear_error(tmp_path, name):
    path = tmp_path / name
    if name == "v.npy":
        np.save(path, VALUES)
    elif name == "v.npz":
        np.savez(path, ids=["a", "b"], vectors=VALUES)
    elif name == "v.parquet":
        parquet.write_table(pyarrow.table({"id": ["a"], "vector": [[1.0]]}), path)
    else:
        write_lines(path, [{"id": "a", "vector": [1.0]}], gzip.open)
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=str(path)):
            read_vectors(path)


def test_a_damaged_member_of_an_archive_is_named(tmp_path):
    path = tmp_path / "v.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ids.npy", b"nothing")
        archive.writestr("vectors.npy", b"nothing")
    with pytest.raises(ValueError, match="v.npz: 'ids' is not an array"):
        read_vectors(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["a"]}, r"no column 'vector'. The columns are 'id' \(string\)"),
        ({"id": ["a"], "vector": [1.0]}, "must hold lists of numbers. It holds double"),
        ({"id": ["a"], "vector": [["x"]]}, "must hold lists of numbers. It holds list"),
        ({"id": ["a", "b"], "vector": [[1.0], None]}, "the vector of 'b' is missing"),
        ({"id": ["a"], "vector": [[1.0, None]]}, "1 missing numbers"),
        ({"id": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}, "That of 'b' has 2 numbers"),
        ({"id": ["a", None], "vector": [[1.0], [2.0]]}, "must not be missing"),
    ],
)
def test_a_parquet_file_without_vectors_is_refused(tmp_path, columns, message):
    parquet.write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    with pytest.raises(ValueError, match=f"v.parquet: .*{message}"):
        read_vectors(tmp_path / "v.parquet")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"v.txt": "d1\n", "v.json": '["d1", "d2"]'}, "v.txt and v.json are both beside it"),
        ({"v.txt": "d1\n"}, "v.txt has 1 ids, and .*v.npy 2 vectors"),
        ({"v.txt": "d1\n\n"}, "v.txt:2: the line has no id"),
        ({"v.json": "{}"}, "v.json must hold a list of ids"),
        ({"v.json": "[1.5, null]"}, "v.json must hold a list of ids"),
        ({"v.json": "["}, "v.json is not JSON"),
    ],
)
def test_wrong_ids_beside_an_array_are_refused(tmp_path, files, message):
    np.save(tmp_path / "v.npy", VALUES)
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_vectors(tmp_path / "v.npy")


@pytest.mark.parametrize("name", ["v.pkl", "v.csv", "v.npy.gz", "v"])
def test_other_files_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match="vectors are read from .npy"):
        read_vectors(tmp_path / name)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    for name in ("v.npy", "v.npz", "v.parquet", "v.jsonl"):
        with pytest.raises(FileNotFoundError, match=name):
            read_vectors(tmp_path / name)


def test_ids_beside_go_with_array_files_alone(tmp_path):
    with pytest.raises(ValueError, match="only a .npy file"):
        read_vectors(tmp_path / "v.jsonl", ids="names.txt")


def test_an_array_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "v.npy", np.float32(1))
    with pytest.raises(ValueError, match="v.npy: .*shape"):
        read_vectors(tmp_path / "v.npy")
