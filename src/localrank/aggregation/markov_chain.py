"""The majority Markov chain."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._base.memory import check_memory
from localrank._base.rules import Rules, number
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only
from localrank.aggregation.base import RankAggregator
from localrank.registry import declare

# Solving stops when a step changes each probability by at most this share of it.
_CONVERGED = 1e-13
# Bits of a probability that are kept, so that rounding does not break ties.
_BITS = 36


@declare("markov-chain", "visits of a random walk towards what most lists prefer")
class MarkovChain(RankAggregator):
    """Ranks documents by how often a random walk towards the majority's preference visits them.

    This is the chain MC4 of Dwork et al. [1]. From a document, draw one of the query's documents
    at random. Go there if more lists put it above the present one than below; otherwise stay.
    With probability `restart` go to the drawn document in any case. So every document is visited,
    and documents below the best are told apart too. Scores are the stationary probabilities times
    the number of the query's documents, to eleven digits. They are 1 if the lists prefer nothing.

    A query of n documents takes O(n²) comparisons in each list, and O(n²) memory.

    Parameters
    ----------
    restart : float, default=0.05
        Probability of going to the drawn document in any case, from 0.0001 to below 1. Time grows
        with 1 / restart.

    Notes
    -----
    Dwork et al. compare two documents in the lists that hold both. Here a list also prefers a
    document that it holds to one that it does not, as in all aggregators of localrank: search
    results are cut off at the end.

    References
    ----------
    1. Dwork, Kumar, Naor, Sivakumar. Rank Aggregation Methods for the Web. WWW 2001.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "a"])
    >>> MarkovChain().aggregate(dataset, [[3, 3, 1], [2, 1, 3], [1, 2, 2]]).round(2)
    array([2.73, 0.2 , 0.07])
    """

    _parameters: ClassVar[Rules] = {"restart": number(least=1e-4, below=1)}

    def __init__(self, restart: float = 0.05) -> None:
        self.restart = restart

    def _aggregate(self, counts: Floats, offsets: Integers) -> Floats:
        longest = int(np.diff(offsets).max())
        check_memory(
            longest**2,
            f"MarkovChain on a query of {longest:,} documents",
            "It compares all pairs: cut the lists, or use Borda() or MedianRank().",
        )
        return majority_chain(counts, offsets, self.restart)


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


@inner_kernel
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


@inner_kernel
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
