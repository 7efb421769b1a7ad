"""Coordinates that Vespa computes over the hits of a query: min-max scales and rank differences."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Integers
from localrank.rankers.query_coordinates.present import coordinates_of_present

# Values that differ by no more than this count as equal: the quotient would overflow.
_LEAST_RANGE = 1e-300


def min_max(features: Array, offsets: Integers) -> Array:
    """Each value scaled to [0, 1] within its query: 0 for the smallest, 1 for the largest.

    If all values are equal, each becomes 1/2. Missing values stay NaN and do not count. The steps
    and their rounding are the same as in Vespa's `normalize_linear`:
    1/2 + (x - midpoint) · (1 / range).

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
    # Sums and differences of halves do not overflow.
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
    """Number of documents of the query with a smaller value, less the number with a larger one.

    Equal values have the same difference. Missing values stay NaN and do not count. Vespa's global
    phase has no ranks with ties: `reciprocal_rank` puts equal values in the order in which hits
    arrive. It does so for both x and -x, so the difference of the two ranks does not depend on the
    order: 1 / reciprocal_rank(-x, k) - 1 / reciprocal_rank(x, k), rounded to a whole number.

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
    # Twice the rank is a whole number up to rounding.
    differences: Array = np.rint(2 * counts * percentiles) - counts - 1
    return differences.astype(features.dtype, copy=False)
