"""The mean of standardised scores."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank._kernels.sums import order_free_sum
from localrank.aggregation.base import FixedSum, LinearForm, ScoreAggregator
from localrank.registry import declare


@declare("z-score", "the mean of scores standardised within the query")
class ZScore(ScoreAggregator):
    """The mean of the lists' scores, each standardised within the query.

    Every list counts alike, whatever the scale of its scores. In each query a list's scores get
    mean 0 and standard deviation 1. They are 0 if the list scores all documents alike.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "a"])
    >>> ZScore().aggregate(dataset, [[1.0, 700.0], [2.0, 700.0], [3.0, 700.0]]).round(2)
    array([-0.61,  0.  ,  0.61])
    """

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        begins, sizes = offsets[:-1], np.diff(offsets)
        weights = np.empty((len(lists), len(sizes)))
        for of_list, scores in zip(weights, lists, strict=True):
            centred = scores - np.repeat(np.add.reduceat(scores, begins) / sizes, sizes)
            standardised = self._aggregate(scores[None], offsets)
            # The score farthest from the mean shows the divisor of all.
            before = np.maximum.reduceat(np.abs(centred), begins)
            after = np.maximum.reduceat(np.abs(standardised), begins)
            of_list[:] = after / np.where(after > 0, before, 1.0)
        return LinearForm(weights / len(lists), centred=True)

    def fixed_sum(self, n_lists: int) -> FixedSum:
        return FixedSum(np.full(n_lists, 1 / n_lists), standardised=True)

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        mean: Floats = _mean_of_standardised(
            read_only(lists, np.float64), read_only(offsets, np.int64)
        )
        return mean


@kernel(error_model="numpy")
def _mean_of_standardised(lists: Floats, offsets: Integers) -> Floats:
    mean = np.zeros(lists.shape[1])
    longest = 0
    for query in range(len(offsets) - 1):
        longest = max(longest, offsets[query + 1] - offsets[query])
    of_query = np.empty(longest)
    for place in range(len(lists)):
        scores = lists[place]
        for query in range(len(offsets) - 1):
            begin, end = offsets[query], offsets[query + 1]
            size = end - begin
            for i in range(size):
                of_query[i] = scores[begin + i]
            centre = order_free_sum(of_query, size) / size
            largest = noise = 0.0
            for row in range(begin, end):
                largest = max(largest, abs(scores[row] - centre))
                noise = max(noise, 1e-12 * abs(scores[row]))
            if not largest > noise:
                continue
            # Relative to the largest, so that squares neither vanish nor overflow.
            for i in range(size):
                of_query[i] = ((scores[begin + i] - centre) / largest) ** 2
            deviation = np.sqrt(order_free_sum(of_query, size) / size)
            for row in range(begin, end):
                mean[row] += (scores[row] - centre) / largest / deviation / len(lists)
    return mean
