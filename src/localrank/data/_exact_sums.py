"""Sums without rounding: the same for any order and any partition of the numbers.

A number in double precision is a whole number of 53 bits times a power of two. The whole numbers
with the same power are added up, and their sums are put together as integers of any length: only
the end result is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from localrank._base.arrays import Floats

# All numbers in double precision are multiples of 2 to the minus this.
_FINEST = 1074
# How a number is stored: the bits of its fraction, and a mask for those of its exponent.
_FRACTION, _EXPONENT = 52, 0x7FF
# The lower bits of a whole number of 53, which is added up in two parts.
_LOW = 26
# Rows that are added up in one step: few enough to stay in the cache, and for the sums of both
# parts to stay below 2^53.
_ROWS = 2**13


class ExactSums:
    """The exact sums of columns.

    Examples
    --------
    >>> sums = ExactSums.of(np.array([[1e100, 0.1], [1.0, 0.2], [-1e100, 0.3]]))
    >>> sums.rounded(), (sums + sums).rounded()
    (array([1. , 0.6]), array([2. , 1.2]))
    >>> sums.rounded(3)
    array([0.33333333, 0.2       ])
    """

    def __init__(self, totals: list[int]) -> None:
        self.totals = totals

    @classmethod
    def of(cls, values: Floats) -> ExactSums:
        """The sums of finite numbers, of shape (n_rows, n_columns)."""
        totals = [0] * values.shape[1]
        for begin in range(0, len(values), _ROWS):
            for column, total in enumerate(_integer_sums(values[begin : begin + _ROWS])):
                totals[column] += total
        return cls(totals)

    def __add__(self, other: ExactSums) -> ExactSums:
        return ExactSums([a + b for a, b in zip(self.totals, other.totals, strict=True)])

    def rounded(self, divisor: int = 1) -> Floats:
        """The sums, or the quotients by a whole number, each the nearest in double precision."""
        unit = divisor << _FINEST
        return np.array([total / unit for total in self.totals], dtype=np.float64)


def added(sums: Iterable[ExactSums]) -> ExactSums:
    """The sum of one or more.

    Examples
    --------
    >>> added(ExactSums.of(np.array([[value]])) for value in (0.1, 0.2, 0.3)).rounded()
    array([0.6])
    """
    first, *others = sums
    for other in others:
        first = first + other
    return first


def _integer_sums(values: Floats) -> list[int]:
    """The sums in units of the finest number."""
    n_columns = values.shape[1]
    if not values.size:
        return [0] * n_columns
    stored = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    exponents = (stored >> _FRACTION) & _EXPONENT
    # The leading bit is left out where the exponent is not 0.
    numbers = (stored & (2**_FRACTION - 1)) + ((exponents > 0).astype(np.int64) << _FRACTION)
    powers = np.maximum(exponents, 1) - 1
    lowest = int(powers.min())
    n_powers = int(powers.max()) - lowest + 1
    cells = ((powers - lowest) * n_columns + np.arange(n_columns)).ravel()
    sums = np.empty((n_powers, n_columns, 2), np.int64)
    for part, bits in enumerate((numbers >> _LOW, numbers & (2**_LOW - 1))):
        signed = np.copysign(bits.astype(np.float64), values).ravel()
        sums[..., part] = np.bincount(cells, signed, n_powers * n_columns).reshape(n_powers, -1)
    totals = [0] * n_columns
    powers, columns = np.nonzero(sums.any(axis=2))
    cells = zip(powers.tolist(), columns.tolist(), *sums[powers, columns].T.tolist(), strict=True)
    for power, column, high, low in cells:
        totals[column] += ((high << _LOW) + low) << (lowest + power)
    return totals
