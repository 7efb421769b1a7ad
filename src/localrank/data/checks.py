"""The door for bad input: what a dataset's parts must satisfy, with errors that name the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from localrank.arrays import Array, Floats, Integers


def as_matrix(X: Any) -> tuple[Array, Sequence[str] | None]:
    """The values and, for a DataFrame, the column names."""
    if sparse.issparse(X):
        return X.toarray(), None
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan), None
    if hasattr(X, "collect"):
        raise ValueError("X is a lazy frame. Call its collect() first.")
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X must have unique column names: {error}") from None
    if not isinstance(frame, nw.DataFrame):
        return np.asarray(X), None
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {dtype}.")
    truths = [name for name, dtype in frame.schema.items() if dtype == nw.Boolean]
    if truths:
        frame = frame.with_columns(nw.col(truths).cast(nw.Float64))
    return frame.to_numpy(), [str(name) for name in frame.columns]


def as_array(values: Any) -> Array:
    """A Series of any library, or anything array-like, as an array."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)


def checked_ids(values: Any, length: int, name: str, one_per: str) -> Array:
    """A one-dimensional array of ids of one type, none missing."""
    array = np.asarray(values)
    _check_length(array, length, name, one_per)
    if array.dtype == object:
        items = array.tolist()
        for position, item in enumerate(items):
            if _is_missing(item):
                raise ValueError(f"{name} must not be missing. Entry {position} is {item}.")
        kinds = {type(item).__name__ for item in items}
        if len(kinds) > 1:
            raise ValueError(f"{name} must hold values of one type. Got {sorted(kinds)} instead.")
        array = np.array(items)
        if array.shape != (length,) or array.dtype == object:
            raise ValueError(f"{name} must hold numbers, strings or dates. Got {kinds} instead.")
    missing = np.flatnonzero(array != array)
    if missing.size:
        raise ValueError(f"{name} must not be missing. Entry {missing[0]} is {array[missing[0]]}.")
    if array.dtype.kind == "f" and (np.abs(array) >= 2**53).any():
        raise ValueError(f"{name} holds floats too large to tell apart: pass integers or strings.")
    return array


def natural_ids(names: Sequence[str]) -> Array:
    """The ids as integers where each is written as one would be printed, else as strings.

    Examples
    --------
    >>> natural_ids(["7", "12"]), natural_ids(["007", "12"])
    (array([ 7, 12]), array(['007', '12'], dtype='<U3'))
    """
    try:
        numbers = np.array([int(name) for name in names], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(names)
    printed = [str(number) for number in numbers.tolist()]
    return numbers if printed == list(names) else np.array(names)


def first_repeated(values: Array) -> Any:
    """The smallest value that occurs twice, or None."""
    ordered = np.sort(values)
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[repeated[0]].item() if repeated.size else None


def checked_features(values: Any) -> Array:
    """A C-contiguous table of float64 or float32 without infinities."""
    features = np.asarray(values)
    if features.ndim != 2:
        raise ValueError(
            f"Features must be a table of shape (documents, features). "
            f"Got shape {features.shape} instead."
        )
    if len(features) == 0:
        raise ValueError("There are no documents.")
    if features.dtype not in (np.float32, np.float64):
        features = _as_float(features, "Features")
    if not sum_is_finite(features) and (infinite := np.argwhere(np.isinf(features))).size:
        row, column = infinite[0]
        raise ValueError(
            f"Features must be finite, or NaN where missing. "
            f"Row {row}, column {column} is {features[row, column]}."
        )
    return np.ascontiguousarray(features)


def sum_is_finite(features: Array) -> bool:
    """Whether the sum is finite, which proves every value finite without a temporary table."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(features.sum()))


def checked_relevance(values: Any, n_documents: int) -> Floats:
    """Labels as float64, finite, 0 or larger."""
    given = np.asarray(values)
    _check_length(given, n_documents, "relevance", "document")
    relevance = _as_float(given, "Relevance labels")
    if (missing := np.flatnonzero(np.isnan(relevance))).size:
        raise ValueError(f"Relevance labels must not be missing. Document {missing[0]} has none.")
    if (wrong := np.flatnonzero(~(np.isfinite(relevance) & (relevance >= 0)))).size:
        raise ValueError(
            f"Relevance labels must be finite, 0 or larger. Document {wrong[0]} has "
            f"{relevance[wrong[0]]:g}. If negative labels mean not relevant, make them 0."
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
        raise ValueError(f"Feature names must be unique. {twice!r} is there twice.")
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
        values = np.array([np.nan if _is_missing(v) else v for v in values.ravel().tolist()])
    try:
        return values.astype(np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from None


def _is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, or pandas' own marks."""
    nan = isinstance(value, float) and value != value
    return nan or value is None or type(value).__name__ in ("NAType", "NaTType")
