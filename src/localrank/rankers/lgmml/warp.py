"""Weights of metrics by stochastic steps on the WARP loss, each query by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank.arrays import Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only

# The state of a query's random numbers: one word.
State = NDArray[np.uint64]


def warp_weights(
    values: Floats,
    offsets: Integers,
    n_lower: Integers,
    seeds: NDArray[np.uint64],
    *,
    margin: float,
    step: float,
    n_iterations: int,
) -> Floats:
    """Weights φ >= 0 for each query under which f = values @ φ ranks its documents.

    All weights begin at 1. A step draws a document p among those with a lower one in the query,
    then documents n among the lower ones, with replacement, until margin + f(n) > f(p); it gives
    up after as many draws as there are lower documents. At the N-th draw it moves

        φ <- [φ - step L(⌊n_lower / N⌋) (values(n) - values(p))]_+,    L(k) = sum 1 / log2(i + 1)

    over i = 1 to k.

    Parameters
    ----------
    values : ndarray of shape (n_documents, n_metrics)
        The derivative of each document's score by each weight.
    offsets : ndarray of shape (n_queries + 1,)
    n_lower : ndarray of shape (n_documents,)
        How many documents of the query have a lower label. They are the first ones: rows of a
        query are in ascending order of their labels.
    seeds : ndarray of shape (n_queries,)
        Of the random numbers of each query.
    margin, step : float
    n_iterations : int
        Steps for each query.

    Returns
    -------
    ndarray of shape (n_queries, n_metrics)

    Examples
    --------
    The second metric puts the better document ahead, the first one behind.

    >>> values = np.array([[0.0, -1.0], [-1.0, 0.0]])
    >>> warp_weights(
    ...     values, np.array([0, 2]), np.array([0, 1]), np.array([7], np.uint64),
    ...     margin=0.1, step=0.25, n_iterations=10,
    ... )
    array([[0.75, 1.25]])
    """
    weights: Floats = _warp_weights(
        read_only(values, np.float64),
        read_only(offsets, np.int64),
        read_only(n_lower, np.int64),
        read_only(seeds, np.uint64),
        float(margin),
        float(step),
        int(n_iterations),
    )
    return weights


@kernel
def _warp_weights(
    values: Floats,
    offsets: Integers,
    n_lower: Integers,
    seeds: NDArray[np.uint64],
    margin: float,
    step: float,
    n_iterations: int,
) -> Floats:
    n_metrics = values.shape[1]
    weights = np.ones((len(offsets) - 1, n_metrics))
    losses = np.zeros(max(n_lower.max(), 0) + 1)
    for k in range(1, len(losses)):
        losses[k] = losses[k - 1] + 1 / np.log2(k + 1)
    state = np.empty(1, np.uint64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        above = begin
        while above < end and n_lower[above] == 0:
            above += 1
        if above == end:
            continue
        state[0] = seeds[query]
        own = weights[query]
        for _ in range(n_iterations):
            positive = above + draw(state, end - above)
            threshold = dot(values[positive], own) - margin
            lower = values[begin : begin + n_lower[positive]]
            violator, n_draws = find_violator(lower, own, threshold, state)
            if violator < 0:
                continue
            length = step * losses[len(lower) // n_draws]
            for r in range(n_metrics):
                change = length * (lower[violator, r] - values[positive, r])
                own[r] = max(own[r] - change, 0.0)
    return weights


@kernel
def find_violator(
    lower: Floats, weights: Floats, threshold: float, state: State
) -> tuple[np.int64, np.int64]:
    """A random row that scores above the threshold, -1 where none was drawn, and the draws."""
    for n_draws in range(1, len(lower) + 1):
        row = draw(state, len(lower))
        if dot(lower[row], weights) > threshold:
            return row, np.int64(n_draws)
    return np.int64(-1), np.int64(len(lower))


@kernel
def draw(state: State, n: int) -> np.int64:
    """A random number from 0 to n - 1, by splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.int64(((word >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def dot(a: Floats, b: Floats) -> float:
    """Four sums, because each addition waits for the one before it."""
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    even = len(a) // 4 * 4
    for k in range(0, even, 4):
        s += a[k] * b[k]
        t += a[k + 1] * b[k + 1]
        u += a[k + 2] * b[k + 2]
        v += a[k + 3] * b[k + 3]
    for k in range(even, len(a)):
        s += a[k] * b[k]
    return (s + t) + (u + v)
