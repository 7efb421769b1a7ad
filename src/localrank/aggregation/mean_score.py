"""The mean of scores."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.aggregation.base import FixedSum, LinearForm, ScoreAggregator
from localrank.registry import declare


@declare("mean-score", "the mean of scores as they are")
class MeanScore(ScoreAggregator):
    """The mean of the lists' scores as they are.

    Use it for lists on one scale. A list with much larger scores than the others would decide the
    order alone.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0]], qid=["a", "a"])
    >>> MeanScore().aggregate(dataset, [[1.0, 3.0], [5.0, 0.0]])
    array([2. , 2.5])
    """

    relative: ClassVar[bool] = False

    def _aggregate(self, lists: Floats, offsets: Integers) -> Floats:
        mean: Floats = lists.sum(axis=0) / len(lists)
        return mean

    def linear_form(self, lists: Floats, offsets: Integers) -> LinearForm:
        weights = np.full((len(lists), len(offsets) - 1), 1 / len(lists))
        return LinearForm(weights, centred=False)

    def fixed_sum(self, n_lists: int) -> FixedSum:
        return FixedSum(np.full(n_lists, 1 / n_lists), standardised=False)
