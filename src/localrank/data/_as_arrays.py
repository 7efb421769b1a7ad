"""What users have their data in, as arrays: lists, sparse matrices, Series, DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from localrank._base.arrays import Array

# Libraries whose frames data may come in.
LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")
# Types of columns that are numbers and nothing else, as numpy knows them and others call them.
_NAMES = {"float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_PLAIN = frozenset(map(np.dtype, _NAMES))


def library_of(X: Any) -> str | None:
    """The library of a DataFrame or a Series; None for anything else.

    Examples
    --------
    >>> import polars as pl
    >>> library_of(pl.DataFrame({"bm25": [7.5]})), library_of([[7.5]])
    ('polars', None)
    """
    # Classes of other packages may be derived from a frame.
    roots = (kind.__module__.partition(".")[0] for kind in type(X).__mro__)
    return next((root for root in roots if root in LIBRARIES), None)


def as_matrix(X: Any) -> tuple[Array, Sequence[str] | None]:
    """The values, all of them numbers, and, for a DataFrame, the column names."""
    values, names, texts, _ = as_columns(X)
    for name, column in texts.items():
        raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {column.dtype}.")
    return values, names


def as_columns(X: Any) -> tuple[Array, Sequence[str] | None, dict[str, Any], str | None]:
    """The values, and of a DataFrame: column names, columns of texts and categories, library.

    The columns of texts and categories have NaN among the values.
    """
    if type(X) is np.ndarray or isinstance(X, list | tuple):
        return np.asarray(X), None, {}, None
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan), None, {}, None
    library = library_of(X)
    if library is not None and (plain := _plain_frame(X, library)) is not None:
        return (*plain, {}, library)
    if hasattr(X, "toarray"):
        return X.toarray(), None, {}, None
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame. Call its collect() first.")
    return (*_any_frame(X), library)


def _plain_frame(X: Any, library: str) -> tuple[Array, list[str]] | None:
    """The values and names of a frame whose columns are plain numbers; None for other frames.

    It looks at all columns at once. For short lists that is much faster.
    """
    if library == "pyarrow" and hasattr(X, "schema"):
        names, values = X.schema.names, _plain_table(X)
    elif library in ("pandas", "polars") and hasattr(X, "to_numpy") and hasattr(X, "columns"):
        in_pandas = library == "pandas"
        if not all(map(_is_plain, set(X.dtypes.tolist() if in_pandas else X.dtypes))):
            return None
        names = X.columns.tolist() if in_pandas else X.columns
        values = X.to_numpy() if in_pandas else X.to_numpy(order="c")
    else:
        return None
    # Some libraries turn integers with missing values into objects.
    if values is None or values.dtype.kind not in "fiu":
        return None
    if not names or len(set(names)) < len(names):
        return None
    return values, [str(name) for name in names]


def _is_plain(kind: Any) -> bool:
    """Whether a column of this type holds plain numbers."""
    return kind in _PLAIN if isinstance(kind, np.dtype) else str(kind).lower() in _NAMES


def _plain_table(X: Any) -> Array | None:
    """The values of a table of pyarrow whose columns are all numbers; None for other tables."""
    batches = X.to_batches() if hasattr(X, "to_batches") else [X]
    try:
        values = [batch.to_tensor(null_to_nan=True).to_numpy() for batch in batches]
    except (TypeError, NotImplementedError):  # columns of other types, numbers of 16 bits
        return None
    if not values:
        return None
    table = values[0] if len(values) == 1 else np.concatenate(values)
    # pyarrow makes float32 of short integers if some are missing, and float64 if none is.
    short = table.dtype == np.float32 and {str(kind) for kind in X.schema.types} != {"float"}
    return None if short else table


def _any_frame(X: Any) -> tuple[Array, list[str] | None, dict[str, Any]]:
    """A DataFrame of any library, column by column, or anything array-like."""
    # Imported by those who need it: to load a model takes less.
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X must have unique column names: {error}") from None
    if not isinstance(frame, nw.DataFrame):
        return np.asarray(X), None, {}
    # A column with only missing values does not have a numeric type.
    empty = [
        name
        for name, dtype in frame.schema.items()
        if not dtype.is_numeric() and frame[name].is_null().all()
    ]
    texts = {
        str(name): frame[name]
        for name, dtype in frame.schema.items()
        if dtype in (nw.String, nw.Categorical, nw.Enum) and name not in empty
    }
    if empty or texts:
        missing = nw.lit(float("nan"), dtype=nw.Float64)
        frame = frame.with_columns(missing.alias(name) for name in [*empty, *texts])
    schema = frame.schema
    for name, dtype in schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {dtype}.")
    truths = [name for name, dtype in schema.items() if dtype == nw.Boolean]
    if truths:
        frame = frame.with_columns(nw.col(truths).cast(nw.Float64))
    return frame.to_numpy(), [str(name) for name in schema], texts


def as_array(values: Any) -> Array:
    """A Series of any library, or anything array-like, as an array; None where it is masked."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        if not values.mask.any():
            return values.data
        hidden = values.data.astype(object)
        hidden[values.mask] = None
        return hidden
    if isinstance(values, list | tuple):
        if any(issubclass(kind, str | bytes) for kind in set(map(type, values))):
            # numpy would turn other values into text, and give each the room of the longest.
            array = np.empty(len(values), dtype=object)
            array[:] = values
            return array
        return np.asarray(values)
    dtype = getattr(values, "dtype", None)
    if library_of(values) == "pandas" and (isinstance(dtype, np.dtype) or str(dtype) == "str"):
        return np.asarray(values)
    # Imported by those who need it: to load a model takes less.
    import narwhals.stable.v1 as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)
