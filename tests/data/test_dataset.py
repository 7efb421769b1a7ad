import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from localrank.data import RankingDataset, concatenate
from localrank.data.dataset import SCORED_BYTES

X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
Y = np.array([0, 1, 2, 0])
QID = np.array(["b", "a", "b", "c"])


@pytest.fixture
def scattered() -> RankingDataset:
    return RankingDataset.from_arrays(
        X, Y, QID, document_ids=["p", "q", "r", "s"], feature_names=["f", "g"]
    )


def test_rows_become_contiguous_by_query_in_order_of_first_appearance(scattered):
    assert_array_equal(scattered.query_ids, ["b", "a", "c"])
    assert_array_equal(scattered.offsets, [0, 2, 3, 4])
    assert_array_equal(scattered.features, X[[0, 2, 1, 3]])
    assert_array_equal(scattered.relevance, Y[[0, 2, 1, 3]])


def test_contiguous_rows_stay_where_they_are():
    dataset = RankingDataset.from_arrays(X, Y, [9, 9, 3, 3])
    assert dataset.input_order is None
    assert np.shares_memory(dataset.features, X)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_grouping_equals_a_loop_over_rows(ids):
    dataset = RankingDataset.from_arrays(np.arange(len(ids))[:, None], qid=ids)
    groups: dict[int, list[int]] = {}
    for row, query in enumerate(ids):
        groups.setdefault(query, []).append(row)
    assert dataset.query_ids.tolist() == list(groups)
    assert dataset.features.ravel().tolist() == [row for rows in groups.values() for row in rows]
    assert dataset.query_sizes.tolist() == [len(rows) for rows in groups.values()]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_input_order_and_query_order_are_inverse(ids):
    dataset = RankingDataset.from_arrays(np.arange(len(ids))[:, None], qid=ids)
    values = np.arange(len(ids))
    assert_array_equal(dataset.in_query_order(values), dataset.features.ravel())
    assert_array_equal(dataset.in_input_order(dataset.in_query_order(values)), values)


@pytest.mark.parametrize(
    "ids",
    [
        [3, 1, 3, 2],
        ["x", "y", "x", "z"],
        np.array(["2024-01-01", "2025-01-01", "2024-01-01", "2023-01-01"], dtype="datetime64[D]"),
        np.array(["x", "y", "x", "z"], dtype=object),
        pd.Series(["x", "y", "x", "z"]),
        pd.Series(["x", "y", "x", "z"], dtype="category"),
        pl.Series(["x", "y", "x", "z"]),
        pa.chunked_array([["x", "y"], ["x", "z"]]),
    ],
    ids=["int", "str", "date", "object", "pandas", "category", "polars", "arrow"],
)
def test_query_ids_may_have_any_dtype(ids):
    dataset = RankingDataset.from_arrays(X, Y, ids)
    assert dataset.n_queries == 3
    assert_array_equal(dataset.features[:, 0], [1, 3, 2, 4])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_dataframe_of_any_library_names_its_features(library):
    frame = library({"bm25": [1.0, 2.0, 3.0], "length": [7, 8, 9]})
    dataset = RankingDataset.from_arrays(frame, [0, 1, 0], [1, 1, 2])
    assert dataset.feature_names == ("bm25", "length")
    assert_array_equal(dataset.features, [[1, 7], [2, 8], [3, 9]])


def test_nulls_of_a_dataframe_are_missing_values():
    frame = pl.DataFrame({"a": [1.0, None]})
    assert np.isnan(RankingDataset.from_arrays(frame, qid=[1, 1]).features[1, 0])


def test_text_in_features_of_numbers_is_refused_by_name():
    dataset = RankingDataset.from_arrays([[1.0]], qid=[1])
    with pytest.raises(ValueError, match="Column 'title' of X must hold numbers"):
        dataset.with_features(pd.DataFrame({"a": [1.0], "title": ["x"]}))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5],
        np.array([1.5, 2.5], np.float32),
        np.array([1, 2], np.uint8),
        [True, False],
        [None, 2.5],
        pd.array([1, None], "Int64"),
    ],
    ids=["float64", "float32", "uint8", "truths", "missing", "missing integers"],
)
def test_columns_of_numbers_serve_beside_others(library, values):
    kept = list(values) if library is not pd.DataFrame and hasattr(values, "isna") else values
    kept = [None if value is pd.NA else value for value in kept] if kept is not values else kept
    frame = library({"a": [0.5, -0.5], "b": kept})
    dataset = RankingDataset.from_arrays(frame, qid=[1, 1])
    expected = [np.nan if value is None or value is pd.NA else float(value) for value in values]
    assert_array_equal(dataset.features, np.column_stack([[0.5, -0.5], expected]))
    assert dataset.feature_names == ("a", "b")


