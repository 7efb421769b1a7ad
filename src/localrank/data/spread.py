"""How much features vary within queries."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats
from localrank.data.dataset import RankingDataset


def spread_within_queries(dataset: RankingDataset) -> Floats:
    """Standard deviation of each feature around the mean of its query, 1 where there is none.

    Only differences within a query matter to a ranking.

    Examples
    --------
    >>> X = [[0.0, 7.0], [4.0, 7.0], [10.0, 9.0], [14.0, 9.0]]
    >>> spread_within_queries(RankingDataset.from_arrays(X, qid=[1, 1, 2, 2]))
    array([2., 1.])
    """
    features = dataset.features.astype(np.float64, copy=False)
    means = np.add.reduceat(features, dataset.offsets[:-1]) / dataset.query_sizes[:, None]
    rest = features - np.repeat(means, dataset.query_sizes, axis=0)
    # Relative to the largest value, so that squares of tiny numbers do not vanish.
    largest = np.abs(rest).max(axis=0)
    spread = largest * np.sqrt(np.mean((rest / np.where(largest > 0, largest, 1.0)) ** 2, axis=0))
    # Below 1e-290 a quotient would overflow.
    noise = np.maximum(1e-14 * np.abs(features).max(axis=0), 1e-290)
    # Twelve digits are plenty, and are the same for any order of the rows.
    mantissa, exponent = np.frexp(np.where(spread > noise, spread, 1.0))
    return np.ldexp(np.round(mantissa, 12), exponent)
