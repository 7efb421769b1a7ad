"""Ranks, medians and majorities over several lists of each query's documents.

Lists are rows here, documents columns, so that a list lies in one piece.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only, sort_rows

# Solving stops when a step changes each probability by at most this share of it.
_CONVERGED = 1e-13
# Bits of a probability that are kept, so that rounding does not break ties.
_BITS = 36


def counts_below(lists: Array, offsets: Integers) -> Floats:
    """The number of documents that each list puts below a document; tied ones count half.

    A document's average rank is the number of its query's documents minus this count.

    Parameters
    ----------
    lists : ndarray of shape (n_lists, n_documents)
        Scores; larger is better. NaN for documents that a list does not hold: they are tied
        below those that it holds.
    offsets : ndarray of shape (n_queries + 1,)
        Start of each query's documents, and the end of the last.

    Returns
    -------
    ndarray of shape (n_lists, n_documents)
        The counts. NaN if a list holds no document of the query.

    Examples
    --------
    >>> counts_below(np.array([[0.3, 0.9, 0.3, np.nan, np.nan]]), np.array([0, 4, 5]))
    array([[1.5, 3. , 1.5, 0. , nan]])
    """
    values = np.where(np.isnan(lists), -np.inf, lists)
    counts: Floats = _counts_below(
        read_only(values, np.float64), read_only(offsets, np.int64), int(np.diff(offsets).max())
    )
    return counts


def medians(counts: Floats) -> Floats:
    """The median of each column without NaN; 0 if all are NaN.

    Examples
    --------
    >>> medians(np.array([[1.0, np.nan, 4.0], [3.0, np.nan, np.nan]]))
    array([2., 0., 4.])
    """
    values: Floats = _medians(read_only(counts.T, np.float64))
    return values


def majority_chain(counts: Floats, offsets: Integers, restart: float) -> Floats:
    """Stationary distribution of each query's majority chain, times its number of documents.

    From a document the chain draws one of the query's documents, and goes there if more lists put
    it above than below. With probability `restart` it goes there in any case.

    Parameters
    ----------
    counts : ndarray of shape (n_lists, n_documents)
        Values by which each list compares documents. NaN: the list does not count in the query.
    offsets : ndarray of shape (n_queries + 1,)
        Start of each query's documents, and the end of the last.
    restart : float
        Probability of going to the drawn document in any case, above 0 and below 1.

    Examples
    --------
    >>> majority_chain(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 2]), 0.5)
    array([1.33333333, 0.66666667])
    """
    chances = _majority_chain(
        read_only(counts, np.float64),
        read_only(offsets, np.int64),
        int(np.diff(offsets).max()),
        float(restart),
    )
    fraction, exponent = np.frexp(chances)
    rounded: Floats = np.ldexp(np.round(np.ldexp(fraction, _BITS)), exponent - _BITS)
    return rounded


@kernel
def _counts_below(lists: Floats, offsets: Integers, longest: int) -> Floats:
    counts = np.empty(lists.shape)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for place in range(len(lists)):
        values = lists[place]
        for query in range(len(offsets) - 1):
            begin, end = offsets[query], offsets[query + 1]
            size = end - begin
            sort_rows(values, begin, end, order, spare)
            silent = values[order[0]] == -np.inf
            first = 0
            while first < size:
                last = first + 1
                while last < size and values[order[last]] == values[order[first]]:
                    last += 1
                # Those after the tie, and half of the others in it.
                count = np.nan if silent else (size - last) + (last - first - 1) / 2
                for i in range(first, last):
                    counts[place, order[i]] = count
                first = last
    return counts


@kernel
def _medians(rows: Floats) -> Floats:
    values = np.zeros(len(rows))
    ascending = np.empty(rows.shape[1])
    for row in range(len(rows)):
        n = 0
        for value in rows[row]:
            if np.isnan(value):
                continue
            place = n
            while place > 0 and ascending[place - 1] > value:
                ascending[place] = ascending[place - 1]
                place -= 1
            ascending[place] = value
            n += 1
        if n > 0:
            values[row] = (ascending[(n - 1) // 2] + ascending[n // 2]) / 2
    return values


@kernel
def _majority_chain(counts: Floats, offsets: Integers, longest: int, restart: float) -> Floats:
    chances = np.ones(counts.shape[1])
    wins = np.empty((longest, longest), np.uint8)
    margins = np.empty(longest, np.int64)
    losses, inflow = np.empty(longest), np.empty(longest)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        _majorities(counts[:, begin:end], wins, margins, losses)
        _solve(wins, losses, restart, chances[begin:end], inflow)
    return chances


@kernel
def _majorities(counts: Floats, wins: NDArray[np.uint8], margins: Integers, losses: Floats) -> None:
    """Set `wins[i, j]` where more lists put j above i than below, and count them for each i."""
    n_lists, n = counts.shape
    for i in range(n):
        for j in range(n):
            margins[j] = 0
        for place in range(n_lists):
            values = counts[place]
            value = values[i]
            for j in range(n):
                margins[j] += np.int64(values[j] > value) - np.int64(values[j] < value)
        losses[i] = 0
        for j in range(n):
            wins[i, j] = margins[j] > 0
            losses[i] += margins[j] > 0


@kernel
def _solve(
    wins: NDArray[np.uint8], losses: Floats, restart: float, chances: Floats, inflow: Floats
) -> None:
    """Solve for the stationary distribution, from uniform, by Jacobi's method.

    Its error shrinks at least as fast as the chain forgets, by 1 - restart in a step. Every
    document's sum runs over the others in the same order, so that documents with the same wins
    and losses stay equal to the last bit.
    """
    n = len(chances)
    follow = (1 - restart) / n
    for _ in range(int(np.log(_CONVERGED * restart) / np.log1p(-restart)) + 1):
        for j in range(n):
            inflow[j] = 0.0
        for i in range(n):
            chance = chances[i]
            for j in range(n):
                inflow[j] += wins[i, j] * chance
        converged = True
        for j in range(n):
            chance = (restart + follow * inflow[j]) / (restart + follow * losses[j])
            converged &= abs(chance - chances[j]) <= _CONVERGED * chance
            chances[j] = chance
        if converged:
            break