@pytest.mark.parametrize(
    "frame",
    [
        # Their libraries would make numbers of them.
        pl.DataFrame({"a": [0.5, 1.5], "b": pl.Series([0, 1]).cast(pl.Date)}),
        pl.DataFrame({"a": [0.5, 1.5], "b": pl.Series([0, 1]).cast(pl.Duration)}),
    ],
    ids=["dates", "durations"],
)
def test_columns_that_only_look_like_numbers_are_refused(frame):
    with pytest.raises(ValueError, match="Column 'b' of X must hold numbers"):
        RankingDataset.from_arrays(frame, qid=[1, 1])


def test_masked_values_are_missing_values():
    values = np.ma.masked_greater(X, 35)
    assert_array_equal(
        np.isnan(RankingDataset.from_arrays(values, Y, [1, 1, 1, 1]).features), values.mask
    )


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Float64"])
def test_missing_values_of_nullable_columns_are_missing_values(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype)})
    features = RankingDataset.from_arrays(frame, qid=[1, 1, 1]).features
    assert_array_equal(features.ravel(), [1, np.nan, 0])


def test_labels_may_mix_whole_numbers_and_fractions():
    labels = np.array([0, 1.5, 2, 1], dtype=object)
    assert_array_equal(RankingDataset.from_arrays(X, labels, [1] * 4).relevance, [0, 1.5, 2, 1])


def test_sparse_features_become_dense():
    dataset = RankingDataset.from_arrays(sparse.csr_array([[0.0, 2.0]]), qid=[1])
    assert_array_equal(dataset.features, [[0, 2]])


def test_float32_features_stay_float32():
    dataset = RankingDataset.from_arrays(X.astype(np.float32), Y, QID)
    assert dataset.features.dtype == np.float32


def test_features_are_c_contiguous():
    dataset = RankingDataset.from_arrays(np.asfortranarray(X), Y, [1, 1, 1, 1])
    assert dataset.features.flags.c_contiguous


def test_arrays_are_read_only(scattered):
    with pytest.raises(ValueError, match="read-only"):
        scattered.features[0, 0] = 7


def test_the_fields_are_frozen(scattered):
    with pytest.raises(AttributeError):
        scattered.relevance = None


def test_the_callers_array_stays_writable():
    values = X.copy()
    RankingDataset.from_arrays(values, Y, [1, 1, 1, 1])
    values[0, 0] = 5


@pytest.mark.parametrize("qid", [[1, 1, 1, 1], [1, 2, 1, 3], [1, 1, 2, 2]])
def test_ids_do_not_change_with_the_callers_array(qid):
    given = np.array(qid)
    dataset = RankingDataset.from_arrays(X, Y, given)
    before = dataset.query_ids.tolist()
    given[:] = given[0] * 2
    assert dataset.query_ids.tolist() == before
    assert not dataset.query_ids.flags.writeable
    assert not dataset.offsets.flags.writeable


