"""Coordinates that Vespa computes over the hits of a query: min-max scales and rank differences."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Integers
from localrank.rankers.query_coordinates.present import coordinates_of_present

# Values that lie no farther apart count as equal: the quotient would overflow.
_LEAST_RANGE = 1e-300


def min_max(features: Array, offsets: Integers) -> Array:
    """Where each value lies between the smallest of its query, 0, and the largest, 1.

    The middle, 1/2, where all are equal. Missing values are NaN and do not count. Steps and their
    rounding are those of `normalize_linear` in Vespa: 1/2 + (x - midpoint) · (1 / range).

    Examples
    --------
    >>> features = np.array([[1.0, 7.0], [np.nan, 7.0], [2.0, 7.0], [5.0, 7.0]])
    >>> min_max(features, np.array([0, 4]))
    array([[0.  , 0.5 ],
           [ nan, 0.5 ],
           [0.25, 0.5 ],
           [1.  , 0.5 ]])
    """
    begins, sizes = offsets[:-1], np.diff(offsets)
    # Halves, whose sums and differences do not overflow.
    halves = 0.5 * features.astype(np.float64)
    low, high = np.fmin.reduceat(halves, begins), np.fmax.reduceat(halves, begins)
    ranges, midpoints = high - low, 0.5 * (low + high)
    varies = ranges > _LEAST_RANGE
    factors = np.where(varies, 1 / np.where(varies, ranges, 1.0), 0.0)
    halves -= np.repeat(midpoints, sizes, axis=0)
    halves *= np.repeat(factors, sizes, axis=0)
    halves += 0.5
    return halves.astype(features.dtype, copy=False)


def rank_differences(features: Array, offsets: Integers) -> Array:
    """How many documents of the query have a smaller value, less how many have a larger one.

    Equal values have the same. Missing values are NaN and do not count. Vespa's global phase has
    no ranks with ties: `reciprocal_rank` puts equal values in the order in which hits arrive. It
    does so for x and for -x alike, so that the difference of the two ranks is free of it:
    1 / reciprocal_rank(-x, k) - 1 / reciprocal_rank(x, k), rounded to a whole number.

    Examples
    --------
    >>> features = np.array([[1.0], [np.nan], [2.0], [2.0]])
    >>> rank_differences(features, np.array([0, 4]))
    array([[-2.],
           [nan],
           [ 1.],
           [ 1.]])
    """
    width = features.shape[1]
    percentiles = coordinates_of_present(features.astype(np.float64), offsets, "p")[:, width:]
    counts = np.add.reduceat(~np.isnan(features), offsets[:-1], dtype=np.int64)
    counts = np.repeat(counts, np.diff(offsets), axis=0)
    # Twice the rank is a whole number, which rounding has moved a little.
    differences: Array = np.rint(2 * counts * percentiles) - counts - 1
    return differences.astype(features.dtype, copy=False)
