"""The door for bad input: what a dataset's parts must satisfy, with errors that name the value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE

_SURROGATES = re.compile("[\ud800-\udfff]")
# Strings in an array of fixed width take at most this many bytes, or this many times their text.
_FIXED_WIDTH_BYTES, _FIXED_WIDTH_RATIO = 1 << 24, 8
# Types of columns that are numbers and nothing else, as the libraries call them.
_PLAIN = {"double", "float", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def as_matrix(X: Any) -> tuple[Array, Sequence[str] | None]:
    """The values, all of them numbers, and, for a DataFrame, the column names."""
    values, names, texts = as_columns(X)
    for name, column in texts.items():
        raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {column.dtype}.")
    return values, names


def as_columns(X: Any) -> tuple[Array, Sequence[str] | None, dict[str, Any]]:
    """The values, for a DataFrame the column names, and its columns of texts and categories.

    These columns have NaN among the values.
    """
    if type(X) is np.ndarray or isinstance(X, list | tuple):
        return np.asarray(X), None, {}
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan), None, {}
    if hasattr(X, "toarray"):
        return X.toarray(), None, {}
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame. Call its collect() first.")
    plain = _plain_frame(X)
    return _any_frame(X) if plain is None else (*plain, {})


def _plain_frame(X: Any) -> tuple[Array, list[str]] | None:
    """A DataFrame of pandas, polars or pyarrow whose columns are plain numbers; None for others.

    It looks at each type once, not at each column. For short lists that is much faster.
    """
    if all(hasattr(X, name) for name in ("columns", "dtypes", "to_numpy")):
        names, types = list(X.columns), set(X.dtypes)
    elif hasattr(X, "column_names") and hasattr(X, "schema"):
        names, types = X.column_names, set(X.schema.types)
    else:
        return None
    plain = {str(kind).lower() for kind in types} <= _PLAIN
    if not plain or not names or len(set(names)) < len(names):
        return None
    if hasattr(X, "to_numpy"):
        values = X.to_numpy()
    else:
        values = np.column_stack([column.to_numpy() for column in X.columns])
    # Some libraries turn integers with missing values into objects.
    return None if values.dtype.kind not in "fiu" else (values, [str(name) for name in names])


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
    if not isinstance(values, list | tuple):
        # Imported by those who need it: to load a model takes less.
        import narwhals.stable.v1 as nw

        series = nw.from_native(values, series_only=True, pass_through=True)
        return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)
    if any(issubclass(kind, str | bytes) for kind in set(map(type, values))):
        # numpy would turn other values into text, and give each the room of the longest.
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def check_index(X: Any, **columns: Any) -> None:
    """Refuse a Series whose index is not that of the DataFrame beside which it stands.

    Only pandas, and what follows it, has an index. Rows are taken by position, so a Series that
    was sorted, shuffled or renumbered without its frame would give rows the values of others.
    """
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "equals"):
        return
    for name, values in columns.items():
        other: Any = getattr(values, "index", None)
        if not hasattr(other, "equals") or index.equals(other):
            continue
        pairs = enumerate(zip(index.tolist(), other.tolist(), strict=False))
        # None differs if the lengths do, which has an error of its own, or only the types.
        for row, (one, two) in pairs:
            if one != two:
                raise ValueError(
                    f"The index of {name} must be that of X. Row {row} has {one!r} in X and "
                    f"{two!r} in {name}. To go by the index, pass {name}.loc[X.index]; to go by "
                    f"position, {name}.to_numpy()."
                )


def checked_ids(values: Any, length: int, name: str, one_per: str) -> Array:
    """One id per row as an array of one type, none missing."""
    array = as_array(values)
    _check_length(array, length, name, one_per)
    if array.dtype.kind in "OT":
        items = array.tolist()
        for position, item in enumerate(items):
            if is_missing(item):
                raise ValueError(f"{name} must not be missing. Entry {position} is {item}.")
        kinds = {str if isinstance(item, str) else type(item) for item in items}
        if len(kinds) > 1:
            names = sorted(kind.__name__ for kind in kinds)
            raise ValueError(f"{name} must hold values of one type. Got {names} instead.")
        if kinds == {str} and (wrong := [i for i, item in enumerate(items) if not is_text(item)]):
            raise ValueError(
                f"{name} must not contain NUL or half of a surrogate pair. Entry {wrong[0]} is "
                f"{items[wrong[0]]!r}."
            )
        array = text_ids(items) if kinds == {str} else np.array(items)
        if array.shape != (length,) or array.dtype == object:
            raise ValueError(f"{name} must hold numbers, strings or dates. Got {kinds} instead.")
    missing = np.flatnonzero(array != array)
    if missing.size:
        raise ValueError(f"{name} must not be missing. Entry {missing[0]} is {array[missing[0]]}.")
    nothing = b"" if array.dtype.kind == "S" else ""
    if array.dtype.kind in "UST" and (empty := np.flatnonzero(array == nothing)).size:
        raise ValueError(f"{name} must not be missing. Entry {empty[0]} is an empty string.")
    if array.dtype.kind == "f" and (np.abs(array) >= 2**53).any():
        raise ValueError(
            f"{name} has floats of 2**53 or more, which cannot be told apart. "
            f"Pass integers or strings."
        )
    return array


def text_ids(names: Sequence[str]) -> Array:
    """Strings as an array of fixed width, or of StringDType if a few long ones would waste memory.

    numpy's StringDType takes little more room than the strings.

    Examples
    --------
    >>> text_ids(["a", "bc"])
    array(['a', 'bc'], dtype='<U2')
    >>> text_ids(["a" * 100_000] + ["b"] * 1000).dtype
    StringDType()
    """
    sizes = [len(name) for name in names]
    if fits_fixed_width(len(names), max(sizes), sum(sizes)):
        return np.array(names, dtype=str)
    return np.array(names, dtype=np.dtypes.StringDType())


def joined_ids(parts: Sequence[Array]) -> Array:
    """Ids of the same kind one after another, of fixed width unless that would waste memory."""
    if any(part.dtype.kind not in "UT" for part in parts):
        return np.concatenate(parts)
    if any(part.dtype.kind == "T" for part in parts):
        return text_ids([name for part in parts for name in part.tolist()])
    sizes = [(len(part), part.dtype.itemsize // 4) for part in parts]
    longest = max(width for _, width in sizes)
    if fits_fixed_width(sum(map(len, parts)), longest, sum(n * width for n, width in sizes)):
        return np.concatenate(parts)
    return np.concatenate([part.astype(np.dtypes.StringDType()) for part in parts])


def fits_fixed_width(n: int, longest: int, total: int) -> bool:
    """Whether each string may take the room of the longest without wasting memory."""
    return 4 * n * longest <= max(_FIXED_WIDTH_BYTES, _FIXED_WIDTH_RATIO * 4 * total)


def natural_ids(names: Sequence[str]) -> Array:
    """Integers if every id is written as Python prints an integer, otherwise strings.

    Examples
    --------
    >>> natural_ids(["7", "12"]), natural_ids(["007", "12"])
    (array([ 7, 12]), array(['007', '12'], dtype='<U3'))
    """
    try:
        numbers = np.array([int(name) for name in names], dtype=np.int64)
    except (ValueError, OverflowError):
        return text_ids(names)
    printed = [str(number) for number in numbers.tolist()]
    return numbers if printed == list(names) else text_ids(names)


def first_repeated(values: Array) -> Any:
    """The smallest value that occurs twice, or None."""
    ordered = np.sort(values)
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[repeated[:1]].tolist()[0] if repeated.size else None


def checked_features(values: Any, names: Sequence[str] | None = None) -> Array:
    """A C-contiguous table of float64 or float32 without infinite or too large values."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    features = np.asarray(values)
    if features.ndim != 2:
        raise ValueError(
            f"Features must be a table of shape (documents, features). "
            f"Got shape {features.shape} instead."
        )
    if len(features) == 0:
        raise ValueError("There are no documents: X has no rows.")
    if features.dtype not in (np.float32, np.float64):
        features = _as_float(features, "Features")
    features = np.ascontiguousarray(features)
    if (place := _first_too_large(features)) is not None:
        row, column = place
        value = features[row, column]
        label = f"column {column}"
        if names is not None and column < len(names):
            label += f" ({names[column]!r})"
        if np.isinf(value):
            raise ValueError(
                f"Features must be finite, or NaN where missing. Row {row}, {label} is {value}."
            )
        raise ValueError(
            f"Features must lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}. "
            f"Row {row}, {label} is {value!s}. If that stands for a missing value, make it NaN."
        )
    return features


