"""The majority Markov chain."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.memory import check_memory
from localrank._base.rules import Rules, number
from localrank.aggregation._kernels import majority_chain
from localrank.aggregation.base import RankAggregator
from localrank.registry import declare


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
            "It compares all pairs: cut the lists, or take Borda() or MedianRank().",
        )
        return majority_chain(counts, offsets, self.restart)
