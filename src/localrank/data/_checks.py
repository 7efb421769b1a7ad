"""The door for bad input: what a dataset's parts must satisfy, with errors that name the value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._as_arrays import as_array

_PRECISIONS = (np.dtype(np.float64), np.dtype(np.float32))
_SURROGATES = re.compile("[\ud800-\udfff]")
# Strings in an array of fixed width take at most this many bytes, or this many times their text.
_FIXED_WIDTH_BYTES, _FIXED_WIDTH_RATIO = 1 << 24, 8


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
        array = _ids_of_one_type(array.tolist(), name)
    kind = array.dtype.kind
    if kind in "UST" and (empty := np.flatnonzero(array == (b"" if kind == "S" else ""))).size:
        raise ValueError(f"{name} must not be missing. Entry {empty[0]} is an empty string.")
    # Whole numbers and texts have no value that differs from itself.
    if kind not in "biuUST" and (missing := np.flatnonzero(array != array)).size:
        raise ValueError(f"{name} must not be missing. Entry {missing[0]} is {array[missing[0]]}.")
    if kind == "f" and (np.abs(array) >= 2**53).any():
        raise ValueError(
            f"{name} has floats of 2**53 or more, which cannot be told apart. "
            f"Pass integers or strings."
        )
    return array


def _ids_of_one_type(items: list[Any], name: str) -> Array:
    kinds = set(map(type, items))
    if kinds != {str}:
        for position, item in enumerate(items):
            if is_missing(item):
                raise ValueError(f"{name} must not be missing. Entry {position} is {item}.")
        kinds = {str if issubclass(kind, str) else kind for kind in kinds}
    if len(kinds) > 1:
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must hold values of one type. Got {names} instead.")
    if kinds == {str}:
        if not is_text("".join(items)):
            position = next(i for i, item in enumerate(items) if not is_text(item))
            raise ValueError(
                f"{name} must not contain NUL or half of a surrogate pair. Entry {position} is "
                f"{items[position]!r}."
            )
        return text_ids(items)
    array = np.array(items)
    if array.shape != (len(items),) or array.dtype == object:
        raise ValueError(f"{name} must hold numbers, strings or dates. Got {kinds} instead.")
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
    if features.dtype not in _PRECISIONS:
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
    # It bounds every value.
    if sum_of_squares(features) < MAX_MAGNITUDE**2 / 2:
        return None
    limit = min(MAX_MAGNITUDE, float(np.finfo(features.dtype).max))
    n_rows = max(1, 65_536 // max(features.shape[1], 1))
    for begin in range(0, len(features), n_rows):
        wrong = np.argwhere(np.abs(features[begin : begin + n_rows]) > limit)
        if wrong.size:
            return begin + int(wrong[0, 0]), int(wrong[0, 1])
    return None


def sum_of_squares(values: Array) -> float:
    """The sum of squares of a contiguous array; if it is finite, so is every value.

    It takes one pass and no temporary array, and never warns.

    Examples
    --------
    >>> sum_of_squares(np.array([3.0, 4.0])), sum_of_squares(np.array([1e200, 0.0]))
    (25.0, inf)
    """
    return float(np.vdot(values, values))


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