@pytest.mark.parametrize("row_bytes", [1, SCORED_BYTES // 4, SCORED_BYTES])
def test_a_block_is_what_its_blocks_are(scattered, row_bytes):
    blocks = list(scattered.query_blocks(row_bytes))
    assert scattered.is_block(row_bytes) == (blocks == [scattered])
    assert not scattered.view().is_block(row_bytes)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1.0, 2.0], "b": [None, None]}),
        pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]}),
        pa.table({"a": [1.0, 2.0], "b": pa.nulls(2)}),
        pa.table({"a": [1.0, 2.0], "b": pa.array([None, None], pa.string())}),
    ],
    ids=["polars", "pandas", "null", "text"],
)
def test_a_column_without_values_is_missing(frame):
    features = RankingDataset.from_arrays(frame, qid=[1, 1]).features
    assert_array_equal(features, [[1.0, np.nan], [2.0, np.nan]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [1.0, 2.0]}, r"must be a table of shape .* Got shape \(2,\)"),
        ({"X": np.empty((0, 2))}, "no documents"),
        ({"X": [[np.inf], [0.0]]}, "Row 0, column 0 is inf"),
        ({"X": [["x"], ["y"]]}, "Features must be numbers"),
        ({"y": [1]}, r"one entry per document \(2\)"),
        ({"y": [1, -2e100]}, r"must lie between -1e\+100 and 1e\+100. Document 1 has -2e"),
        ({"y": [1, np.nan]}, "must not be missing. Document 1"),
        ({"y": [1, None]}, "must not be missing. Document 1"),
        ({"y": np.array(["2024-01-01"] * 2, dtype="M8[D]")}, "must be numbers. Got datetime64"),
        ({"X": np.array([["2024-01-01"]] * 2, dtype="M8[D]")}, "must be numbers. Got datetime64"),
        ({"X": pl.LazyFrame({"a": [1.0, 2.0]})}, r"Call its collect\(\) first"),
        ({"X": pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])}, "unique column names"),
        ({"qid": [2**63, -1]}, r"floats of 2\*\*53 or more"),
        ({"qid": pd.Series(["a", None], dtype="category")}, "qid must not be missing. Entry 1"),
        ({"y": [1, np.inf]}, r"must lie between -1e\+100 and 1e\+100. Document 1 has inf"),
        ({"y": ["a", "b"]}, "must be numbers"),
        ({"qid": None}, "'qid' argument is missing"),
        ({"qid": [1]}, r"qid needs one entry per row of X \(2\)"),
        ({"qid": [1.0, np.nan]}, "qid must not be missing. Entry 1"),
        ({"qid": np.array([1, "a"], dtype=object)}, "values of one type"),
        ({"qid": np.array([1, None], dtype=object)}, "qid must not be missing. Entry 1 is None"),
        ({"qid": [1, "1"]}, r"values of one type. Got \['int', 'str'\]"),
        ({"qid": [b"a", "a"]}, r"values of one type. Got \['bytes', 'str'\]"),
        ({"qid": ["a", np.nan]}, "qid must not be missing. Entry 1 is nan"),
        ({"qid": ["a", ""]}, "qid must not be missing. Entry 1 is an empty string"),
        ({"qid": np.array(["a", ""])}, "qid must not be missing. Entry 1 is an empty string"),
        ({"qid": [b"a", b""]}, "qid must not be missing. Entry 1 is an empty string"),
        ({"qid": ["a", "a\0"]}, "must not contain NUL or half of a surrogate pair. Entry 1"),
        ({"qid": ["a", "\ud800"]}, "must not contain NUL or half of a surrogate pair. Entry 1"),
        ({"qid": ["\ud83d", "\ude00"]}, "half of a surrogate pair. Entry 0"),
        ({"qid": np.array([[1], [2]], dtype=object)}, r"qid needs one entry .* Got shape \(2, 1\)"),
        ({"qid": [(1, 2), (3, 4)]}, r"qid needs one entry .* Got shape \(2, 2\)"),
        ({"qid": np.array([{1}, {2}])}, "must hold numbers, strings or dates. Got {<class 'set'>}"),
        ({"qid": np.array(["2026", "NaT"], "M8[D]")}, "qid must not be missing. Entry 1 is NaT"),
        ({"qid": np.ma.array([1, 2], mask=[0, 1])}, "qid must not be missing. Entry 1"),
        ({"qid": np.ma.array(["a", "b"], mask=[0, 1])}, "qid must not be missing. Entry 1"),
        ({"document_ids": np.ma.array([1, 2], mask=[0, 1])}, "must not be missing. Entry 1"),
        ({"y": np.ma.array([1, 2], mask=[0, 1])}, "must not be missing. Document 1"),
        ({"y": [1, 2e100]}, "between -1e\\+100 and 1e\\+100. Document 1 has 2e\\+100"),
        ({"document_ids": ["a"]}, "document_ids needs one entry"),
        ({"feature_names": ["a", "b"]}, "There are 1 features. Got 2 names"),
    ],
)
def test_bad_input_is_refused_with_the_rule_and_the_value(arguments, message):
    good = {"X": [[1.0], [2.0]], "y": [0, 1], "qid": [1, 1]}
    with pytest.raises(ValueError, match=message):
        RankingDataset.from_arrays(**{**good, **arguments})


def test_repeated_feature_names_are_refused():
    with pytest.raises(ValueError, match="'a' occurs twice"):
        RankingDataset.from_arrays([[1.0, 2.0]], qid=[1], feature_names=["a", "a"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"offsets": [0, 1]}, "must run from 0 to the number of documents"),
        ({"offsets": [0, 0, 2]}, "The one at position 0 has none"),
        ({"query_ids": [5, 5]}, "5 occurs twice"),
        ({"input_order": [0, 0]}, "must be a permutation"),
    ],
)
def test_the_constructor_checks_its_parts(parts, message):
    good = {
        "features": np.zeros((2, 1)),
        "relevance": np.zeros(2),
        "offsets": [0, 1, 2],
        "query_ids": [1, 2],
    }
    with pytest.raises(ValueError, match=message):
        RankingDataset(**{**good, **parts})


