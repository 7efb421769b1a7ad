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

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        sizes = np.diff(offsets)
        query = np.repeat(np.arange(len(sizes)), sizes)
        total = np.zeros(lists.shape[1])
        for scores in lists:
            total += _standardised(scores, offsets[:-1], sizes, query)[0]
        return total / len(lists)

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        sizes = np.diff(offsets)
        query = np.repeat(np.arange(len(sizes)), sizes)
        factors = [_standardised(scores, offsets[:-1], sizes, query)[1] for scores in lists]
        return LinearForm(np.array(factors) / len(lists), centred=True)


def _standardised(
    scores: Floats, begins: Integers, sizes: Integers, query: Integers
) -> tuple[Floats, Floats]:
    """The scores standardised, and one over each query's deviation; 0 where there is none."""
    centred = scores - (np.add.reduceat(scores, begins) / sizes)[query]
    # Relative to the largest, so that squares neither vanish nor overflow.
    largest = np.maximum.reduceat(np.abs(centred), begins)
    noise = 1e-12 * np.maximum.reduceat(np.abs(scores), begins)
    varied = largest > noise
    centred = np.where(varied[query], centred / np.where(varied, largest, 1.0)[query], 0.0)
    deviation = np.sqrt(np.add.reduceat(centred**2, begins) / sizes)
    deviation = np.where(varied, deviation, 1.0)
    factors = np.where(varied, 1.0 / np.where(varied, largest, 1.0) / deviation, 0.0)
    return centred / deviation[query], factors
