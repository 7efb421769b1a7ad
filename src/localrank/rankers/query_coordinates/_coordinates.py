"""Documents in the coordinates of their query: deviations, percentiles and their consensus."""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import read_only
from localrank.rankers.query_coordinates._first_component import first_component
from localrank.rankers.query_coordinates._ranks import (
    ORDERED,
    SHARES,
    Room,
    half_bounds,
    percentiles,
    prepare,
    room_for,
)

N_AGGREGATES = 9
# The parts that most rankers ask for, in the order of their columns.
SHARED_PARTS = "zpab"
# Values of a column whose range is four roundings of the largest count as equal.
_RESOLUTIONS = {kind: 4 * float(np.finfo(kind).eps) for kind in "df"}
# Bounds of a deviation from the median.
_MAX_DEVIATION = 20.0
# Of a normal distribution, the standard deviation in units of the median absolute one.
_NORMAL = 1.4826
# The rank at which a document counts half in the mean of 10 / (10 + documents ranked above).
HALF_RANK = 10.0
# Components and means are multiples of this, so that values equal but for rounding are equal.
_GRID = 2.0**-32
# Numbers that a processor adds up at a time, or a multiple of that.
LANES = 16
# Columns copied at a time: as many numbers as the processor reads from memory at once.
_TILE = 8


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
    begins, n_columns = layout(features.shape[1], parts)
    table = np.empty((len(features), n_columns), features.dtype)
    _fill(
        read_only(features, features.dtype),
        read_only(offsets, np.int64),
        begins,
        _RESOLUTIONS[features.dtype.char],
        table,
    )
    return table


class _Shared(threading.local):
    """Whether rankers of this thread share a table, and the table with what it is made of."""

    is_open = False
    made: tuple[Array, Integers, Array] | None = None


_shared = _Shared()


class SharedCoordinates:
    """A scope in which the coordinates of the same documents are made once for all rankers.

    Other threads do not take part. The last table is kept until the outermost scope ends.

    Examples
    --------
    >>> features, offsets = np.array([[1.0], [3.0]]), np.array([0, 2])
    >>> with SharedCoordinates():
    ...     table = shared_coordinates(features, offsets, "zp")
    ...     shared_coordinates(features, offsets, "zpab") is table
    True
    """

    def __enter__(self) -> None:
        self._is_outermost = not _shared.is_open
        _shared.is_open = True

    def __exit__(self, *_: object) -> None:
        if self._is_outermost:
            _shared.is_open, _shared.made = False, None


def shared_coordinates(features: Array, offsets: Integers, parts: str) -> Array:
    """`coordinates` with these parts or more of them, which do not move the first columns.

    Parameters
    ----------
    features, offsets
        As for `coordinates`, and read-only: they are known by being the same arrays.
    parts : str
        The beginning of "zpab".
    """
    if not _shared.is_open:
        return coordinates(features, offsets, parts)
    made = _shared.made
    if made is None or made[0] is not features or made[1] is not offsets:
        made = _shared.made = (features, offsets, coordinates(features, offsets, SHARED_PARTS))
    return made[2]


# Serving asks for the same layout list after list.
@lru_cache(maxsize=8)
def layout(width: int, parts: str) -> tuple[Array, int]:
    """Where the columns of z, p, b and a begin, -1 for none, and the number of columns."""
    begins, n_columns = np.full(4, -1), width
    for part in parts:
        begins["zpba".index(part)] = n_columns
        n_columns += N_AGGREGATES if part == "a" else width
    return read_only(begins, np.int64), n_columns


@kernel(error_model="numpy")
def _fill(
    features: Array, offsets: Integers, begins: Integers, resolution: float, table: Array
) -> None:
    width = features.shape[1]
    longest = longest_query(offsets)
    columns_room, aggregates_room = np.empty((4, width * longest)), np.empty(N_AGGREGATES * longest)
    room = room_for(longest)
    varying = np.empty(width, np.int64)
    for query in range(len(offsets) - 1):
        first, n = offsets[query], offsets[query + 1] - offsets[query]
        x = columns_room[0, : width * n].reshape(width, n)
        z = columns_room[1, : width * n].reshape(width, n)
        p = columns_room[2, : width * n].reshape(width, n)
        b = columns_room[3, : width * n].reshape(width, n)
        _read(features, first, x, table)
        prepare(room, n)
        n_varying = 0
        for column in range(width):
            if _fill_column(x, column, resolution, room, z, p, b):
                varying[n_varying] = column
                n_varying += 1
        for part in range(3):
            if begins[part] >= 0:
                block = columns_room[1 + part, : width * n].reshape(width, n)
                _write(block, table, first, begins[part])
        if begins[3] >= 0:
            aggregates = aggregates_room[: N_AGGREGATES * n].reshape(N_AGGREGATES, n)
            _aggregate(z, p, varying[:n_varying], room, aggregates)
            _write(aggregates, table, first, begins[3])


# Places are numbers without sign: numba would ask of others whether they are negative.
@inner_kernel(error_model="numpy")
def _read(features: Array, first: int, columns: Floats, table: Array) -> None:
    """Copy the features of a query's documents, by column and into the table."""
    width, n, top = np.uintp(columns.shape[0]), np.uintp(columns.shape[1]), np.uintp(first)
    last = width - width % np.uintp(_TILE)
    for i in range(n):
        for column in range(width):
            table[top + i, column] = features[top + i, column]
    for left in range(np.uintp(0), last, np.uintp(_TILE)):
        for i in range(n):
            for k in range(np.uintp(_TILE)):
                columns[left + k, i] = features[top + i, left + k]
    for column in range(last, width):
        for i in range(n):
            columns[column, i] = features[top + i, column]


