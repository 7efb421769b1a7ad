"""How much features vary within queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localrank.arrays import Floats
from localrank.data.dataset import RankingDataset
from localrank.data.deferred import feature_blocks


def spread_within_queries(dataset: RankingDataset) -> Floats:
    """Standard deviation of each feature around the mean of its query, 1 where there is none.

    Only differences within a query matter to a ranking.

    Examples
    --------
    >>> X = [[0.0, 7.0], [4.0, 7.0], [10.0, 9.0], [14.0, 9.0]]
    >>> spread_within_queries(RankingDataset.from_arrays(X, qid=[1, 1, 2, 2]))
    array([2., 1.])
    """
    highest, largest, squares = np.zeros((3, dataset.n_features))
    for features, rest in _deviations(dataset):
        highest = np.maximum(highest, np.abs(features).max(axis=0))
        largest = np.maximum(largest, np.abs(rest).max(axis=0))
    # Relative to the largest value, so that squares of tiny numbers do not vanish.
    unit = np.where(largest > 0, largest, 1.0)
    for _, rest in _deviations(dataset):
        rest /= unit
        rest *= rest
        # One row after another, so that blocks do not change how the sum rounds.
        rest[0] += squares
        squares = rest.sum(axis=0)
    spread = largest * np.sqrt(squares / dataset.n_documents)
    # Below 1e-290 a quotient would overflow.
    noise = np.maximum(1e-14 * highest, 1e-290)
    # Twelve digits are plenty, and are the same for any order of the rows.
    mantissa, exponent = np.frexp(np.where(spread > noise, spread, 1.0))
    return np.ldexp(np.round(mantissa, 12), exponent)


def _deviations(dataset: RankingDataset) -> Iterator[tuple[Floats, Floats]]:
    """Values in double precision, and what they are above the mean of their query, by blocks."""
    for rows, block in feature_blocks(dataset):
        begin, end = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
        starts, sizes = dataset.offsets[begin:end] - rows.start, dataset.query_sizes[begin:end]
        features = block.astype(np.float64, copy=False)
        means = np.add.reduceat(features, starts) / sizes[:, None]
        yield features, features - np.repeat(means, sizes, axis=0)
