"""How much features vary within queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data._exact_sums import ExactSums, added
from localrank.data._parts import over_parts
from localrank.data.dataset import RankingDataset


def spread_within_queries(dataset: RankingDataset) -> Floats:
    """Standard deviation of each feature around the mean of its query.

    Only differences within a query matter to a ranking. A feature that is constant within all
    queries gets 1.

    Examples
    --------
    >>> X = [[0.0, 7.0], [4.0, 7.0], [10.0, 9.0], [14.0, 9.0]]
    >>> spread_within_queries(RankingDataset.from_arrays(X, qid=[1, 1, 2, 2]))
    array([2., 1.])
    """
    bounds = over_parts(_bounds, dataset, description="Extent of features")
    highest, largest = np.max(bounds, axis=0)
    # Relative to the largest value, so that squares of tiny numbers do not vanish.
    unit = np.where(largest > 0, largest, 1.0)
    squares = added(over_parts(_squares, dataset, shared=(unit,), description="Spread of features"))
    spread = largest * np.sqrt(squares.rounded(dataset.n_documents))
    # Below 1e-290 a quotient would overflow.
    noise = np.maximum(1e-14 * highest, 1e-290)
    # Twelve digits are plenty, and are the same for any order of the rows.
    mantissa, exponent = np.frexp(np.where(spread > noise, spread, 1.0))
    return np.ldexp(np.round(mantissa, 12), exponent)


def _bounds(dataset: RankingDataset) -> Floats:
    """The largest size of the values, and of their deviations from the query's mean."""
    bounds = np.zeros((2, dataset.n_features))
    for values in _deviations(dataset):
        block_bounds = [np.abs(values[0]).max(axis=0), np.abs(values[1]).max(axis=0)]
        bounds = np.maximum(bounds, block_bounds)
    return bounds


def _squares(dataset: RankingDataset, unit: Floats) -> ExactSums:
    """Squared deviations from the query's mean, added up query by query."""
    parts = []
    for _, rest, starts in _deviations(dataset):
        rest /= unit
        rest *= rest
        parts.append(ExactSums.of(np.add.reduceat(rest, starts)))
    return added(parts)


def _deviations(dataset: RankingDataset) -> Iterator[tuple[Floats, Floats, Integers]]:
    """For each block: values, their deviations from the query's mean, and where queries begin."""
    for rows, block in dataset.feature_blocks():
        begin, end = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
        starts, sizes = dataset.offsets[begin:end] - rows.start, dataset.query_sizes[begin:end]
        features = block.astype(np.float64, copy=False)
        means = np.add.reduceat(features, starts) / sizes[:, None]
        yield features, features - np.repeat(means, sizes, axis=0), starts