def _first_too_large(features: Array) -> tuple[int, int] | None:
    """Row and column of the first value that is infinite or too large, or None."""
    values = features.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum of squares bounds every value. It needs one pass and no temporary table.
        if np.vdot(values, values) < MAX_MAGNITUDE**2 / 2:
            return None
    limit = min(MAX_MAGNITUDE, float(np.finfo(features.dtype).max))
    n_rows = max(1, 65_536 // max(features.shape[1], 1))
    for begin in range(0, len(features), n_rows):
        wrong = np.argwhere(np.abs(features[begin : begin + n_rows]) > limit)
        if wrong.size:
            return begin + int(wrong[0, 0]), int(wrong[0, 1])
    return None


def sum_is_finite(features: Array) -> bool:
    """Whether the sum is finite, which proves every value finite without a temporary table."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(features.sum()))


def checked_relevance(values: Any, n_documents: int) -> Floats:
    """Labels as float64, finite."""
    given = as_array(values)
    _check_length(given, n_documents, "relevance", "document")
    relevance = _as_float(given, "Relevance labels")
    if (missing := np.flatnonzero(np.isnan(relevance))).size:
        raise ValueError(f"Relevance labels must not be missing. Document {missing[0]} has none.")
    if (wrong := np.flatnonzero(~(np.abs(relevance) <= MAX_MAGNITUDE))).size:
        raise ValueError(
            f"Relevance labels must lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}. "
            f"Document {wrong[0]} has {relevance[wrong[0]]!s}."
        )
    return relevance


def checked_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    """One unique name per feature, or None."""
    if names is None:
        return None
    result = tuple(str(name) for name in names)
    if len(result) != n_features:
        raise ValueError(f"There are {n_features} features. Got {len(result)} names instead.")
    if len(set(result)) < len(result):
        twice = next(name for i, name in enumerate(result) if name in result[:i])
        raise ValueError(f"Feature names must be unique. {twice!r} occurs twice.")
    return result


def checked_order(values: Any, n_documents: int) -> Integers | None:
    """A permutation of the rows, or None."""
    if values is None:
        return None
    order = np.asarray(values, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n_documents)):
        raise ValueError("input_order must be a permutation of the rows.")
    return order


def _check_length(array: Array, length: int, name: str, one_per: str) -> None:
    if array.shape != (length,):
        raise ValueError(
            f"{name} needs one entry per {one_per} ({length}). Got shape {array.shape} instead."
        )


def _as_float(values: Array, name: str) -> Floats:
    if values.dtype.kind in "mM":
        raise ValueError(f"{name} must be numbers. Got {values.dtype} instead.")
    shape = values.shape
    if values.dtype == object:
        values = np.array([np.nan if is_missing(v) else v for v in values.ravel().tolist()])
    if values.dtype.kind in "UST":
        # numpy would read 1_000 and digits of all scripts.
        raise ValueError(f"{name} must be numbers. Got the text {values.ravel()[0]!r} instead.")
    try:
        return values.astype(np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from None


def is_missing(value: Any) -> bool:
    """Whether a value means "missing": None, NaN, or pandas' NA and NaT."""
    nan = isinstance(value, float) and value != value
    return nan or value is None or type(value).__name__ in ("NAType", "NaTType")


def is_text(value: str) -> bool:
    """Whether arrays and files can store a string: no NUL, no half of a surrogate pair."""
    return "\0" not in value and (value.isascii() or not _SURROGATES.search(value))


def check_writes(call: str, dataset: Any, path: Any) -> None:
    """Refuse arguments of a writer that are in another order.

    Parameters
    ----------
    call : str
        The function with the names of its arguments, for the message.
    dataset, path
        What was given for them.
    """
    if not hasattr(dataset, "query_ids") or not isinstance(path, str | PathLike):
        raise TypeError(
            f"The order of arguments is {call}: 'dataset' must be a RankingDataset and 'path' a "
            f"path. Got a {type(dataset).__name__} and a {type(path).__name__} instead."
        )
