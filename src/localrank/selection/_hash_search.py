"""Hash tables of directions, and the nearest queries by them.

Tables are keyed by the signs of a direction's products with random hyperplanes. A query is some
directions, of which one and its opposite mean the same. Each direction has hash tables of its own.
The code of a direction u in a table is one bit per hyperplane; the code of -u is the complement.
So both share a bucket: a code is complemented where its first bit is set, and the lowest bit of an
entry tells whether it was.
"""

from __future__ import annotations

from math import cos, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only

ONE = np.uint64(1)


# Bits of a sketch.
SKETCHED = 63


# Sums of similarities that differ by less, per direction, are equal.
_TIE = 1e-12


# By how much a direction's length may differ from 1.
LENGTH_ERROR = 1e-4


# Odd, and with bits in no order: spreads consecutive positions over a hash table.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


# The steps in which similarities are estimated from a sketch.
_SCALE = 200


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


@inner_kernel
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


@inner_kernel
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


@inner_kernel
def sketch_of(products: Floats) -> np.uint64:
    """The signs of the first products, in one word that is not 0."""
    word = ONE
    for i in range(min(SKETCHED, len(products))):
        word = (word << ONE) | np.uint64(products[i] > 0.0)
    return word


@kernel
def neighbours_by_hashing(
    queries: Floats, descriptions: Array, tables: HashTables, k: int, n_rescored: int, n_read: int
) -> tuple[Integers, Floats]:
    """The positions of the k nearest of the entered queries, for each of some queries.

    Candidates are the queries of the buckets that a query's directions fall into. With
    `n_rescored` 0 those with the highest scores are taken: the sum over directions u of the
    number of tables where it shares the code of u, or of those where it shares the code of -u,
    whichever are more. Otherwise the similarity decides, the sum over directions of |u · u'|,
    among the one with the highest score and the `n_rescored` with the best sketches. Then at most
    `n_read` entries are read, of very full buckets only the first. A query with fewer than k
    candidates is compared with all. Among equals the lowest positions are taken.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, P, n_features)
    descriptions : ndarray of shape (n, P, n_features)
        What was entered.
    tables : HashTables
    k : int
        At most n.
    n_rescored, n_read : int
        The first not below k, or 0.

    Returns
    -------
    positions : ndarray of shape (n_queries, k)
        Ascending.
    sums : ndarray of shape (n_queries, k)
        Similarities, added up over directions.
    """
    _, n_directions, _ = queries.shape
    n_repeats = tables.entries.shape[1]
    begins = np.empty((n_directions, n_repeats), np.int64)
    sizes = np.empty((n_directions, n_repeats), np.int64)
    complemented = np.empty((n_directions, n_repeats), np.uint64)
    sketch = np.empty(n_directions, np.uint64)
    positions = np.empty((len(queries), k), np.int64)
    sums = np.empty((len(queries), k))
    for query in range(len(queries)):
        directions = queries[query]
        total = _find_buckets(directions, tables, begins, sizes, complemented, sketch)
        if n_rescored and total > n_read:
            total = _cut(sizes, n_read)
        candidates, scores = _collisions(tables.entries, begins, sizes, complemented, total)
        if len(candidates) < k:
            candidates = np.arange(len(descriptions))
        elif n_rescored:
            best = _highest(candidates, scores, 1)[0]
            candidates = _with_first(_best_sketches(candidates, tables, sketch, n_rescored), best)
        else:
            candidates = _highest(candidates, scores, k)
        _most_similar(directions, descriptions, candidates, positions[query], sums[query])
    return positions, sums


