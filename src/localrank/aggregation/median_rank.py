"""The median of ranks."""

from __future__ import annotations

from localrank._base.arrays import Floats, Integers
from localrank.aggregation._kernels import medians
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
