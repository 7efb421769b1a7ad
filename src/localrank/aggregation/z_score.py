"""The mean of standardised scores."""

from __future__ import annotations

import numpy as np

from localrank.aggregation.base import LinearForm, ScoreAggregator
from localrank.arrays import Floats, Integers
from localrank.declaration import declare
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only


@declare("z-score", "the mean of scores standardised within the query")
class ZScore(ScoreAggregator):
    """The mean of the lists' scores, each standardised within the query.

    Every list counts alike, whatever the unit of its scores: they have mean 0 and standard
    deviation 1 in each query, or are 0 where a list has one score for all of its documents.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a", "a", "a"])
    >>> ZScore().aggregate(dataset, [[1.0, 700.0], [2.0, 700.0], [3.0, 700.0]]).round(2)
    array([-0.61,  0.  ,  0.61])
    """

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        mean: Floats = _mean_of_standardised(
            read_only(lists, np.float64), read_only(offsets, np.int64)
        )
        return mean

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        return LinearForm(_factors(lists, offsets) / len(lists), centred=True)


@kernel(error_model="numpy")
def _mean_of_standardised(lists: Floats, offsets: Integers) -> Floats:
    mean = np.zeros(lists.shape[1])
    for place in range(len(lists)):
        scores = lists[place]
        for query in range(len(offsets) - 1):
            begin, end = offsets[query], offsets[query + 1]
            size = end - begin
            total = 0.0
            for row in range(begin, end):
                total += scores[row]
            centre = total / size
            largest = noise = 0.0
            for row in range(begin, end):
                largest = max(largest, abs(scores[row] - centre))
                noise = max(noise, 1e-12 * abs(scores[row]))
            if not largest > noise:
                continue
            # Relative to the largest, so that squares neither vanish nor overflow.
            squares = 0.0
            for row in range(begin, end):
                squares += ((scores[row] - centre) / largest) ** 2
            deviation = np.sqrt(squares / size)
            for row in range(begin, end):
                mean[row] += (scores[row] - centre) / largest / deviation / len(lists)
    return mean


def _factors(lists: Floats, offsets: Integers) -> Floats:
    """One over the deviation of each list in each query; 0 where it is constant."""
    begins, sizes = offsets[:-1], np.diff(offsets)
    centred = lists - np.repeat(np.add.reduceat(lists, begins, 1) / sizes, sizes, axis=1)
    largest = np.maximum.reduceat(np.abs(centred), begins, 1)
    noise = 1e-12 * np.maximum.reduceat(np.abs(lists), begins, 1)
    varied = largest > noise
    largest = np.where(varied, largest, 1.0)
    centred = np.where(
        np.repeat(varied, sizes, axis=1), centred / np.repeat(largest, sizes, axis=1), 0.0
    )
    deviations = np.sqrt(np.add.reduceat(centred**2, begins, 1) / sizes)
    return np.where(varied, 1.0 / largest / np.where(varied, deviations, 1.0), 0.0)