def test_select_takes_queries_by_position_or_mask(scattered):
    by_position, by_mask = scattered.select([0, 2]), scattered.select([True, False, True])
    for chosen in (by_position, by_mask):
        assert_array_equal(chosen.query_ids, ["b", "c"])
        assert_array_equal(chosen.features, X[[0, 2, 3]])
        assert_array_equal(chosen.relevance, [0, 2, 0])
        assert_array_equal(chosen.document_ids, ["p", "r", "s"])
        assert chosen.feature_names == ("f", "g")
        assert chosen.input_order is None


def test_select_counts_negative_positions_from_the_end(scattered):
    assert_array_equal(scattered.select([-1]).query_ids, ["c"])


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], "no query"),
        ([0, 0], "Position 0 occurs twice"),
        ([True], "mask of queries needs 3"),
        ([3], r"from -3 to 2. Got 3 instead"),
        (["b"], "by position or by mask"),
    ],
)
def test_select_refuses_what_is_no_selection(scattered, queries, message):
    with pytest.raises(ValueError, match=message):
        scattered.select(queries)


def test_concatenation_undoes_selection(scattered):
    whole = concatenate([scattered.select([0]), scattered.select([1, 2])])
    assert_array_equal(whole.features, scattered.features)
    assert_array_equal(whole.relevance, scattered.relevance)
    assert_array_equal(whole.offsets, scattered.offsets)
    assert_array_equal(whole.query_ids, scattered.query_ids)
    assert_array_equal(whole.document_ids, scattered.document_ids)


def test_a_query_in_two_parts_is_refused(scattered):
    with pytest.raises(ValueError, match="Query 'b' is in two"):
        concatenate([scattered, scattered.select([0])])


def test_parts_with_other_features_are_refused(scattered):
    narrow = RankingDataset.from_arrays([[1.0]], [0], ["z"], feature_names=["f"])
    with pytest.raises(ValueError, match="Got 2 and 1"):
        concatenate([scattered, narrow])


def test_parts_with_other_feature_names_are_refused(scattered):
    other = RankingDataset.from_arrays([[1.0, 2.0]], [0], ["z"], feature_names=["g", "f"])
    with pytest.raises(ValueError, match="same feature names"):
        concatenate([scattered, other])


def test_labels_and_document_ids_of_only_some_parts_are_left_out(scattered):
    bare = RankingDataset.from_arrays([[1.0, 2.0]], qid=["z"], feature_names=["f", "g"])
    whole = concatenate([scattered, bare])
    assert whole.relevance is None
    assert whole.document_ids is None


def test_only_a_list_of_datasets_can_be_concatenated(scattered):
    with pytest.raises(ValueError, match="list of datasets"):
        concatenate(scattered)


def test_parts_with_other_kinds_of_query_ids_are_refused(scattered):
    numbered = RankingDataset.from_arrays([[1.0, 2.0]], [0], [1], feature_names=["f", "g"])
    with pytest.raises(ValueError, match="same kind"):
        concatenate([scattered, numbered])


def test_with_features_keeps_labels_and_order(scattered):
    doubled = scattered.with_features(2 * scattered.features)
    assert_array_equal(doubled.features, 2 * scattered.features)
    assert_array_equal(doubled.relevance, scattered.relevance)
    assert_array_equal(doubled.document_ids, scattered.document_ids)
    assert_array_equal(doubled.input_order, scattered.input_order)


def test_with_features_needs_the_same_documents(scattered):
    with pytest.raises(ValueError, match="has 4 documents. Got 1 rows"):
        scattered.with_features([[1.0]])


def test_labels_of_an_unlabelled_dataset_are_an_error():
    with pytest.raises(ValueError, match="no relevance labels"):
        RankingDataset.from_arrays([[1.0]], qid=[1]).labels


def test_the_text_of_a_dataset_sums_it_up(scattered):
    assert repr(scattered).splitlines() == [
        "RankingDataset: 3 queries, 4 documents, 2 features (float64)",
        "  documents per query: 1 to 2, median 1",
        "  relevance: 0 × 2 (50.0 %), 1 × 1 (25.0 %), 2 × 1 (25.0 %)",
        "  queries without a relevant document: 1",
    ]


def test_a_mask_that_hides_nothing_changes_nothing():
    dataset = RankingDataset.from_arrays(X, np.ma.array(Y), np.ma.array(QID))
    assert_array_equal(dataset.query_ids, ["b", "a", "c"])


