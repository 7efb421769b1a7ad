"""Features of categories: codes, other orders, columns of 0 and 1."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, concatenate, write_letor
from localrank.data._categories import recoded, with_used

COLOURS = ["red", None, "blue", "red", "green"]
QID = [1, 1, 2, 2, 1]


def dataset_of(colours=COLOURS, **columns):
    frame = pd.DataFrame({"colour": colours, **columns})
    return RankingDataset.from_arrays(frame, qid=QID[: len(colours)])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(COLOURS),
        pd.Series(COLOURS, dtype="string"),
        pd.Series(COLOURS, dtype="category"),
        pd.Series(COLOURS, dtype=pd.CategoricalDtype(["red", "green", "black", "blue"])),
        pl.Series(COLOURS),
        pl.Series(COLOURS, dtype=pl.Categorical),
        pl.Series(COLOURS, dtype=pl.Enum(["red", "green", "black", "blue"])),
        pa.array(COLOURS),
        pa.array(COLOURS).dictionary_encode(),
    ],
    ids=str,
)
def test_texts_and_categories_of_every_library_have_the_same_codes(column):
    numbers = [0.5, 1.5, 2.5, 3.5, 4.5]
    if isinstance(column, pd.Series):
        frame = pd.DataFrame({"bm25": numbers, "colour": column})
    elif isinstance(column, pl.Series):
        frame = pl.DataFrame({"bm25": numbers, "colour": column})
    else:
        frame = pa.table({"bm25": numbers, "colour": column})
    dataset = RankingDataset.from_arrays(frame, qid=QID)
    codes = dataset.in_input_order(dataset.features)[:, 1]
    assert_array_equal(codes, [2, np.nan, 0, 2, 1])
    # Values that do not occur are not among them.
    assert with_used(dataset).categories == {"colour": ("blue", "green", "red")}
    assert_array_equal(dataset.in_input_order(dataset.features)[:, 0], numbers)


def test_numbers_are_categories_by_their_texts():
    frame = pd.DataFrame({"shop": pd.Categorical([30, 7, 30]), "page": [1.5, 2.0, np.nan]})
    dataset = RankingDataset.from_arrays(frame, qid=[1, 1, 1], categories=["page"])
    assert dataset.categories == {"shop": ("30", "7"), "page": ("1.5", "2")}
    assert_array_equal(dataset.features, [[0, 0], [1, 1], [0, np.nan]])


def test_a_declared_category_that_is_no_feature_is_refused():
    with pytest.raises(ValueError, match="names 'shop', which is not a feature"):
        RankingDataset.from_arrays([[1.0]], qid=[1], feature_names=["a"], categories=["shop"])
    with pytest.raises(ValueError, match="a sequence of features. Got the string 'a'"):
        RankingDataset.from_arrays([[1.0]], qid=[1], feature_names=["a"], categories="a")


@pytest.mark.parametrize("value", ["a\0b", pd.Timestamp(0)], ids=repr)
def test_values_that_a_model_file_cannot_keep_are_refused(value):
    frame = pd.DataFrame({"colour": pd.Series([value, "red"], dtype="category")})
    with pytest.raises(ValueError, match="Column 'colour' of X must"):
        RankingDataset.from_arrays(frame, qid=[1, 1])


def test_parts_keep_the_categories():
    dataset = dataset_of()
    assert dataset.select([1]).categories == dataset.categories
    assert dataset.view().select([1]).categories == dataset.categories
    assert dataset.without_features().categories is None
    assert dataset.with_features(dataset.features, ["colour"]).categories is None


def test_values_in_another_order_have_other_codes_for_the_same_values():
    dataset = dataset_of()
    other = recoded(dataset, {"colour": ("red", "black", "blue")})
    values = dict(enumerate(("red", "black", "blue")))
    found = [values.get(code) for code in other.in_input_order(other.features)[:, 0]]
    assert found == ["red", None, "blue", "red", None]  # green was not among them


def test_numbers_become_categories_if_one_is_known():
    dataset = RankingDataset.from_arrays([[7.0], [30], [8], [np.nan]], qid=[1] * 4).with_features(
        [[7.0], [30], [8], [np.nan]], ["shop"]
    )
    coded = recoded(dataset, {"shop": ("30", "7")})
    assert_array_equal(coded.features.ravel(), [1, 0, np.nan, np.nan])
    with pytest.raises(
        ValueError, match="such as 'blue', 'red'. Here it holds numbers, such as 30"
    ):
        recoded(dataset, {"shop": ("blue", "red")})


def test_columns_of_0_and_1_are_those_of_pandas():
    dataset = dataset_of(bm25=[1.0, 2, 3, 4, np.nan])
    frame = pd.DataFrame({"colour": COLOURS, "bm25": [1.0, 2, 3, 4, np.nan]})
    expected = pd.get_dummies(frame, prefix_sep="=", dtype=float)
    result = dataset.one_hot()
    assert result.categories is None
    assert result.feature_names == ("colour=blue", "colour=green", "colour=red", "bm25")
    assert_array_equal(
        result.in_input_order(result.features), expected[list(result.feature_names)].to_numpy()
    )


def test_columns_of_0_and_1_with_a_name_that_exists_are_refused():
    dataset = dataset_of(**{"colour=red": [1.0, 2, 3, 4, 5]})
    with pytest.raises(ValueError, match="Two features would be called 'colour=red'"):
        dataset.one_hot()


def test_too_many_columns_of_0_and_1_are_refused_with_advice():
    values = [str(i) for i in range(1001)]
    dataset = RankingDataset.from_arrays(pd.DataFrame({"word": values}), qid=[1] * 1001)
    with pytest.raises(ValueError, match="'word' has 1,001 categories. At most 1,000 become"):
        dataset.one_hot()


def test_datasets_with_other_values_are_put_together_by_value():
    one = dataset_of(["red", "blue", None])
    other = RankingDataset.from_arrays(pd.DataFrame({"colour": ["green", "red"]}), qid=[8, 9])
    both = concatenate([one, other])
    assert both.categories == {"colour": ("blue", "green", "red")}
    assert both.to_frame("dict")["colour"].tolist() == ["red", "blue", None, "green", "red"]


def test_categories_and_numbers_are_not_put_together():
    numbers = RankingDataset.from_arrays(pd.DataFrame({"colour": [1.0]}), qid=[9])
    with pytest.raises(ValueError, match="'colour' holds categories in one of the datasets"):
        concatenate([dataset_of(), numbers])
    missing = RankingDataset.from_arrays(pd.DataFrame({"colour": [np.nan]}), qid=[9])
    assert concatenate([dataset_of(), missing]).categories == dataset_of().categories


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_a_dataset_has_the_values(library):
    dataset = dataset_of()
    frame = dataset.to_frame(library)
    colours = frame["colour"].to_pylist() if library == "pyarrow" else list(frame["colour"])
    assert [None if value != value else value for value in colours] == COLOURS


def test_a_dataset_says_which_features_are_categories():
    assert "categories: colour (3)" in repr(dataset_of())
    assert "<td" in dataset_of()._repr_html_()
    assert "red" in dataset_of()._repr_html_()


def test_letor_files_have_no_place_for_categories(tmp_path):
    dataset = dataset_of().replaced(relevance=np.zeros(5))
    with pytest.raises(ValueError, match="'colour' holds categories. Write a table with write_t"):
        write_letor(dataset, tmp_path / "train.txt")
