"""The order of a feature's values among the documents of a query.

Kernels here are called for every feature of every query. They take whole arrays and the numbers
of rows: a view of a row, made and dropped, would cost as much as a short list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel
from localrank._kernels.sorting import sort_rows

# Lists up to this length are ordered by counting, longer ones by intervals.
_SHORT = 128
# Counts are taken of so many values at a time.
_LANES = 16
# Intervals per value, and places per value to move before values are sorted by comparisons.
_INTERVALS, _MAX_MOVES = 2, 8

# Rows of numbers: the share of each value, how far it lies from the smallest, 0, to the largest, 1;
# the shares in ascending order; half of each whole number, divided by the length of the list.
SHARES, ORDERED, _HALVES = 0, 1, 2
# Rows of whole numbers.
_ORDER, _PLACES, _STARTS = 0, 1, 2


class Room(NamedTuple):
    """Room for the order of one list of values."""

    numbers: Floats
    integers: Integers
    keys: NDArray[np.float32]
    counts: NDArray[np.int32]


@inner_kernel(error_model="numpy")
def room_for(n: int) -> Room:
    """Room for lists of at most `n` values."""
    return Room(
        np.empty((3, _INTERVALS * n + 1)),
        np.empty((3, _INTERVALS * n + 1), np.int64),
        np.empty(n + _LANES, np.float32),
        np.empty(n + _LANES, np.int32),
    )


@inner_kernel(error_model="numpy")
def prepare(room: Room, n: int) -> None:
    """Make the room ready for lists of length `n`."""
    for i in range(2 * n + 1):
        room.numbers[_HALVES, i] = 0.5 * i / n


# Values are numbers and zeros are equal, which lets several be compared at a time.
@inner_kernel(error_model="numpy", fastmath={"nnan", "nsz"})
def half_bounds(values: Floats, row: int) -> tuple[float, float]:
    """Half the smallest value of a row and half the largest, whose difference is no overflow."""
    low = high = values[row, 0]
    for i in range(1, values.shape[1]):
        low, high = min(low, values[row, i]), max(high, values[row, i])
    return 0.5 * low, 0.5 * high


@inner_kernel(error_model="numpy")
def percentiles(
    values: Floats, row: int, low: float, unit: float, room: Room, result: Floats, to: int
) -> None:
    """Fill a row with the ranks of another's values from below, over their number.

    Equal values share their mean rank. Leaves the shares in the room, as they are and in order.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n)
        Without NaN.
    row : int
    low, unit : float
        Half the smallest value, and half the largest less that, which must be positive.
    room : Room
        Prepared for lists of length `n`.
    result : ndarray of shape (n_rows, n)
    to : int
    """
    n = values.shape[1]
    numbers, integers = room.numbers, room.integers
    for i in range(n):
        numbers[SHARES, i] = (0.5 * values[row, i] - low) / unit
    if n <= _SHORT and _order_by_counts(
        values, row, numbers, integers, room.keys, room.counts, result, to
    ):
        return
    if not _order_by_intervals(values, row, numbers, integers):
        sort_rows(values[row], 0, n, integers[_PLACES], integers[_STARTS])
        for i in range(n):
            integers[_ORDER, i] = integers[_PLACES, n - 1 - i]
            numbers[ORDERED, i] = values[row, integers[_ORDER, i]]
    one, begin = np.uintp(1), np.uintp(0)
    while begin < np.uintp(n):
        end = begin + one
        while end < np.uintp(n) and numbers[ORDERED, end] == numbers[ORDERED, begin]:
            end += one
        rank = numbers[_HALVES, begin + end + one]
        for place in range(begin, end):
            result[to, np.uintp(integers[_ORDER, place])] = rank
        begin = end
    for i in range(n):
        numbers[ORDERED, i] = (0.5 * numbers[ORDERED, i] - low) / unit


@inner_kernel(error_model="numpy")
def _order_by_counts(
    values: Floats,
    row: int,
    numbers: Floats,
    integers: Integers,
    keys: NDArray[np.float32],
    counts: NDArray[np.int32],
    result: Floats,
    to: int,
) -> bool:
    """Fill percentiles and ordered shares; False where shares of 32 bits do not tell them apart.

    The place of a value is the number of smaller ones. That takes n² comparisons, but no branch
    that depends on the values, and several are made in one instruction.
    """
    n = values.shape[1]
    padded = n + -n % _LANES
    for i in range(n):
        keys[i] = numbers[SHARES, i]
        integers[_ORDER, i] = -1
    for i in range(n, padded):
        keys[i] = np.inf
    for i in range(padded):
        counts[i] = 0
    for j in range(0, n, 4):
        a, b, c, d = keys[j], keys[j + 1], keys[j + 2], keys[j + 3]
        for i in range(padded):
            key = keys[i]
            below = np.int32(a < key) + np.int32(b < key)
            counts[i] += below + np.int32(c < key) + np.int32(d < key)
    total = 0
    for i in range(n):
        total += counts[i]
        integers[_ORDER, np.uintp(counts[i])] = i
    if total == n * (n - 1) // 2:
        for i in range(n):
            place = np.uintp(counts[i])
            numbers[ORDERED, place] = numbers[SHARES, i]
            result[to, i] = numbers[_HALVES, np.uintp(2) * place + np.uintp(2)]
        return True
    # Equal values have one place: those up to the next that is taken are theirs, too.
    end = n
    for at in range(n - 1, -1, -1):
        integers[_PLACES, at] = end
        end = at if integers[_ORDER, at] >= 0 else end
    owner = 0
    for at in range(n):
        owner = integers[_ORDER, at] if integers[_ORDER, at] >= 0 else owner
        numbers[ORDERED, at] = numbers[SHARES, np.uintp(owner)]
    n_wrong = 0
    for i in range(n):
        place = np.uintp(counts[i])
        n_wrong += values[row, np.uintp(integers[_ORDER, place])] != values[row, i]
        result[to, i] = numbers[_HALVES, place + np.uintp(integers[_PLACES, place] + 1)]
    return n_wrong == 0


@inner_kernel(error_model="numpy")
def _order_by_intervals(values: Floats, row: int, numbers: Floats, integers: Integers) -> bool:
    """Fill the order of values, and the values in it; False where it would take too long.

    Values are put into equal intervals between the smallest and the largest, then moved to their
    places among the few of an interval. Outliers leave most of the others in one.
    """
    n = values.shape[1]
    n_intervals = _INTERVALS * n
    for i in range(n_intervals + 1):
        integers[_STARTS, i] = 0
    for i in range(n):
        integers[_PLACES, i] = int(numbers[SHARES, i] * (n_intervals - 1))
    for i in range(n):
        integers[_STARTS, np.uintp(integers[_PLACES, i] + 1)] += 1
    total = 0
    for i in range(n_intervals):
        total += integers[_STARTS, i + 1]
        integers[_STARTS, i + 1] = total
    for i in range(n):
        interval = np.uintp(integers[_PLACES, i])
        to = np.uintp(integers[_STARTS, interval])
        integers[_STARTS, interval] += 1
        integers[_ORDER, to], numbers[ORDERED, to] = i, values[row, i]
    moves_left = _MAX_MOVES * n
    for i in range(1, n):
        value = numbers[ORDERED, i]
        if numbers[ORDERED, i - 1] <= value:
            continue
        owner, place = integers[_ORDER, i], i
        while place > 0 and numbers[ORDERED, place - 1] > value:
            integers[_ORDER, place] = integers[_ORDER, place - 1]
            numbers[ORDERED, place] = numbers[ORDERED, place - 1]
            place -= 1
        integers[_ORDER, place], numbers[ORDERED, place] = owner, value
        moves_left -= i - place
        if moves_left < 0:
            return False
    return True
