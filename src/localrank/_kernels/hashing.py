"""Hashes of strings that nobody can choose to collide, and the comparison of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._kernels.compilation import kernel
from localrank._kernels.instructions import word_at

# An array handed to a function costs two atomic operations, and there are several calls a word.
inlined = kernel(forceinline=True)


@inlined
def first_bytes(address: int, n: int) -> Any:
    """The bytes from an address on, at most 7, as one number."""
    return word_at(address) & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))


@inlined
def turned(value: Any, by: int) -> Any:
    """A number of 64 bits, turned to the left."""
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inlined
def sip_round(a: Any, b: Any, c: Any, d: Any) -> Any:
    """One round of SipHash."""
    a += b
    c += d
    b = turned(b, 13) ^ a
    d = turned(d, 16) ^ c
    a = turned(a, 32)
    c += b
    a += d
    b = turned(b, 17) ^ c
    d = turned(d, 21) ^ a
    c = turned(c, 32)
    return a, b, c, d


@inlined
def hash_of(address: int, size: int, secret: Any, other_secret: Any) -> Any:
    """SipHash-1-3 of a word.

    Nobody who does not know the secrets can choose words that share a slot.
    """
    a = secret ^ np.uint64(0x736F6D6570736575)
    b = other_secret ^ np.uint64(0x646F72616E646F6D)
    c = secret ^ np.uint64(0x6C7967656E657261)
    d = other_secret ^ np.uint64(0x7465646279746573)
    rest = size
    while rest >= 8:
        block = word_at(address)
        a, b, c, d = sip_round(a, b, c, d ^ block)
        a ^= block
        address += 8
        rest -= 8
    block = first_bytes(address, rest) | np.uint64(size & 255) << np.uint64(56)
    a, b, c, d = sip_round(a, b, c, d ^ block)
    a ^= block
    c ^= np.uint64(255)
    for _ in range(3):
        a, b, c, d = sip_round(a, b, c, d)
    return a ^ b ^ c ^ d


@inlined
def same_bytes(address: int, other: int, size: int) -> bool:
    """Whether the same bytes stand at two addresses."""
    while size >= 8:
        if word_at(address) != word_at(other):
            return False
        address += 8
        other += 8
        size -= 8
    return bool(first_bytes(address, size) == first_bytes(other, size))
