"""Descriptors of a query as features of each of its documents."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Floats
from localrank.data import RankingDataset
from localrank.linalg import principal_axes
from localrank.rankers import Ranker
from localrank.rankers.expanded import Expanded


class QueryDescriptors(Expanded):
    """Trains a ranker on the features and on descriptors of the query.

    Each document also gets the mean and the standard deviation of every feature over the
    documents of its query, the loadings of their first principal direction, and the number of
    documents. 46 features become 185 columns.

    Parameters
    ----------
    ranker : Ranker
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def n_expanded(self, n_features: int) -> int:
        return 4 * n_features + 1

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        described = descriptors(dataset)[dataset.query_index]
        features = np.hstack([dataset.features, described.astype(dataset.features.dtype)])
        return dataset.replaced(features=features, feature_names=None)

    def folded(self, values: Floats, n_features: int) -> Floats:
        """Means, deviations and loadings added up by feature; the value of the size is last."""
        blocks = values[..., :-1].reshape(*values.shape[:-1], 4, n_features)
        return np.concatenate([blocks.sum(axis=-2), values[..., -1:]], axis=-1)


def descriptors(dataset: RankingDataset) -> Array:
    """Means, deviations, first principal direction and number of documents for each query."""
    begins, sizes = dataset.offsets[:-1], dataset.query_sizes[:, None]
    means = np.add.reduceat(dataset.features, begins) / sizes
    squares = (dataset.features - means[dataset.query_index]) ** 2
    deviations = np.sqrt(np.add.reduceat(squares, begins) / sizes)
    _, axes = principal_axes(dataset.features, dataset.offsets, 1)
    return np.hstack([means, deviations, axes[:, 0], sizes])
