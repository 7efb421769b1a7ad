import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from localrank.data import (
    RankingDataset,
    concatenate,
    folds,
    open_partitions,
    read_table,
    write_table,
)
from localrank.data._as_arrays import library_of
from localrank.data._frames import columns_of, frame_of

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
TABLE = {
    "qid": ["b", "a", "b", "c"],
    "label": [1, 0, 2, 0],
    "document_id": ["x", "é 1", "z", "w"],
    "bm25": [1.5, 0.1, 3.0, float("nan")],
    "age": [7.0, 2.0, -1e-300, 4.0],
}


def made(library):
    return pa.table(TABLE) if library == "pyarrow" else FRAMES[library](TABLE)


def scattered(**changes):
    """Documents whose queries are not contiguous, with everything that a dataset can have."""
    fields = {
        "X": np.column_stack([TABLE["bm25"], TABLE["age"]]),
        "y": TABLE["label"],
        "qid": TABLE["qid"],
        "document_ids": TABLE["document_id"],
        "feature_names": ["bm25", "age"],
    }
    return RankingDataset.from_arrays(**fields | changes)


def assert_same(again, dataset):
    assert again.feature_names == dataset.feature_names
    assert again.dtype == dataset.dtype
    for name in ("features", "relevance", "query_ids", "document_ids", "offsets", "input_order"):
        assert_array_equal(getattr(again, name), getattr(dataset, name), err_msg=name)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="text-ids"),
        pytest.param({"qid": [12, 7, 12, 9], "document_ids": [4, 3, 2, 1]}, id="numbers"),
        pytest.param({"X": np.eye(4, 2, dtype=np.float32)}, id="float32"),
        pytest.param({"qid": np.array(list("baab"), np.dtypes.StringDType())}, id="long-texts"),
        pytest.param(
            {"qid": np.array(["2026-01-02", "2026-01-01"] * 2, "datetime64[ms]")}, id="dates"
        ),
    ],
)
def test_a_table_read_again_is_the_same_dataset(library, changes):
    dataset = scattered(**changes)
    frame = dataset.to_frame(library)
    assert isinstance(frame, FRAMES[library])
    assert_same(read_table(frame, document_id="document_id"), dataset)


def test_rows_of_a_table_are_in_input_order():
    columns = scattered().to_frame("dict")
    assert list(columns) == list(TABLE)
    assert columns["document_id"].tolist() == TABLE["document_id"]
    assert columns["age"].tolist() == TABLE["age"]


def test_what_a_dataset_lacks_is_no_column():
    dataset = RankingDataset.from_arrays([[1.0, 2.0]], qid=[1])
    assert list(dataset.to_frame("dict")) == ["qid", "feature_1", "feature_2"]


@pytest.mark.parametrize("library", FRAMES)
def test_a_dataset_gives_frames_of_the_library_it_came_in(library, tmp_path):
    dataset = read_table(made(library), document_id="document_id")
    assert isinstance(dataset.to_frame(), FRAMES[library])
    # As do its parts, and what is made of them.
    assert isinstance(dataset.select([0]).to_frame(), FRAMES[library])
    assert isinstance(folds(dataset, 3)[0].train.to_frame(), FRAMES[library])
    joined = concatenate([dataset.select([0]), dataset.select([1])])
    assert isinstance(joined.to_frame(), FRAMES[library])
    assert isinstance(dataset.with_features(-dataset.features).to_frame(), FRAMES[library])


def test_other_data_gives_frames_of_the_first_library_that_is_installed(monkeypatch, tmp_path):
    dataset = scattered()
    path = tmp_path / "data.parquet"
    write_table(dataset, path)
    for kind, name in zip(FRAMES.values(), FRAMES, strict=True):
        assert isinstance(dataset.to_frame(), kind)
        assert isinstance(read_table(path, ignore=["document_id"]).to_frame(), kind)
        if name != "pyarrow":
            monkeypatch.setitem(sys.modules, name, None)


def test_a_frame_without_any_library_is_refused_with_what_to_install(monkeypatch):
    dataset = scattered()
    for name in FRAMES:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs pandas, polars or pyarrow. Install one of them"):
        dataset.to_frame()
    with pytest.raises(ImportError, match="pip install polars"):
        dataset.to_frame("polars")
    assert list(dataset.to_frame("dict")) == list(TABLE)


def test_an_unknown_library_is_refused():
    with pytest.raises(ValueError, match="'library' argument must be .* Got 'dask' instead"):
        scattered().to_frame("dask")


def test_a_feature_called_as_another_column_is_refused():
    with pytest.raises(ValueError, match="feature 'qid' has the name of another column"):
        scattered(feature_names=["qid", "age"]).to_frame()


def test_a_partitioned_dataset_is_a_table_too(tmp_path):
    dataset = scattered(qid=["a", "a", "b", "b"])
    write_table(dataset, tmp_path / "part-0.parquet")
    frame = open_partitions(tmp_path).to_frame("polars")
    assert_same(read_table(frame, document_id="document_id"), dataset)


def test_a_class_derived_from_a_frame_is_of_its_library():
    class Measured(pd.DataFrame):
        pass

    assert library_of(Measured({"a": [1]})) == "pandas"
    assert library_of(np.eye(2)) is None


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_texts_and_numbers_make_a_frame(library):
    columns = {"query": np.array(["a", "bc"]), "score": np.array([0.5, 2.0])}
    frame = frame_of(columns, library)
    assert isinstance(frame, FRAMES[library])
    assert list(frame["score"].to_numpy()) == [0.5, 2.0]
    assert list(frame["query"].to_numpy()) == ["a", "bc"]


@pytest.mark.parametrize("library", FRAMES)
def test_rows_with_gaps_make_a_frame(library):
    rows = [
        {"name": "a", "gain": None, "best": False, "value": 1, "n": 3},
        {"name": None, "gain": 0.5, "best": True, "value": (2, "x"), "n": 4, "late": True},
    ]
    columns = columns_of(rows)
    assert columns["n"].dtype == np.int64
    assert columns["best"].dtype == bool
    frame = frame_of(columns, library)
    assert list(columns) == ["name", "gain", "best", "value", "n", "late"]
    assert_array_equal(frame["gain"].to_numpy(), [np.nan, 0.5])
    name, gap = frame["name"].to_numpy()
    assert (name, pd.isna(gap)) == ("a", True)
    assert list(frame["best"].to_numpy()) == [False, True]
    assert list(frame["value"].to_numpy()) == ["1", "(2, 'x')"]
    assert list(frame["late"].to_numpy()) == [None, True]


def test_flags_and_numbers_in_one_column_become_texts():
    assert columns_of([{"a": True}, {"a": 2}])["a"].tolist() == ["True", "2"]
