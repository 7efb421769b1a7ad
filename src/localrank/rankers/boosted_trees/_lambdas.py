"""LambdaRank's gradient of NDCG.

With s the scores of a query's documents, r their ranks by s, G their gains and Z the largest DCG,
each pair of a document i and a document j of smaller gain moves the two apart:

    lambda_ij = w_ij / (1 + exp(s_i - s_j))
    w_ij = (G_i - G_j) |1 / log2(1 + r_i) - 1 / log2(1 + r_j)| / Z / (0.01 + |s_i - s_j|)

Only pairs count with a document among the first ranks, as many as the truncation level; Z is the
largest DCG of so many. Where all scores are equal, w_ij is not divided by a distance. The gradient
of i is the sum of -lambda_ij over j and lambda_ji over the documents j of larger gain; the second
derivative is that of lambda (1 - 1 / (1 + exp(s_i - s_j))). With S the sum of 2 lambda over the
pairs of a query, both are multiplied by log2(1 + S) / S. That is LightGBM's `lambdarank`, whose
sigmoid is from a table, and has four digits; here it has six.

A document of some gain is compared with 16 others at a time. Others of no smaller gain get a
weight of zero: no branch, and no pair is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.instructions import (
    larger,
    load,
    narrowed,
    size,
    smaller,
    spread,
    store,
    times_plus,
    times_power_of_two,
    total,
)
from localrank._kernels.sorting import argsort_descending, read_only, sort_rows

# Documents that are compared at a time.
LANES = 16
# Scores that differ by more are as good as certain.
_FAR = np.float32(25)
# Added to a smaller float of 32 bits, it leaves a whole number in the lowest bits.
_ROUNDER = np.float32(1.5 * 2**23)
_PER_LOG2 = np.float32(1 / math.log(2))
# 2^x for x from -1/2 to 1/2, by its Taylor series: the error is 1e-7.
_P1, _P2, _P3, _P4, _P5, _P6 = (
    np.float32(math.log(2) ** k / math.factorial(k)) for k in range(1, 7)
)
_NEAR = np.float32(0.01)
_ZERO, _ONE = np.float32(0), np.float32(1)
# The gain of what is not there: no document has more.
_NO_LESS = np.float32(np.inf)
# A list in which documents move by more places than this, on average, is sorted anew.
_MOVES = 16
# A thread for so many documents; fewer do not pay for it.
_PER_THREAD = 10_000

Narrow = NDArray[np.float32]


def lambda_gradient(
    worth: Floats, sizes: Integers, weights: Floats | None, truncation_level: int, n_threads: int
) -> Callable[[Floats], tuple[Narrow, Narrow]]:
    """A function from scores to the gradient and the second derivative of each document.

    Parameters
    ----------
    worth : ndarray of shape (n_documents,)
        Gain of each document, 0 or larger.
    sizes : ndarray of shape (n_queries,)
    weights : ndarray of shape (n_documents,) or None
        Factors on what the function returns.
    truncation_level : int
    n_threads : int
        The result does not depend on it.

    Examples
    --------
    >>> gradient = lambda_gradient(np.array([1.0, 0.0]), np.array([2]), None, 30, 1)
    >>> np.round(gradient(np.array([0.0, 1.0])), 3)
    array([[-0.309,  0.309],
           [ 0.083,  0.083]], dtype=float32)
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    longest = int(sizes.max())
    discounts = 1 / np.log2(2.0 + np.arange(longest + LANES))
    shares, teaches = _shares(worth, offsets, truncation_level, discounts)
    factors = np.ones(len(worth)) if weights is None else weights
    fixed = (
        read_only(offsets, np.int64),
        read_only(teaches, np.bool_),
        read_only(shares, np.float32),
        read_only(factors, np.float64),
        read_only(discounts, np.float32),
        truncation_level,
        longest,
    )
    n_threads = max(1, min(n_threads, len(worth) // _PER_THREAD))
    ends = np.searchsorted(offsets, np.linspace(0, len(worth), n_threads + 1))

    order = np.arange(len(worth))

    def gradient(scores: Floats) -> tuple[Narrow, Narrow]:
        first, second = np.empty(len(scores), np.float32), np.empty(len(scores), np.float32)
        scores = read_only(scores, np.float64)
        if n_threads == 1:
            _fill(scores, *fixed, 0, len(sizes), order, first, second)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                parts = [
                    pool.submit(_fill, scores, *fixed, begin, end, order, first, second)
                    for begin, end in pairwise(ends)
                ]
                for part in parts:
                    part.result()
        return first, second

    return gradient


def _shares(
    worth: Floats, offsets: Integers, truncation_level: int, discounts: Floats
) -> tuple[Floats, Flags]:
    """Gains above the least of their query, over its largest DCG; which queries have any."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    ranks = np.arange(len(worth)) - starts[query]
    ideal = worth[argsort_descending(worth, offsets)] * discounts[ranks]
    largest = np.add.reduceat(np.where(ranks < truncation_level, ideal, 0.0), starts)
    lowest = np.minimum.reduceat(worth, starts)
    teaches = np.maximum.reduceat(worth, starts) > lowest
    shares: Floats = (worth - lowest[query]) / np.where(teaches, largest, 1.0)[query]
    return shares, teaches


@kernel(error_model="numpy")
def _fill(
    scores: Floats,
    offsets: Integers,
    teaches: Flags,
    shares: Narrow,
    factors: Floats,
    discounts: Narrow,
    truncation_level: int,
    longest: int,
    first_query: int,
    last_query: int,
    order: Integers,
    gradient: Narrow,
    curvature: Narrow,
) -> None:
    """Fill the derivatives of the documents of some queries."""
    room, spare = longest + LANES, np.empty(longest, np.int64)
    ranked, others, top = np.empty(room), np.empty(room, np.float32), np.empty(room, np.float32)
    sums, sums2 = np.empty(room, np.float32), np.empty(room, np.float32)
    for query in range(first_query, last_query):
        begin, end = offsets[query], offsets[query + 1]
        n = end - begin
        if not teaches[query]:
            gradient[begin:end] = _ZERO
            curvature[begin:end] = _ZERO
            continue
        rows = order[begin:end]
        _sort(scores, begin, rows, ranked, spare)
        for rank in range(n):
            others[rank] = shares[rows[rank]]
            top[rank] = others[rank] if rank < truncation_level else _NO_LESS
        for rank in range(n, n + LANES):
            ranked[rank], others[rank], top[rank] = ranked[n - 1], _NO_LESS, _NO_LESS
        for rank in range(n + LANES):
            sums[rank] = sums2[rank] = _ZERO
        differ = ranked[0] != ranked[n - 1]
        near, slope = (_NEAR, _ONE) if differ else (_ONE, _ZERO)
        whole = 0.0
        for rank in range(n):
            if others[rank] == 0:
                continue
            inside = rank < truncation_level
            moved, bent = _compare(
                ranked,
                others if inside else top,
                discounts,
                rank,
                others[rank],
                n if inside else min(n, truncation_level),
                near,
                slope,
                sums,
                sums2,
            )
            sums[rank] -= moved
            sums2[rank] += bent
            whole += 2 * moved
        norm = np.log2(1 + whole) / whole if whole > 0 else 1.0
        for rank in range(n):
            row = rows[rank]
            factor = norm * factors[row]
            gradient[row] = sums[rank] * factor
            curvature[row] = sums2[rank] * factor


@kernel(error_model="numpy", inline="always")
def _sort(scores: Floats, begin: int, rows: Integers, ranked: Floats, spare: Integers) -> None:
    """Sort rows by descending score, equal scores by row; fill their scores.

    The rows come in the order of the tree before, in which few are out of place: each is moved
    forward to its place. Where that is too far, as after the first trees, all are sorted anew.
    """
    n, left = len(rows), _MOVES * len(rows)
    for rank in range(n):
        row = rows[rank]
        score, place = scores[row], rank
        while place > 0 and (
            ranked[place - 1] < score or (ranked[place - 1] == score and rows[place - 1] > row)
        ):
            ranked[place], rows[place] = ranked[place - 1], rows[place - 1]
            place -= 1
        ranked[place], rows[place] = score, row
        left -= rank - place
        if left < 0:
            sort_rows(scores, begin, begin + n, rows, spare)
            for i in range(n):
                ranked[i] = scores[rows[i]]
            break


@kernel(error_model="numpy", inline="always")
def _compare(
    ranked: Floats,
    others: Narrow,
    discounts: Narrow,
    rank: int,
    share: np.float32,
    n: int,
    near: np.float32,
    slope: np.float32,
    sums: Narrow,
    sums2: Narrow,
) -> tuple[float, float]:
    """Compare a document with the first n; add to their sums, and return its own."""
    score, discount = spread(ranked[rank], LANES), spread(discounts[rank], LANES)
    shares, nears, slopes = spread(share, LANES), spread(near, LANES), spread(slope, LANES)
    zero, one = spread(_ZERO, LANES), spread(_ONE, LANES)
    low, high = spread(-_FAR, LANES), spread(_FAR, LANES)
    per_log2, rounder = spread(_PER_LOG2, LANES), spread(_ROUNDER, LANES)
    p1, p2, p3 = spread(_P1, LANES), spread(_P2, LANES), spread(_P3, LANES)
    p4, p5, p6 = spread(_P4, LANES), spread(_P5, LANES), spread(_P6, LANES)
    moved, bent = zero, zero
    for j in range(0, n, LANES):
        ahead = narrowed(score - load(ranked, j, LANES))
        gain = larger(shares - load(others, j, LANES), zero)
        weight = gain * size(discount - load(discounts, j, LANES))
        distance = times_plus(slopes, size(ahead), nears)
        # exp(ahead) as a power of two: a whole one, times a series for the rest.
        near_ahead = smaller(larger(ahead, low), high)
        rounded = times_plus(near_ahead, per_log2, rounder)
        x = times_plus(near_ahead, per_log2, rounder - rounded)
        series = times_plus(x, times_plus(x, times_plus(x, p6, p5), p4), p3)
        series = times_plus(x, times_plus(x, times_plus(x, series, p2), p1), one)
        odds = times_power_of_two(series, rounded)
        both = one / (distance * (one + odds))
        push = weight * both
        bend = push * odds * (both * distance)
        moved, bent = moved + push, bent + bend
        store(sums, j, load(sums, j, LANES) + push)
        store(sums2, j, load(sums2, j, LANES) + bend)
    return total(moved), total(bent)
