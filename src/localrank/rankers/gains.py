"""What labels of any kind are worth to rankers that weigh documents by them."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats

# Labels up to this are grades, each worth about twice the one below. Larger ones are counts.
HIGHEST_GRADE = 30
# The level of the highest of labels that are no whole grades: fine enough to tell labels apart
# where one is a hundred times as high as the others.
HIGHEST_LEVEL = 15


def gains(labels: Floats) -> Floats:
    """The gain of each label: 0 or larger, and larger for a larger label.

    Grades, labels up to 30, gain 2^y - 1, as NDCG has it. Where labels are larger, as counts of
    clicks are, the gain is y itself: 2^y would leave nothing but the highest count of a query.
    Where the lowest label is negative, gains are counted from it: 2^y - 2^lowest, or y - lowest.

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 2.5])).round(2)
    array([0.  , 1.  , 4.66])
    >>> gains(np.array([-2.0, 0.0, 1.0]))
    array([0.  , 0.75, 1.75])
    >>> gains(np.array([0.0, 3.0, 500.0]))
    array([  0.,   3., 500.])
    """
    lowest = min(float(labels.min()), 0.0)
    if labels.max() - lowest > HIGHEST_GRADE:
        return labels - lowest
    worth: Floats = np.exp2(labels) - np.exp2(lowest)
    return worth


def levels(labels: Floats) -> Floats:
    """Labels as whole numbers y of which 2^y - 1 is about in proportion to the gain.

    Whole numbers from 0 to 30 stay as they are. Others get levels from 0 to 15, the highest of
    them 15: log2(1 + 32767 gain / highest gain), rounded.

    Examples
    --------
    >>> levels(np.array([0.0, 3.0, 500.0]))
    array([ 0.,  8., 15.])
    >>> levels(np.array([0.0, 0.1, 0.2, 0.4]))
    array([ 0., 13., 14., 15.])
    """
    whole = (labels == np.round(labels)).all()
    if whole and labels.min() >= 0 and labels.max() <= HIGHEST_GRADE:
        return labels
    worth = gains(labels)
    highest = worth.max()
    share = worth / highest if highest > 0 else worth
    whole_levels: Floats = np.round(np.log2(1 + (2**HIGHEST_LEVEL - 1) * share))
    return whole_levels