@inner_kernel
def _find_buckets(
    directions: Floats,
    tables: HashTables,
    begins: Integers,
    sizes: Integers,
    complemented: NDArray[np.uint64],
    sketch: NDArray[np.uint64],
) -> np.int64:
    """Where a query's bucket in each table begins, and its size; the sum of sizes."""
    n_features, n_bits, n_repeats = tables.hyperplanes.shape
    planes = tables.hyperplanes.reshape(n_features, n_bits * n_repeats)
    products = np.empty(n_bits * n_repeats)
    codes = np.empty(n_repeats, np.uint64)
    more_bits = n_bits - 1
    while 1 << (n_bits - 1 - more_bits) < tables.starts.shape[2] - 1:
        more_bits -= 1
    total = np.int64(0)
    for p in range(len(directions)):
        if not project(directions[p], planes, products):
            sizes[p] = 0
            sketch[p] = 0
            continue
        encode(products, n_bits, codes, complemented[p])
        sketch[p] = sketch_of(products)
        for j in range(n_repeats):
            slot = np.int64(codes[j] >> np.uint64(more_bits))
            begin = np.int64(tables.starts[p, j, slot])
            end = np.int64(tables.starts[p, j, slot + 1])
            if more_bits > 0:
                begin = _first_from(tables.codes[p, j], begin, end, codes[j])
                end = _first_from(tables.codes[p, j], begin, end, codes[j] + ONE)
            begins[p, j], sizes[p, j] = begin, end - begin
            total += end - begin
    return total


@inner_kernel
def _first_from(
    codes: NDArray[np.uint64], begin: np.int64, end: np.int64, code: np.uint64
) -> np.int64:
    """The first place between two where the ascending codes are not below a code."""
    while begin < end:
        middle = (begin + end) // 2
        if codes[middle] < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner_kernel
def _cut(sizes: Integers, n_read: int) -> np.int64:
    """Cut the largest sizes to one length, such that they add up to at most `n_read`."""
    low, high = 0, n_read
    while low < high:
        middle = (low + high + 1) // 2
        if _sum_up_to(sizes, middle) <= n_read:
            low = middle
        else:
            high = middle - 1
    for own in sizes:
        for j in range(len(own)):
            own[j] = min(own[j], low)
    return _sum_up_to(sizes, low)


@inner_kernel
def _sum_up_to(sizes: Integers, most: int) -> np.int64:
    """The sum of sizes that are cut to one length."""
    total = np.int64(0)
    for own in sizes:
        for j in range(len(own)):
            total += min(own[j], most)
    return total


@inner_kernel
def _collisions(
    entries: NDArray[np.uint32],
    begins: Integers,
    sizes: Integers,
    complemented: NDArray[np.uint64],
    total: np.int64,
) -> tuple[Integers, Integers]:
    """The queries in some buckets, and the score of each.

    They are counted in a hash table of their own: its cost is that of what was found, whatever
    the number of queries.
    """
    n_directions, n_repeats, n = entries.shape
    most = min(total, n)
    n_bits = 1
    while 1 << n_bits < 2 * most:
        n_bits += 1
    slots = np.full(1 << n_bits, -1, np.int64)
    candidates, scores = np.empty(most, np.int64), np.zeros(most, np.int64)
    # Collisions with u and -u in the tables of the direction that was last counted.
    last = np.full(most, -1, np.int64)
    counts = np.zeros((most, 2), np.int64)
    found = 0
    for p in range(n_directions):
        for j in range(n_repeats):
            for place in range(begins[p, j], begins[p, j] + sizes[p, j]):
                entry = np.uint64(entries[p, j, place])
                position = np.int64(entry >> ONE)
                slot = np.int64((np.uint64(position) * _SPREAD) >> np.uint64(64 - n_bits))
                while slots[slot] >= 0 and candidates[slots[slot]] != position:
                    slot = (slot + 1) & ((1 << n_bits) - 1)
                if slots[slot] < 0:
                    slots[slot] = found
                    candidates[found] = position
                    found += 1
                i = slots[slot]
                if last[i] != p:
                    scores[i] += max(counts[i, 0], counts[i, 1])
                    counts[i, 0], counts[i, 1], last[i] = 0, 0, p
                counts[i, np.int64((entry & ONE) ^ complemented[p, j])] += 1
    for i in range(found):
        scores[i] += max(counts[i, 0], counts[i, 1])
    return candidates[:found], scores[:found]


@inner_kernel
def _highest(candidates: Integers, scores: Integers, k: int) -> Integers:
    """The candidates with the k highest scores."""
    # One number for both, all different: higher scores first, then lower positions.
    keys = candidates - scores * (candidates.max() + 1)
    if k == 1:
        place = keys.argmin()
        return candidates[place : place + 1]
    highest: Integers = candidates[keys <= np.partition(keys, k - 1)[k - 1]]
    return highest


