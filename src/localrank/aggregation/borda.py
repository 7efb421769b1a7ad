"""Borda's count."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.aggregation.base import RankAggregator
from localrank.registry import declare


@declare("borda", "the number of documents below, summed over lists")
class Borda(RankAggregator):
    """Scores a document by the number of documents below it, summed over the lists [1].

    A tied document counts half. The order is the same as by the mean of average ranks.

    References
    ----------
    1. Borda. Mémoire sur les élections au scrutin. 1781.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "a"])
    >>> Borda().aggregate(dataset, [[0.9, 30], [0.5, 40], [0.1, 30]])
    array([2.5, 3. , 0.5])
    """

    def _aggregate(self, counts: Floats, offsets: Integers) -> Floats:
        total: Floats = np.nan_to_num(counts).sum(axis=0)
        return total
