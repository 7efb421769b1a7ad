"""Every kind of column that Vespa makes, computed naively."""

from itertools import pairwise

import numpy as np

from localrank.data import RankingDataset
from localrank.formulas import Column


def columns_of(n_features: int) -> tuple[Column, ...]:
    """Each feature, its min-max scale and rank difference; a product; a missing flag."""
    numbers = range(n_features)
    return (
        *(Column("feature", number) for number in numbers),
        *(Column("min-max", number) for number in numbers),
        *(Column("rank-difference", number) for number in numbers),
        Column("product", 0, 1),
        Column("missing", 2),
    )


def with_columns(dataset: RankingDataset) -> RankingDataset:
    """A dataset with the columns of `columns_of`."""
    features = dataset.features
    scales, differences = np.full((2, *features.shape), np.nan)
    for begin, end in pairwise(dataset.offsets):
        for column in range(features.shape[1]):
            values = features[begin:end, column]
            present = values[~np.isnan(values)]
            for row in np.flatnonzero(~np.isnan(values)):
                value, place = values[row], (begin + row, column)
                # The order of steps by which Vespa rounds.
                spread, middle = np.ptp(present), 0.5 * (present.min() + present.max())
                scales[place] = 0.5 + (1 / spread) * (value - middle) if spread else 0.5
                differences[place] = (present < value).sum() - (present > value).sum()
    product = features[:, :1] * features[:, 1:2]
    missing = np.isnan(features[:, 2:3]).astype(float)
    return dataset.with_features(
        np.concatenate([features, scales, differences, product, missing], axis=1)
    )
