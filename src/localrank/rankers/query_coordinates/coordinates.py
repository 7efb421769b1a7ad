"""Documents in the coordinates of their query: deviations, percentiles and their consensus."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only, sort_rows
from localrank.rankers.query_coordinates.first_component import first_component

N_AGGREGATES = 9
# Values of a column whose range is so many roundings of the largest count as equal.
_ROUNDINGS = 4
# Bounds of a deviation from the median.
_MOST = 20.0
# Of a normal distribution, the standard deviation in units of the median absolute one.
_NORMAL = 1.4826
# The rank at which a document counts half in the mean of 10 / (10 + documents ranked above).
_HALF_RANK = 10.0
# Components and means are multiples of this, so that values equal but for rounding are equal.
_GRID = 2.0**-32


def coordinates(features: Array, offsets: Integers, parts: str) -> Array:
    """The features, then their coordinates, as columns of one table of the same precision.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Without NaN.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.
    parts : str
        Letters of the blocks after the features, in the order of the columns: z, deviations from
        the mean; p, percentiles; b, deviations from the median; each with one column per feature;
        and a, nine aggregates.

    Examples
    --------
    >>> features = np.array([[1.0], [3.0], [3.0], [5.0]])
    >>> coordinates(features, np.array([0, 4]), "zp").round(3)
    array([[ 1.   , -1.414,  0.25 ],
           [ 3.   ,  0.   ,  0.625],
           [ 3.   ,  0.   ,  0.625],
           [ 5.   ,  1.414,  1.   ]])
    """
    width = features.shape[1]
    begins, n_columns = np.full(4, -1), width
    for part in parts:
        begins["zpba".index(part)] = n_columns
        n_columns += N_AGGREGATES if part == "a" else width
    table = np.empty((len(features), n_columns), features.dtype)
    _fill(
        read_only(features, features.dtype),
        read_only(offsets, np.int64),
        read_only(begins, np.int64),
        _ROUNDINGS * float(np.finfo(features.dtype).eps),
        table,
    )
    return table


@kernel
def _fill(
    features: Array, offsets: Integers, begins: Integers, resolution: float, table: Array
) -> None:
    width = features.shape[1]
    longest = np.diff(offsets).max()
    rooms = np.empty((3, width * longest))
    aggregates_room = np.empty(N_AGGREGATES * longest)
    values, ordered = np.empty(longest), np.empty(longest)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    varying = np.empty(width, np.int64)
    for query in range(len(offsets) - 1):
        first, n = offsets[query], offsets[query + 1] - offsets[query]
        z = rooms[0, : width * n].reshape(width, n)
        p = rooms[1, : width * n].reshape(width, n)
        b = rooms[2, : width * n].reshape(width, n)
        n_varying = 0
        for column in range(width):
            for i in range(n):
                values[i] = features[first + i, column]
            if _column(
                values[:n],
                resolution,
                order[:n],
                spare,
                ordered[:n],
                z[column],
                p[column],
                b[column],
            ):
                varying[n_varying] = column
                n_varying += 1
        for i in range(n):
            row = table[first + i]
            for column in range(width):
                row[column] = features[first + i, column]
        for part in range(3):
            if begins[part] >= 0:
                block = rooms[part, : width * n].reshape(width, n)
                _write(block, table, first, begins[part])
        if begins[3] >= 0:
            aggregates = aggregates_room[: N_AGGREGATES * n].reshape(N_AGGREGATES, n)
            _aggregate(z, p, varying[:n_varying], order[:n], spare, aggregates)
            _write(aggregates, table, first, begins[3])


@kernel
def _write(block: Floats, table: Array, first: int, begin: int) -> None:
    for i in range(block.shape[1]):
        row = table[first + i]
        for column in range(len(block)):
            row[begin + column] = block[column, i]


@kernel
def _column(
    values: Floats,
    resolution: float,
    order: Integers,
    spare: Integers,
    ordered: Floats,
    z: Floats,
    p: Floats,
    b: Floats,
) -> bool:
    """Fill the coordinates of one feature of a query; whether it varies there.

    Sums run over values in their order, so that they do not depend on that of the documents.
    """
    n = len(values)
    low, high = values[0], values[0]
    for i in range(1, n):
        low, high = min(low, values[i]), max(high, values[i])
    # Halves, because the difference of two numbers may be too large for a number.
    low, high = 0.5 * low, 0.5 * high
    unit = high - low
    if unit <= resolution * abs(high):
        z[:], p[:], b[:] = 0.0, 0.5 * (n + 1) / n, 0.0
        return False
    _percentiles(values, order, spare, p)
    for i in range(n):
        values[i] = (0.5 * values[i] - low) / unit
    for i in range(n):
        ordered[i] = values[order[n - 1 - i]]
    mean = 0.0
    for i in range(n):
        mean += ordered[i]
    mean /= n
    variance = 0.0
    for i in range(n):
        variance += (ordered[i] - mean) ** 2
    deviation = np.sqrt(variance / n)
    middle = 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
    scale = _NORMAL * _median_deviation(ordered, middle) + 0.1 * deviation
    for i in range(n):
        z[i] = (values[i] - mean) / deviation
        b[i] = min(max((values[i] - middle) / scale, -_MOST), _MOST)
    return True


@kernel
def _percentiles(values: Floats, order: Integers, spare: Integers, p: Floats) -> None:
    """The rank of each value from below over their number; equal ones share their mean rank."""
    n = len(values)
    sort_rows(values, 0, n, order, spare)
    end = 0
    while end < n:
        begin, end = end, end + 1
        while end < n and values[order[end]] == values[order[begin]]:
            end += 1
        for place in range(begin, end):
            p[order[place]] = (n - 0.5 * (begin + end - 1)) / n


@kernel
def _median_deviation(ordered: Floats, middle: float) -> float:
    """The median distance of ascending values from their median, taking the nearest in turn."""
    n = len(ordered)
    below, above = (n - 1) // 2, (n - 1) // 2 + 1
    last = distance = 0.0
    for _ in range(n // 2 + 1):
        last = distance
        if above == n or (below >= 0 and middle - ordered[below] <= ordered[above] - middle):
            distance = middle - ordered[below]
            below -= 1
        else:
            distance = ordered[above] - middle
            above += 1
    return distance if n % 2 else 0.5 * (last + distance)


@kernel
def _aggregate(
    z: Floats, p: Floats, varying: Integers, order: Integers, spare: Integers, result: Floats
) -> None:
    """Fill the nine aggregates of a query, one per row."""
    width, n = len(varying), z.shape[1]
    neutral = 0.5 * (n + 1) / n
    if width == 0:
        for row in range(N_AGGREGATES):
            result[row] = 0.0 if row in (4, 6, 8) else neutral
        result[2] = _HALF_RANK / (_HALF_RANK + n * (1.0 - neutral))
        return
    result[:] = 0.0
    mean, early, spread = result[0], result[2], result[8]
    for column in varying:
        for i in range(n):
            mean[i] += p[column, i]
            early[i] += _HALF_RANK / (_HALF_RANK + n * (1.0 - p[column, i]))
    for i in range(n):
        mean[i] /= width
        early[i] /= width
    for column in varying:
        for i in range(n):
            spread[i] += (p[column, i] - mean[i]) ** 2
    for i in range(n):
        spread[i] = np.sqrt(spread[i] / width)
    centred = np.empty((width, n))
    for i in range(width):
        for j in range(n):
            centred[i, j] = p[varying[i], j] - neutral
    first_component(centred, result[4])
    for i in range(width):
        for j in range(n):
            centred[i, j] = z[varying[i], j]
    first_component(centred, result[6])
    for row in range(0, N_AGGREGATES, 2):
        for i in range(n):
            result[row, i] = np.rint(result[row, i] / _GRID) * _GRID
        if row < 8:
            _percentiles(result[row], order, spare, result[row + 1])