@inner_kernel
def _with_first(candidates: Integers, first: np.int64) -> Integers:
    """The candidates after a first one, which may be one of them."""
    ordered = np.empty(len(candidates) + 1, np.int64)
    ordered[0] = first
    n = 1
    for candidate in candidates:
        if candidate != first:
            ordered[n] = candidate
            n += 1
    return ordered[:n]


@inner_kernel
def _best_sketches(
    candidates: Integers, tables: HashTables, sketch: NDArray[np.uint64], n_best: int
) -> Integers:
    """The candidates whose signs promise the largest similarity.

    Two directions at an angle a differ in the sign of a product with probability a / pi.
    """
    if len(candidates) <= n_best:
        return candidates
    n_bits = min(SKETCHED, tables.hyperplanes.shape[1] * tables.hyperplanes.shape[2])
    cosines = np.empty(n_bits + 1, np.int64)
    for differing in range(n_bits + 1):
        cosines[differing] = round(_SCALE * abs(cos(pi * differing / n_bits)))
    promises = np.empty(len(candidates), np.int64)
    counts = np.zeros(_SCALE * len(sketch) + 1, np.int64)
    for i in range(len(candidates)):
        promise = 0
        for p in range(len(sketch)):
            other = tables.sketches[candidates[i], p]
            if sketch[p] and other:
                promise += cosines[_n_bits_set(sketch[p] ^ other)]
        promises[i] = promise
        counts[promise] += 1
    least, left = len(counts) - 1, n_best
    while left >= counts[least]:
        left -= counts[least]
        least -= 1
    chosen = np.empty(n_best, np.int64)
    n_chosen = 0
    for i in range(len(candidates)):
        if promises[i] > least or (promises[i] == least and left > 0):
            left -= promises[i] == least
            chosen[n_chosen] = candidates[i]
            n_chosen += 1
    return chosen


@inner_kernel
def _n_bits_set(word: np.uint64) -> np.int64:
    """By sums of 1, 2, 4, then 8 neighbouring bits, which compilers make one instruction."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def _most_similar(
    directions: Floats,
    descriptions: Array,
    candidates: Integers,
    positions: Integers,
    sums: Floats,
) -> None:
    """Write as many of the most similar candidates as there is room, and their similarities."""
    n_directions, n_features = directions.shape
    k = len(positions)
    # The most that the directions after each can add.
    rest = np.zeros(n_directions)
    for p in range(n_directions - 1, 0, -1):
        squares = 0.0
        for i in range(n_features):
            squares += directions[p, i] ** 2
        rest[p - 1] = rest[p] + sqrt(squares) * (1 + LENGTH_ERROR)
    tie = n_directions * _TIE
    # The k largest so far, descending.
    best = np.full(k, -1.0)
    own = np.empty(len(candidates))
    for i in range(len(candidates)):
        own[i] = _similarity(directions, descriptions[candidates[i]], rest, best[k - 1] - tie)
        if not own[i] >= 0.0:
            own[i] = -1.0  # cannot reach the others, or is not a number
        place = k
        while place > 0 and best[place - 1] < own[i]:
            place -= 1
        for later in range(k - 1, place, -1):
            best[later] = best[later - 1]
        if place < k:
            best[place] = own[i]
    last = best[k - 1]
    surely = candidates[own > last + tie]
    equal = np.sort(candidates[np.abs(own - last) <= tie])
    positions[: len(surely)] = surely
    positions[len(surely) :] = equal[: k - len(surely)]
    positions.sort()
    for i in range(k):
        sums[i] = _similarity(directions, descriptions[positions[i]], rest, -1.0)


@inner_kernel
def _similarity(a: Floats, b: Array, rest: Floats, least: float) -> float:
    """The sum of |a_p · b_p| over directions; -1 as soon as it cannot reach the least."""
    total = 0.0
    n_directions, n_features = a.shape
    even = n_features // 4 * 4
    for p in range(n_directions):
        # Four sums, because each addition waits for the one before it.
        s, t, u, v = 0.0, 0.0, 0.0, 0.0
        for k in range(0, even, 4):
            s += a[p, k] * b[p, k]
            t += a[p, k + 1] * b[p, k + 1]
            u += a[p, k + 2] * b[p, k + 2]
            v += a[p, k + 3] * b[p, k + 3]
        for k in range(even, n_features):
            s += a[p, k] * b[p, k]
        total += abs((s + t) + (u + v))
        if total + rest[p] < least:
            return -1.0
    return total
