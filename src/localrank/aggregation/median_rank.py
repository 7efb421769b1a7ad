"""The median of ranks."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.aggregation.base import RankAggregator
from localrank.registry import declare


@declare("median-rank", "the median of a document's ranks")
class MedianRank(RankAggregator):
    """Ranks documents by the median of their ranks in the lists [1].

    A document's score is the median, over the lists, of the number of documents below it. With an
    even number of lists it is the mean of the middle two. One list that misplaces a document
    hardly matters. Documents are often tied.

    References
    ----------
    1. Fagin, Kumar, Sivakumar. Efficient Similarity Search and Classification via Rank
       Aggregation. SIGMOD 2003.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "a"])
    >>> MedianRank().aggregate(dataset, [[3, 3, 1], [2, 1, 3], [1, 2, 2]])
    array([2., 1., 1.])
    """

    def _aggregate(self, counts: Floats, offsets: Integers) -> Floats:
        return medians(counts)


def medians(counts: Floats) -> Floats:
    """The median of each column without NaN; 0 if all are NaN.

    Examples
    --------
    >>> medians(np.array([[1.0, np.nan, 4.0], [3.0, np.nan, np.nan]]))
    array([2., 0., 4.])
    """
    values: Floats = _medians(read_only(counts.T, np.float64))
    return values


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
