"""The coordinates of documents that miss some of their features."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import read_only
from localrank.data._offsets import offsets_of, rows_of
from localrank.rankers.query_coordinates._coordinates import (
    HALF_RANK,
    LANES,
    N_AGGREGATES,
    coordinates,
    layout,
    rank_aggregates,
)
from localrank.rankers.query_coordinates._first_component import first_component
from localrank.rankers.query_coordinates._ranks import prepare, room_for


def coordinates_of_present(features: Array, offsets: Integers, parts: str) -> Array:
    """The table of `coordinates`, for features with NaN where a value is missing.

    What is present is described among what is present in the query. A missing value has missing
    coordinates.

    Examples
    --------
    >>> features = np.array([[1.0], [np.nan], [3.0], [5.0]])
    >>> coordinates_of_present(features, np.array([0, 4]), "zp").round(3)
    array([[ 1.   , -1.225,  0.333],
           [   nan,    nan,    nan],
           [ 3.   ,  0.   ,  0.667],
           [ 5.   ,  1.225,  1.   ]])
    """
    width = features.shape[1]
    missing = np.isnan(features)
    filled = np.where(missing, features.dtype.type(0), features)
    table = coordinates(filled, offsets, parts)
    table[:, :width][missing] = np.nan
    columns = np.flatnonzero(missing.any(axis=0))
    z, p, b = _of_lists(features[:, columns].T, ~missing[:, columns].T, offsets)
    begins, _ = layout(width, parts)
    for begin, block in zip(begins.tolist(), (z, p, b), strict=False):
        if begin >= 0:
            table[:, begin + columns] = block.T
    if begins[3] >= 0:
        queries = np.flatnonzero(np.add.reduceat(missing.any(axis=1), offsets[:-1]))
        rows, own = rows_of(offsets, queries)
        all_z, all_p = np.split(coordinates(filled[rows], own, "zp")[:, width:], 2, axis=1)
        all_z[:, columns], all_p[:, columns] = z.T[rows], p.T[rows]
        aggregates = np.empty((len(rows), N_AGGREGATES))
        _aggregate_present(
            np.ascontiguousarray(all_z, np.float64),
            np.ascontiguousarray(all_p, np.float64),
            read_only(own, np.int64),
            aggregates,
        )
        table[rows, begins[3] : begins[3] + N_AGGREGATES] = aggregates
    return table


def _of_lists(values: Array, present: Flags, offsets: Integers) -> tuple[Array, Array, Array]:
    """z, p and b of each row's values in each query, NaN where they are missing."""
    n_columns, n_documents = values.shape
    begins = (n_documents * np.arange(n_columns)[:, None] + offsets[:-1]).ravel()
    sizes = np.add.reduceat(present.ravel(), begins, dtype=np.int64)
    z, p, b = np.full((3, n_columns, n_documents), np.nan, values.dtype)
    if present.any():
        # Every list of values present is a query of its own.
        lists = coordinates(values[present][:, None], offsets_of(sizes[sizes > 0]), "zpb")
        z[present], p[present], b[present] = lists[:, 1:].T
    return z, p, b


@kernel(error_model="numpy")
def _aggregate_present(z: Floats, p: Floats, offsets: Integers, table: Floats) -> None:
    """Fill the nine aggregates of each document; z and p are NaN where a value is missing."""
    width, longest = z.shape[1], longest_query(offsets)
    room, aggregates = room_for(longest), np.empty(N_AGGREGATES * longest)
    varying, centres = np.empty(width, np.int64), np.empty(width)
    for query in range(len(offsets) - 1):
        first, n = offsets[query], offsets[query + 1] - offsets[query]
        result = aggregates[: N_AGGREGATES * n].reshape(N_AGGREGATES, n)
        result[:] = 0.0
        n_varying = 0
        for column in range(width):
            n_present, varies = 0, False
            for i in range(first, first + n):
                if not np.isnan(z[i, column]):
                    n_present += 1
                    varies |= z[i, column] != 0.0
            if varies:
                varying[n_varying], n_varying = column, n_varying + 1
                centres[column] = 0.5 * (n_present + 1) / n_present
        for i in range(n):
            _fill_means(p[first + i], varying[:n_varying], n, result, i)
        if n_varying > 0:
            padded = n + -n % LANES
            centred, scores = np.zeros((n_varying, padded)), np.empty(padded)
            for row in range(n_varying):
                column = varying[row]
                for i in range(n):
                    if not np.isnan(p[first + i, column]):
                        centred[row, i] = p[first + i, column] - centres[column]
            first_component(centred, scores)
            result[4] = scores[:n]
            for row in range(n_varying):
                for i in range(n):
                    value = z[first + i, varying[row]]
                    centred[row, i] = 0.0 if np.isnan(value) else value
            first_component(centred, scores)
            result[6] = scores[:n]
        prepare(room, n)
        rank_aggregates(room, result)
        for i in range(n):
            for row in range(N_AGGREGATES):
                table[first + i, row] = result[row, i]


@inner_kernel(error_model="numpy")
def _fill_means(p: Floats, varying: Integers, n: int, result: Floats, i: int) -> None:
    """The mean percentile, reciprocal rank fusion and spread of a document's percentiles."""
    neutral, n_present = 0.5 * (n + 1) / n, 0
    mean = early = spread = 0.0
    for column in varying:
        if not np.isnan(p[column]):
            n_present += 1
            mean += p[column]
            early += HALF_RANK / (HALF_RANK + n * (1.0 - p[column]))
    if n_present == 0:
        result[0, i], result[2, i] = neutral, HALF_RANK / (HALF_RANK + n * (1.0 - neutral))
        return
    mean /= n_present
    for column in varying:
        if not np.isnan(p[column]):
            spread += (p[column] - mean) ** 2
    result[0, i], result[2, i] = mean, early / n_present
    result[8, i] = np.sqrt(spread / n_present)
