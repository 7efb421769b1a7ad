"""Tables of numbers, read from the JSON of documents that are all written alike.

Clients write every document in the same way: only its numbers differ from those of the first. The
first document is decoded. Of the others, the text between two numbers must be that of the first,
byte by byte, so it needs no decoding. Documents that are not written alike are for the decoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.instructions import (
    byte_at,
    no_digits_at,
    points_at,
    trailing_zeros,
    word_at,
)
from localrank._kernels.numbers import (
    MINUS,
    NUMBER,
    inlined,
    kernel,
    parse_number,
    plain_number,
)
from localrank._kernels.parsing import MARGIN

# The text before a value: the bracket or the comma, and the key.
_BEFORE_VALUE = re.compile(rb'([\s,{[]*(?:"(?:[^"\\]|\\.)*"\s*:\s*)?)[^\s,\]}]+')
_AFTER_VALUES = b" \t\r\n]}"
_first = msgspec.json.Decoder(dict[str, float | None] | list[float | None])
_BLANK = bytes(MARGIN)
_SMALL_E, _LARGE_E, _SMALL_N = (ord(c) for c in "eEn")
_NULL = np.uint64(int.from_bytes(b"null", "little"))
_LOW_4 = np.uint64(2**32 - 1)
# _LOW[n] keeps the first n bytes of a word of eight.
_LOW = np.array([2 ** (8 * n) - 1 for n in range(8)], dtype=np.uint64)


def number_table(
    documents: Sequence[bytes | msgspec.Raw],
) -> tuple[Floats, list[str] | None] | None:
    """The numbers of documents, a row for each, and their names if the documents name them.

    None: the documents are not written alike, hold something else than numbers and null, or a
    number whose rounding is not certain.

    Parameters
    ----------
    documents : sequence of bytes
        Arrays or objects, each of which is valid JSON.

    Examples
    --------
    >>> number_table([b"[1, 2.5]", b"[null, -3]"])
    (array([[ 1. ,  2.5],
           [ nan, -3. ]]), None)
    >>> number_table([b'{"a": 1}', b'{"a": 2}'])
    (array([[1.],
           [2.]]), ['a'])
    >>> number_table([b'{"a": 1}', b'{"b": 2}'])
    """
    text = bytes(documents[0])
    try:
        first = _first.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    gaps = _BEFORE_VALUE.findall(text)
    if not gaps or len(gaps) != len(first):  # a name may occur twice
        return None
    gaps.append(text[len(text.rstrip(_AFTER_VALUES)) :])
    between = np.frombuffer(b"".join([*gaps, _BLANK]), np.uint8)
    whole = np.frombuffer(b"".join([_BLANK, *documents, _BLANK]), np.uint8)
    values = np.empty((len(documents), len(first)))
    begin = whole.ctypes.data + MARGIN
    end = begin + len(whole) - 2 * MARGIN
    if not read_values(begin, end, between.ctypes.data, np.array([*map(len, gaps)]), values):
        return None
    return values, (list(first) if isinstance(first, dict) else None)


@kernel
def read_values(begin: int, end: int, gaps: int, sizes: Any, values: Any) -> bool:
    """Read the values of documents between the given texts; whether all is as expected.

    `sizes` are those of the texts, one more than a document has values.
    """
    p = begin
    for row in range(values.shape[0]):
        gap = gaps
        for place in range(len(sizes)):
            n = sizes[place]
            if p + n > end:
                return False
            while n >= 8:
                if word_at(p) != word_at(gap):
                    return False
                p, gap, n = p + 8, gap + 8, n - 8
            if (word_at(p) ^ word_at(gap)) & _LOW[n]:
                return False
            p, gap = p + n, gap + n
            if place == values.shape[1]:
                break
            certain, value, p = _read_value(p)
            if not certain:
                return False
            values[row, place] = value
    return p == end


@inlined
def _read_value(p: int) -> tuple[bool, float, int]:
    """Whether the value is certain, the value, and the position after it."""
    first = byte_at(p)
    if first == _SMALL_N:
        return word_at(p) & _LOW_4 == _NULL, np.nan, p + 4
    others = no_digits_at(p) & ~points_at(p) & ~np.int64(first == MINUS)
    end = p + trailing_zeros(others | (1 << 32))
    if byte_at(end) not in (_SMALL_E, _LARGE_E):
        success, value = plain_number(p, end)
        if success:
            # -0 is the integer 0, and -0.0 is not.
            return value != 0 or first != MINUS, value, end
    outcome, value, end = parse_number(p)
    return outcome == NUMBER and (value != 0 or first != MINUS), value, end
