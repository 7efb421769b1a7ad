"""Hash tables of directions, keyed by the signs of their products with random hyperplanes.

A query is some directions, of which one and its opposite mean the same. Each direction has hash
tables of its own. The code of a direction u in a table is one bit per hyperplane; the code of -u
is the complement. So both share a bucket: a code is complemented where its first bit is set, and
the lowest bit of an entry tells whether it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only

ONE = np.uint64(1)
# Bits of a sketch.
SKETCHED = 63


class HashTables(NamedTuple):
    """The tables of P directions of n queries, m for each direction.

    A bucket is found by the leading bits of its code, in `starts`; where codes have more bits
    than that, by search among the codes that share these.

    Parameters
    ----------
    hyperplanes : ndarray of shape (n_features, h, m)
        The normal vector of each bit of each table's codes.
    starts : int32 ndarray of shape (P, m, n_slots + 1)
        Where the entries with each value of the leading bits begin, and the end.
    entries : uint32 ndarray of shape (P, m, n)
        Twice the position of a query, 1 more where its code was complemented, by ascending code
        and position. Queries whose direction is the zero vector are not there.
    codes : uint64 ndarray of shape (P, m, n) or (P, m, 0)
        The codes of the entries; none where the leading bits are all.
    sketches : uint64 ndarray of shape (n, P)
        Signs of the products with up to 63 hyperplanes, the first of every table before the
        second of any, after a bit that is set; 0 for the zero vector.
    """

    hyperplanes: Floats
    starts: NDArray[np.int32]
    entries: NDArray[np.uint32]
    codes: NDArray[np.uint64]
    sketches: NDArray[np.uint64]

    def read_only(self) -> HashTables:
        """The same, with the types that kernels are compiled for."""
        return HashTables(*(read_only(array, array.dtype) for array in self))


def build_tables(descriptions: Array, hyperplanes: Floats) -> HashTables:
    """Enter queries into tables.

    Parameters
    ----------
    descriptions : float32 or float64 ndarray of shape (n, P, n_features)
    hyperplanes : ndarray of shape (n_features, h, m)

    Examples
    --------
    >>> directions = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[-0.8, -0.6]], [[0.0, 0.0]]])
    >>> tables = build_tables(directions, np.array([[[1.0], [-1.0]], [[-1.0], [2.0]]]))
    >>> tables.entries  # of codes 10, complemented to 01, then 01 and 00; zero has none
    array([[[4, 1, 2, 0]]], dtype=uint32)
    >>> tables.starts
    array([[[0, 1, 3]]], dtype=int32)
    """
    n, n_directions, _ = descriptions.shape
    _, n_bits, n_repeats = hyperplanes.shape
    n_leading = min(n_bits - 1, n.bit_length() - 1)
    more_bits = n_bits - 1 - n_leading
    tables = HashTables(
        np.ascontiguousarray(hyperplanes),
        np.zeros((n_directions, n_repeats, 2**n_leading + 1), np.int32),
        np.zeros((n_directions, n_repeats, n), np.uint32),
        np.zeros((n_directions, n_repeats, n if more_bits else 0), np.uint64),
        np.zeros((n, n_directions), np.uint64),
    )
    rows, planes = read_only(descriptions, descriptions.dtype), read_only(hyperplanes, np.float64)
    codes, entries = np.empty((n_repeats, n), np.uint64), np.empty((n_repeats, n), np.uint32)
    for p in range(n_directions):
        entered = _hash_direction(rows, p, planes, codes, entries, tables.sketches)
        for j in range(n_repeats):
            order = np.argsort(codes[j, :entered], kind="stable")
            tables.entries[p, j, :entered] = entries[j, order]
            if more_bits:
                tables.codes[p, j, :entered] = codes[j, order]
            leading = (codes[j, :entered] >> np.uint64(more_bits)).astype(np.int64)
            tables.starts[p, j, 1:] = np.cumsum(np.bincount(leading, minlength=2**n_leading))
    return tables


@kernel
def _hash_direction(
    descriptions: Array,
    p: int,
    hyperplanes: Floats,
    codes: NDArray[np.uint64],
    entries: NDArray[np.uint32],
    sketches: NDArray[np.uint64],
) -> int:
    """Codes and entries in each table of direction p, of queries that have one; their number."""
    n_features, n_bits, n_repeats = hyperplanes.shape
    planes = hyperplanes.reshape(n_features, n_bits * n_repeats)
    products = np.empty(n_bits * n_repeats)
    own = np.empty(n_repeats, np.uint64)
    complemented = np.empty(n_repeats, np.uint64)
    entered = 0
    for position in range(len(descriptions)):
        if project(descriptions[position, p], planes, products):
            encode(products, n_bits, own, complemented)
            for j in range(n_repeats):
                codes[j, entered] = own[j]
                entries[j, entered] = np.uint32(2 * position + complemented[j])
            entered += 1
            sketches[position, p] = sketch_of(products)
    return entered


@kernel
def project(row: Array, planes: Floats, products: Floats) -> bool:
    """Products with all hyperplanes, summed in one order; False for the zero vector."""
    products[:] = 0.0
    largest = 0.0
    even = len(row) // 4 * 4
    for k in range(0, even, 4):
        # Four features at once, because each pass over the products costs more than it adds.
        a, b = np.float64(row[k]), np.float64(row[k + 1])
        c, d = np.float64(row[k + 2]), np.float64(row[k + 3])
        largest = max(largest, abs(a), abs(b), abs(c), abs(d))
        for i in range(len(products)):
            products[i] += (a * planes[k, i] + b * planes[k + 1, i]) + (
                c * planes[k + 2, i] + d * planes[k + 3, i]
            )
    for k in range(even, len(row)):
        a = np.float64(row[k])
        largest = max(largest, abs(a))
        for i in range(len(products)):
            products[i] += a * planes[k, i]
    return largest > 0.0


@kernel
def encode(
    products: Floats, n_bits: int, codes: NDArray[np.uint64], complemented: NDArray[np.uint64]
) -> None:
    """The code in each table, complemented where its first bit is set."""
    n_repeats = len(codes)
    codes[:] = 0
    for bit in range(n_bits):
        for j in range(n_repeats):
            codes[j] = (codes[j] << ONE) | np.uint64(products[bit * n_repeats + j] > 0.0)
    all_bits = (ONE << np.uint64(n_bits)) - ONE
    for j in range(n_repeats):
        complemented[j] = codes[j] >> np.uint64(n_bits - 1)
        if complemented[j]:
            codes[j] ^= all_bits


@kernel
def sketch_of(products: Floats) -> np.uint64:
    """The signs of the first products, in one word that is not 0."""
    word = ONE
    for i in range(min(SKETCHED, len(products))):
        word = (word << ONE) | np.uint64(products[i] > 0.0)
    return word
