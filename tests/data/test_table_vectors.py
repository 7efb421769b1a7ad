"""Vectors in tables: the column `vector`."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, convert, open_partitions, read, read_table, write_table

VECTORS = [[1.0, 2.0], [0.0, 0.0], [-3.5, 1e-3]]
TABLE = {
    "qid": ["b", "a", "b"],
    "document_id": ["x", "y", "z"],
    "label": [0.0, 1.0, 2.0],
    "bm25": [1.5, 2.5, 3.5],
    "vector": VECTORS,
}
IN_QUERY_ORDER = np.array(VECTORS, np.float32)[[0, 2, 1]]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_column_of_lists_holds_the_vectors(library, as_arrays):
    columns = dict(TABLE)
    if as_arrays and library is not pl.DataFrame:
        columns["vector"] = [np.array(vector, np.float32) for vector in VECTORS]
    elif as_arrays:
        columns["vector"] = np.array(VECTORS, np.float32)
    dataset = read_table(library(columns))
    assert dataset.feature_names == ("bm25",)
    assert_array_equal(dataset.vectors, IN_QUERY_ORDER)


def test_a_written_table_has_the_vectors_in_input_order(tmp_path):
    dataset = read_table(pd.DataFrame(TABLE))
    write_table(dataset, tmp_path / "a.parquet")
    written = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert_array_equal(written.column("vector").to_pylist(), np.array(VECTORS, np.float32))
    again = read_table(tmp_path / "a.parquet")
    assert_array_equal(again.vectors, dataset.vectors)
    assert again.feature_names == ("bm25",)
    both = read([tmp_path / "a.parquet"], like=again)
    assert_array_equal(both.vectors, dataset.vectors)


def test_what_is_no_column_of_lists_is_a_feature():
    dataset = read_table(pd.DataFrame(TABLE | {"vector": [1.0, 2.0, 3.0]}))
    assert dataset.feature_names == ("bm25", "vector")
    assert not dataset.has_vectors


def test_vectors_can_be_left_out(tmp_path):
    assert not read_table(pd.DataFrame(TABLE), ignore=["vector"]).has_vectors
    with pytest.raises(ValueError, match="'vector' holds values of type"):
        read_table(pl.DataFrame(TABLE), features=["bm25", "vector"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "the vector of 'row 2' is missing"),
        ([1.0], "ll vectors must have the same length. That of 'row 2' has 1"),
        ([1.0, float("nan")], "must be finite in single precision"),
        ([1.0, 1e300], "must be finite in single precision"),
    ],
)
def test_wrong_vectors_are_refused_with_their_row(library, wrong, message, tmp_path):
    table = library(TABLE | {"vector": [VECTORS[0], wrong, VECTORS[2]]})
    with pytest.raises(ValueError, match=message):
        read_table(table)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([["a"], ["b"], ["c"]]), "column 'vector' must hold lists of numbers"),
        (pa.array([[None, 1.0]] * 3), "has 3 missing numbers in lists"),
        (pa.array([[]] * 3, pa.list_(pa.float32())), "must be a table of numbers"),
    ],
)
def test_lists_of_something_else_are_refused(column, message, tmp_path):
    pyarrow.parquet.write_table(pa.table(TABLE | {"vector": column}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=rf"a\.parquet: .*{message}"):
        read_table(tmp_path / "a.parquet")


def test_a_feature_with_the_name_of_the_column_is_refused_when_written(tmp_path):
    dataset = read_table(pd.DataFrame(TABLE)).with_features([[1.0]] * 3, ["vector"])
    with pytest.raises(ValueError, match="The feature 'vector' has the name of the column"):
        write_table(dataset, tmp_path / "a.parquet")
    assert not (tmp_path / "a.parquet").exists()


def test_partitions_refuse_vectors(tmp_path):
    write_table(read_table(pd.DataFrame(TABLE)), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="Partitions cannot hold vectors, and the column 'vector'"):
        convert(tmp_path / "a.parquet", tmp_path / "parts")
    with pytest.raises(ValueError, match="Partitions cannot hold vectors: read the data"):
        convert(tmp_path / "a.parquet", tmp_path / "parts", vectors={"x": [1.0]})
    with pytest.raises(ValueError, match=r"'vector' holds values of type .*ignore=\['vector'\]"):
        open_partitions(tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "parts", ignore=["vector"])
    parts = open_partitions(tmp_path / "parts")
    with pytest.raises(ValueError, match="A dataset in partitions cannot have vectors"):
        parts.with_vectors({"x": [1.0], "y": [2.0], "z": [3.0]})
    vectors = {"x": [1.0, 2.0], "y": [0.0, 0.0], "z": [-3.5, 1e-3]}
    assert_array_equal(parts.in_memory().with_vectors(vectors).vectors[0], [1.0, 2.0])


def test_read_takes_vectors_by_id(tmp_path):
    write_table(read_table(pd.DataFrame(TABLE)), tmp_path / "a.parquet")
    np.savez(tmp_path / "v.npz", ids=["z", "x", "y"], vectors=np.eye(3))
    by_id = dict(zip("zxy", np.eye(3), strict=True))
    for given in (tmp_path / "v.npz", str(tmp_path / "v.npz"), by_id):
        dataset = read(tmp_path / "a.parquet", vectors=given)
        assert isinstance(dataset, RankingDataset)
        assert_array_equal(dataset.vectors, np.eye(3)[[1, 0, 2]])
