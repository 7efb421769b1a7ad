"""The mean of standardised scores."""

from __future__ import annotations

import numpy as np

from localrank.aggregation.base import LinearForm, ScoreAggregator
from localrank.arrays import Floats, Integers
from localrank.declaration import declare


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

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        begins, sizes = offsets[:-1], np.diff(offsets)
        weights = np.empty((len(lists), len(sizes)))
        for own, scores in zip(weights, lists, strict=True):
            centred = scores - np.repeat(np.add.reduceat(scores, begins) / sizes, sizes)
            standardised = self._aggregate(scores[None], offsets)
            # The farthest from the mean tells what all were divided by.
            before = np.maximum.reduceat(np.abs(centred), begins)
            after = np.maximum.reduceat(np.abs(standardised), begins)
            own[:] = after / np.where(after > 0, before, 1.0)
        return LinearForm(weights / len(lists), centred=True)

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        sizes = np.diff(offsets)
        query = np.repeat(np.arange(len(sizes)), sizes)
        total = np.zeros(lists.shape[1])
        for scores in lists:
            total += _standardised(scores, offsets[:-1], sizes, query)
        return total / len(lists)


def _standardised(scores: Floats, begins: Integers, sizes: Integers, query: Integers) -> Floats:
    centred = scores - (np.add.reduceat(scores, begins) / sizes)[query]
    # Relative to the largest, so that squares neither vanish nor overflow.
    largest = np.maximum.reduceat(np.abs(centred), begins)
    noise = 1e-12 * np.maximum.reduceat(np.abs(scores), begins)
    varied = largest > noise
    centred = np.where(varied[query], centred / np.where(varied, largest, 1.0)[query], 0.0)
    deviation = np.sqrt(np.add.reduceat(centred**2, begins) / sizes)
    return centred / np.where(varied, deviation, 1.0)[query]
