"""Numbers in text to floats, rounded as Python's `float` rounds them.

A plain number is taken 32 bytes at a time without a loop and without a branch that depends on
its digits. Above 2^53 arithmetic in twice the precision tells whether the rounding is certain;
the few numbers where it is not are left to Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._kernels import compilation
from localrank._kernels.instructions import (
    blanks_at,
    byte_at,
    fma,
    no_digits_at,
    points_at,
    trailing_zeros,
    word_at,
)

# Kernels that read text by address: there is no index to check.
kernel = compilation.kernel(boundscheck=False, error_model="numpy")
inner_kernel = compilation.inner_kernel(boundscheck=False, error_model="numpy")
inlined = compilation.inner_kernel(boundscheck=False, error_model="numpy", forceinline=True)

ZERO, NINE, DOT, MINUS, PLUS = (ord(c) for c in "09.-+")
# Outcomes of reading a number.
NUMBER, UNSURE, NO_NUMBER = range(3)

# The largest label or value allowed in data, of either sign: sums of squares stay finite, over
# any number of documents. All of float32 lies below.
MAX_MAGNITUDE = 1e100

_SMALL_E, _LARGE_E = ord("e"), ord("E")

_ASCII_ZEROS = np.uint64(0x3030303030303030)
_TEN_8, _TEN_16 = np.uint64(10**8), np.uint64(10**16)
_EXACT = np.uint64(2**53)
_JOIN_1, _JOIN_2 = np.uint64(10 * 2**8 + 1), np.uint64(10**2 * 2**16 + 1)
_JOIN_4 = np.uint64(10**4 * 2**32 + 1)
_EVEN_BYTES, _EVEN_PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)

# _TOP[16 + n] keeps the last n bytes of a word of eight, for any n from -16 to 31.
_TOP = np.array(
    [(2**64 - 1) << 8 * (8 - min(max(n, 0), 8)) & (2**64 - 1) for n in range(-16, 32)],
    dtype=np.uint64,
)
# Powers of ten as the sum of two floats; up to 10^22 the first alone is exact.
_MAX_POWER = 280
_POWER = np.array([float(10**k) for k in range(_MAX_POWER + 1)])
_POWER_REST = np.array([float(10**k - int(float(10**k))) for k in range(_MAX_POWER + 1)])
# _DIVISOR[32 + n] is -10^n: the sign of a number without a branch.
_DIVISOR = np.concatenate([_POWER[:32], -_POWER[:32]])
# Larger exponents are cut to this, which no fraction in a line of text brings back into range.
_MAX_EXPONENT = 10**15
# Bound on the relative error of `_scaled` before its last rounding, with room to spare.
_DOUBT = 2.0**-98


@inlined
def _eight_digits(end: int, n_fraction: Any, n_digits: Any) -> Any:
    """The number in the last eight digits before `end`, leaving out the point among them."""
    fraction = _TOP[np.uint64(16 + n_fraction)]
    digits = (word_at(end - 8) & fraction) | (word_at(end - 9) & ~fraction)
    digits = (digits ^ _ASCII_ZEROS) & _TOP[np.uint64(16 + n_digits)]
    # Neighbours join: eight numbers of one digit, four of two, two of four, one of eight.
    digits = (digits * _JOIN_1) >> np.uint64(8)
    digits = ((digits & _EVEN_BYTES) * _JOIN_2) >> np.uint64(16)
    return ((digits & _EVEN_PAIRS) * _JOIN_4) >> np.uint64(32)


@inner_kernel
def _scaled(mantissa: Any, exponent: int) -> tuple[bool, float]:
    """Whether the rounding is certain, and mantissa * 10 ** exponent."""
    if mantissa <= _EXACT and -22 <= exponent <= 22:
        # Both operands are exact, so one operation rounds once.
        if exponent < 0:
            return True, np.float64(mantissa) / _POWER[-exponent]
        return True, np.float64(mantissa) * _POWER[exponent]
    if not -_MAX_POWER <= exponent <= _MAX_POWER - 20:
        return mantissa == 0, 0.0
    high = np.float64(mantissa)
    low = np.float64(np.int64(mantissa - np.uint64(high)))
    power, power_rest = _POWER[abs(exponent)], _POWER_REST[abs(exponent)]
    if exponent < 0:
        result = high / power
        rest = (fma(-result, power, high) + (low - result * power_rest)) / power
    else:
        result = high * power
        rest = fma(high, power, -result) + (high * power_rest + low * power)
    lower, upper = result + (rest - result * _DOUBT), result + (rest + result * _DOUBT)
    return lower == upper, lower


@inlined
def plain_number(begin: int, end: int) -> tuple[bool, float]:
    """Success, and the value of a token that is a number of up to 19 digits, no exponent."""
    size = end - begin
    if size == 1:
        # Half of all values in raw data; which of them, branch prediction finds out well.
        digit = byte_at(begin) - ZERO
        return 0 <= digit <= 9, np.float64(digit)
    if size > 21:
        return False, 0.0
    minus = np.int64(byte_at(begin) == MINUS)
    # The bytes in the token that are no digit: one point at most is right.
    point = no_digits_at(begin) & ((1 << size) - 1) & ~minus
    has_point = np.int64(point != 0)
    n_digits = size - minus - has_point
    if (point & ~points_at(begin)) | (point & (point - 1)) or not 1 <= n_digits <= 19:
        return False, 0.0
    n_fraction = size - trailing_zeros(point | (1 << size)) - has_point
    # With no point, all digits are where a fraction's would be.
    shift = n_fraction if has_point else 31
    mantissa = _eight_digits(end, shift, n_digits)
    if n_digits > 8:
        mantissa += _TEN_8 * _eight_digits(end - 8, shift - 8, n_digits - 8)
        if n_digits > 16:
            mantissa += _TEN_16 * _eight_digits(end - 16, shift - 16, n_digits - 16)
        if mantissa > _EXACT:
            certain, value = _scaled(mantissa, -n_fraction)
            return certain, -value if minus else value
    divisor = _DIVISOR[np.uint64(32 * minus + n_fraction)]
    return True, np.float64(np.int64(mantissa)) / divisor


@inner_kernel
def parse_number(begin: int) -> tuple[int, float, int]:
    """Read the number at `begin`: outcome, value, and the position after it."""
    end = begin + trailing_zeros(blanks_at(begin))
    success, value = plain_number(begin, end)
    if success:
        return NUMBER, value, end
    p = begin
    negative = byte_at(p) == MINUS
    if negative or byte_at(p) == PLUS:
        p += 1
    mantissa, n_significant, n_digits, n_fraction = np.uint64(0), 0, 0, 0
    in_fraction = False
    while True:
        c = byte_at(p)
        if ZERO <= c <= NINE:
            mantissa = mantissa * np.uint64(10) + np.uint64(c - ZERO)
            n_significant += n_significant > 0 or c > ZERO
            n_digits += 1
            n_fraction += in_fraction
        elif c == DOT and not in_fraction:
            in_fraction = True
        else:
            break
        p += 1
    if n_digits == 0:
        return NO_NUMBER, 0.0, p
    exponent = 0
    if byte_at(p) == _SMALL_E or byte_at(p) == _LARGE_E:
        p += 1
        down = byte_at(p) == MINUS
        if down or byte_at(p) == PLUS:
            p += 1
        if not ZERO <= byte_at(p) <= NINE:
            return NO_NUMBER, 0.0, p
        while ZERO <= byte_at(p) <= NINE:
            exponent = min(10 * exponent + (byte_at(p) - ZERO), _MAX_EXPONENT)
            p += 1
        if down:
            exponent = -exponent
    if n_significant > 19:
        return UNSURE, 0.0, p
    certain, value = _scaled(mantissa, exponent - n_fraction)
    return NUMBER if certain else UNSURE, -value if negative else value, p
