import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from localrank.data import read_table, write_table

COLUMNS = {
    "qid": ["b", "a", "b"],
    "label": [0, 1, 2],
    "bm25": [1.5, 2.5, 3.5],
    "length": [10, 20, 30],
}
WRITERS = {
    "data.parquet": pyarrow.parquet.write_table,
    "data.csv": pyarrow.csv.write_csv,
    "data.arrow": pyarrow.feather.write_feather,
    "data.feather": pyarrow.feather.write_feather,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_file_gives_the_same_dataset_as_its_dataframe(name, tmp_path):
    WRITERS[name](pa.table(COLUMNS), tmp_path / name)
    for dataset in (read_table(tmp_path / name), read_table(pd.DataFrame(COLUMNS))):
        assert dataset.feature_names == ("bm25", "length")
        assert_array_equal(dataset.query_ids, ["b", "a"])
        assert_array_equal(dataset.features, [[1.5, 10], [3.5, 30], [2.5, 20]])
        assert_array_equal(dataset.relevance, [0, 2, 1])


def test_tab_separated_files_are_tables(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "data.tsv", sep="\t", index=False)
    assert read_table(tmp_path / "data.tsv").n_documents == 3


def test_columns_may_have_other_names():
    frame = pd.DataFrame(COLUMNS).rename(columns={"qid": "query", "label": "grade"})
    dataset = read_table(frame, qid="query", label="grade", features=["bm25"])
    assert dataset.n_features == 1


def test_document_ids_come_from_their_column():
    frame = pd.DataFrame({**COLUMNS, "url": ["x", "y", "z"]})
    assert_array_equal(read_table(frame, document_id="url").document_ids, ["x", "z", "y"])


def test_a_table_without_labels_is_read_on_request():
    frame = pd.DataFrame(COLUMNS).drop(columns="label")
    assert read_table(frame, label=None).relevance is None


def test_a_missing_column_is_named_with_what_there_is(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(ValueError, match=r"data.csv: there is no column 'query'.*'qid', 'label'"):
        read_table(tmp_path / "data.csv", qid="query")


def test_a_text_column_is_refused_by_name_where_that_is_asked_for():
    with pytest.raises(ValueError, match="Column 'title' holds text: leave it out with ignore="):
        read_table(pd.DataFrame({**COLUMNS, "title": ["x", "y", "z"]}), categories=None)


def test_a_table_without_features_is_refused():
    with pytest.raises(ValueError, match="no feature columns"):
        read_table(pd.DataFrame({"qid": [1], "label": [0]}))


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1 this is not a table PAR1")
    with pytest.raises(ValueError, match="data.parquet: "):
        read_table(path)


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    (tmp_path / "data.txt").write_text("0 qid:1 1:2")
    with pytest.raises(ValueError, match="use read_letor"):
        read_table(tmp_path / "data.txt")


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table(tmp_path / "absent.parquet")


def test_ids_of_a_csv_file_keep_their_leading_zeros(tmp_path):
    frame = pd.DataFrame({"qid": ["007", "007"], "label": [0, 1], "a": [1, 2], "url": ["01", "02"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    dataset = read_table(tmp_path / "data.csv", document_id="url")
    assert_array_equal(dataset.query_ids, ["007"])
    assert_array_equal(dataset.document_ids, ["01", "02"])


def test_whole_numbers_are_whole_number_ids_in_every_format(tmp_path):
    frame = pd.DataFrame({"qid": [7, 7], "label": [0, 1], "a": [1, 2]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    for name in ("data.csv", "data.parquet"):
        assert_array_equal(read_table(tmp_path / name).query_ids, np.array([7]), strict=True)


def test_compressed_and_capitalised_csv_files_are_tables(tmp_path):
    for name in ("data.csv.gz", "DATA.CSV"):
        pd.DataFrame(COLUMNS).to_csv(tmp_path / name, index=False)
        assert read_table(tmp_path / name).n_documents == 3


@pytest.mark.parametrize("cell", ["", "NA", "NULL", "nan", "#N/A"])
@pytest.mark.parametrize("column", ["qid", "url"])
def test_a_missing_id_in_a_csv_file_is_refused(cell, column, tmp_path):
    cells = {"qid": "1", "url": "u", column: cell}
    text = f"qid,url,label,a\n7,x,0,1\n{cells['qid']},{cells['url']},0,2\n"
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"data.csv: the column '{column}' must not .*Row 2 has"):
        read_table(tmp_path / "data.csv", document_id="url")


def test_a_query_id_in_quotes_is_text(tmp_path):
    (tmp_path / "data.csv").write_text('qid,label,a\n"NA",0,1\n"null",0,2\n')
    assert_array_equal(read_table(tmp_path / "data.csv").query_ids, ["NA", "null"])


def test_an_empty_id_in_quotes_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text('qid,label,a\n"",0,1\n')
    with pytest.raises(ValueError, match="Entry 0 is an empty string"):
        read_table(tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"qid": [1]}, "must be a DataFrame or the path of a file. Got dict"),
        (None, "Got NoneType instead"),
        (pl.LazyFrame(COLUMNS), r"Call its collect\(\) first"),
        (pd.DataFrame([[1, 0, 2.0]], columns=["qid", "label", 3]), "must be strings. Got 3"),
        (
            pd.DataFrame([[1, 0, 2.0, 3.0]], columns=["qid", "label", "a", "a"]),
            "column names must be unique: .*'a' 2 times",
        ),
    ],
)
def test_what_is_no_table_is_refused_in_our_words(table, message):
    with pytest.raises(ValueError, match=message):
        read_table(table)


def test_a_csv_file_with_a_column_twice_is_refused_by_name(tmp_path):
    (tmp_path / "data.csv").write_text("qid,label,a,a\n1,0,2,3\n")
    with pytest.raises(ValueError, match="data.csv: column names must be unique"):
        read_table(tmp_path / "data.csv")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_an_endless_device_is_refused(tmp_path):
    (tmp_path / "data.csv").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="data.csv: a table must be a regular file"):
        read_table(tmp_path / "data.csv")


# Columns that are no numbers.

SIZE = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
MIXED = pd.DataFrame(
    {
        **COLUMNS,
        "color": ["red", "blue", "red"],
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
        "shop": pd.Series(["x", "y", "x"], dtype="category"),
        "size": pd.Series(["large", "small", None], dtype=SIZE),
    }
)
PLACES = [[2], [np.nan], [0]]  # of the sizes, query by query


def test_every_column_that_is_no_number_is_named_with_what_to_do():
    message = (
        r"^Column 'color' holds text, column 'day' holds dates or times, column 'shop' holds "
        r"categories, column 'size' holds ordered categories: leave them out with "
        r"ignore=\['color', 'day', 'shop', 'size'\], or pass categories='ordinal', or write the"
    )
    with pytest.raises(ValueError, match=message) as refused:
        read_table(MIXED, categories=None)
    assert "with --ignore color,day,shop,size, or add --categories" in refused.value.on_command_line  # type: ignore[attr-defined]


def test_columns_can_be_ignored():
    dataset = read_table(MIXED, ignore=["color", "day", "shop", "size"])
    assert dataset.feature_names == ("bm25", "length")


@pytest.mark.parametrize("ending", ["", "parquet", "feather"])
def test_ordered_categories_are_their_places_in_the_order(ending, tmp_path):
    table = MIXED[["qid", "label", "size"]]
    if ending:
        getattr(table, f"to_{ending}")(tmp_path / f"data.{ending}")
        table = tmp_path / f"data.{ending}"
    assert_array_equal(read_table(table, categories="ordinal").features, PLACES)


@pytest.mark.parametrize("in_file", [False, True])
def test_an_enum_of_polars_is_its_place_in_the_order(in_file, tmp_path):
    kind = pl.Enum(["small", "medium", "large"])
    table = pl.DataFrame({**COLUMNS, "size": pl.Series(["large", "small", None], dtype=kind)})
    if in_file:
        table.write_parquet(tmp_path / "data.parquet")
        table = tmp_path / "data.parquet"
    dataset = read_table(table, features=["size"], categories="ordinal")
    assert_array_equal(dataset.features, PLACES)


def test_places_are_the_same_in_a_table_with_fewer_values():
    whole = read_table(MIXED, features=["size"], categories="ordinal")
    part = read_table(MIXED.iloc[:1], features=["size"], categories="ordinal")
    assert part.features[0, 0] == whole.features[0, 0]


@pytest.mark.parametrize("column", ["color", "shop"])
@pytest.mark.parametrize("categories", ["auto", "ordinal"])
def test_text_and_categories_without_an_order_are_categories(column, categories):
    dataset = read_table(MIXED, features=[column], categories=categories)
    assert set(dataset.categories) == {column}


def test_dates_are_refused_whatever_is_asked_of_categories():
    with pytest.raises(ValueError, match="Column 'day' holds dates or times: leave it out"):
        read_table(MIXED)


@pytest.mark.parametrize("ending", ["", "parquet", "feather", "csv"])
def test_columns_of_texts_are_categories_in_every_file(ending, tmp_path):
    table = pd.DataFrame({**COLUMNS, "color": ["red", None, "blue"]})
    if ending:
        arguments = {"index": False} if ending == "csv" else {}
        getattr(table, f"to_{ending}")(tmp_path / f"data.{ending}", **arguments)
        table = tmp_path / f"data.{ending}"
    dataset = read_table(table, features=["color"])
    assert dataset.categories == {"color": ("blue", "red")}
    assert_array_equal(dataset.in_input_order(dataset.features).ravel(), [1, np.nan, 0])


def test_numbers_that_are_categories_keep_their_leading_zeros_in_text(tmp_path):
    (tmp_path / "data.csv").write_text("qid,label,shop\n1,0,007\n1,1,7\n1,0,\n")
    dataset = read_table(tmp_path / "data.csv", categories=["shop"])
    assert dataset.categories == {"shop": ("007", "7")}
    assert_array_equal(dataset.features.ravel(), [0, 1, np.nan])


def test_a_written_table_reads_back_the_same_categories(tmp_path):
    table = pd.DataFrame({**COLUMNS, "color": ["red", None, "blue"]})
    dataset = read_table(table, categories=["bm25"])
    write_table(dataset, tmp_path / "again.parquet")
    again = read_table(tmp_path / "again.parquet")
    assert again.categories == dataset.categories
    assert_array_equal(again.features, dataset.features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ignore": ["colour"]}, "there is no column 'colour'"),
        ({"ignore": ["label"]}, "'label' is ignored and used as 'label'"),
        ({"ignore": ["bm25"], "features": ["bm25"]}, "'bm25' is ignored and used as a feature"),
        ({"ignore": "bm25"}, "must be a sequence of columns. Got the string 'bm25'"),
        ({"categories": "codes"}, "'ordinal', a sequence of columns or None. Got 'codes'"),
        ({"categories": ["shop"]}, "the column 'shop' is not a feature, and the 'categories'"),
        ({"qid": "query"}, "Name the column of ids with qid='...'"),
    ],
)
def test_wrong_columns_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_table(pd.DataFrame(COLUMNS), **arguments)


def test_ids_may_be_encoded_as_a_dictionary_and_labels_may_not(tmp_path):
    path = tmp_path / "data.parquet"
    ids = pa.array(["7", "8", "7"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({**COLUMNS, "qid": ids}), path)
    assert read_table(path).query_ids.tolist() == [7, 8]
    for values in (["0", "1", "2"], [None] * 3):
        labels = pa.array(values, pa.dictionary(pa.int32(), pa.string()))
        pyarrow.parquet.write_table(pa.table({**COLUMNS, "label": labels}), path)
        with pytest.raises(ValueError, match="the column 'label' must hold numbers"):
            read_table(path)
    nothing = pa.array([None] * 3, pa.dictionary(pa.int32(), pa.string()))
    pyarrow.parquet.write_table(pa.table({**COLUMNS, "qid": nothing}), path)
    with pytest.raises(ValueError, match="must not have missing values"):
        read_table(path)
