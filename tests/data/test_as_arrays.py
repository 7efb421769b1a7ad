"""Frames of plain numbers, which are read at once, against narwhals, column by column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset
from localrank.data._as_arrays import _any_frame, _plain_frame, as_array, as_columns, library_of
from localrank.data._checks import checked_features

TYPES = ["float64", "float32", "int64", "int8", "uint8", "uint64", "int32"]
COLUMNS = st.lists(
    st.tuples(st.sampled_from(TYPES), st.sampled_from([0.0, 0.0, 0.3, 1.0])), min_size=1, max_size=6
)


def column(rng, n, dtype, share):
    """Numbers of a type, None where they are missing."""
    values = rng.integers(0, 120, n).astype(dtype)
    if values.dtype.kind == "f":
        values += rng.random(n).astype(dtype)
    missing = rng.random(n) < share
    return [None if gone else value for gone, value in zip(missing, values.tolist(), strict=True)]


def framed(library, columns, dtypes, cut):
    """A frame with these columns. One of pyarrow has two chunks, and does not begin at the first.

    pandas has no missing integers in its plain types: their columns become those of floats.
    """
    if library == "pandas":
        plain = {
            name: pd.Series(values, dtype=None if None in values else dtypes[name])
            for name, values in columns.items()
        }
        return pd.DataFrame(plain)
    kinds = {name: pa.from_numpy_dtype(np.dtype(dtype)) for name, dtype in dtypes.items()}
    table = pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})
    if library == "polars":
        return pl.from_arrow(table)
    parts = [table.slice(0, cut), table.slice(cut)]
    return pa.concat_tables([parts[0], *parts]).slice(len(parts[0]))


@settings(max_examples=150, deadline=None)
@given(
    library=st.sampled_from(["pandas", "polars", "pyarrow"]),
    columns=COLUMNS,
    n=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_frame_of_numbers_is_read_as_narwhals_reads_it(library, columns, n, seed):
    rng = np.random.default_rng(seed)
    dtypes = {f"c{number}": dtype for number, (dtype, _) in enumerate(columns)}
    values = {f"c{i}": column(rng, n, *columns[i]) for i in range(len(columns))}
    frame = framed(library, values, dtypes, int(rng.integers(n)))
    expected, names, texts = _any_frame(frame)
    features = checked_features(expected)
    dataset = RankingDataset.from_arrays(frame, qid=np.ones(n))
    assert (dataset.feature_names, texts) == (tuple(names), {})
    assert dataset.dtype == features.dtype
    assert_array_equal(dataset.features, features)
    assert_array_equal(
        dataset.features,
        np.array([[np.nan if v is None else v for v in values[name]] for name in names]).T,
    )


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [0.5, 1.5], "b": [2, 3]}),
        pl.DataFrame({"a": [0.5, 1.5], "b": [2, None]}),
        pa.table({"a": [0.5, 1.5], "b": [2, None]}),
        pa.record_batch({"a": [0.5, 1.5], "b": [2.0, None]}),
        pa.table({"a": pa.array([0.5, 1.5], pa.float32())}),
    ],
    ids=["pandas", "polars", "pyarrow", "batch", "float32"],
)
def test_plain_frames_are_read_at_once(frame):
    assert _plain_frame(frame, library_of(frame)) is not None


DAY = datetime.date(2026, 1, 2)


@pytest.mark.parametrize(
    "frame",
    [
        # What pandas and pyarrow could take for numbers.
        pd.DataFrame({"a": [0.5, 1.5], "b": pd.to_datetime([DAY, DAY])}),
        pd.DataFrame({"a": [1, 2], "b": pd.to_timedelta([1, 2], unit="s")}),
        pd.DataFrame({"a": [0.5, 1.5], "b": [1j, 2j]}),
        pa.table({"a": [0.5, 1.5], "b": [DAY, DAY]}),
        pa.table({"a": [0.5, 1.5], "b": pa.array([1, 2], pa.duration("s"))}),
        pa.table({"a": [0.5, 1.5], "b": pa.array([1, 2], pa.timestamp("s"))}),
    ],
    ids=["pandas dates", "pandas durations", "complex", "dates", "durations", "moments"],
)
def test_columns_that_are_no_numbers_are_refused_by_name(frame):
    with pytest.raises(ValueError, match="Column 'b' of X must hold numbers"):
        RankingDataset.from_arrays(frame, qid=[1, 1])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [0.5, 1.5], "shop": pd.Categorical([12, 7])}),
        pa.table({"a": [0.5, 1.5], "shop": pa.array([12, 7]).dictionary_encode()}),
    ],
    ids=["pandas", "pyarrow"],
)
def test_categories_that_are_numbers_stay_categories(frame):
    dataset = RankingDataset.from_arrays(frame, qid=[1, 1])
    assert dataset.categories == {"shop": ("12", "7")}
    assert_array_equal(dataset.features, [[0.5, 0.0], [1.5, 1.0]])


def test_a_frame_in_chunks_without_rows_is_refused_as_any_other():
    with pytest.raises(ValueError, match="no documents"):
        RankingDataset.from_arrays(pa.table({"a": pa.array([], pa.float64())}), qid=[])


def test_columns_of_the_same_name_are_refused_by_every_library():
    for frame in (
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pa.table([[1.0], [2.0]], names=["a", "a"]),
    ):
        with pytest.raises(ValueError, match="X must have unique column names"):
            RankingDataset.from_arrays(frame, qid=[1])


def test_names_of_columns_become_texts():
    values, names, texts, library = as_columns(pd.DataFrame(np.eye(2)))
    assert (names, texts, library) == (["0", "1"], {}, "pandas")
    assert_array_equal(values, np.eye(2))


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2]),
        pd.Series(["a", "b"]),
        pd.Series(["a", "b"], dtype=object),
        pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.5, None]),
        pd.Series(pd.to_datetime([DAY, DAY]).tz_localize("Europe/Berlin")),
        pd.Index([1, 2]),
        pl.Series([1, None]),
        pl.Series(["a", "b"]),
        pa.chunked_array([[1], [2]]),
        pa.array(["a", "b"]),
    ],
    ids=lambda values: f"{library_of(values)} {getattr(values, 'dtype', '')}",
)
def test_a_series_is_the_array_that_narwhals_makes_of_it(values):
    import narwhals.stable.v1 as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    expected = series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)
    # As texts: NaN differs from itself in an array of objects.
    assert repr(as_array(values)) == repr(expected)
