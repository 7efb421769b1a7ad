"""The door for bad input: what a dataset's parts must satisfy, with errors that name the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def as_matrix(X: Any) -> tuple[NDArray[Any], Sequence[str] | None]:
    """The values and, for a DataFrame, the column names."""
    if sparse.issparse(X):
        return X.toarray(), None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return np.asarray(X), None
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(f"Column {name!r} of X must hold numbers. Its type is {dtype}.")
    return frame.to_numpy(), [str(name) for name in frame.columns]


def as_array(values: Any) -> NDArray[Any]:
    """A Series of any library, or anything array-like, as an array."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    return series.to_numpy() if isinstance(series, nw.Series) else np.asarray(values)


def checked_ids(values: Any, length: int, name: str, one_per: str) -> NDArray[Any]:
    """A one-dimensional array of ids of one type, none missing."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(
            f"{name} needs one entry per {one_per} ({length}). Got shape {array.shape} instead."
        )
    if array.dtype == object:
        kinds = {type(value).__name__ for value in array.tolist()}
        if len(kinds) > 1:
            raise ValueError(f"{name} must hold values of one type. Got {sorted(kinds)} instead.")
        array = np.array(array.tolist())
        if array.shape != (length,) or array.dtype == object:
            raise ValueError(f"{name} must hold numbers, strings or dates. Got {kinds} instead.")
    missing = np.flatnonzero(array != array)
    if missing.size:
        raise ValueError(f"{name} must not be missing. Entry {missing[0]} is {array[missing[0]]}.")
    return array


def first_repeated(values: NDArray[Any]) -> Any:
    """The smallest value that occurs twice, or None."""
    ordered = np.sort(values)
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[repeated[0]].item() if repeated.size else None


def checked_features(values: Any) -> NDArray[Any]:
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
        try:
            features = features.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Features must be numbers: {error}.") from None
    # A finite sum proves every value finite without a temporary the size of the table.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(features.sum())
    if not finite and (infinite := np.argwhere(np.isinf(features))).size:
        row, column = infinite[0]
        raise ValueError(
            f"Features must be finite, or NaN where missing. "
            f"Row {row}, column {column} is {features[row, column]}."
        )
    return np.ascontiguousarray(features)


def checked_relevance(values: Any, n_documents: int) -> NDArray[np.float64]:
    """Labels as float64, finite, 0 or larger."""
    relevance = checked_ids(values, n_documents, "relevance", "document")
    try:
        relevance = relevance.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Relevance labels must be numbers. Got {relevance.dtype} instead."
        ) from None
    if (wrong := np.flatnonzero(~(np.isfinite(relevance) & (relevance >= 0)))).size:
        raise ValueError(
            f"Relevance labels must be 0 or larger. Document {wrong[0]} has "
            f"{relevance[wrong[0]]:g}. If negative labels mean not relevant, pass "
            f"np.maximum(y, 0)."
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


def checked_order(values: Any, n_documents: int) -> NDArray[np.int64] | None:
    """A permutation of the rows, or None."""
    if values is None:
        return None
    order = np.asarray(values, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n_documents)):
        raise ValueError("input_order must be a permutation of the rows.")
    return order