def test_the_constructor_sees_masks_too():
    parts = {"relevance": np.zeros(2), "offsets": [0, 1, 2], "query_ids": [1, 2]}
    features = np.ma.array([[1.0], [2.0]], mask=[[0], [1]])
    assert np.isnan(RankingDataset(features, **parts).features[1, 0])
    with pytest.raises(ValueError, match="must not be missing"):
        RankingDataset(X[:2], **{**parts, "query_ids": np.ma.array([1, 2], mask=[0, 1])})


# How large features may be.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(
    value=st.floats(allow_nan=False),
    place=st.tuples(st.integers(0, 5), st.integers(0, 2)),
    missing=st.booleans(),
)
def test_a_feature_is_refused_if_and_only_if_it_is_too_large(dtype, value, place, missing):
    with np.errstate(over="ignore"):
        features = np.array([[1.0, -2.0, 0.0]] * 6).astype(dtype)
        features[place] = value
    if missing:
        features[place[0], (place[1] + 1) % 3] = np.nan
    stored = float(features[place])
    if abs(stored) <= 1e100:
        RankingDataset.from_arrays(features, qid=[1] * 6)
    else:
        with pytest.raises(ValueError, match=f"Row {place[0]}, column {place[1]} is "):
            RankingDataset.from_arrays(features, qid=[1] * 6)


def test_large_features_that_cancel_are_refused():
    with pytest.raises(ValueError, match="Row 0, column 0 is 1e\\+200"):
        RankingDataset.from_arrays([[1e200], [-1e200]], qid=[1, 1])


def test_a_mark_for_missing_values_is_refused_with_its_column_and_advice():
    frame = pd.DataFrame({"bm25": [1.0, 2.0], "age": [3.0, np.finfo(np.float64).max]})
    message = (
        r"column 1 \('age'\) is 1.797.*e\+308. If that stands for a missing value, make it NaN"
    )
    with pytest.raises(ValueError, match=message):
        RankingDataset.from_arrays(frame, qid=[1, 1])


def test_all_of_float32_is_allowed():
    largest = np.finfo(np.float32).max
    RankingDataset.from_arrays(np.array([[largest], [-largest]]), qid=[1, 1])


def test_a_bad_column_without_a_name_is_still_named_by_number():
    with pytest.raises(ValueError, match="Row 0, column 1 is inf"):
        RankingDataset.from_arrays([[1.0, np.inf]], qid=[1], feature_names=["a"])


# Ids of very unequal length.


@pytest.fixture
def unequal() -> RankingDataset:
    ids = [f"q{i}" for i in range(5000)] + ["long" * 5000]
    return RankingDataset.from_arrays(
        np.zeros((len(ids), 1)), np.zeros(len(ids)), ids, document_ids=ids
    )


def test_one_long_id_does_not_widen_all_others(unequal):
    assert unequal.query_ids.dtype.kind == "T"
    assert unequal.query_ids[-1] == "long" * 5000
    assert unequal.document_ids.tolist() == unequal.query_ids.tolist()


def test_ids_of_ordinary_length_are_fixed_width_strings():
    ids = [f"clueweb09-en0000-00-{i:05}" for i in range(1000)] + ["x" * 300]
    dataset = RankingDataset.from_arrays(np.zeros((1001, 1)), qid=ids)
    assert dataset.query_ids.dtype == "U300"


def test_ids_of_very_unequal_length_are_selected_and_joined_as_others(unequal):
    short, long = unequal.select(np.arange(3)), unequal.select([-1])
    assert concatenate([short, long]).query_ids.tolist() == [*short.query_ids, "long" * 5000]
    assert concatenate([short, unequal.select([9])]).query_ids.dtype == "U2"
    with pytest.raises(ValueError, match="Query 'q0' is in two"):
        concatenate([unequal, short])


def test_joining_does_not_widen_all_ids_to_the_longest():
    ids = [f"q{i}" for i in range(20_000)]
    narrow = RankingDataset.from_arrays(np.zeros((20_000, 1)), qid=ids)
    wide = RankingDataset.from_arrays(np.zeros((1, 1)), qid=["w" * 1000])
    assert narrow.query_ids.dtype.kind == wide.query_ids.dtype.kind == "U"
    joined = concatenate([narrow, wide])
    assert joined.query_ids.tolist() == [*ids, "w" * 1000]
    assert joined.query_ids.dtype.kind == "T"


def test_scattered_rows_with_ids_of_very_unequal_length_are_grouped():
    ids = ["long" * 5000, *(f"q{i % 2500}" for i in range(5000)), "long" * 5000]
    dataset = RankingDataset.from_arrays(np.arange(5002.0)[:, None], qid=ids)
    assert dataset.query_ids.dtype.kind == "T"
    assert dataset.query_sizes.tolist() == [2] * 2501
    assert_array_equal(dataset.features[:2].ravel(), [0, 5001])
