"""An order of rows that does not depend on the one they came in.

Sums round differently in another order, and LightGBM ranks equal scores in the order of rows.
Training in an order that only the content of the rows decides makes a model independent of the
order of lines in a file, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset


def content_order(
    dataset: RankingDataset, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows query by query, by a hash of their features and label, and the order of the queries."""
    bits = dataset.features.view(f"u{dataset.features.itemsize}")
    factors = hash_factors(dataset.n_features + 1, seed)
    return order_by_keys(dataset, bits @ factors[1:] + dataset.labels.view(np.uint64) * factors[0])


def hash_factors(n: int, seed: int) -> NDArray[np.uint64]:
    """Random factors: a row's key is the sum of its values as integers, each times its factor."""
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


def order_by_keys(
    dataset: RankingDataset, keys: NDArray[np.uint64], major: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows by query, then by `major` where given, then by key; queries by the sum of their keys.

    Returns the order of the rows and that of the queries.
    """
    # A sum of products leaves similar rows similar keys: stir the high bits into the low ones.
    keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(29)
    queries = np.argsort(np.add.reduceat(keys, dataset.offsets[:-1]), kind="stable")
    place = np.empty_like(queries)
    place[queries] = np.arange(dataset.n_queries)
    by_query = place[dataset.query_index]
    return np.lexsort((keys, by_query) if major is None else (keys, major, by_query)), queries
