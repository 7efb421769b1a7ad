"""Columns that are not features: refused without a name, mentioned if they look suspect."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from localrank.data import (
    ColumnWarning,
    RankingDataset,
    convert,
    make_queries,
    open_partitions,
    read,
    read_letor,
    read_table,
    write_letor,
)
from localrank.data._no_features import suspects
from localrank.data.errors import AdvisedError
from localrank.rankers import BestFeature

OTHERWISE = "; otherwise name all features with features=[...]."


@pytest.fixture(scope="module")
def frame():
    """Forty queries of about forty documents, whose two features order no query exactly."""
    dataset, _ = make_queries(40, n_features=2, n_types=1, random_state=1)
    return dataset.to_frame("pandas").rename(columns={"f1": "bm25", "f2": "price"})


def messages(read, *arguments, **named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(*arguments, **named)
    assert all(warning.category is ColumnWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


# Columns without a name.


def test_the_index_that_pandas_writes_is_refused(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path)
    with pytest.raises(AdvisedError, match=re.escape(f"{path}: a column has no name")) as caught:
        read(path)
    assert "ignore=['Unnamed: 0']" in str(caught.value)
    assert "--ignore 'Unnamed: 0'" in caught.value.on_command_line
    assert read(path, ignore=["Unnamed: 0"]).feature_names == ("bm25", "price")
    assert read(path, features=["Unnamed: 0", "price"]).n_features == 2
    with pytest.raises(ValueError, match="a column has no name"):
        convert(path, tmp_path / "parts")
    convert(path, tmp_path / "parts", ignore=["Unnamed: 0"])


@pytest.mark.parametrize("header", [",qid,label,a,", "qid,label,a, ,", "qid,label,a,b,Unnamed: 4"])
def test_no_cell_of_a_header_may_be_empty(header, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,1,1,1,1\n")
    with pytest.raises(ValueError, match="a column has no name"):
        read_table(path)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 3_level_1", "__index_level_0__", " "])
def test_frames_need_names_too(frame, name, tmp_path):
    columns = {name: range(len(frame)), **{column: frame[column] for column in frame}}
    for library in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(ValueError, match=f"a column has no name, only {name!r}"):
            read_table(library(columns))
        assert read_table(library(columns), ignore=[name]).n_features == 2
        features = {column: columns[column] for column in (name, "bm25")}
        with pytest.raises(ValueError, match=f"leave out the column {name!r}"):
            BestFeature().fit(library(features), frame["label"], qid=frame["qid"])
    for suffix, write in (
        ("parquet", pyarrow.parquet.write_table),
        ("arrow", pyarrow.feather.write_feather),
    ):
        path = tmp_path / f"part-0.{suffix}"
        write(pa.table(columns), path)
        with pytest.raises(ValueError, match=f"{suffix}: a column has no name"):
            read_table(path)
        with pytest.raises(ValueError, match=f"{suffix}: a column has no name"):
            open_partitions([path])
        assert open_partitions([path], ignore=[name]).n_features == 2


# Columns that look suspect.


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (lambda frame: np.arange(len(frame)), "counts up with the rows"),
        (lambda frame: np.arange(len(frame)) * 3.0 + 100, "counts up with the rows"),
        (
            lambda frame: np.random.default_rng(0).permutation(len(frame)) + 10**6,
            "is different in nearly every row, like an id",
        ),
        (lambda frame: frame["label"], "equals the label"),
        (
            lambda frame: 5 * frame["label"] + np.random.default_rng(0).random(len(frame)),
            "orders the documents of 100 % of the queries exactly as the label does",
        ),
        (
            lambda frame: -np.sqrt(frame["label"]),
            "orders the documents of 100 % of the queries exactly as the label does",
        ),
        (
            lambda frame: frame["label"].where(frame["qid"] > 2, 0),
            "orders the documents of 95 % of the queries exactly as the label does",
        ),
    ],
)
def test_a_suspect_column_is_mentioned(frame, column, said, tmp_path):
    table = frame.assign(suspect=column(frame))
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    advice = "If it is no feature, leave it out"
    assert messages(read_table, table) == [
        f"Column 'suspect' {said}. {advice} with ignore=['suspect']{OTHERWISE}"
    ]
    in_file = f"{path}: column 'suspect' {said}. {advice} with"
    assert messages(read_table, path) == [f"{in_file} ignore=['suspect']{OTHERWISE}"]
    with pytest.warns(ColumnWarning) as caught:
        read(path)
    assert (
        caught[0].message.on_command_line
        == f"{in_file} --ignore suspect; otherwise name all with --features."
    )
    assert messages(convert, path, tmp_path / "parts") == [
        f"Column 'suspect' {said}. {advice} with ignore=['suspect']{OTHERWISE}"
    ]
    X = table[["bm25", "suspect"]]
    assert messages(BestFeature().fit, X, table["label"], qid=table["qid"]) == [
        f"Column 'suspect' {said}. {advice} of X."
    ]
    assert messages(read_table, table, ignore=["suspect"]) == []
    assert messages(read_table, table, features=["bm25", "suspect"]) == []
    assert messages(read, path, like=read_table(frame.assign(suspect=1.5))) == []


def test_ids_that_return_in_other_queries_are_known_by_their_name(frame):
    products = frame.groupby("qid").cumcount() + 1000
    for name in ("product_id", "id", "productId", "SKU", "doc-id"):
        assert messages(read_table, frame.assign(**{name: products})) == [
            f"Column {name!r} holds ids, by its name. If it is no feature, leave it out with "
            f"ignore=[{name!r}]{OTHERWISE}"
        ]
    for name in ("paid", "grid", "valid", "bid"):
        assert messages(read_table, frame.assign(**{name: products})) == []
    assert messages(read_table, frame.assign(product_id=products + 0.5)) == []
    assert messages(read_table, frame.assign(category_id=products % 7)) == []


def test_several_columns_are_one_message(frame):
    table = frame.assign(row=range(len(frame)), copy=frame["label"])
    assert messages(read_table, table) == [
        "Column 'row' counts up with the rows, column 'copy' equals the label. If they are no "
        f"features, leave them out with ignore=['row', 'copy']{OTHERWISE}"
    ]
    many = frame.assign(**{f"row{n}": range(len(frame)) for n in range(9)})
    assert "column 'row4' counts up with the rows, and 4 more" in messages(read_table, many)[0]


def test_a_copy_of_the_label_in_letor_text_is_mentioned(frame, tmp_path):
    path = tmp_path / "train.txt"
    dataset = read_table(frame)
    write_letor(dataset.with_features(np.c_[dataset.features, dataset.labels]), path)
    assert messages(read_letor, path) == [
        f"{path}: feature 3 equals the label. If it is no feature, leave it out of the file."
    ]


def test_features_are_not_suspect():
    rng = np.random.default_rng(0)
    dataset, _ = make_queries(60, n_features=3, n_types=1, random_state=0)
    n, labels = dataset.n_documents, dataset.labels
    real = rng.normal(size=n)
    features = {
        "continuous": real,
        "score": 1.2 * labels + rng.normal(size=n),
        "length": rng.geometric(0.002, n),
        "ctr": rng.beta(2, 5, n),
        "position": np.concatenate([np.arange(size) for size in dataset.query_sizes]),
        "views": rng.permutation(np.r_[np.arange(n - n // 200), np.arange(n // 200)]),
        "flag": rng.integers(0, 2, n),
        "constant": np.ones(n),
        "missing": np.where(rng.random(n) < 0.3, np.nan, np.arange(n)),
        "sorted": np.sort(real),
    }
    table = np.column_stack(list(features.values()))
    named = dataset.with_features(table, list(features))
    assert suspects(named) == {}


@pytest.mark.parametrize("n_queries", [2, 20])
def test_few_documents_show_nothing(n_queries):
    y, qid = np.tile([0, 1], n_queries), np.repeat(np.arange(n_queries), 2)
    assert suspects(RankingDataset.from_arrays(np.c_[y + 0.5, y], y, qid)) == {}


def test_columns_of_real_collections_are_features(benchmark_data):
    n_read = 0
    for folder in ("MQ2008", "OHSUMED", "MQ2007-85", "ClueWeb09", "Yandex", "MSLR-sample"):
        for path in sorted((benchmark_data / folder).glob("*.txt*"))[:2]:
            dataset = read_letor(path)
            names = [f"f{number}" for number in range(dataset.n_features)]
            assert suspects(dataset.with_features(dataset.features, names)) == {}, path
            n_read += 1
    assert n_read >= 8


# One rule for document ids.


def test_the_column_document_id_holds_ids_for_every_reader(frame, tmp_path):
    table = frame.assign(document_id=range(len(frame)))
    csv, parquet = tmp_path / "t.csv", tmp_path / "part-0.parquet"
    table.to_csv(csv, index=False)
    table.to_parquet(parquet)
    convert(csv, tmp_path / "parts")
    datasets = [
        read_table(table),
        read_table(csv),
        read(csv),
        open_partitions([parquet]),
        open_partitions(tmp_path / "parts"),
    ]
    for dataset in datasets:
        assert dataset.feature_names == ("bm25", "price")
        assert sorted(dataset.document_ids.tolist()) == list(range(len(frame)))
    for dataset in (
        read_table(table, ignore=["document_id"]),
        open_partitions([parquet], ignore=["document_id"]),
    ):
        assert dataset.document_ids is None
        assert dataset.feature_names == ("bm25", "price")


def test_a_column_of_ids_that_is_named_must_exist(frame, tmp_path):
    path = tmp_path / "part-0.parquet"
    frame.to_parquet(path)
    for read_it in (read_table, read, open_partitions):
        with pytest.raises(ValueError, match="there is no column 'urll'"):
            read_it(path, document_id="urll")