@inner_kernel(error_model="numpy")
def _write(block: Floats, table: Array, first: int, begin: int) -> None:
    width, n, top = np.uintp(block.shape[0]), np.uintp(block.shape[1]), np.uintp(first)
    last, to = width - width % np.uintp(_TILE), np.uintp(begin)
    for left in range(np.uintp(0), last, np.uintp(_TILE)):
        for i in range(n):
            for k in range(np.uintp(_TILE)):
                table[top + i, to + left + k] = block[left + k, i]
    for column in range(last, width):
        for i in range(n):
            table[top + i, to + column] = block[column, i]


@inner_kernel(error_model="numpy")
def _fill_column(
    x: Floats, column: int, resolution: float, room: Room, z: Floats, p: Floats, b: Floats
) -> bool:
    """Fill the coordinates of one feature of a query; whether it varies there.

    Sums run over values in their order, so that they do not depend on that of the documents.
    """
    n = x.shape[1]
    low, high = half_bounds(x, column)
    unit = high - low
    if unit <= resolution * abs(high):
        neutral = 0.5 * (n + 1) / n
        for i in range(n):
            z[column, i], p[column, i], b[column, i] = 0.0, neutral, 0.0
        return False
    percentiles(x, column, low, unit, room, p, column)
    numbers = room.numbers
    mean = _total(numbers, ORDERED, n) / n
    for i in range(n):
        b[column, i] = (numbers[ORDERED, i] - mean) ** 2
    deviation = np.sqrt(_total(b, column, n) / n)
    middle = 0.5 * (numbers[ORDERED, (n - 1) // 2] + numbers[ORDERED, n // 2])
    scale = _NORMAL * _median_deviation(numbers, n, middle) + 0.1 * deviation
    per_deviation, per_scale = 1.0 / deviation, 1.0 / scale
    for i in range(n):
        z[column, i] = (numbers[SHARES, i] - mean) * per_deviation
        b[column, i] = min(
            max((numbers[SHARES, i] - middle) * per_scale, -_MAX_DEVIATION), _MAX_DEVIATION
        )
    return True


@inner_kernel(error_model="numpy")
def _total(values: Floats, row: int, n: int) -> float:
    """The sum of a row's first values, of four sums that do not wait for each other."""
    a = b = c = d = 0.0
    last = n - n % 4
    for i in range(0, last, 4):
        a += values[row, i]
        b += values[row, i + 1]
        c += values[row, i + 2]
        d += values[row, i + 3]
    for i in range(last, n):
        a += values[row, i]
    return (a + b) + (c + d)


@inner_kernel(error_model="numpy")
def _median_deviation(numbers: Floats, n: int, middle: float) -> float:
    """The median distance of the ordered values from their median."""
    distance = _distance_of_nearest(numbers, n, middle, n // 2 + 1)
    if n % 2:
        return distance
    return 0.5 * (_distance_of_nearest(numbers, n, middle, n // 2) + distance)


@inner_kernel(error_model="numpy", fastmath={"nnan", "nsz"})
def _distance_of_nearest(numbers: Floats, n: int, middle: float, n_nearest: int) -> float:
    """The distance within which so many values lie: of all neighbours the nearest."""
    distance, further = np.inf, np.uintp(n_nearest - 1)
    for i in range(np.uintp(n) - further):
        last = numbers[ORDERED, i + further]
        distance = min(distance, max(middle - numbers[ORDERED, i], last - middle))
    return distance


@inner_kernel(error_model="numpy")
def _aggregate(z: Floats, p: Floats, varying: Integers, room: Room, result: Floats) -> None:
    """Fill the nine aggregates of a query, one per row."""
    width, n = len(varying), z.shape[1]
    neutral = 0.5 * (n + 1) / n
    if width == 0:
        for row in range(N_AGGREGATES):
            result[row] = 0.0 if row in (4, 6, 8) else neutral
        result[2] = HALF_RANK / (HALF_RANK + n * (1.0 - neutral))
        return
    result[:] = 0.0
    mean, early, spread = result[0], result[2], result[8]
    for column in varying:
        for i in range(n):
            mean[i] += p[column, i]
            early[i] += HALF_RANK / (HALF_RANK + n * (1.0 - p[column, i]))
    for i in range(n):
        mean[i] /= width
        early[i] /= width
    for column in varying:
        for i in range(n):
            spread[i] += (p[column, i] - mean[i]) ** 2
    for i in range(n):
        spread[i] = np.sqrt(spread[i] / width)
    # Documents without features at the end change nothing, and whole lanes take less time.
    padded = n + -n % LANES
    centred, scores = np.zeros((width, padded)), np.empty(padded)
    for i in range(width):
        for j in range(n):
            centred[i, j] = p[varying[i], j] - neutral
    first_component(centred, scores)
    for i in range(n):
        result[4, i] = scores[i]
    for i in range(width):
        for j in range(n):
            centred[i, j] = z[varying[i], j]
    first_component(centred, scores)
    for i in range(n):
        result[6, i] = scores[i]
    rank_aggregates(room, result)


@inner_kernel(error_model="numpy")
def rank_aggregates(room: Room, result: Floats) -> None:
    """Fill the percentiles after each aggregate that has them."""
    n = result.shape[1]
    neutral = 0.5 * (n + 1) / n
    for row in range(0, N_AGGREGATES, 2):
        for i in range(n):
            result[row, i] = np.rint(result[row, i] / _GRID) * _GRID
        if row < 8:
            low, high = half_bounds(result, row)
            if low < high:
                percentiles(result, row, low, high - low, room, result, row + 1)
            else:
                result[row + 1] = neutral
